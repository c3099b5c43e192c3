package eventapi_test

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/heatsink-dev/heatsink/pkg/buffer"
	"github.com/heatsink-dev/heatsink/pkg/catalog"
	"github.com/heatsink-dev/heatsink/pkg/cursor"
	"github.com/heatsink-dev/heatsink/pkg/ddb"
	"github.com/heatsink-dev/heatsink/pkg/ddbtest"
	"github.com/heatsink-dev/heatsink/pkg/edge"
	"github.com/heatsink-dev/heatsink/pkg/eventapi"
	"github.com/heatsink-dev/heatsink/pkg/shard"
)

const today = "2026-11-30"

// fixture is the surface over real tables.
type fixture struct {
	*testing.T
	clock        *ddbtest.Clock
	faults       *ddbtest.Faults
	handler      http.Handler
	table        string
	log, metrics *bytes.Buffer
}

func newFixture(t *testing.T, change ...func(*buffer.Config)) *fixture {
	t.Helper()
	tables, err := catalog.Load()
	if err != nil {
		t.Fatal(err)
	}
	events, _ := tables.Table(catalog.EventTable)
	requests, _ := tables.Table(catalog.EventRequestTable)
	layout, err := shard.NewLayout(catalog.EventShards()...)
	if err != nil {
		t.Fatal(err)
	}
	key, err := cursor.DeriveKey(bytes.Repeat([]byte("k"), 32), "v1")
	if err != nil {
		t.Fatal(err)
	}
	f := &fixture{
		T: t, clock: ddbtest.NewClock(time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)), faults: ddbtest.NewFaults(t, 0),
		table: ddbtest.Table(t, events), log: &bytes.Buffer{}, metrics: &bytes.Buffer{},
	}
	config := buffer.Config{
		Client: ddbtest.Client(t, ddb.Metered, f.faults.Install), Table: f.table, RequestTable: ddbtest.Table(t, requests), Layout: layout,
		Cursors: cursor.New(cursor.NewStaticKeyring(key), cursor.Options{Now: f.clock.Now}), Now: f.clock.Now,
	}
	for _, set := range change {
		set(&config)
	}
	store, err := buffer.New(config)
	if err != nil {
		t.Fatal(err)
	}
	api, err := eventapi.New(store, eventapi.Options{TenantClaim: "tenant"})
	if err != nil {
		t.Fatal(err)
	}
	router := edge.NewRouter(edge.RouterConfig{Logger: edge.NewLogger(f.log, slog.LevelInfo), Metrics: edge.NewMetrics(f.metrics, "Heatsink", "events", nil)})
	api.Register(router)
	f.handler = router
	return f
}

// answer is any body of the surface.
type answer struct {
	status    int
	header    http.Header
	BatchID   string
	IDs       []*string
	ID        string
	Items     []item
	Cursor    string
	Pending   *int
	Failed    *int
	Code      string
	Detail    string
	Successor string
	Position  *int
	NotStored []int
	Unknown   []int
	item
}

type item struct {
	ID, BatchID, Date string
	Time              int64
	Retry             int
	Data              json.RawMessage
	LastError, DoneAt string
	Successor         string
}

// do calls with a header: name, value.
func (f *fixture) do(method, target, body string, header ...string) answer {
	f.Helper()
	request := httptest.NewRequestWithContext(f.Context(), method, target, strings.NewReader(body))
	for n := 0; n+1 < len(header); n += 2 {
		request.Header.Add(header[n], header[n+1])
	}
	recorder := httptest.NewRecorder()
	f.handler.ServeHTTP(recorder, request)
	got := answer{status: recorder.Code, header: recorder.Header()}
	if recorder.Body.Len() > 0 {
		if err := json.Unmarshal(recorder.Body.Bytes(), &got); err != nil {
			f.Fatalf("%s %s: %q: %v", method, target, recorder.Body, err)
		}
		if err := json.Unmarshal(recorder.Body.Bytes(), &got.item); err != nil {
			f.Fatal(err)
		}
	}
	return got
}

// create stores events and gives their ids.
func (f *fixture) create(data ...string) []string {
	f.Helper()
	got := f.do("POST", "/v1/events", body(data...))
	if got.status != http.StatusCreated || len(got.IDs) != len(data) {
		f.Fatalf("%+v", got)
	}
	ids := make([]string, len(got.IDs))
	for n := range ids {
		ids[n] = *got.IDs[n]
	}
	return ids
}

func body(data ...string) string {
	return `{"events":[{"data":` + strings.Join(data, `},{"data":`) + `}]}`
}

// rows is the number of stored events.
func (f *fixture) rows() int {
	f.Helper()
	return len(ddbtest.Dump(f, ddbtest.Client(f), f.table))
}
