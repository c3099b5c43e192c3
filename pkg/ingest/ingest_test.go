package ingest_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	s3types "github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/heatsink-dev/heatsink/pkg/buffer"
	"github.com/heatsink-dev/heatsink/pkg/ddb"
	"github.com/heatsink-dev/heatsink/pkg/ddbtest"
	"github.com/heatsink-dev/heatsink/pkg/ingest"
	"github.com/heatsink-dev/heatsink/pkg/schema"
)

func TestAnUploadIsStoredLineByLine(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for name, body := range map[string][]byte{
		"plain": []byte(sample), "gzip": zipped(t, sample), "gzip in members": append(zipped(t, sample[:20]), zipped(t, sample[20:])...),
	} {
		id := w.batch()
		w.holds(id, ingest.Waiting, nil)
		upload := w.put(id, body)
		got := w.ingest(w.ingester(), upload)
		if got.Outcome != ingest.Finished || !got.Ended || got.Accepted != 10 || got.Rejected != 2 {
			t.Errorf("%s: %+v", name, got)
		}
		w.holds(id, ingest.Done, sampleLines, sampleRejected...)
		if faults := w.status(id).Faults; faults[0].Reason != "is not JSON: error at byte 1" {
			t.Errorf("%s: %v", name, faults)
		}
		// Told again it is one read of the record.
		counted := &crasher{Client: ddbtest.Client(t), objects: w.s3}
		again := w.ingest(w.ingester(func(c *ingest.Config) { c.Client, c.Objects = counted, counted }), upload)
		if again.Outcome != ingest.Finished || again.Ended || again.Accepted != 0 || counted.calls != 1 {
			t.Errorf("%s again: %+v, %d calls", name, again, counted.calls)
		}
	}
}

func TestAnEventOfAnUploadIsAnEventLikeAnyOther(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.batch()
	w.clock.Advance(10 * time.Minute) // the time is that of the ingest, not of the asking
	w.ingest(w.ingester(), w.put(id, []byte("7")))
	rows := ddbtest.Dump(t, ddbtest.Client(t), w.events)
	if len(rows) != 1 {
		t.Fatalf("%d rows", len(rows))
	}
	key, _ := buffer.ParseID(strings.Replace(text(rows[0], "message_pk"), "#", ".", 1) + "." + text(rows[0], "message_sk"))
	event, err := w.store(ddbtest.Client(t)).Get(t.Context(), key.ID())
	if err != nil || event.BatchID != id || string(event.Data) != "7" || event.Time != noon.Add(10*time.Minute).UnixMilli() || event.Retry != 0 || event.DoneAt != "" {
		t.Errorf("%+v %v", event, err)
	}
}

func TestAnEmptyUploadIsDone(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, body := range [][]byte{nil, []byte("\n\n \r\n"), zipped(t, "")} {
		id := w.batch()
		w.ingest(w.ingester(), w.put(id, body))
		w.holds(id, ingest.Done, nil)
	}
}

func TestAllRejectedLinesAreCountedAndTheFirstHundredAreNamed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.batch()
	var rejected []int
	for n := range 250 {
		rejected = append(rejected, n+1)
	}
	w.ingest(w.ingester(func(c *ingest.Config) { c.WindowEvents = 50 }), w.put(id, []byte(strings.Repeat("x\n", 250)+"1\n")))
	w.holds(id, ingest.Done, map[int]string{251: "1"}, rejected...)
}

