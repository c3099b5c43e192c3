package query

import (
	"errors"
	"fmt"
	"time"

	"github.com/heatsink-dev/heatsink/pkg/schema"
	"github.com/heatsink-dev/heatsink/pkg/sortkey"
)

// Limits of a request.
const (
	// DefaultLimit is the page size, in items, of a request that names none.
	DefaultLimit = 50
	// MaxLimit is the largest page, in items.
	MaxLimit = 1000
	// MaxProjection is the longest list of attributes.
	MaxProjection = 100
)

// Request asks for rows of one partition of an index. Only Partition is required.
type Request struct {
	// Partition is the value of the index's partition key: 1 to 2,048 bytes.
	Partition sortkey.Value
	// Under pins the leading parts of the sort key by equality, most significant first. Empty: none.
	Under []sortkey.Value
	// Where is a condition on the part after Under: an equality, a prefix (text only), or an interval. Zero: none.
	// A bound outside what the part can hold means what it says; an empty interval is an empty answer, without a call.
	Where sortkey.Condition
	// Descending reverses the order of the sort key.
	Descending bool
	// Limit is the number of live items to return: 1 to [MaxLimit] of a page, 0 is [DefaultLimit]. [Reader.All] takes any number, and 0 is no limit.
	// [Reader.Exists] and [Reader.Count] do not look at it.
	Limit int
	// Cursor continues where an earlier call for the same question ended. Empty: from the start. The question is index, partition, Under, Where, Descending and Tenant;
	// form, Limit, Projection and Filter may change from page to page.
	Cursor string
	// Projection lists the attributes to return, at most [MaxProjection], each one that the index projects. Empty: all of them.
	Projection []string
	// Filter drops rows after they are read (and paid for). Nil: none.
	Filter *Filter
	// Consistent asks for strongly consistent reads, at twice the read units. TABLE only; else [ErrConsistentGSI]. The index table itself
	// may still be behind its base table.
	Consistent bool
	// Tenant on whose behalf the call is made; its cursors open for it alone. Empty: none.
	Tenant string
	// Form to read: schema.GSI or schema.Table. Zero: the index's own Type, which is the switch.
	Form schema.Form
}

// Budget bounds what one call may read. When it ends, the call answers with what it has and a cursor; each call makes at least one read. Zero fields take the
// values of [DefaultBudget]. [Reader.All] keeps Margin alone: it is asked for everything, and holds one response at a time.
type Budget struct {
	// Pages is the number of Query requests.
	Pages int
	// Evaluated is the number of rows read, returned or not. No request reads past it.
	Evaluated int
	// Bytes is the size of the items returned, as DynamoDB counts it (a row's own reserved attributes included). At least one item is returned, whatever its size.
	Bytes int
	// Margin is how long before the context's deadline no further read begins, and one that still runs is given up. Only the reads that a call needs to get on at all may last
	// longer. Negative: none.
	Margin time.Duration
}

// DefaultBudget suits one HTTP request: it passes 100,000 tombstones, about 15 MB, in about as many requests.
func DefaultBudget() Budget {
	return Budget{Pages: 40, Evaluated: 100_000, Bytes: 4 << 20, Margin: 500 * time.Millisecond}
}

func (b Budget) check() (Budget, error) {
	for _, field := range []struct {
		name     string
		value    *int
		fallback int
	}{
		{"Pages", &b.Pages, DefaultBudget().Pages},
		{"Evaluated", &b.Evaluated, DefaultBudget().Evaluated},
		{"Bytes", &b.Bytes, DefaultBudget().Bytes},
	} {
		switch {
		case *field.value < 0:
			return b, fmt.Errorf("query: Budget.%s must not be negative, is %d", field.name, *field.value)
		case *field.value == 0:
			*field.value = field.fallback
		}
	}
	if b.Margin == 0 {
		b.Margin = DefaultBudget().Margin
	}
	return b, nil
}

var (
	// ErrConsistentGSI refuses a consistent read of a GSI before any call: DynamoDB has none
	// (https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/HowItWorks.ReadConsistency.html).
	ErrConsistentGSI = errors.New("query: a GSI has no consistent reads: leave Consistent out, or read the index table")
	// ErrNoAdvance ends a walk whose next position is not behind the one before it. Another read would give the same rows again.
	ErrNoAdvance = errors.New("query: DynamoDB's next position does not advance")
	// ErrBudget is why [Reader.All] stopped before the context's deadline.
	ErrBudget = errors.New("query: no time left for another read")
)

// RequestError is a request that cannot be answered, whoever asks again. It holds no value of the request.
type RequestError struct {
	// Field of the [Request], with its position in a list, such as Projection[2].
	Field string
	// Reason says what is wrong, with the limit.
	Reason string
	// Err is the cause, such as a [*sortkey.Error]. May be nil.
	Err error
}

// Error names the field and the reason.
func (e *RequestError) Error() string { return "query: " + e.Field + ": " + e.Reason }

// Unwrap gives the cause.
func (e *RequestError) Unwrap() error { return e.Err }

func badRequest(field, reason string, args ...any) error {
	return &RequestError{Field: field, Reason: fmt.Sprintf(reason, args...)}
}

func badKey(field string, err error) error {
	reason := "is not allowed"
	if bad, ok := errors.AsType[*sortkey.Error](err); ok {
		reason = bad.Text()
	}
	return &RequestError{Field: field, Reason: reason, Err: err}
}
