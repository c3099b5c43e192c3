package e2e_test

import (
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"

	"github.com/heatsink-dev/heatsink/pkg/catalog"
	"github.com/heatsink-dev/heatsink/pkg/ddb"
)

// eventAnswer is any answer about events.
type eventAnswer struct {
	BatchID   string
	IDs       []string
	ID        string
	Items     []eventItem
	Cursor    string
	Pending   *int
	Failed    *int
	Code      string
	Detail    string
	Successor string
	Position  *int
}

type eventItem struct {
	ID, BatchID, Date string
	Time              int64
	Retry             int
	Data              json.RawMessage
	LastError, DoneAt string
	Successor         string
}

// event calls a path below /v1/events.
func (s *stage) event(method, path, query, body string, status int, headers ...string) (got eventAnswer) {
	s.Helper()
	var sent []byte
	if body != "" {
		sent = []byte(body)
	}
	answer, err := s.http.Do(s.Context(), method, "/v1/events"+path, query, sent, headers...)
	if err != nil {
		s.Fatal(err)
	}
	if answer.Status != status {
		s.Fatalf("%s %s: HTTP %d, want %d: %.300s", method, path, answer.Status, status, answer.Body)
	}
	if len(answer.Body) > 0 {
		if err := json.Unmarshal(answer.Body, &got); err != nil {
			s.Fatalf("%.300s: %v", answer.Body, err)
		}
	}
	return got
}

// readEvent reads one event.
func (s *stage) readEvent(id string) (got eventItem) {
	s.Helper()
	answer, err := s.http.Get(s.Context(), "/v1/events/"+id, nil)
	if err != nil || answer.Status != 200 {
		s.Fatal(err, string(answer.Body))
	}
	if err := json.Unmarshal(answer.Body, &got); err != nil {
		s.Fatal(err)
	}
	return got
}

// listed walks through a state of a date, and gives the ids of a batch: other tests store events at the same time.
func (s *stage) listed(batch, date, state string, more ...string) (ids []string) {
	s.Helper()
	values := url.Values{"date": {date}, "state": {state}, "limit": {"200"}}
	for n := 0; n+1 < len(more); n += 2 {
		values.Set(more[n], more[n+1])
	}
	for {
		page := s.event("GET", "", values.Encode(), "", 200)
		for _, item := range page.Items {
			if item.BatchID == batch {
				ids = append(ids, item.ID)
			}
		}
		if page.Cursor == "" {
			return ids
		}
		values.Set("cursor", page.Cursor)
	}
}

func eventsBody(data ...string) string {
	return `{"events":[{"data":` + strings.Join(data, `},{"data":`) + `}]}`
}

func TestAnEventsLifeOverHTTP(t *testing.T) {
	t.Parallel()
	s := onStage(t)
	data := `{"n":1.50,"text":"ü <&>"}`
	created := s.event("POST", "", "", eventsBody(data, "2"), 201)
	id, other := created.IDs[0], created.IDs[1]
	item := s.readEvent(id)
	if string(item.Data) != data || item.BatchID != created.BatchID || item.Retry != 0 || item.DoneAt != "" {
		t.Errorf("%+v", item)
	}
	at := strconv.FormatInt(item.Time, 10)
	if got := s.listed(created.BatchID, item.Date, "pending", "from", at, "to", at); !slices.Equal(got, created.IDs) {
		t.Errorf("pending in its own millisecond: %v", got)
	}
	for _, outside := range [][]string{{"from", strconv.FormatInt(item.Time+1, 10)}, {"to", strconv.FormatInt(item.Time-1, 10)}} {
		if got := s.listed(created.BatchID, item.Date, "all", outside...); len(got) != 0 {
			t.Errorf("%v: %v", outside, got)
		}
	}
	next := s.event("POST", "/"+id+"/retry", "", `{"error":"no answer"}`, 201).ID
	if fresh := s.readEvent(next); fresh.Retry != 1 || fresh.LastError != "no answer" || fresh.Date != item.Date || string(fresh.Data) != data {
		t.Errorf("%+v", fresh)
	}
	for call, body := range map[string]string{"complete": "", "retry": "{}"} {
		if got := s.event("POST", "/"+id+"/"+call, "", body, 409); got.Code != "event_retried" || got.Successor != next {
			t.Errorf("%s: %+v", call, got)
		}
	}
	if got := s.listed(created.BatchID, item.Date, "failed", "from", at); !slices.Equal(got, []string{next}) {
		t.Errorf("failed: %v", got)
	}
	stats := s.event("GET", "/stats", "date="+item.Date, "", 200)
	if *stats.Pending < 2 || *stats.Failed < 1 {
		t.Errorf("%d pending, %d failed", *stats.Pending, *stats.Failed)
	}
	for range 2 {
		s.event("POST", "/"+next+"/complete", "", "", 204)
	}
	if got := s.event("POST", "/"+next+"/retry", "", "{}", 409); got.Code != "event_done" {
		t.Errorf("%+v", got)
	}
	if got := s.listed(created.BatchID, item.Date, "pending", "from", at); !slices.Equal(got, []string{other}) {
		t.Errorf("pending: %v", got)
	}
	if got := s.listed(created.BatchID, item.Date, "all", "from", at); len(got) != 3 {
		t.Errorf("all: %v", got)
	}
}

