package eventapi_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/heatsink-dev/heatsink/pkg/buffer"
	"github.com/heatsink-dev/heatsink/pkg/catalog"
	"github.com/heatsink-dev/heatsink/pkg/ddbtest"
	"github.com/heatsink-dev/heatsink/pkg/edge"
	"github.com/heatsink-dev/heatsink/pkg/eventapi"
	"github.com/heatsink-dev/heatsink/pkg/ingest"
	"github.com/heatsink-dev/heatsink/pkg/shard"
)

// batches serves uploads. log gets all lines.
func batches(t *testing.T, uploads eventapi.Uploads, log io.Writer) http.Handler {
	t.Helper()
	api, err := eventapi.New(noEvents{}, eventapi.Options{Uploads: uploads})
	if err != nil {
		t.Fatal(err)
	}
	router := edge.NewRouter(edge.RouterConfig{Logger: edge.NewLogger(log, slog.LevelInfo), Metrics: edge.NewMetrics(io.Discard, "Heatsink", "events", nil)})
	api.Register(router)
	return router
}

type noEvents struct{ eventapi.Service }

// realUploads are over a real request table.
func realUploads(t *testing.T) *ingest.Uploads {
	t.Helper()
	tables, err := catalog.Load()
	if err != nil {
		t.Fatal(err)
	}
	requests, _ := tables.Table(catalog.EventRequestTable)
	table := ddbtest.Table(t, requests)
	layout, err := shard.NewLayout(catalog.EventShards()...)
	if err != nil {
		t.Fatal(err)
	}
	client := ddbtest.Client(t)
	store, err := buffer.New(buffer.Config{Client: client, Table: "not used", RequestTable: table, Layout: layout})
	if err != nil {
		t.Fatal(err)
	}
	uploads, err := ingest.NewUploads(ingest.UploadsConfig{
		Client: client, RequestTable: table, Presign: s3.NewPresignClient(s3.NewFromConfig(ddbtest.Config(t), edge.S3Options)), Bucket: "uploads-bucket", Batches: store,
	})
	if err != nil {
		t.Fatal(err)
	}
	return uploads
}

func call(t *testing.T, handler http.Handler, method, target, body string) (int, string) {
	t.Helper()
	answer := httptest.NewRecorder()
	handler.ServeHTTP(answer, httptest.NewRequestWithContext(t.Context(), method, target, strings.NewReader(body)))
	return answer.Code, answer.Body.String()
}

func TestABatchIsMadeAndWaitsForItsUpload(t *testing.T) {
	t.Parallel()
	var log strings.Builder
	handler := batches(t, realUploads(t), &log)
	status, body := call(t, handler, "POST", "/v1/event-batches", "{}")
	var made struct{ BatchID, UploadURL string }
	if err := json.Unmarshal([]byte(body), &made); err != nil || status != 201 || !buffer.IsBatchID(made.BatchID) {
		t.Fatalf("%d %s %v", status, body, err)
	}
	target, err := url.Parse(made.UploadURL)
	if err != nil || !strings.HasSuffix(target.Path, "/uploads/"+made.BatchID) || target.Query().Get("X-Amz-Signature") == "" {
		t.Errorf("%s %v", made.UploadURL, err)
	}
	if strings.Contains(log.String(), "X-Amz-Signature") {
		t.Error("the URL is in the log")
	}
	status, body = call(t, handler, "GET", "/v1/event-batches/"+made.BatchID, "")
	if want := `{"batchId":"` + made.BatchID + `","status":"waiting","accepted":0,"rejectedCount":0,"rejected":[]}`; status != 200 || body != want {
		t.Errorf("%d %s, want %s", status, body, want)
	}
	_, again := call(t, handler, "POST", "/v1/event-batches", "{}")
	if strings.Contains(again, made.BatchID) {
		t.Error("two batches of one id")
	}
}

