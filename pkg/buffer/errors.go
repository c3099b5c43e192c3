package buffer

import (
	"errors"
	"fmt"
)

var (
	// ErrNotFound says that there is no event of that id, or the text is no id.
	ErrNotFound = errors.New("there is no such event")
	// ErrDone says that the event was completed, so that it cannot be retried.
	ErrDone = errors.New("the event is completed")
	// ErrIdempotencyMismatch says that the key was used for other events before.
	ErrIdempotencyMismatch = errors.New("the idempotency key was used for other events")
)

// RetriedError says that a retry closed the event.
type RetriedError struct {
	// Successor is the id of the event that a retry opened in its place.
	Successor string
}

// Error says so, without the successor.
func (e *RetriedError) Error() string { return "a retry closed the event" }

// FieldError is a fault of the caller's: the field and what is wrong with it, without its value.
type FieldError struct {
	Field, Reason string
}

// Error is "field: reason".
func (e *FieldError) Error() string { return e.Field + ": " + e.Reason }

func bad(field, reason string, args ...any) error {
	return &FieldError{Field: field, Reason: fmt.Sprintf(reason, args...)}
}

// TooLargeError says that something is past its limit. Nothing was written.
type TooLargeError struct {
	// Position of the event; -1 where it is the number of events.
	Position int
	// Limit and Got, in bytes of the event or as a number of events.
	Limit, Got int
}

// Error names the field, the position and the limit.
func (e *TooLargeError) Error() string {
	if e.Position < 0 {
		return fmt.Sprintf("events: at most %d, are %d", e.Limit, e.Got)
	}
	return fmt.Sprintf("events[%d].data: at most %d bytes, has %d", e.Position, e.Limit, e.Got)
}

// NotStoredError says which events of a write were not stored. All others were.
type NotStoredError struct {
	// Positions of the events that were not stored, for certain, ascending, counted as in the request.
	Positions []int
	// Unknown are positions whose outcome nobody told before the time ended.
	Unknown []int
	// Err is why: the last throttle, the end of the time, or DynamoDB's refusal.
	Err error
}

// Error gives the counts and the reason.
func (e *NotStoredError) Error() string {
	return fmt.Sprintf("%d events were not stored, of %d it is not known: %v", len(e.Positions), len(e.Unknown), e.Err)
}

// Unwrap gives the reason.
func (e *NotStoredError) Unwrap() error { return e.Err }
