package e2e_test

import (
	"bytes"
	gocmp "cmp"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	sqstypes "github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/google/go-cmp/cmp"

	"github.com/heatsink-dev/heatsink/pkg/catalog"
	"github.com/heatsink-dev/heatsink/pkg/ddb"
	"github.com/heatsink-dev/heatsink/pkg/edge/routes"
	"github.com/heatsink-dev/heatsink/pkg/schema"
)

// batchAnswer is any answer about a batch.
type batchAnswer struct {
	BatchID, UploadURL string
	Status             any // a number in a problem
	Accepted           int
	RejectedCount      int
	Rejected           []struct {
		Line   int
		Reason string
	}
	Reason string
	Code   string
}

func (s *stage) batchCall(method, path, body string, status int) (got batchAnswer) {
	s.Helper()
	var sent []byte
	if body != "" {
		sent = []byte(body)
	}
	answer, err := s.http.Do(s.Context(), method, "/v1/event-batches"+path, "", sent)
	if err != nil {
		s.Fatal(err)
	}
	if err := json.Unmarshal(answer.Body, &got); err != nil || answer.Status != status {
		s.Fatalf("%s %s: HTTP %d, want %d: %.300s (%v)", method, path, answer.Status, status, answer.Body, err)
	}
	return got
}

// upload puts a body there, as any client would, and gives its ETag.
func (s *stage) upload(target string, body []byte) (etag string) {
	s.Helper()
	request, err := http.NewRequestWithContext(s.Context(), http.MethodPut, target, bytes.NewReader(body))
	if err != nil {
		s.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		s.Fatal(err)
	}
	text, err := io.ReadAll(answer.Body)
	if err := errors.Join(err, answer.Body.Close()); err != nil || answer.StatusCode != http.StatusOK {
		s.Fatalf("upload: HTTP %d %.300s (%v)", answer.StatusCode, text, err)
	}
	return strings.Trim(answer.Header.Get("ETag"), `"`)
}

// ended waits until a batch is done or failed.
func (s *stage) ended(id string) (got batchAnswer) {
	s.Helper()
	s.eventually("the batch is ingested", func() (bool, any) {
		got = s.batchCall("GET", "/"+id, "", 200)
		return got.Status == "done" || got.Status == "failed", fmt.Sprintf("%s, %d accepted", got.Status, got.Accepted)
	})
	return got
}

// itemsOf reads all events of a batch from the table, strongly consistent.
func (s *stage) itemsOf(id string) (items []ddb.Item) {
	s.Helper()
	name := s.table(catalog.EventTable)
	pages := dynamodb.NewScanPaginator(s.dynamo, &dynamodb.ScanInput{
		TableName: &name, ConsistentRead: aws.Bool(true), FilterExpression: aws.String("batch_id = :b"), ExpressionAttributeValues: ddb.Item{":b": text(id)},
	})
	for pages.HasMorePages() {
		page, err := pages.NextPage(s.Context())
		if err != nil {
			s.Fatal(err)
		}
		items = append(items, page.Items...)
	}
	return items
}

// ofBatch gives the data of all events of a batch in the order of their keys.
func (s *stage) ofBatch(id string) (data []string) {
	s.Helper()
	rows := map[string]string{}
	for _, item := range s.itemsOf(id) {
		sort, stored := item["message_sk"].(*types.AttributeValueMemberS).Value, item["json_data"].(*types.AttributeValueMemberS).Value
		if _, twice := rows[sort]; twice {
			s.Errorf("%s is in two shards", sort)
		}
		rows[sort] = stored
	}
	for _, key := range slices.Sorted(maps.Keys(rows)) {
		data = append(data, rows[key])
	}
	return data
}