// The n-th call of any client is the last, before or after it took effect; then the message comes again, to a new process.
func TestAfterACrashAtAnyCallNothingIsLostAndNothingDoubled(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	run := func(at int, after bool) *crasher {
		id := w.batch()
		upload := w.put(id, zipped(t, sample))
		c := &crasher{Client: ddbtest.Client(t), objects: w.s3, at: at, after: after}
		_, err := w.ingester(func(config *ingest.Config) { config.Client, config.Objects, config.Events = c, c, w.store(c) }).Ingest(t.Context(), upload)
		if at > 0 && !errors.Is(err, errCrash) {
			t.Errorf("crash at %d: %v", at, err)
		}
		if at > 0 {
			state := w.status(id)
			if state.Accepted > len(w.rows(id)) {
				t.Errorf("crash at %d: %d are said to be accepted, %d are stored", at, state.Accepted, len(w.rows(id)))
			}
			// The dead worker's lease is respected, and ends.
			if got := w.ingest(w.ingester(), upload); got.Outcome == ingest.Busy {
				w.clock.Advance(got.Wait)
				got = w.ingest(w.ingester(), upload)
				if got.Outcome != ingest.Finished {
					t.Errorf("crash at %d: %+v", at, got)
				}
			}
		}
		w.holds(id, ingest.Done, sampleLines, sampleRejected...)
		return c
	}
	calls := run(0, false).calls
	if calls < 15 {
		t.Fatalf("only %d calls", calls)
	}
	for at := 1; at <= calls; at++ {
		run(at, false)
		run(at, true)
	}
}

// A crash at every attempt: each process gets one call further.
func TestItGetsThereAlsoWhenEveryProcessCrashes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.batch()
	upload := w.put(id, []byte(sample))
	for at := 1; ; at++ {
		c := &crasher{Client: ddbtest.Client(t), objects: w.s3, at: at, after: at%2 == 0}
		result, err := w.ingester(func(config *ingest.Config) { config.Client, config.Objects, config.Events = c, c, w.store(c) }).Ingest(t.Context(), upload)
		if err == nil && result.Outcome.Settled() {
			break
		}
		w.clock.Advance(time.Minute)
		if at > 40 {
			t.Fatal("it never ends")
		}
	}
	w.holds(id, ingest.Done, sampleLines, sampleRejected...)
}

func TestASecondUploadChangesNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	other := []byte("\"other\"\n")

	t.Run("after the first is done", func(t *testing.T) {
		id := w.batch()
		w.ingest(w.ingester(), w.put(id, []byte(sample)))
		if got := w.ingest(w.ingester(), w.put(id, other)); got.Outcome != ingest.Superseded {
			t.Errorf("%+v", got)
		}
		w.holds(id, ingest.Done, sampleLines, sampleRejected...)
	})
	t.Run("while the first is ingested", func(t *testing.T) {
		id := w.batch()
		first := w.put(id, []byte(sample))
		broken := stopAt(5)
		if got, err := w.ingester(broken.install).Ingest(t.Context(), first); err != nil || got.Outcome != ingest.Unfinished {
			t.Fatalf("%+v %v", got, err)
		}
		second := w.put(id, other)
		if got := w.ingest(w.ingester(), second); got.Outcome != ingest.Superseded {
			t.Errorf("%+v", got)
		}
		first.Version = "" // a message need not tell it: the record does
		if got := w.ingest(w.ingester(), first); got.Outcome != ingest.Finished {
			t.Errorf("%+v", got)
		}
		w.holds(id, ingest.Done, sampleLines, sampleRejected...)
	})
	t.Run("before anyone was told of the first", func(t *testing.T) {
		id := w.batch()
		first, second := w.put(id, []byte(sample)), w.put(id, other)
		if got := w.ingest(w.ingester(), first); got.Outcome != ingest.Finished {
			t.Errorf("%+v", got)
		}
		if got := w.ingest(w.ingester(), second); got.Outcome != ingest.Superseded {
			t.Errorf("%+v", got)
		}
		w.holds(id, ingest.Done, sampleLines, sampleRejected...)
	})
	t.Run("told of before the first", func(t *testing.T) {
		id := w.batch()
		first, second := w.put(id, []byte(sample)), w.put(id, other)
		if got := w.ingest(w.ingester(), second); got.Outcome != ingest.Finished {
			t.Errorf("%+v", got)
		}
		if got := w.ingest(w.ingester(), first); got.Outcome != ingest.Superseded {
			t.Errorf("%+v", got)
		}
		w.holds(id, ingest.Done, map[int]string{1: `"other"`})
	})
	t.Run("where messages tell no version", func(t *testing.T) {
		id := w.batch()
		first, second := w.put(id, []byte(sample)), w.put(id, other)
		first.Version, second.Version = "", ""
		if got := w.ingest(w.ingester(), first); got.Outcome != ingest.Superseded {
			t.Errorf("%+v", got)
		}
		w.holds(id, ingest.Waiting, nil)
		if got := w.ingest(w.ingester(), second); got.Outcome != ingest.Finished {
			t.Errorf("%+v", got)
		}
		w.holds(id, ingest.Done, map[int]string{1: `"other"`})
	})
	t.Run("of the same content", func(t *testing.T) {
		id := w.batch()
		first, second := w.put(id, []byte(sample)), w.put(id, []byte(sample))
		for _, upload := range []ingest.Upload{second, first} {
			if got := w.ingest(w.ingester(), upload); got.Outcome != ingest.Finished {
				t.Errorf("%+v", got)
			}
		}
		w.holds(id, ingest.Done, sampleLines, sampleRejected...)
	})
}

