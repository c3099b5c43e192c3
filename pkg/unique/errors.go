package unique

import (
	"errors"
	"fmt"
	"slices"

	"github.com/heatsink-dev/heatsink/pkg/ddb"
)

// How a transaction can end without a definite answer about its conditions.
var (
	// ErrTryAgain: nothing was written. Other transactions were at the items, or throughput was short, until the time ended. Try later.
	ErrTryAgain = errors.New("busy until the time ended, nothing was written: try again")
	// ErrUnknown: the transaction may have taken effect. Repeating the whole step, reading first, finds out.
	ErrUnknown = errors.New("no definite answer until the time ended")
	// ErrTokenReused: DynamoDB knows the token from a transaction with other contents.
	ErrTokenReused = errors.New("the client request token belongs to another transaction")
)

// ConditionError says whose condition did not hold. Nothing was written.
type ConditionError struct {
	// Label of the operation; of several the one of the lowest rank.
	Label string
	// Item is what stands there; nil where nothing does.
	Item ddb.Item
	// Others are the other labels that failed, in order of rank.
	Others []string
}

// Error names the label.
func (e *ConditionError) Error() string { return "the condition of " + e.Label + " does not hold" }

// Failed reports whether the condition of a label did not hold.
func (e *ConditionError) Failed(label string) bool {
	return e.Label == label || slices.Contains(e.Others, label)
}

// InvalidError says that DynamoDB refuses an operation as it stands, such as an item that grows past 400 KB. Nothing was written.
type InvalidError struct {
	// Label of the operation. Empty where DynamoDB refuses the whole request.
	Label string
	// Code is DynamoDB's.
	Code string
	// Err is the SDK's error.
	Err error
}

// Error names the label and the code.
func (e *InvalidError) Error() string {
	if e.Label == "" {
		return "refused: " + e.Err.Error()
	}
	return fmt.Sprintf("%s is refused: %s", e.Label, e.Code)
}

// Unwrap gives the SDK's error.
func (e *InvalidError) Unwrap() error { return e.Err }

// RequestError says why a transaction cannot be sent. No request was made.
type RequestError struct {
	// Label of the operation. Empty: the whole transaction.
	Label string
	// Reason is a sentence without values of the item.
	Reason string
	// Limit and Got are set where the reason is a limit: operations, bytes.
	Limit, Got int
}

// Error is one line: the label, the reason, the limit.
func (e *RequestError) Error() string {
	text := e.Reason
	if e.Limit > 0 {
		text = fmt.Sprintf("%s: at most %d, is %d", text, e.Limit, e.Got)
	}
	if e.Label == "" {
		return "transaction: " + text
	}
	return e.Label + ": " + text
}
