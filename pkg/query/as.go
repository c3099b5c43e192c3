package query

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/heatsink-dev/heatsink/pkg/ddb"
)

// DecodeError is an item that does not fit the type asked for. It names the place, never the value.
type DecodeError struct {
	// Item is its position, from 0.
	Item int
	// Attribute that does not fit. Empty: the whole item.
	Attribute string
	// Reason says what was expected.
	Reason string
}

// Error names the item and the attribute.
func (e *DecodeError) Error() string {
	place := fmt.Sprintf("query: item %d", e.Item)
	if e.Attribute != "" {
		place += fmt.Sprintf(": attribute %q", e.Attribute)
	}
	return place + ": " + e.Reason
}

// As decodes items into T: a struct with `dynamodbav:"name"` tags, or a map. An N decodes exactly into integers that hold it, and with all its digits into a string, an
// attributevalue.Number or an any (which becomes an attributevalue.Number, never a float). Attributes that T does not name are left out. It makes no request; its error is a
// [*DecodeError].
func As[T any](items []ddb.Item) ([]T, error) {
	decoder := newDecoder() // one for all: it costs as much as decoding a small item
	decoded := make([]T, len(items))
	for n, item := range items {
		if err := decode(decoder, item, &decoded[n]); err != nil {
			return nil, misfit[T](n, item, err)
		}
	}
	return decoded, nil
}

func newDecoder() *attributevalue.Decoder {
	return attributevalue.NewDecoder(func(o *attributevalue.DecoderOptions) { o.UseNumber = true })
}

func decode[T any](decoder *attributevalue.Decoder, item ddb.Item, into *T) error {
	return decoder.Decode(&types.AttributeValueMemberM{Value: item}, into)
}

// misfit finds which attribute it was, by decoding each on its own: the decoder does not say.
func misfit[T any](n int, item ddb.Item, cause error) error {
	decoder := newDecoder()
	for _, name := range slices.Sorted(maps.Keys(item)) {
		var alone T
		if err := decode(decoder, ddb.Item{name: item[name]}, &alone); err != nil {
			return &DecodeError{Item: n, Attribute: name, Reason: reason(err)}
		}
	}
	return &DecodeError{Item: n, Reason: reason(cause)}
}

// reason keeps the Go type of the decoder's error and drops its text, which may hold the value.
func reason(err error) string {
	if mismatch, ok := errors.AsType[*attributevalue.UnmarshalTypeError](err); ok && mismatch.Type != nil {
		return "does not fit into " + mismatch.Type.String()
	}
	return "does not fit into its field"
}
