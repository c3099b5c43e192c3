package routes_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/heatsink-dev/heatsink/pkg/edge/routes"
)

func ExampleSplit() {
	fmt.Println(routes.Split(routes.UserGet))
	// Output: GET /v1/users/{userId}
}

// One mux with every route: ServeMux panics on a malformed pattern, and on two that conflict.
func TestEveryRouteIsServedByItsOwnFunctionAlone(t *testing.T) {
	t.Parallel()
	mux, owner := http.NewServeMux(), map[string]string{}
	for _, function := range routes.Functions() {
		if len(routes.Of(function)) == 0 {
			t.Errorf("%s answers HTTP and has no route", function)
		}
		for _, route := range routes.Of(function) {
			if other, taken := owner[route]; taken {
				t.Fatalf("%s belongs to %s and %s", route, other, function)
			}
			owner[route] = function
			mux.HandleFunc(route, func(http.ResponseWriter, *http.Request) {})
		}
	}
	if len(owner) != len(routes.All()) {
		t.Errorf("All lists %d routes, the functions have %d", len(routes.All()), len(owner))
	}
	variable := regexp.MustCompile(`\{[A-Za-z]+\}`)
	for _, route := range routes.All() {
		method, path := routes.Split(route)
		request := httptest.NewRequestWithContext(t.Context(), method, variable.ReplaceAllString(path, "x"), nil)
		if _, pattern := mux.Handler(request); pattern != route {
			t.Errorf("%s %s is served by %q, want %q", method, request.URL.Path, pattern, route)
		}
	}
}

// An API Gateway route key is a method, one space and a path whose variables are whole segments
// (https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-develop-routes.html).
func TestEveryRouteIsAnAPIGatewayRouteKey(t *testing.T) {
	t.Parallel()
	key := regexp.MustCompile(`^(GET|POST|PUT|DELETE) /v1(/([a-z-]+|\{[A-Za-z]+\}))+$`)
	for _, route := range routes.All() {
		if !key.MatchString(route) {
			t.Errorf("%q is no route key", route)
		}
	}
}

func TestAFunctionWithoutHTTPHasNoRoute(t *testing.T) {
	t.Parallel()
	for _, function := range []string{routes.Indexer, routes.Redrive, routes.Ingest, "unknown"} {
		if got := routes.Of(function); got != nil {
			t.Errorf("%s: %s", function, strings.Join(got, ", "))
		}
	}
}
