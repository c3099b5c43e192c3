// Package routes names the HTTP routes and the functions, once for both who serve them: infra, which makes API Gateway send a route to a
// function, and the function's own router. Without it, a route that only one of them knows answers 404, found in production.
//
// It guarantees that every route belongs to exactly one function, and that net/http's ServeMux takes all of a function's routes together. It
// has no imports beyond the standard library and does not route.
package routes
