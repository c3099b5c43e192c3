package routes

import (
	"slices"
	"strings"
)

// The routes, by the function that answers them. Each is one pattern for both sides: http.ServeMux and an API Gateway route key
// write "METHOD /path/{name}" alike.
const (
	IndexItems       = "GET /v1/indexes/{index}/items"
	IndexItemsPost   = "POST /v1/indexes/{index}/items"
	IndexExists      = "GET /v1/indexes/{index}/exists"
	IndexExistsPost  = "POST /v1/indexes/{index}/exists"
	IndexCount       = "GET /v1/indexes/{index}/count"
	IndexCountPost   = "POST /v1/indexes/{index}/count"
	UserCreate       = "POST /v1/users"
	UserGet          = "GET /v1/users/{userId}"
	UserRename       = "PUT /v1/users/{userId}/nickname"
	UserRelease      = "DELETE /v1/users/{userId}/nickname"
	UserWithdraw     = "DELETE /v1/users/{userId}"
	NicknameGet      = "GET /v1/nicknames"
	EventsCreate     = "POST /v1/events"
	EventsList       = "GET /v1/events"
	EventsStats      = "GET /v1/events/stats"
	EventGet         = "GET /v1/events/{id}"
	EventComplete    = "POST /v1/events/{id}/complete"
	EventRetry       = "POST /v1/events/{id}/retry"
	EventBatchCreate = "POST /v1/event-batches"
	EventBatchGet    = "GET /v1/event-batches/{batchId}"
)

// Names of the functions: the folders below functions/.
const (
	Indexer  = "indexer"
	Redrive  = "redrive"
	API      = "api"
	Nickname = "nickname"
	Events   = "events"
	Ingest   = "ingest"
)

// Of lists the routes that the function answers: none for a function without HTTP.
func Of(function string) []string {
	switch function {
	case API:
		return []string{IndexItems, IndexItemsPost, IndexExists, IndexExistsPost, IndexCount, IndexCountPost}
	case Nickname:
		return []string{UserCreate, UserGet, UserRename, UserRelease, UserWithdraw, NicknameGet}
	case Events:
		return []string{EventsCreate, EventsList, EventsStats, EventGet, EventComplete, EventRetry, EventBatchCreate, EventBatchGet}
	default:
		return nil
	}
}

// Functions lists the functions that answer HTTP.
func Functions() []string { return []string{API, Nickname, Events} }

// Split cuts a route into its method and its path: "GET" and "/v1/users/{userId}".
func Split(route string) (method, path string) {
	method, path, _ = strings.Cut(route, " ")
	return method, path
}

// All lists every route of the application, sorted.
func All() []string {
	var all []string
	for _, function := range Functions() {
		all = append(all, Of(function)...)
	}
	slices.Sort(all)
	return all
}