// What the contract says of the table, for those who read it themselves.
func TestTheEventTableIsWhatTheContractSays(t *testing.T) {
	t.Parallel()
	s := onStage(t)
	created := s.event("POST", "", "", eventsBody(`{"a":1}`), 201)
	item := s.readEvent(created.IDs[0])
	table := s.table(catalog.EventTable)
	var found ddb.Item
	for number := range catalog.EventShards()[0].Shards {
		out, err := s.dynamo.Query(t.Context(), &dynamodb.QueryInput{
			TableName: &table, IndexName: aws.String("pending-index"),
			KeyConditionExpression: aws.String("pending_message_pk = :p AND begins_with(pending_message_sk, :t)"),
			FilterExpression:       aws.String("batch_id = :b"),
			ExpressionAttributeValues: ddb.Item{
				":p": text(item.Date + "#" + strconv.Itoa(number)), ":t": text(strconv.FormatInt(item.Time, 10)), ":b": text(created.BatchID),
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		for _, row := range out.Items {
			found = row
		}
	}
	if found == nil {
		t.Fatal("no shard of pending-index has it")
	}
	partition, ok := found["message_pk"].(*types.AttributeValueMemberS)
	if !ok || !strings.HasPrefix(partition.Value, item.Date+"#") {
		t.Errorf("%v", found["message_pk"])
	}
	for name, want := range map[string]string{"json_data": `{"a":1}`, "batch_id": created.BatchID} {
		if got, _ := found[name].(*types.AttributeValueMemberS); got == nil || got.Value != want {
			t.Errorf("%s: %v", name, found[name])
		}
	}
	if expires, _ := found["expiration_time"].(*types.AttributeValueMemberN); expires == nil || expires.Value != strconv.FormatInt(item.Time/1000+90*86400, 10) {
		t.Errorf("expiration_time: %v", found["expiration_time"])
	}
}

// Thousands in one request, over the real function: every one stored once, in order, from all shards, in both directions.
func TestThousandsOfEventsInOneRequest(t *testing.T) {
	t.Parallel()
	const count = 3000
	s := onStage(t)
	data := make([]string, count)
	for n := range data {
		data[n] = strconv.Itoa(n)
	}
	created := s.event("POST", "", "", eventsBody(data...), 201)
	if len(created.IDs) != count {
		t.Fatalf("%d ids", len(created.IDs))
	}
	item := s.readEvent(created.IDs[count-1])
	if string(item.Data) != strconv.Itoa(count-1) {
		t.Errorf("the last event is %s", item.Data)
	}
	at := strconv.FormatInt(item.Time, 10)
	for _, state := range []string{"pending", "all"} {
		up := s.listed(created.BatchID, item.Date, state, "from", at, "limit", "1000")
		down := s.listed(created.BatchID, item.Date, state, "from", at, "limit", "1000", "order", "desc")
		slices.Reverse(down)
		if !slices.Equal(up, created.IDs) || !slices.Equal(down, created.IDs) {
			t.Errorf("%s: %d up, %d down, want the %d of the request in order", state, len(up), len(down), count)
		}
	}
}

func TestRepeatsWithAKeyMeetEachOther(t *testing.T) {
	t.Parallel()
	s := onStage(t)
	key := []string{"Idempotency-Key", fmt.Sprintf("%.60s", strings.ReplaceAll(s.prefix, "_", "-"))}
	answers := make([]eventAnswer, 4)
	var group sync.WaitGroup
	for n := range answers {
		group.Go(func() { answers[n] = s.event("POST", "", "", eventsBody("1", "2", "3"), 201, key...) })
	}
	group.Wait()
	for _, answer := range answers[1:] {
		if diff := cmp.Diff(answers[0].IDs, answer.IDs); diff != "" {
			t.Error(diff)
		}
	}
	item := s.readEvent(answers[0].IDs[0])
	if got := s.listed(item.BatchID, item.Date, "all", "from", strconv.FormatInt(item.Time, 10)); !slices.Equal(got, answers[0].IDs) {
		t.Errorf("%v", got)
	}
	if got := s.event("POST", "", "", eventsBody("1", "2"), 409, key...); got.Code != "idempotency_mismatch" {
		t.Errorf("%+v", got)
	}
}

// Retry against retry against complete, over HTTP: exactly one successor or a completion.
func TestRetryAgainstRetryAgainstCompleteOverHTTP(t *testing.T) {
	t.Parallel()
	s := onStage(t)
	const count = 12
	created := s.event("POST", "", "", eventsBody(strings.Split(strings.Repeat("1", count), "")...), 201)
	for _, id := range created.IDs {
		statuses := make([]int, 3)
		var group sync.WaitGroup
		for n, call := range []string{"retry", "retry", "complete"} {
			group.Go(func() {
				var body []byte
				if call == "retry" {
					body = []byte(`{"error":"race"}`)
				}
				answer, err := s.http.Do(t.Context(), "POST", "/v1/events/"+id+"/"+call, "", body)
				if err != nil {
					t.Error(err)
					return
				}
				statuses[n] = answer.Status
			})
		}
		group.Wait()
		item := s.readEvent(id)
		slices.Sort(statuses[:2])
		want := []int{201, 409, 409}
		if item.Successor == "" {
			want = []int{409, 409, 204}
		}
		if diff := cmp.Diff(want, statuses); diff != "" || item.DoneAt == "" {
			t.Errorf("%+v: %s", item, diff)
		}
	}
}

func TestBadEventsHaveTheCodesOfTheContract(t *testing.T) {
	t.Parallel()
	s := onStage(t)
	for _, test := range []struct {
		method, path, query, body string
		status                    int
		code, detail              string
	}{
		{"POST", "", "", `{"events":[]}`, 400, "invalid_parameter", "events"},
		{"POST", "", "", `{"events":[{"data":1,"x":2}]}`, 400, "invalid_parameter", "x"},
		{"POST", "", "", eventsBody("1", `"`+strings.Repeat("x", 400_000)+`"`), 413, "too_large", "events[1].data"},
		{"POST", "", "", eventsBody(`"` + strings.Repeat("x", 2_500_000) + `"`), 413, "too_large", "2,500,000"},
		{"GET", "", "date=2026-02-30&state=all", "", 400, "invalid_parameter", "date"},
		{"GET", "", "date=2026-11-30&state=none", "", 400, "invalid_parameter", "state"},
		{"GET", "", "date=2026-11-30&state=all&from=10000000000000", "", 400, "invalid_parameter", "from"},
		{"GET", "", "date=2026-11-30&state=all&cursor=forged", "", 400, "invalid_cursor", ""},
		{"GET", "", "date=2026-11-30&state=all&nobody=1", "", 400, "invalid_parameter", "nobody"},
		{"GET", "/stats", "date=x", "", 400, "invalid_parameter", "date"},
		{"GET", "/nobody", "", "", 404, "event_not_found", ""},
		{"POST", "/nobody/complete", "", "", 404, "event_not_found", ""},
		{"POST", "/nobody/retry", "", `{"error":"` + strings.Repeat("x", 2049) + `"}`, 404, "event_not_found", ""},
	} {
		got := s.event(test.method, test.path, test.query, test.body, test.status)
		if got.Code != test.code || !strings.Contains(got.Detail, test.detail) {
			t.Errorf("%s %s %s %.60s: %+v", test.method, test.path, test.query, test.body, got)
		}
	}
}
