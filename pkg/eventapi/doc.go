// Package eventapi is the HTTP surface of package buffer:
//
//	POST /v1/events                  {"events":[{"data":...}]}  201 {"batchId","ids":[...]}
//	GET  /v1/events?date=&state=     {"items":[...],"cursor":"..."}; also from, to, order, limit, cursor
//	GET  /v1/events/stats?date=      {"pending":n,"failed":n}
//	GET  /v1/events/{id}             one event
//	POST /v1/events/{id}/complete    204
//	POST /v1/events/{id}/retry       {"error":"..."}            201 {"id"}
//	POST /v1/event-batches           {}                         201 {"batchId","uploadUrl"}
//	GET  /v1/event-batches/{batchId} {"batchId","status","accepted","rejectedCount","rejected":[{"line","reason"}],"reason"}
//
// Guarantees: a request is understood in whole or refused by name, before any write. Where a write stored some events only, the problem's members say which: ids
// (null where there is none), notStored and unknown, both positions in the request. A page's JSON is at most edge.MaxAnswerBytes; one that would pass it ends
// before, with a cursor. Data is answered as it was sent, apart from white space between its tokens.
//
// Not here: what becomes of an upload (package ingest), authorization (the gateway's) and wiring (functions/events).
package eventapi