func TestBatchesBadInput(t *testing.T) {
	t.Parallel()
	handler := batches(t, realUploads(t), io.Discard)
	for _, test := range []struct {
		method, target, body string
		status               int
		code, detail         string
	}{
		{"POST", "/v1/event-batches", "", 400, "invalid_parameter", "body: must be a JSON object, is empty"},
		{"POST", "/v1/event-batches", `{"events":[]}`, 400, "invalid_parameter", `"events": unknown field`},
		{"POST", "/v1/event-batches", `[]`, 400, "invalid_parameter", "body: "},
		{"POST", "/v1/event-batches?x=1", `{}`, 400, "invalid_parameter", `"x": unknown parameter`},
		{"GET", "/v1/event-batches/0123456789abcdef", "", 404, "batch_not_found", "there is no such batch"},
		{"GET", "/v1/event-batches/no-batch", "", 404, "batch_not_found", "there is no such batch"},
		{"GET", "/v1/event-batches/0123456789ABCDEF", "", 404, "batch_not_found", "there is no such batch"},
		{"GET", "/v1/event-batches/0123456789abcdef?y=1", "", 400, "invalid_parameter", `"y": unknown parameter`},
		{"DELETE", "/v1/event-batches/0123456789abcdef", "", 405, "method_not_allowed", ""},
	} {
		status, body := call(t, handler, test.method, test.target, test.body)
		var problem struct{ Code, Detail string }
		if err := json.Unmarshal([]byte(body), &problem); err != nil || status != test.status || problem.Code != test.code || !strings.HasPrefix(problem.Detail, test.detail) {
			t.Errorf("%s %s %s: %d %s %v", test.method, test.target, test.body, status, body, err)
		}
	}
}

// fixed uploads answer one status.
type fixed struct {
	status ingest.Status
	err    error
}

func (f fixed) Create(context.Context) (*ingest.Created, error)        { return nil, f.err }
func (f fixed) Status(context.Context, string) (*ingest.Status, error) { return &f.status, f.err }

func TestTheStatusOfABatchNamesRejectedLinesAndWhyItFailed(t *testing.T) {
	t.Parallel()
	for want, status := range map[string]ingest.Status{
		`{"batchId":"b","status":"done","accepted":60000,"rejectedCount":0,"rejected":[]}`: {BatchID: "b", State: ingest.Done, Progress: ingest.Progress{Accepted: 60_000}},
		`{"batchId":"b","status":"failed","accepted":3,"rejectedCount":2,"rejected":[{"line":2,"reason":"is not UTF-8"},{"line":5,"reason":"is not JSON"}],"reason":"the gzip stream is damaged"}`: {
			BatchID: "b", State: ingest.Failed, Reason: "the gzip stream is damaged",
			Progress: ingest.Progress{Accepted: 3, Rejected: 2, Faults: []ingest.Fault{{Line: 2, Reason: "is not UTF-8"}, {Line: 5, Reason: "is not JSON"}}},
		},
	} {
		if code, body := call(t, batches(t, fixed{status: status}, io.Discard), "GET", "/v1/event-batches/b", ""); code != 200 || body != want {
			t.Errorf("%d %s, want %s", code, body, want)
		}
	}
	for _, method := range []string{"GET /v1/event-batches/b", "POST /v1/event-batches"} {
		verb, target, _ := strings.Cut(method, " ")
		if code, body := call(t, batches(t, fixed{err: errors.New("inner text")}, io.Discard), verb, target, "{}"); code != 500 || strings.Contains(body, "inner text") {
			t.Errorf("%s: %d %s", method, code, body)
		}
	}
}

// Where there is no bucket for uploads, there are no routes.
func TestWithoutUploadsThereAreNoBatches(t *testing.T) {
	t.Parallel()
	if code, body := call(t, batches(t, nil, io.Discard), "POST", "/v1/event-batches", "{}"); code != 404 || !strings.Contains(body, "unknown_route") {
		t.Errorf("%d %s", code, body)
	}
}

func TestTheSamplesOfBatches(t *testing.T) {
	t.Parallel()
	serve := edge.Adapt(batches(t, realUploads(t), io.Discard), edge.AdapterOptions{Logger: slog.New(slog.DiscardHandler)})
	for sample, want := range map[string]int{"create": 201, "status": 404} {
		raw, err := os.ReadFile("../../events/event-batches-" + sample + ".json")
		if err != nil {
			t.Fatal(err)
		}
		var event events.APIGatewayV2HTTPRequest
		if err := json.Unmarshal(raw, &event); err != nil {
			t.Fatal(err)
		}
		if answer, err := serve(t.Context(), event); err != nil || answer.StatusCode != want {
			t.Errorf("%s: %d %s %v", sample, answer.StatusCode, answer.Body, err)
		}
	}
}
