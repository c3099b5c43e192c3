package query_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/heatsink-dev/heatsink/pkg/ddb"
	"github.com/heatsink-dev/heatsink/pkg/query"
	"github.com/heatsink-dev/heatsink/pkg/schema"
)

// flaky fails every so many calls, whatever they ask.
type flaky struct {
	ddb.Querier
	every, calls int
	failure      error
}

func (f *flaky) Query(ctx context.Context, in *queryInput, opts ...optFn) (*queryOutput, error) {
	if f.calls++; f.calls%f.every == 0 {
		return nil, f.failure
	}
	return f.Querier.Query(ctx, in, opts...)
}

// passing are failures that a later call need not meet.
func passing() map[string]error {
	return map[string]error{
		"throttled":  &types.ThrottlingException{},
		"throughput": &types.ProvisionedThroughputExceededException{},
		"5xx":        &types.InternalServerError{},
		"time":       context.DeadlineExceeded,
		"connection": io.ErrUnexpectedEOF,
		"proxy":      &smithyhttp.ResponseError{Response: &smithyhttp.Response{Response: &http.Response{StatusCode: http.StatusBadGateway}}, Err: errors.New("bad gateway")},
	}
}

// TestAPartitionThatIsThrottledAgainAndAgainIsWalkedToItsEnd: whoever goes on from the last cursor, and repeats a request that failed, is done some time. 4,000 rows, one of them live.
func TestAPartitionThatIsThrottledAgainAndAgainIsWalkedToItsEnd(t *testing.T) {
	t.Parallel()
	const rows, only, most = 4000, 3900, 5000 // a call advances by one row at least
	for name, failure := range passing() {
		for _, every := range []int{2, 3, 4} {
			newReader := func() *query.Reader {
				table := &plain{rows: rows, live: func(n int) bool { return n == only }, split: 100}
				reader, err := query.New(indexOf(t, userTable(t), "managed"), query.Config{
					Client: &flaky{Querier: table, every: every, failure: failure}, IndexTable: "index", Cursors: sealer(t),
				})
				if err != nil {
					t.Fatal(err)
				}
				return reader
			}
			// walk makes calls until one is at the end, and gives up past the most that it may take.
			walk := func(kind string, call func(query.Request) (cursor string, done bool, err error)) {
				t.Helper()
				request := query.Request{Partition: partition("t"), Limit: 10}
				for range most {
					at, done, err := call(request)
					if err == nil && done {
						return
					}
					if err == nil {
						request.Cursor = at
					} else if interrupted, ok := errors.AsType[*query.InterruptedError](err); ok && interrupted.Cursor != "" {
						request.Cursor = interrupted.Cursor
					}
				}
				t.Fatalf("%s, every %d: %s does not end within %d calls", name, every, kind, most)
			}
			var items []ddb.Item
			var total int64
			found := 0
			reader := newReader()
			walk("Query", func(request query.Request) (string, bool, error) {
				page, err := reader.Query(t.Context(), request)
				if err != nil {
					return "", false, err
				}
				items = append(items, page.Items...)
				return page.Cursor, page.Cursor == "", nil
			})
			reader = newReader()
			walk("Count", func(request query.Request) (string, bool, error) {
				counted, err := reader.Count(t.Context(), request)
				total += counted.Count
				return counted.Cursor, counted.Cursor == "", err
			})
			reader = newReader()
			walk("Exists", func(request query.Request) (string, bool, error) {
				exists, err := reader.Exists(t.Context(), request)
				if exists.Exists {
					found++
				}
				return exists.Cursor, exists.Cursor == "", err
			})
			reader = newReader()
			var all []ddb.Item
			walk("All", func(request query.Request) (string, bool, error) {
				request.Limit = 0
				some, err := collect(t.Context(), reader, request)
				all = append(all, some...)
				return "", err == nil, err
			})
			wantIDs(t, items, names(only, only))
			wantIDs(t, all, names(only, only))
			if total != 1 || found != 1 {
				t.Errorf("%s, every %d: counted %d, found %d times", name, every, total, found)
			}
		}
	}
}

