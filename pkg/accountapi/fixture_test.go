package accountapi_test

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/heatsink-dev/heatsink/pkg/account"
	"github.com/heatsink-dev/heatsink/pkg/accountapi"
	"github.com/heatsink-dev/heatsink/pkg/catalog"
	"github.com/heatsink-dev/heatsink/pkg/ddb"
	"github.com/heatsink-dev/heatsink/pkg/ddbtest"
	"github.com/heatsink-dev/heatsink/pkg/edge"
)

// fixture is the surface over real tables.
type fixture struct {
	t             *testing.T
	faults        *ddbtest.Faults
	plain         *dynamodb.Client
	users, claims string
	handler       http.Handler
	log, metrics  *bytes.Buffer
}

func newFixture(t *testing.T, change ...func(*account.Config)) *fixture {
	t.Helper()
	tables, err := catalog.Load()
	if err != nil {
		t.Fatal(err)
	}
	users, _ := tables.Table(catalog.UserTable)
	claims, _ := tables.Table(catalog.ClaimTable)
	f := &fixture{t: t, faults: ddbtest.NewFaults(t, 0), plain: ddbtest.Client(t), log: &bytes.Buffer{}, metrics: &bytes.Buffer{}}
	f.users, f.claims = ddbtest.Table(t, users), ddbtest.Table(t, claims)
	config := account.Config{
		Client: ddbtest.Client(t, ddb.Metered, f.faults.Install), Users: users, UserTable: f.users, ClaimTable: f.claims,
		Retry: ddb.Policy{Attempts: 4, Sleep: func(ctx context.Context, _ time.Duration) error { return ctx.Err() }},
	}
	for _, c := range change {
		c(&config)
	}
	service, err := account.New(config)
	if err != nil {
		t.Fatal(err)
	}
	api, err := accountapi.New(service)
	if err != nil {
		t.Fatal(err)
	}
	router := edge.NewRouter(edge.RouterConfig{Logger: edge.NewLogger(f.log, slog.LevelInfo), Metrics: edge.NewMetrics(f.metrics, "Heatsink", "nickname", nil)})
	api.Register(router)
	f.handler = router
	return f
}

// call makes a request; headers are name, value, name, value.
func (f *fixture) call(method, target, body string, headers ...string) *httptest.ResponseRecorder {
	f.t.Helper()
	path, query, _ := strings.Cut(target, "?")
	request := httptest.NewRequestWithContext(f.t.Context(), method, path, strings.NewReader(body))
	request.URL.RawQuery = query
	for n := 0; n+1 < len(headers); n += 2 {
		request.Header.Add(headers[n], headers[n+1])
	}
	answer := httptest.NewRecorder()
	f.handler.ServeHTTP(answer, request)
	return answer
}

// want checks status and body of an answer; a body that is a word is a problem's code.
func (f *fixture) want(answer *httptest.ResponseRecorder, status int, body string) {
	f.t.Helper()
	got := answer.Body.String()
	contentType := answer.Header().Get("Content-Type")
	switch {
	case status == http.StatusNoContent:
		if got != "" || contentType != "" {
			f.t.Errorf("204 with %q of %q", got, contentType)
		}
	case body != "" && !strings.HasPrefix(body, "{"):
		var problem struct{ Code, Detail string }
		if err := json.Unmarshal([]byte(got), &problem); err != nil || problem.Code != body || contentType != "application/problem+json" {
			f.t.Errorf("%s %s, want problem %s", contentType, got, body)
		}
	case got != body || contentType != "application/json":
		f.t.Errorf("%s %s, want %s", contentType, got, body)
	}
	if answer.Code != status {
		f.t.Errorf("status %d, want %d: %s", answer.Code, status, got)
	}
}

func detail(answer *httptest.ResponseRecorder) string {
	var problem struct{ Detail string }
	_ = json.Unmarshal(answer.Body.Bytes(), &problem)
	return problem.Detail
}

func s(text string) types.AttributeValue { return &types.AttributeValueMemberS{Value: text} }
