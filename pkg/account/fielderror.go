package account

import "fmt"

// Reason says why a value is refused. Each value has exactly one: the first that applies in the order below.
type Reason uint8

// The reasons.
const (
	// ReasonEmpty: nothing is left of it.
	ReasonEmpty Reason = iota + 1
	// ReasonTooLong: Limit and Got say how much, in the Unit.
	ReasonTooLong
	// ReasonCharacter: the character at Position is not allowed.
	ReasonCharacter
	// ReasonHyphen: a hyphen at Position, where none may be: at either end, or third and fourth.
	ReasonHyphen
	// ReasonDirection: its right-to-left and left-to-right parts break the Bidi rule (RFC 5893).
	ReasonDirection
	// ReasonMixedScripts: the character at Position is of another script than those before it.
	ReasonMixedScripts
	// ReasonReserved: it is on the list of reserved names.
	ReasonReserved
	// ReasonSyntax: Detail says what is wrong.
	ReasonSyntax
	// ReasonName: an attribute's name that is not the caller's to use; Detail says why.
	ReasonName
	// ReasonType: an attribute of a key has another type than the key; Detail says which.
	ReasonType
	// ReasonValue: a value that DynamoDB or an index cannot hold; Detail says why, with the limit.
	ReasonValue
)

// FieldError says what is wrong with which field. It never holds the value.
type FieldError struct {
	// Field is the name that the caller knows: userId, nickname, email, idempotencyKey, attributes.managedKey.
	Field  string
	Reason Reason
	// Limit and Got are of ReasonTooLong, in Unit, such as bytes.
	Limit, Got int
	Unit       string
	// Position counts the characters (code points) of the caller's text from 1. Zero: no single one is at fault.
	Position int
	Detail   string
}

// Error is one line: the field, then [FieldError.Text].
func (e *FieldError) Error() string { return e.Field + ": " + e.Text() }

// Text says what is wrong, without the field's name.
func (e *FieldError) Text() string {
	switch e.Reason {
	case ReasonEmpty:
		return "is empty"
	case ReasonTooLong:
		text := fmt.Sprintf("is too long: at most %d %s, is %d", e.Limit, e.Unit, e.Got)
		if e.Detail != "" {
			text += " (" + e.Detail + ")"
		}
		return text
	case ReasonCharacter:
		text := "has a character that is not allowed"
		if e.Position > 0 {
			text += fmt.Sprintf(", at position %d", e.Position)
		}
		if e.Detail != "" {
			text += " (" + e.Detail + ")"
		}
		return text
	case ReasonHyphen:
		return fmt.Sprintf("has a hyphen where none may be, at position %d: hyphens stand inside, and not third and fourth together", e.Position)
	case ReasonDirection:
		return "mixes writing directions in a way that the Bidi rule of domain names forbids"
	case ReasonMixedScripts:
		return fmt.Sprintf("mixes scripts: the character at position %d is not of the script of those before it", e.Position)
	case ReasonReserved:
		return "is reserved"
	default:
		return e.Detail
	}
}