func gzipped(t testing.TB, text []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	if _, err := w.Write(text); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// numbered are n lines, and what is to be stored of them.
func numbered(n int) (body []byte, want []string) {
	for number := range n {
		line := fmt.Sprintf(`{"n":%d,"text":"event %d of an upload"}`, number, number)
		body, want = append(append(body, line...), '\n'), append(want, line)
	}
	return body, want
}

func (s *stage) ingests(body []byte, want []string) time.Duration {
	s.Helper()
	batch := s.batchCall("POST", "", "{}", 201)
	if got := s.batchCall("GET", "/"+batch.BatchID, "", 200); got.Status != "waiting" {
		s.Errorf("%+v", got)
	}
	began := time.Now()
	s.upload(batch.UploadURL, body)
	got := s.ended(batch.BatchID)
	took := time.Since(began)
	if got.Status != "done" || got.Accepted != len(want) || got.RejectedCount != 0 || len(got.Rejected) != 0 {
		s.Errorf("%+v, want %d accepted", got, len(want))
	}
	stored := s.ofBatch(batch.BatchID)
	if !slices.Equal(stored, want) {
		s.Errorf("%d events are stored, want %d, in their order", len(stored), len(want))
	}
	s.forget(batch.BatchID)
	return took
}

// forget deletes the events of a batch: the local cloud reads a shard slowly that holds thousands.
func (s *stage) forget(id string) {
	s.Helper()
	var deletes []types.WriteRequest
	for _, item := range s.itemsOf(id) {
		deletes = append(deletes, types.WriteRequest{DeleteRequest: &types.DeleteRequest{Key: ddb.Item{"message_pk": item["message_pk"], "message_sk": item["message_sk"]}}})
	}
	// A delete may be sent again whatever became of it, so what an unanswered batch left is sent until none is.
	for len(deletes) > 0 {
		err := ddb.BatchWrite(s.Context(), s.dynamo, s.table(catalog.EventTable), []string{"message_pk", "message_sk"}, deletes, ddb.Policy{})
		if err == nil {
			return
		}
		left, ok := errors.AsType[*ddb.Leftovers](err)
		if !ok || s.Context().Err() != nil {
			s.Fatal(err)
		}
		deletes = append(left.Writes, left.Unknown...)
	}
}

// Through the real bucket, bus, queue and function: each event once, in the order of the lines. 6,000 events as gzip and plain; for HEATSINK_SOAK 60,000 each, again and
// again: the local cloud takes about a thousand puts a second, and hardly anything else meanwhile, so not beside other tests either.
func TestSoakUploads(t *testing.T) {
	s := onStage(t)
	soak, err := time.ParseDuration(gocmp.Or(os.Getenv("HEATSINK_SOAK"), "0s"))
	if err != nil {
		t.Fatal(err)
	}
	events := 6_000
	if soak > 0 {
		events, s.patience = 60_000, 10*time.Minute
	}
	body, want := numbered(events)
	for began, rounds := time.Now(), 0; rounds < 2 || time.Since(began) < soak; rounds++ {
		sent := body
		if rounds%2 == 0 {
			sent = gzipped(t, body)
		}
		s.Logf("%d events in %d bytes: done %s after the upload began", events, len(sent), s.ingests(sent, want).Round(time.Millisecond))
	}
}

func TestBadLinesAreReportedAndTheRestGoesOn(t *testing.T) {
	t.Parallel()
	s := onStage(t)
	batch := s.batchCall("POST", "", "{}", 201)
	s.upload(batch.UploadURL, []byte("1\r\nbad\n\n\"\xff\"\n"+`"`+strings.Repeat("x", 400_000)+`"`+"\n{\"last\":true}"))
	got := s.ended(batch.BatchID)
	var rejected []string
	for _, line := range got.Rejected {
		rejected = append(rejected, fmt.Sprintf("%d %s", line.Line, line.Reason))
	}
	want := []string{"2 is not JSON: error at byte 1", "4 is not UTF-8", "5 is longer than 400000 bytes"}
	if diff := cmp.Diff(want, rejected); diff != "" || got.Status != "done" || got.Accepted != 2 || got.RejectedCount != 3 {
		t.Errorf("%+v %s", got, diff)
	}
	if diff := cmp.Diff([]string{"1", `{"last":true}`}, s.ofBatch(batch.BatchID)); diff != "" {
		t.Error(diff)
	}
	// They are events like any other.
	ids := s.listed(batch.BatchID, time.Now().UTC().Format("2006-01-02"), "pending")
	if len(ids) != 2 {
		t.Fatalf("pending: %v", ids)
	}
	s.event("POST", "/"+ids[0]+"/complete", "", "", 204)
	if item := s.readEvent(ids[0]); item.DoneAt == "" || item.BatchID != batch.BatchID || string(item.Data) != "1" {
		t.Errorf("%+v", item)
	}
}

// A second upload to the same URL, and messages that come again, change nothing. Also not what was completed meanwhile.
func TestASecondUploadAndMessagesThatComeAgainChangeNothing(t *testing.T) {
	t.Parallel()
	s := onStage(t)
	batch := s.batchCall("POST", "", "{}", 201)
	etag := s.upload(batch.UploadURL, []byte("1\n2\n"))
	s.ended(batch.BatchID)
	ids := s.listed(batch.BatchID, time.Now().UTC().Format("2006-01-02"), "pending")
	if len(ids) != 2 {
		t.Fatalf("pending: %v", ids)
	}
	s.event("POST", "/"+ids[0]+"/complete", "", "", 204)
	s.upload(batch.UploadURL, []byte("\"another\"\n"))
	for range 3 {
		s.tell(batch.BatchID, etag)
	}
	s.drained()
	if got := s.batchCall("GET", "/"+batch.BatchID, "", 200); got.Status != "done" || got.Accepted != 2 {
		t.Errorf("%+v", got)
	}
	if diff := cmp.Diff([]string{"1", "2"}, s.ofBatch(batch.BatchID)); diff != "" {
		t.Error(diff)
	}
	if item := s.readEvent(ids[0]); item.DoneAt == "" {
		t.Error("the completed event came back")
	}
}

func TestABombFailsItsBatchAndNotTheFunction(t *testing.T) {
	t.Parallel()
	s := onStage(t)
	bomb := s.batchCall("POST", "", "{}", 201)
	s.upload(bomb.UploadURL, gzipped(t, append([]byte("1\n"), make([]byte, 100<<20)...)))
	cut := s.batchCall("POST", "", "{}", 201)
	whole := gzipped(t, []byte("1\n2\n"))
	s.upload(cut.UploadURL, whole[:len(whole)-2])
	for id, reason := range map[string]string{bomb.BatchID: "line 2 has more than 67108864 bytes: this is no newline-delimited JSON", cut.BatchID: "the gzip stream ends too early"} {
		if got := s.ended(id); got.Status != "failed" || got.Reason != reason || got.Accepted != len(s.ofBatch(id)) || got.Accepted == 0 {
			t.Errorf("%+v", got)
		}
	}
	body, want := numbered(10)
	s.ingests(body, want)
}

func TestABatchThatNobodyMadeIsNotFound(t *testing.T) {
	t.Parallel()
	s := onStage(t)
	for _, id := range []string{"0123456789abcdef", "x", url.PathEscape("0123456789abcdéf")} {
		if got := s.batchCall("GET", "/"+id, "", 404); got.Code != "batch_not_found" {
			t.Errorf("%s: %+v", id, got)
		}
	}
	if got := s.batchCall("POST", "", `{"events":[]}`, 400); got.Code != "invalid_parameter" {
		t.Errorf("%+v", got)
	}
}

// uploadQueue is the queue that function ingest reads.
func (s *stage) uploadQueue() (*sqs.Client, *string) {
	s.Helper()
	name := s.output(schema.FunctionOutput(routes.Ingest))
	mappings, err := s.lambda.ListEventSourceMappings(s.Context(), &lambda.ListEventSourceMappingsInput{FunctionName: &name})
	if err != nil || len(mappings.EventSourceMappings) != 1 {
		s.Fatalf("mappings of %s: %v", name, err)
	}
	arn := *mappings.EventSourceMappings[0].EventSourceArn
	client := sqs.NewFromConfig(s.config)
	queue, err := client.GetQueueUrl(s.Context(), &sqs.GetQueueUrlInput{QueueName: aws.String(arn[strings.LastIndex(arn, ":")+1:])})
	if err != nil {
		s.Fatal(err)
	}
	return client, queue.QueueUrl
}

// tell sends what EventBridge sends of an upload.
func (s *stage) tell(batchID, etag string) {
	s.Helper()
	client, queue := s.uploadQueue()
	body := fmt.Sprintf(`{"source":"aws.s3","detail-type":"Object Created","detail":{"bucket":{"name":%q},"object":{"key":%q,"size":4,"etag":%q}}}`,
		s.output(schema.OutputUploadBucket), schema.UploadPrefix+batchID, etag)
	if _, err := client.SendMessage(s.Context(), &sqs.SendMessageInput{QueueUrl: queue, MessageBody: &body}); err != nil {
		s.Fatal(err)
	}
}

// drained waits until no message is left, waiting or in work.
func (s *stage) drained() {
	s.Helper()
	client, queue := s.uploadQueue()
	s.eventually("the queue is empty", func() (bool, any) {
		got, err := client.GetQueueAttributes(s.Context(), &sqs.GetQueueAttributesInput{QueueUrl: queue, AttributeNames: []sqstypes.QueueAttributeName{sqstypes.QueueAttributeNameAll}})
		if err != nil {
			s.Fatal(err)
		}
		return got.Attributes["ApproximateNumberOfMessages"] == "0" && got.Attributes["ApproximateNumberOfMessagesNotVisible"] == "0", got.Attributes
	})
}
