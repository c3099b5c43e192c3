package indexapi_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"

	"github.com/heatsink-dev/heatsink/pkg/ddb"
	"github.com/heatsink-dev/heatsink/pkg/edge"
	"github.com/heatsink-dev/heatsink/pkg/indexapi"
	"github.com/heatsink-dev/heatsink/pkg/query"
	"github.com/heatsink-dev/heatsink/pkg/schema"
)

func TestAPageThatWouldPassTheAnswerLimitIsCutAndContinuesExactlyThere(t *testing.T) {
	t.Parallel()
	bothForms(t, func(t *testing.T, f *fixture) {
		// 380 KB of control characters are 2.3 MB of JSON, so that one of them fits an answer and two do not; 380 KB of letters stay 380 KB.
		const size = 380_000
		for n := range 6 {
			filler := "a"
			if n < 2 {
				filler = "\x01"
			}
			f.put(ddb.Item{"userId": s(fmt.Sprintf("u%03d", n)), "ID": s("p"), "at": num(strconv.Itoa(1000 + n)), "text": s(strings.Repeat(filler, size))})
		}
		var got []string
		var sizes []int
		for cursor := ""; ; {
			parameters := []string{"partition", "p", "limit", "1000"}
			if cursor != "" {
				parameters = append(parameters, "cursor", cursor)
			}
			response := f.get(managed+"items", queryString(parameters...))
			if response.Code != 200 || response.Body.Len() > edge.MaxAnswerBytes {
				t.Fatalf("status %d, %d bytes", response.Code, response.Body.Len())
			}
			answer := decode(t, response)
			got, sizes = append(got, answer.ids()...), append(sizes, len(answer.Items))
			if cursor = answer.Cursor; cursor == "" {
				break
			}
			if len(sizes) > 20 {
				t.Fatal("the walk does not end")
			}
		}
		if diff := cmp.Diff(ids(0, 6), got); diff != "" {
			t.Error(diff)
		}
		if diff := cmp.Diff([]int{1, 5}, sizes); diff != "" { // the second page: 2.3 MB and four times 0.4
			t.Error(diff)
		}
	})
}

// onePage answers with a page as DynamoDB could send it and the local engine cannot.
type onePage struct {
	indexapi.Reader
	items []ddb.Item
}

// Query gives the page, whatever is asked.
func (p onePage) Query(context.Context, query.Request) (*query.Page, error) {
	return &query.Page{Items: p.items}, nil
}

// 10^125 takes 4 bytes of an item in a list, and 126 digits of JSON as DynamoDB returns it.
func TestAnItemThatNoAnswerCanHoldIsOurFault(t *testing.T) {
	t.Parallel()
	f := newFixture(t, schema.Table)
	index, _ := f.catalog.Index("managed")
	digits := "1" + strings.Repeat("0", 125)
	item := ddb.Item{"userId": s("u000"), "list": &types.AttributeValueMemberL{Value: slices.Repeat([]types.AttributeValue{num(digits)}, 32_000)}}
	api, err := indexapi.New([]indexapi.Served{{Index: index, Reader: onePage{items: []ddb.Item{item}}}}, indexapi.Options{})
	if err != nil {
		t.Fatal(err)
	}
	router := edge.NewRouter(edge.RouterConfig{Logger: edge.NewLogger(f.log, slog.LevelInfo), Metrics: edge.NewMetrics(f.metrics, "Heatsink", "api", nil)})
	api.Register(router)
	f.handler = router
	response := f.get(managed+"items", "partition=p")
	check(t, f, response.Result(), "huge item", "internal", "an item is longer")
	if strings.Contains(f.log.String(), "u000") {
		t.Errorf("the log quotes the item: %s", f.log)
	}
}

