// Package accountapi is the HTTP surface of package account: users, their nicknames, and who has a nickname.
//
// It reads requests strictly, turns refusals into the stable codes of package edge, and writes a user flat, as plain JSON without private and reserved
// attributes. Each route is one call of a [Service]; what that guarantees, this does.
//
// Not here: authorization (the gateway's) and wiring (functions/nickname).
package accountapi