// Without versions, an object that is replaced in the middle cannot be read to its end: the batch says so, and counts what is stored.
func TestAnObjectThatIsGoneInTheMiddleFailsTheBatch(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.versions(s3types.BucketVersioningStatusSuspended)
	for name, change := range map[string]func(id string){
		"replaced": func(id string) { w.put(id, []byte("1")) },
		"removed": func(id string) {
			if _, err := w.s3.DeleteObject(t.Context(), &s3.DeleteObjectInput{Bucket: &w.bucket, Key: aws.String(schema.UploadPrefix + id)}); err != nil {
				t.Fatal(err)
			}
		},
	} {
		id := w.batch()
		upload := w.put(id, []byte(sample))
		if got, err := w.ingester(stopAt(8).install).Ingest(t.Context(), upload); err != nil || got.Outcome != ingest.Unfinished {
			t.Fatalf("%s: %+v %v", name, got, err)
		}
		change(id)
		got := w.ingest(w.ingester(), upload)
		if got.Outcome != ingest.Finished || got.Status.State != ingest.Failed || w.status(id).Reason != "the upload was removed or replaced before it was ingested to its end" {
			t.Errorf("%s: %+v", name, got)
		}
		w.holds(id, ingest.Failed, firstLines(8), 3)
	}
}

func TestBadContentFailsTheBatchAndCountsWhatIsStored(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	whole := zipped(t, sample)
	incompressible := zipped(t, sample+"\n\""+strings.Repeat("0123456789abcdef", 40)+"\"\n")
	small := func(c *ingest.Config) { c.MaxContentBytes, c.MaxObjectBytes, c.MaxLines = 200, 100_000, 20 }
	for name, test := range map[string]struct {
		body   []byte
		reason string
		lines  int // of the sample
	}{
		"a bomb of blank lines":        {zipped(t, sample+strings.Repeat("\n", 5_000_000)), "the upload has more than 20 lines", 13},
		"a bomb of one line":           {zipped(t, sample+"\n"+strings.Repeat("x", 50_000_000)), "the upload holds more than 200 bytes", 13},
		"plain and too long":           {[]byte(sample + "\n" + strings.Repeat("x", 500)), "the upload holds more than 200 bytes", 13},
		"more bytes than an upload":    {[]byte(sample + strings.Repeat("\n", 100_000)), "the upload has more than 100000 bytes", 0},
		"too many lines":               {[]byte(sample + strings.Repeat("\n", 9)), "the upload has more than 20 lines", 13},
		"a gzip stream that is cut":    {whole[:len(whole)-4], "the gzip stream ends too early", 13},
		"a gzip header alone":          {whole[:9], "the gzip stream ends too early", 0},
		"something behind the stream":  {append(bytes.Clone(whole), "\n1\n2\n3\n4\n5\n"...), "the gzip stream is damaged", 13},
		"a stream cut within an event": {incompressible[:len(incompressible)-20], "the gzip stream ends too early", 13},
	} {
		id := w.batch()
		got := w.ingest(w.ingester(small), w.put(id, test.body))
		status := w.status(id)
		if got.Outcome != ingest.Finished || !got.Ended || status.Reason != test.reason {
			t.Errorf("%s: %+v, reason %q", name, got, status.Reason)
		}
		// A line that the damage may have cut is not stored: the last one where nothing ended it.
		stored := firstLines(test.lines)
		if n := len(w.rows(id)); n == len(stored)-1 {
			delete(stored, 13)
		}
		var rejected []int
		if test.lines > 0 {
			rejected = sampleRejected
		}
		w.holds(id, ingest.Failed, stored, rejected...)
		if got := w.ingest(w.ingester(small), w.put(id, []byte("1"))); got.Outcome != ingest.Superseded {
			t.Errorf("%s: another upload to a failed batch: %+v", name, got)
		}
	}
}