// TestAPassingFailureAmidACallEndsItAsTheBudgetDoes, in either form: what is known so far, and a cursor behind it.
func TestAPassingFailureAmidACallEndsItAsTheBudgetDoes(t *testing.T) {
	t.Parallel()
	for name, failure := range passing() {
		for _, form := range []schema.Form{schema.GSI, schema.Table} {
			key := map[schema.Form]func(int) ddb.Item{schema.Table: tableKey, schema.GSI: gsiKey}[form]
			rows := rowsOf(func(n int) ddb.Item { return answerRow(form, n) }, 1, 2)
			request := query.Request{Partition: partition("t"), Form: form, Limit: 5}
			reader, s := scripted(t, query.Budget{}, answer(3, key(3), rows...), failure, answer(0, nil))
			got := page(t, reader, request)
			wantIDs(t, got.Items, names(1, 2))
			if got.Cursor == "" || got.Cost.Requests != 1 || got.Cost.Evaluated != 3 {
				t.Fatalf("%s: %+v", name, got)
			}
			request.Cursor = got.Cursor
			if last := page(t, reader, request); last.Cursor != "" || len(last.Items) != 0 {
				t.Errorf("%s: %+v", name, last)
			}
			wantStart(t, s, 2, key(3))

			request.Cursor = ""
			reader, s = scripted(t, query.Budget{}, answer(3, key(3), rows...), failure, answer(0, nil))
			counted, err := reader.Count(t.Context(), request)
			if err != nil || counted.Count != 2 || counted.Cursor == "" {
				t.Fatalf("%s: %+v, %v", name, counted, err)
			}
			request.Cursor = counted.Cursor
			if counted, err = reader.Count(t.Context(), request); err != nil || counted.Cursor != "" {
				t.Errorf("%s: %+v, %v", name, counted, err)
			}
			wantStart(t, s, 2, key(3))

			request.Cursor = ""
			reader, _ = scripted(t, query.Budget{}, answer(3, key(3)), failure)
			if exists, err := reader.Exists(t.Context(), request); err != nil || exists.Exists || exists.Cursor == "" {
				t.Errorf("%s: %+v, %v", name, exists, err)
			}
		}
	}
}

func wantStart(t *testing.T, s *script, call int, key ddb.Item) {
	t.Helper()
	if got := s.inputs[call].ExclusiveStartKey; !ddb.Equal(&types.AttributeValueMemberM{Value: got}, &types.AttributeValueMemberM{Value: key}) {
		t.Errorf("call %d starts behind %v, want %v", call, got, key)
	}
}

