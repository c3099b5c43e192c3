// Package edge is what every function shares where it meets the outside: its configuration, its log line, its metrics, its time, and, for the
// HTTP functions, requests and answers.
//
// An HTTP function is a net/http handler ([Router]) behind [Adapt], so that tests drive it with httptest and the Lambda is wiring. A handler
// returns an error, and [ProblemFor] turns it into one of the stable codes of one status table.
//
// Guarantees: a handler never ends as a Lambda error; every answer is valid for API Gateway, whatever the handler wrote; the text of an internal
// error never leaves in a body; a query string or body is understood in whole or refused with the name of what is wrong in it (an unknown,
// repeated or wrongly typed field is never ignored); one log line sums up a request, and it never holds a value that a caller sent, nor an item.
//
// Not guaranteed: authorization, which is the gateway's, and retries, which are the caller's after a 429 or 503.
package edge