func TestTheSummaryTellsShapesAndNeverValues(t *testing.T) {
	t.Parallel()
	f := newFixture(t, schema.Table)
	f.users(7)
	f.put(ddb.Item{"userId": s("secret-user"), "ID": s("secret-partition"), "at": num("1234567")})
	for call, want := range map[string]map[string]any{
		"items?partition=p&gte=1002&lt=1004":                {"route": "GET /v1/indexes/{index}/items", "index": "managed", "form": "TABLE", "conditions": "gte+lt", "status": 200.0, "category": "", "returned": 2.0, "pages": 1.0},
		"items?partition=secret-partition&eq=1234567":       {"conditions": "eq", "returned": 1.0, "status": 200.0},
		"exists?partition=p":                                {"route": "GET /v1/indexes/{index}/exists", "conditions": "all", "status": 200.0, "returned": 0.0},
		"count?partition=p&under=1001":                      {"conditions": "under", "status": 200.0},
		"items?partition=p&eq=secret-value":                 {"conditions": "eq", "status": 400.0, "category": "invalid_parameter"},
		"items?partition=p&secret-name=secret-value":        {"status": 400.0, "category": "invalid_parameter", "index": "managed"},
		"items?partition=p&cursor=secret-cursor&order=desc": {"status": 400.0, "category": "invalid_cursor", "conditions": "all"},
	} {
		f.log.Reset()
		operation, raw, _ := strings.Cut(call, "?")
		f.get(managed+operation, raw)
		lines := strings.Split(strings.TrimSpace(f.log.String()), "\n")
		var line map[string]any
		if err := json.Unmarshal([]byte(lines[0]), &line); err != nil || len(lines) != 1 {
			t.Fatalf("%s: %d lines, %v: %s", call, len(lines), err, f.log)
		}
		for name, value := range want {
			if line[name] != value {
				t.Errorf("%s: %s is %v, want %v", call, name, line[name], value)
			}
		}
		if _, ok := line["elapsedMs"].(float64); !ok || line["message"] != "request" {
			t.Errorf("%s: %v", call, line)
		}
		if _, ok := line["readUnits"].(float64); line["status"] == 200.0 && !ok {
			t.Errorf("%s: no read units in %v", call, line)
		}
		for _, value := range []string{"secret", "1002", "1004", "1001", "1234567"} {
			if strings.Contains(f.log.String(), value) || strings.Contains(f.metrics.String(), value) {
				t.Errorf("%s: %q stands in the log or the metrics: %s %s", call, value, f.log, f.metrics)
			}
		}
	}
}

func TestMetricsCountWhatWasRead(t *testing.T) {
	t.Parallel()
	f := newFixture(t, schema.Table)
	f.users(7)
	f.metrics.Reset()
	f.get(managed+"items", "partition=p&limit=5")
	var got map[string]any
	if err := json.Unmarshal(f.metrics.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]any{"Requests": 1.0, "Errors5xx": 0.0, "ItemsReturned": 5.0, "Function": "api", "Index": "managed"} {
		if got[name] != want {
			t.Errorf("%s is %v, want %v", name, got[name], want)
		}
	}
	if got["RowsEvaluated"].(float64) < 5 || got["ReadUnits"].(float64) <= 0 {
		t.Errorf("metrics %v", got)
	}
	f.metrics.Reset()
	f.get("/v1/indexes/nobody-1/items", "partition=p")
	if strings.Contains(f.metrics.String(), "nobody-1") || strings.Contains(f.metrics.String(), `"Index"`) {
		t.Errorf("a caller's own name became a metric: %s", f.metrics)
	}
}

func TestACursorIsBoundToTheTenantOfItsToken(t *testing.T) {
	t.Parallel()
	f := newFixture(t, schema.Table)
	f.users(3)
	gateway := edge.Adapt(f.handler, edge.AdapterOptions{Logger: slog.New(slog.DiscardHandler)})
	call := func(tenant, parameters string) (int, answer) {
		event := events.APIGatewayV2HTTPRequest{RawPath: managed + "items", RawQueryString: "partition=p&limit=1" + parameters}
		event.RequestContext.HTTP.Method = "GET"
		if tenant != "" {
			event.RequestContext.Authorizer = &events.APIGatewayV2HTTPRequestContextAuthorizerDescription{
				JWT: &events.APIGatewayV2HTTPRequestContextAuthorizerJWTDescription{Claims: map[string]string{"tenant": tenant}},
			}
		}
		response, err := gateway(context.WithoutCancel(t.Context()), event)
		if err != nil {
			t.Fatal(err)
		}
		var got answer
		if err := json.Unmarshal([]byte(response.Body), &got); err != nil {
			t.Fatal(err)
		}
		return response.StatusCode, got
	}
	_, first := call("one", "")
	if status, got := call("one", "&cursor="+first.Cursor); status != 200 || len(got.Items) != 1 {
		t.Errorf("its own tenant: %d %+v", status, got)
	}
	for _, other := range []string{"two", ""} {
		if status, got := call(other, "&cursor="+first.Cursor); status != 400 || got.Code != "invalid_cursor" {
			t.Errorf("tenant %q: %d %+v", other, status, got)
		}
	}
}
