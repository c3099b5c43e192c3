package ingestjobs_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/google/go-cmp/cmp"

	"github.com/heatsink-dev/heatsink/pkg/edge"
	"github.com/heatsink-dev/heatsink/pkg/ingest"
	"github.com/heatsink-dev/heatsink/pkg/ingestjobs"
)

// service answers with a result, whatever it is told of.
type service struct {
	result ingest.Result
	err    error
	told   []ingest.Upload
	holds  []time.Duration
}

func (s *service) Ingest(ctx context.Context, upload ingest.Upload) (ingest.Result, error) {
	for _, hold := range s.holds {
		upload.Hold(ctx, hold)
	}
	upload.Hold = nil
	s.told = append(s.told, upload)
	return s.result, s.err
}

// queue remembers for how many seconds messages were hidden.
type queue struct {
	hidden []string
	err    error
}

func (q *queue) ChangeMessageVisibility(_ context.Context, in *sqs.ChangeMessageVisibilityInput, _ ...func(*sqs.Options)) (*sqs.ChangeMessageVisibilityOutput, error) {
	q.hidden = append(q.hidden, fmt.Sprintf("%s %s %d", *in.QueueUrl, *in.ReceiptHandle, in.VisibilityTimeout))
	return &sqs.ChangeMessageVisibilityOutput{}, q.err
}

// handler over a service and a queue.
type handler struct {
	*ingestjobs.Ingester
	service      *service
	queue        *queue
	log, metrics *bytes.Buffer
}

func newHandler(t testing.TB, s *service) *handler {
	t.Helper()
	h := &handler{service: s, queue: &queue{}, log: &bytes.Buffer{}, metrics: &bytes.Buffer{}}
	made, err := ingestjobs.New(ingestjobs.Config{
		Service: s, Bucket: "heatsink-uploads", Queue: h.queue, QueueURL: "queue", Logger: edge.NewLogger(h.log, slog.LevelInfo),
		Metrics: edge.NewMetrics(h.metrics, "Heatsink", "ingest", nil),
	})
	if err != nil {
		t.Fatal(err)
	}
	h.Ingester = made
	return h
}

// sample is a payload of events/.
func sample(t testing.TB, name string) events.SQSEvent {
	t.Helper()
	raw, err := os.ReadFile("../../events/ingest-" + name + ".json")
	if err != nil {
		t.Fatal(err)
	}
	var event events.SQSEvent
	if err := json.Unmarshal(raw, &event); err != nil {
		t.Fatal(err)
	}
	return event
}

// handle answers which messages stay.
func (h *handler) handle(t testing.TB, event events.SQSEvent) (stay []string) {
	t.Helper()
	answer, err := h.Handle(t.Context(), event)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := json.Marshal(answer)
	if err != nil || !strings.HasPrefix(string(raw), `{"batchItemFailures":[`) { // never null
		t.Fatalf("%s %v", raw, err)
	}
	for _, failure := range answer.BatchItemFailures {
		stay = append(stay, failure.ItemIdentifier)
	}
	return stay
}

const (
	messageID = "059f36b4-87a3-44ab-83d2-661975830a7d"
	receipt   = "queue AQEB-" + messageID + " "
)