func TestUnknownAndExpiredBatchesAreLeftAlone(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.batch()
	upload := w.put(id, []byte(sample))
	if got := w.ingest(w.ingester(), ingest.Upload{BatchID: "0123456789abcdef", ETag: upload.ETag}); got.Outcome != ingest.Unknown {
		t.Errorf("%+v", got)
	}
	w.clock.Advance(ingest.RecordLife)
	if got := w.ingest(w.ingester(), upload); got.Outcome != ingest.Unknown {
		t.Errorf("%+v", got)
	}
	for _, id := range []string{id, "0123456789abcdef", "", "no batch", "../x"} {
		if _, err := w.uploads().Status(t.Context(), id); !errors.Is(err, ingest.ErrNotFound) {
			t.Errorf("status of %q: %v", id, err)
		}
	}
	if n := len(ddbtest.Dump(t, ddbtest.Client(t), w.events)); n != 0 {
		t.Errorf("%d events", n)
	}
}

func TestOfManyWorkersAtOneUploadOneWorks(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.batch()
	var body strings.Builder
	lines := map[int]string{}
	for n := 1; n <= 300; n++ {
		fmt.Fprintln(&body, n)
		lines[n] = fmt.Sprint(n)
	}
	upload := w.put(id, []byte(body.String()))
	var ended, puts atomic.Int32
	var group sync.WaitGroup
	for range 8 {
		i := w.ingester(func(c *ingest.Config) { c.Events = &counting{Events: c.Events, stored: &puts} })
		group.Go(func() {
			got, err := i.Ingest(t.Context(), upload)
			if err != nil || got.Outcome != ingest.Busy && got.Outcome != ingest.Finished {
				t.Errorf("%+v %v", got, err)
			}
			if got.Ended {
				ended.Add(1)
			}
		})
	}
	group.Wait()
	if ended.Load() != 1 || puts.Load() != 300 {
		t.Errorf("%d workers ended the batch, %d events were given to the store", ended.Load(), puts.Load())
	}
	w.holds(id, ingest.Done, lines)
}

// A worker that stood still for longer than its lease finds the batch another's: it can change no number, and stores nothing that is not stored anyway.
func TestAWorkerThatLostItsLeaseChangesNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.batch()
	upload := w.put(id, []byte(sample))
	stalled, goOn := make(chan struct{}), make(chan struct{})
	var once sync.Once
	slow := w.ingester(func(c *ingest.Config) {
		c.Events = &hooked{Events: c.Events, before: func(context.Context, int) error {
			once.Do(func() {
				close(stalled)
				<-goOn
			})
			return nil
		}}
	})
	type outcome struct {
		result ingest.Result
		err    error
	}
	ended := make(chan outcome)
	go func() {
		result, err := slow.Ingest(t.Context(), upload)
		ended <- outcome{result, err}
	}()
	<-stalled
	if got := w.ingest(w.ingester(), upload); got.Outcome != ingest.Busy || got.Wait != time.Minute {
		t.Errorf("beside a worker: %+v", got)
	}
	w.clock.Advance(time.Minute)
	if got := w.ingest(w.ingester(), upload); got.Outcome != ingest.Finished || !got.Ended {
		t.Errorf("after the lease: %+v", got)
	}
	close(goOn)
	if got := <-ended; got.err != nil || got.result.Outcome != ingest.Busy || got.result.Ended {
		t.Errorf("the slow worker: %+v", got)
	}
	w.holds(id, ingest.Done, sampleLines, sampleRejected...)
}