// TestTheFirstReadAndWhatWillNotPassAreErrors, with their class.
func TestTheFirstReadAndWhatWillNotPassAreErrors(t *testing.T) {
	t.Parallel()
	request := query.Request{Partition: partition("t"), Limit: 3}
	for name, c := range map[string]struct {
		answers []any
		class   ddb.Class
	}{
		"first read":       {[]any{&types.ThrottlingException{}}, ddb.Throttled},
		"table is gone":    {[]any{answer(3, tableKey(3)), &types.ResourceNotFoundException{}}, ddb.NotFound},
		"nobody knows why": {[]any{answer(3, tableKey(3)), errors.New("strange")}, ddb.Other},
	} {
		reader, _ := scripted(t, query.Budget{}, c.answers...)
		got, err := reader.Query(t.Context(), request)
		if got != nil || ddb.Classify(err).Class != c.class || !strings.Contains(fmt.Sprint(err), "index managed") {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
		reader, _ = scripted(t, query.Budget{}, c.answers...)
		counted, err := reader.Count(t.Context(), request)
		if counted.Count != 0 || counted.Cursor != "" || ddb.Classify(err).Class != c.class {
			t.Errorf("%s: %+v, %v", name, counted, err)
		}
		reader, _ = scripted(t, query.Budget{}, c.answers...)
		exists, err := reader.Exists(t.Context(), request)
		if exists.Exists || exists.Cursor != "" || ddb.Classify(err).Class != c.class {
			t.Errorf("%s: %+v, %v", name, exists, err)
		}
	}
}

// leaving cancels the caller's context amid a call.
type leaving struct {
	*plain
	after  int
	cancel context.CancelFunc
}

func (l *leaving) Query(ctx context.Context, in *queryInput, opts ...optFn) (*queryOutput, error) {
	if len(l.inputs) == l.after {
		l.cancel()
		return nil, fmt.Errorf("query: %w", ctx.Err())
	}
	return l.plain.Query(ctx, in, opts...)
}

func TestACallerWhoGaveUpGetsHisCancellation(t *testing.T) {
	t.Parallel()
	for after := range 3 {
		ctx, cancel := context.WithCancel(t.Context())
		client := &leaving{plain: &plain{rows: 100, live: func(int) bool { return false }, split: 10}, after: after, cancel: cancel}
		reader, err := query.New(indexOf(t, userTable(t), "managed"), query.Config{Client: client, IndexTable: "index", Cursors: sealer(t)})
		if err != nil {
			t.Fatal(err)
		}
		if got, err := reader.Query(ctx, query.Request{Partition: partition("t")}); got != nil || !errors.Is(err, context.Canceled) {
			t.Errorf("after %d reads: %+v, %v", after, got, err)
		}
		cancel()
	}
}

// stalling answers its first calls at once and the others never, so that they last as long as their context.
type stalling struct {
	*plain
	prompt int
}

func (s *stalling) Query(ctx context.Context, in *queryInput, opts ...optFn) (*queryOutput, error) {
	if len(s.inputs) < s.prompt {
		return s.plain.Query(ctx, in, opts...)
	}
	<-ctx.Done()
	return nil, ctx.Err()
}

// TestASlowReadBeforeTheDeadlineDoesNotLoseThePage: it is given up when the margin begins, and what was read before is answered in time.
func TestASlowReadBeforeTheDeadlineDoesNotLoseThePage(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		newReader := func(prompt int) *query.Reader {
			client := &stalling{plain: &plain{rows: 100, live: func(n int) bool { return n < 3 }, split: 10}, prompt: prompt}
			reader, err := query.New(indexOf(t, userTable(t), "managed"), query.Config{
				Client: client, IndexTable: "index", Cursors: sealer(t), Budget: query.Budget{Margin: 300 * time.Millisecond},
			})
			if err != nil {
				t.Fatal(err)
			}
			return reader
		}
		request := query.Request{Partition: partition("t"), Limit: 50}
		within := func(call func(context.Context)) time.Duration {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			started := time.Now()
			call(ctx)
			return time.Since(started)
		}
		took := within(func(ctx context.Context) {
			got, err := newReader(2).Query(ctx, request)
			if err != nil || got.Cursor == "" || got.Cost.Evaluated != 20 {
				t.Fatalf("%+v, %v", got, err)
			}
			wantIDs(t, got.Items, names(0, 2))
		})
		if took != 700*time.Millisecond {
			t.Errorf("the page took %s", took)
		}
		took = within(func(ctx context.Context) {
			if counted, err := newReader(2).Count(ctx, request); err != nil || counted.Count != 3 || counted.Cursor == "" {
				t.Errorf("%+v, %v", counted, err)
			}
		})
		if took != 700*time.Millisecond {
			t.Errorf("the count took %s", took)
		}
		took = within(func(ctx context.Context) {
			all, err := collect(ctx, newReader(2), request)
			interrupted, ok := errors.AsType[*query.InterruptedError](err)
			if len(all) != 3 || !ok || interrupted.Cursor == "" || !errors.Is(err, query.ErrBudget) {
				t.Errorf("%d items, %v", len(all), err)
			}
		})
		if took != 700*time.Millisecond {
			t.Errorf("the walk took %s", took)
		}
		// The first read has nothing to lose: it may last to the deadline.
		took = within(func(ctx context.Context) {
			if got, err := newReader(0).Query(ctx, request); got != nil || !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%+v, %v", got, err)
			}
		})
		if took != time.Second {
			t.Errorf("the first read took %s", took)
		}
	})
}

// TestWithoutAMarginTheDeadlineItselfEndsThePage.
func TestWithoutAMarginTheDeadlineItselfEndsThePage(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		client := &stalling{plain: &plain{rows: 100, live: func(n int) bool { return n < 3 }, split: 10}, prompt: 1}
		reader, err := query.New(indexOf(t, userTable(t), "managed"), query.Config{Client: client, IndexTable: "index", Cursors: sealer(t), Budget: query.Budget{Margin: -1}})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if got, err := reader.Query(ctx, query.Request{Partition: partition("t")}); err != nil || len(got.Items) != 3 || got.Cursor == "" {
			t.Errorf("%+v, %v", got, err)
		}
	})
}
