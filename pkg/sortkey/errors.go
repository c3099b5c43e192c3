package sortkey

import "strconv"

// Reason tells why this package refused something. The zero Reason is unspecified.
type Reason uint8

// The reasons of an [Error]. Limit and Got of the error are 0 unless said here.
const (
	// ReasonDefinition: [New] was given parts that cannot make a codec: none, or
	// one without a name or kind, or with a width that is negative, past
	// [MaxWidth] or on a part that is no number. Limit is [MaxWidth] and Got the
	// width for a wrong width.
	ReasonDefinition Reason = iota + 1
	// ReasonCount: not one value for each part, or no part left for a condition.
	// Limit is the number of parts, Got the number of values.
	ReasonCount
	// ReasonKind: the value's kind is not the part's. Limit is the part's [Kind], Got the value's.
	ReasonKind
	// ReasonNotANumber: the text is not a DynamoDB number.
	ReasonNotANumber
	// ReasonDigits: the number has more than [MaxNumberDigits] significant digits. Limit and Got count digits.
	ReasonDigits
	// ReasonMagnitude: the number is out of DynamoDB's range. Limit and Got are powers of ten.
	ReasonMagnitude
	// ReasonNegative: a part with a width holds non-negative integers only.
	ReasonNegative
	// ReasonFraction: a part with a width holds integers only.
	ReasonFraction
	// ReasonWidth: the integer has more digits than the part's width. Limit and Got count digits.
	ReasonWidth
	// ReasonUTF8: the text is not valid UTF-8, so DynamoDB cannot hold it as S.
	ReasonUTF8
	// ReasonTooLong: the key is past DynamoDB's limit. Limit and Got count bytes;
	// Part is the longest part.
	ReasonTooLong
	// ReasonEmpty: DynamoDB refuses an empty key value.
	ReasonEmpty
	// ReasonMalformed: the text is not one that the codec writes.
	ReasonMalformed
	// ReasonPrefix: a prefix condition on a part that is not text.
	ReasonPrefix
	// ReasonContradiction: an equality beside a bound or a prefix, or a prefix beside a bound.
	ReasonContradiction
)

// unfit reports whether a value is sound but outside what the part can hold, so
// that an equality with it is satisfied by no row.
func (r Reason) unfit() bool {
	return r == ReasonNegative || r == ReasonFraction || r == ReasonWidth || r == ReasonTooLong || r == ReasonEmpty
}

// Error is the one error type of this package. It never contains the refused
// value, so that it is safe in a log and fit to show to an operator.
type Error struct {
	// Part is the name of the part, or "" where the reason is about all of them.
	Part string
	// Reason is what a caller branches on.
	Reason Reason
	// Limit and Got are the limit and what was found, in the unit that the
	// Reason documents.
	Limit, Got int
}

// Error returns one line that names the part and the limit.
func (e *Error) Error() string { return "sortkey: " + e.Text() }

// Text is [Error.Error] without the name of this package: for people who know the
// part, and not the code.
func (e *Error) Text() string {
	if e.Part == "" {
		return e.detail()
	}
	return "part " + strconv.Quote(e.Part) + ": " + e.detail()
}

func (e *Error) detail() string {
	switch e.Reason {
	case ReasonDefinition:
		if e.Limit != 0 {
			return "its width is " + strconv.Itoa(e.Got) + "; only a number part has one, from 1 to " + strconv.Itoa(e.Limit)
		}
		return "a codec needs at least one part, and every part a name and a kind (text, number or binary)"
	case ReasonCount:
		return strconv.Itoa(e.Got) + " values for a key of " + strconv.Itoa(e.Limit) + " parts"
	case ReasonKind:
		return "the value is " + kindAt(e.Got) + ", the part is " + kindAt(e.Limit)
	case ReasonNotANumber:
		return "the value is not a number"
	case ReasonDigits:
		return "the number has " + strconv.Itoa(e.Got) + " significant digits, DynamoDB keeps " + strconv.Itoa(e.Limit)
	case ReasonMagnitude:
		return "the number's magnitude is 1E" + strconv.Itoa(e.Got) + ", DynamoDB's limit is 1E" + strconv.Itoa(e.Limit)
	case ReasonNegative:
		return "the number is negative, a part with a width holds non-negative integers"
	case ReasonFraction:
		return "the number has a fraction, a part with a width holds integers"
	case ReasonWidth:
		return "the integer has " + strconv.Itoa(e.Got) + " digits, the part's width is " + strconv.Itoa(e.Limit)
	case ReasonUTF8:
		return "the text is not valid UTF-8"
	case ReasonTooLong:
		return "the key is " + strconv.Itoa(e.Got) + " bytes long, the limit is " + strconv.Itoa(e.Limit) + " (this is its longest part)"
	case ReasonEmpty:
		return "the key is empty, DynamoDB refuses an empty key value"
	case ReasonMalformed:
		return "not a text of this key's format"
	case ReasonPrefix:
		return "a prefix condition needs a text part"
	case ReasonContradiction:
		return "contradictory condition: give an equality, or a prefix, or bounds"
	default:
		return "unspecified error"
	}
}

func kindAt(k int) string {
	if k < 0 || k > int(KindBinary) {
		return Kind(0).String()
	}
	return Kind(k).String()
}

// fault is an Error before its part is known; the zero fault is none. It keeps
// the hot path free of allocations.
type fault struct {
	reason     Reason
	limit, got int
}

func (f fault) in(part string) *Error {
	return &Error{Part: part, Reason: f.reason, Limit: f.limit, Got: f.got}
}