// While a window takes long, the lease is renewed.
func TestAWorkerKeepsItsLeaseWhileItWaits(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.batch()
	upload := w.put(id, []byte(sample))
	holds := make(chan time.Duration, 1000)
	upload.Hold = func(_ context.Context, hidden time.Duration) { holds <- hidden }
	got := w.ingest(w.ingester(func(c *ingest.Config) {
		c.Lease = 30 * time.Millisecond // a beat each 10 ms
		c.Events = &hooked{Events: c.Events, before: func(ctx context.Context, first int) error {
			if first == 0 {
				for range 4 { // the first is at the beginning
					<-holds
					w.clock.Advance(20 * time.Millisecond)
				}
				if got, err := w.ingester().Ingest(ctx, ingest.Upload{BatchID: id, ETag: upload.ETag}); err != nil || got.Outcome != ingest.Busy {
					t.Errorf("80 ms later: %+v %v", got, err)
				}
			}
			return nil
		}}
	}), upload)
	if got.Outcome != ingest.Finished {
		t.Errorf("%+v", got)
	}
	w.holds(id, ingest.Done, sampleLines, sampleRejected...)
}

func TestWhenTheTimeEndsTheNextCallGoesOn(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for name, reason := range map[string]error{"deadline": context.DeadlineExceeded, "throttled": buffer.ErrThrottled} {
		id := w.batch()
		upload := w.put(id, zipped(t, sample))
		accepted, calls := 0, 0
		for ; calls < 10; calls++ {
			broken := &stopping{at: []int{5, 8, 12, 99}[min(calls, 3)], reason: reason} // windows of 3 events
			got, err := w.ingester(broken.install).Ingest(t.Context(), upload)
			if err != nil || got.Accepted < 1 {
				t.Fatalf("%s: %+v %v", name, got, err)
			}
			accepted += got.Accepted
			if got.Outcome == ingest.Finished {
				break
			}
			if status := w.status(id); got.Outcome != ingest.Unfinished || status.State != ingest.Ingesting || status.Accepted != accepted {
				t.Fatalf("%s: %+v, status %+v", name, got, status)
			}
		}
		if calls != 3 || accepted != 10 {
			t.Errorf("%s: %d calls, %d accepted", name, calls+1, accepted)
		}
		w.holds(id, ingest.Done, sampleLines, sampleRejected...)
	}
}

// The store is given less time than there is: what is stored must yet be written down.
func TestItStopsBeforeTheDeadline(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.batch()
	upload := w.put(id, []byte(sample))
	deadline := time.Now().Add(4 * time.Second)
	ctx, cancel := context.WithDeadline(t.Context(), deadline)
	defer cancel()
	got, err := w.ingester(func(c *ingest.Config) {
		c.Margin = time.Hour // a quarter of the time at most
		c.Events = &hooked{Events: c.Events, before: func(ctx context.Context, first int) error {
			if first < 5 {
				return nil
			}
			if given, ok := ctx.Deadline(); !ok || given.After(deadline.Add(-900*time.Millisecond)) {
				t.Errorf("the store has time until %s, the call until %s", given, deadline)
			}
			<-ctx.Done()
			return &buffer.NotStoredError{Err: ctx.Err()}
		}}
	}).Ingest(ctx, upload)
	if err != nil || got.Outcome != ingest.Unfinished || got.Accepted != 3 {
		t.Fatalf("%+v %v", got, err)
	}
	if got := w.ingest(w.ingester(), upload); got.Outcome != ingest.Finished || got.Accepted != 7 {
		t.Errorf("%+v", got)
	}
	w.holds(id, ingest.Done, sampleLines, sampleRejected...)
}