func TestAMessageStaysUntilItsBatchIsSettled(t *testing.T) {
	t.Parallel()
	stays := []string{messageID}
	for name, test := range map[string]struct {
		service  service
		receives string
		stay     []string
		hidden   []string
	}{
		"done":                       {service: service{result: ingest.Result{Outcome: ingest.Finished, Ended: true}}},
		"superseded":                 {service: service{result: ingest.Result{Outcome: ingest.Superseded}}},
		"unknown":                    {service: service{result: ingest.Result{Outcome: ingest.Unknown}}},
		"held meanwhile":             {service: service{result: ingest.Result{Outcome: ingest.Finished}, holds: []time.Duration{75 * time.Second, 75 * time.Second}}, hidden: []string{receipt + "75", receipt + "75"}},
		"the time ended":             {service: service{result: ingest.Result{Outcome: ingest.Unfinished}}, stay: stays, hidden: []string{receipt + "0"}},
		"another worker":             {service: service{result: ingest.Result{Outcome: ingest.Busy, Wait: 41500 * time.Millisecond}}, stay: stays, hidden: []string{receipt + "43"}},
		"another worker, once more":  {service: service{result: ingest.Result{Outcome: ingest.Busy, Wait: 40 * time.Second}}, receives: "5", stay: stays, hidden: []string{receipt + "160"}},
		"an error":                   {service: service{err: errors.New("no table")}, stay: stays, hidden: []string{receipt + "10"}},
		"an error, the third time":   {service: service{err: errors.New("no table")}, receives: "3", stay: stays, hidden: []string{receipt + "40"}},
		"an error, the tenth time":   {service: service{err: errors.New("no table")}, receives: "10", stay: stays, hidden: []string{receipt + "900"}},
		"an error, no receive count": {service: service{err: errors.New("no table")}, receives: "x", stay: stays, hidden: []string{receipt + "10"}},
		"an outcome that is none":    {service: service{}, stay: stays, hidden: []string{receipt + "0"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHandler(t, &test.service)
			event := sample(t, "upload")
			if test.receives != "" {
				event.Records[0].Attributes["ApproximateReceiveCount"] = test.receives
			}
			stay := h.handle(t, event)
			if diff := cmp.Diff([][]string{test.stay, test.hidden}, [][]string{stay, h.queue.hidden}); diff != "" {
				t.Error(diff)
			}
			want := []ingest.Upload{{BatchID: "0123456789abcdef", ETag: "b026324c6904b2a9cb4b88d6d61c81d1", Version: "4137e328-5475-49a8-88d2-19cbf0830bf4"}}
			if diff := cmp.Diff(want, h.service.told); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestOfSeveralMessagesEachIsJudgedAlone(t *testing.T) {
	t.Parallel()
	h := newHandler(t, &service{result: ingest.Result{Outcome: ingest.Finished}})
	event := sample(t, "unreadable")
	event.Records = append(event.Records, sample(t, "upload").Records...)
	event.Records = append(event.Records, sample(t, "other-object").Records...)
	if diff := cmp.Diff([]string{"c2a4d0f1-0b5c-4f5e-9d5e-0d1f5a2b3c4d"}, h.handle(t, event)); diff != "" || len(h.service.told) != 1 {
		t.Errorf("%d uploads; %s", len(h.service.told), diff)
	}
	if diff := cmp.Diff([]string{"queue AQEB-c2a4d0f1-0b5c-4f5e-9d5e-0d1f5a2b3c4d 40"}, h.queue.hidden); diff != "" {
		t.Error(diff)
	}
}

func TestMessagesThatAreNotOfAnUpload(t *testing.T) {
	t.Parallel()
	good := sample(t, "upload").Records[0].Body
	for name, test := range map[string]struct {
		body string
		stay bool
	}{
		"no JSON":                {"x", true},
		"another detail":         {strings.Replace(good, "Object Created", "Object Deleted", 1), true},
		"another source":         {strings.Replace(good, "aws.s3", "aws.ec2", 1), true},
		"S3's test notification": {`{"Service":"Amazon S3","Event":"s3:TestEvent"}`, true},
		"no ETag":                {strings.Replace(good, `"etag"`, `"tag"`, 1), true},
		"another bucket":         {strings.Replace(good, `{"name":"heatsink-uploads"}`, `{"name":"else"}`, 1), false},
		"another prefix":         {strings.Replace(good, "uploads/0123456789abcdef", "else/0123456789abcdef", 1), false},
		"no batch":               {strings.Replace(good, "0123456789abcdef", "0123456789abcdeu", 1), false},
		"below a batch":          {strings.Replace(good, "0123456789abcdef", "0123456789abcdef/x", 1), false},
	} {
		h := newHandler(t, &service{})
		event := sample(t, "upload")
		event.Records[0].Body = test.body
		if stay := h.handle(t, event); (len(stay) == 1) != test.stay || len(h.service.told) != 0 {
			t.Errorf("%s: %v stay, %d uploads", name, stay, len(h.service.told))
		}
		if strings.Contains(h.log.String(), "0123456789") || h.log.Len() == 0 {
			t.Errorf("%s: log %s", name, h.log)
		}
	}
}

func TestOneLineAndOneLineOfMetricsAnUpload(t *testing.T) {
	t.Parallel()
	h := newHandler(t, &service{result: ingest.Result{
		Outcome: ingest.Finished, Ended: true, Accepted: 7, Rejected: 2,
		Status: ingest.Status{State: ingest.Failed, Reason: "the gzip stream is damaged", Progress: ingest.Progress{Accepted: 9, Rejected: 3, Faults: []ingest.Fault{{Line: 1, Reason: "is not JSON"}}}},
	}})
	h.handle(t, sample(t, "upload"))
	var line struct {
		Level, Message, BatchID, Outcome, Status, Reason           string
		Accepted, Rejected, AcceptedInAll, RejectedInAll, Receives int
	}
	if err := json.Unmarshal(h.log.Bytes(), &line); err != nil {
		t.Fatalf("%s: %v", h.log, err)
	}
	if line.Level != "WARN" || line.Message != "upload" || line.BatchID != "0123456789abcdef" || line.Outcome != "finished" || line.Status != "failed" ||
		line.Reason != "the gzip stream is damaged" || line.Accepted != 7 || line.Rejected != 2 || line.AcceptedInAll != 9 || line.RejectedInAll != 3 || line.Receives != 1 {
		t.Errorf("%+v", line)
	}
	var metrics map[string]any
	if err := json.Unmarshal(h.metrics.Bytes(), &metrics); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]any{"EventsIngested": 7.0, "EventsRejected": 2.0, "IngestFailed": 1.0, "UploadsSuperseded": 0.0, "Function": "ingest"} {
		if metrics[name] != want {
			t.Errorf("%s is %v, want %v", name, metrics[name], want)
		}
	}
	// Told of again, a failed batch has not failed once more.
	h.metrics.Reset()
	h.service.result.Ended, h.service.result.Accepted, h.service.result.Rejected = false, 0, 0
	h.handle(t, sample(t, "upload"))
	if !strings.Contains(h.metrics.String(), `"IngestFailed":0,`) {
		t.Error(h.metrics)
	}
}

// A message whose visibility cannot be changed comes when the queue's own time ends.
func TestAQueueThatFailsChangesNoAnswer(t *testing.T) {
	t.Parallel()
	h := newHandler(t, &service{result: ingest.Result{Outcome: ingest.Unfinished}})
	h.queue.err = errors.New("no queue")
	if stay := h.handle(t, sample(t, "upload")); len(stay) != 1 || !strings.Contains(h.log.String(), "visibility unchanged") {
		t.Errorf("%v, %s", stay, h.log)
	}
}

func TestNewNamesWhatIsMissing(t *testing.T) {
	t.Parallel()
	if _, err := ingestjobs.New(ingestjobs.Config{}); err == nil || !strings.Contains(err.Error(), "Config.Service") {
		t.Error(err)
	}
	if _, err := ingestjobs.New(ingestjobs.Config{Service: &service{}, Bucket: "b"}); err == nil || !strings.Contains(err.Error(), "Config.Queue") {
		t.Error(err)
	}
}

func FuzzMessage(f *testing.F) {
	for _, name := range []string{"upload", "other-object", "unreadable"} {
		f.Add(sample(f, name).Records[0].Body)
	}
	f.Fuzz(func(t *testing.T, body string) {
		h := newHandler(t, &service{result: ingest.Result{Outcome: ingest.Finished}})
		event := sample(t, "upload")
		event.Records[0].Body = body
		h.handle(t, event)
		for _, told := range h.service.told {
			if _, ok := ingest.BatchOf("uploads/" + told.BatchID); !ok || told.ETag == "" {
				t.Errorf("told of %+v", told)
			}
		}
	})
}

func ExampleIngester() {
	ingester, err := ingestjobs.New(ingestjobs.Config{
		Service: &service{result: ingest.Result{Outcome: ingest.Unfinished}}, Bucket: "uploads", Queue: &queue{}, QueueURL: "https://sqs.us-east-1.amazonaws.com/123456789012/uploads",
		Logger: slog.New(slog.DiscardHandler), Metrics: edge.NewMetrics(&bytes.Buffer{}, "Heatsink", "ingest", nil),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	answer, err := ingester.Handle(context.Background(), events.SQSEvent{Records: []events.SQSMessage{{
		MessageId: "m1", Body: `{"source":"aws.s3","detail-type":"Object Created","detail":{"bucket":{"name":"uploads"},"object":{"key":"uploads/0123456789abcdef","etag":"e1"}}}`,
	}}})
	fmt.Println(answer.BatchItemFailures, err)
	// Output: [{m1}] <nil>
}
