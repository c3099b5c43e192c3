// Package indexapi is the HTTP surface of indexes: pages, existence and counts, by GET with query parameters or by POST with the same names in a JSON body.
//
//	GET|POST /v1/indexes/{index}/items    {"items":[...],"cursor":"..."}
//	GET|POST /v1/indexes/{index}/exists   {"exists":true}
//	GET|POST /v1/indexes/{index}/count    {"count":n}
//
// Parameters of all three: partition (needed), under, eq, lt, lte, gt, gte, prefix, cursor, consistent; of items also order and limit. A condition applies
// to the first part of the index's sort key, or, where under pins the first by equality, to the second (under is one text; in a body it may be an
// array, for several parts). A value is text: of a Number attribute a DynamoDB number, of a Binary one standard base64. In a body the value of a Number
// may also be a JSON number; limit is a number there and consistent a boolean.
//
// Guarantees: an answer is at most edge.MaxAnswerBytes; a page that would pass it ends before the item that does not fit, and its cursor continues exactly
// there. Everything that a caller sends is understood in whole or refused by name. The summary line of a request tells the shape of its condition ("gte+lt"), never its values.
//
// Not guaranteed: who may read which partition. Authorization is the gateway's; where a JWT carries the configured tenant claim, cursors are bound to it, so that
// one tenant's cursor is invalid to another, but nothing else follows from it.
//
// In the map of packages it is the layer above edge: it knows both HTTP and query.
package indexapi