func TestAnErrorOfTheTableIsReportedAndTheBatchGoesOnLater(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.batch()
	upload := w.put(id, []byte(sample))
	faults := ddbtest.NewFaults(t, 0).Add(ddbtest.Rule{Operation: "PutItem", From: 4, Do: ddbtest.Refuse("AccessDeniedException", "no")})
	_, err := w.ingester(func(c *ingest.Config) { c.Events = w.store(ddbtest.Client(t, faults.Install)) }).Ingest(t.Context(), upload)
	if ddb.Classify(err).Class != ddb.Other || w.status(id).State != ingest.Ingesting {
		t.Errorf("%v", err)
	}
	// It gave its lease back: nobody waits for it.
	if got := w.ingest(w.ingester(), upload); got.Outcome != ingest.Finished {
		t.Errorf("%+v", got)
	}
	w.holds(id, ingest.Done, sampleLines, sampleRejected...)
}

// Lost answers, throttles and conflicts of the tables, by chance.
func TestItComesThroughFaults(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	faults := ddbtest.NewFaults(t, 0)
	for _, fault := range []ddbtest.Fault{ddbtest.LostAnswer(), ddbtest.Timeout(), ddbtest.ServerErrorAfter(), ddbtest.Throttle(ddbtest.CodeThrottling), ddbtest.Conflict()} {
		for _, operation := range []string{"PutItem", "UpdateItem"} {
			faults.Add(ddbtest.Rule{Operation: operation, Probability: 0.08, Do: fault})
		}
	}
	client := ddbtest.Client(t, faults.Install)
	for range 10 {
		id := w.batch()
		got := w.ingest(w.ingester(func(c *ingest.Config) { c.Client, c.Events = client, w.store(client) }), w.put(id, []byte(sample)))
		if got.Outcome != ingest.Finished || !got.Ended {
			t.Errorf("%+v", got)
		}
		w.holds(id, ingest.Done, sampleLines, sampleRejected...)
	}
}

// breaking is an object store whose connections break after some bytes.
type breaking struct {
	*s3.Client
	after  int64
	always bool // not the first alone
	gets   atomic.Int32
}

func (b *breaking) GetObject(ctx context.Context, in *s3.GetObjectInput, o ...func(*s3.Options)) (*s3.GetObjectOutput, error) {
	out, err := b.Client.GetObject(ctx, in, o...)
	if err != nil || b.gets.Add(1) > 1 && !b.always {
		return out, err
	}
	rest := io.MultiReader(io.LimitReader(out.Body, b.after), brokenReader{})
	out.Body = struct {
		io.Reader
		io.Closer
	}{rest, out.Body}
	return out, nil
}

type brokenReader struct{}

func (brokenReader) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

func TestABrokenConnectionGoesOnWhereItBroke(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for name, body := range map[string][]byte{"plain": []byte(sample), "gzip": zipped(t, sample)} {
		for _, versions := range []s3types.BucketVersioningStatus{s3types.BucketVersioningStatusEnabled, s3types.BucketVersioningStatusSuspended} {
			w.versions(versions)
			id := w.batch()
			objects := &breaking{Client: w.s3, after: int64(len(body)) - 1}
			got := w.ingest(w.ingester(func(c *ingest.Config) { c.Objects = objects }), w.put(id, body))
			if got.Outcome != ingest.Finished || objects.gets.Load() != 2 {
				t.Errorf("%s: %+v, %d gets", name, got, objects.gets.Load())
			}
			w.holds(id, ingest.Done, sampleLines, sampleRejected...)
		}
	}
	// One that never brings a byte is given up, and the batch is not blamed.
	id := w.batch()
	upload := w.put(id, []byte(sample))
	if _, err := w.ingester(func(c *ingest.Config) { c.Objects = &breaking{Client: w.s3, always: true} }).Ingest(t.Context(), upload); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("%v", err)
	}
	if got := w.ingest(w.ingester(), upload); got.Outcome != ingest.Finished || got.Status.State != ingest.Done {
		t.Errorf("%+v", got)
	}
}

