package ddb

import (
	"slices"
	"strings"
)

// Class is what an error of a DynamoDB call means for the caller. Zero is no error.
type Class uint8

// The classes.
const (
	// None: no error.
	None Class = iota
	// ConditionFailed: the request's condition did not hold; nothing was written. Definite.
	ConditionFailed
	// Conflict: another transaction or replica was at the item; nothing was written. It says nothing about any condition. Retry with jitter.
	Conflict
	// Throttled: nothing was done for want of throughput; the reasons are in Failure.Throttles. Retry later.
	Throttled
	// Invalid: DynamoDB, or the SDK before sending, refuses the request as it stands; it will be refused again.
	Invalid
	// NotFound: the table or index does not exist.
	NotFound
	// UnknownOutcome: no definite answer (deadline, cancellation, connection lost, unreadable answer, 5xx, the same transaction still going on).
	// The request may have taken effect, or may yet.
	UnknownOutcome
	// Other: everything else, such as missing permissions. Definite: nothing was done.
	Other
)

// String is the class's name in lower case, fit for a metric.
func (c Class) String() string {
	names := [...]string{"none", "condition_failed", "conflict", "throttled", "invalid", "not_found", "unknown_outcome", "other"}
	if int(c) < len(names) {
		return names[c]
	}
	return "unspecified"
}

// Failure is an error of a DynamoDB call, interpreted.
type Failure struct {
	Class Class
	// Code is DynamoDB's name of the error, such as ItemCollectionSizeLimitExceededException. Empty where none came.
	Code string
	// Item is what stood in the way of a failed condition, where the request asked for ALL_OLD. Of a transaction see Positions.
	Item Item
	// Throttles are the reasons of a throttled request. Batches and transactions carry none.
	Throttles []Throttle
	// Positions has one entry for each operation of a cancelled transaction, in their order.
	Positions []Position
}

// Position is the part that one operation had in the cancellation of its transaction.
type Position struct {
	// Class is None where the operation itself was fine.
	Class Class
	// Code is DynamoDB's, such as ConditionalCheckFailed.
	Code string
	// Item is what stood in the way, where the operation asked for ALL_OLD.
	Item Item
}

// Throttle is one reason why a request was throttled
// (https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_ThrottlingReason.html).
type Throttle struct {
	// Reason is one of {Table|Index}{Read|Write}{ProvisionedThroughput|KeyRangeThroughput|AccountLimit|MaxOnDemandThroughput}Exceeded.
	Reason string
	// Resource is the ARN of the table or index.
	Resource string
}

// ResourceType is Table or Index; empty for a reason of another form.
func (t Throttle) ResourceType() string { resource, _, _ := t.split(); return resource }

// Operation is Read or Write; empty for a reason of another form.
func (t Throttle) Operation() string { _, operation, _ := t.split(); return operation }

// LimitType is ProvisionedThroughput, KeyRangeThroughput, AccountLimit or MaxOnDemandThroughput; empty for a reason of another form.
func (t Throttle) LimitType() string { _, _, limit := t.split(); return limit }

func (t Throttle) split() (resource, operation, limit string) {
	for _, resource := range []string{"Table", "Index"} {
		for _, operation := range []string{"Read", "Write"} {
			rest, has := strings.CutPrefix(t.Reason, resource+operation)
			if limit, complete := strings.CutSuffix(rest, "Exceeded"); has && complete {
				return resource, operation, limit
			}
		}
	}
	return "", "", ""
}

// ofTransaction ranks what cancelled a transaction. What would fail again comes first: a failed condition outranks a conflict, and a conflict or a
// throttle is worth a retry only where nothing definite stands beside it.
func ofTransaction(positions []Position) Class {
	for _, class := range []Class{ConditionFailed, Invalid, NotFound, Other, Throttled, Conflict} {
		if slices.ContainsFunc(positions, func(p Position) bool { return p.Class == class }) {
			return class
		}
	}
	return Other
}