func TestAnUploadURLTakesOnePlainPutForAQuarterOfAnHour(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	created, err := w.uploads().Create(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	target, err := url.Parse(created.URL)
	if err != nil {
		t.Fatal(err)
	}
	query := target.Query()
	if query.Get("X-Amz-Expires") != "900" || query.Get("X-Amz-SignedHeaders") != "host" || !strings.HasSuffix(target.Path, "/"+w.bucket+"/uploads/"+created.BatchID) {
		t.Errorf("%s signs %s for %s s", target.Path, query.Get("X-Amz-SignedHeaders"), query.Get("X-Amz-Expires"))
	}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPut, created.URL, strings.NewReader(sample))
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close() //nolint:errcheck // empty
	if answer.StatusCode != http.StatusOK {
		t.Fatal(answer.Status)
	}
	w.ingest(w.ingester(), ingest.Upload{BatchID: created.BatchID, ETag: strings.Trim(answer.Header.Get("ETag"), `"`), Version: answer.Header.Get("X-Amz-Version-Id")})
	w.holds(created.BatchID, ingest.Done, sampleLines, sampleRejected...)
}

// An attempt of a create that arrives late must not put a batch back.
func TestALateCreateChangesNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	faults := ddbtest.NewFaults(t, 0).Add(ddbtest.Rule{Operation: "PutItem", Nth: 1, Do: ddbtest.LostAnswer()})
	client := ddbtest.Client(t, faults.Install)
	uploads, err := ingest.NewUploads(ingest.UploadsConfig{
		Client: client, RequestTable: w.requests, Presign: s3.NewPresignClient(w.s3), Bucket: w.bucket, Batches: w.store(client), Now: w.clock.Now,
	})
	if err != nil {
		t.Fatal(err)
	}
	created, err := uploads.Create(t.Context())
	if err != nil || faults.Count("PutItem") != 2 {
		t.Fatalf("%v, %d puts", err, faults.Count("PutItem"))
	}
	w.holds(created.BatchID, ingest.Waiting, nil)
}

// counting counts what is given to the store.
type counting struct {
	ingest.Events
	stored *atomic.Int32
}

func (c *counting) WriteBatch(ctx context.Context, batch buffer.Batch, first int, events []json.RawMessage) error {
	c.stored.Add(int32(len(events)))
	return c.Events.WriteBatch(ctx, batch, first, events)
}

// hooked calls before each write.
type hooked struct {
	ingest.Events
	before func(ctx context.Context, first int) error
}

func (h *hooked) WriteBatch(ctx context.Context, batch buffer.Batch, first int, events []json.RawMessage) error {
	if err := h.before(ctx, first); err != nil {
		return err
	}
	return h.Events.WriteBatch(ctx, batch, first, events)
}

// stopping stores nothing from a position on, for want of time.
type stopping struct {
	ingest.Events
	at     int
	reason error
}

func stopAt(position int) *stopping { return &stopping{at: position, reason: context.DeadlineExceeded} }

func (s *stopping) install(c *ingest.Config) { s.Events, c.Events = c.Events, s }

func (s *stopping) WriteBatch(ctx context.Context, batch buffer.Batch, first int, events []json.RawMessage) error {
	if first >= s.at {
		return &buffer.NotStoredError{Err: s.reason}
	}
	return s.Events.WriteBatch(ctx, batch, first, events)
}
