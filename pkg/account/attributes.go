package account

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/heatsink-dev/heatsink/pkg/ddb"
	"github.com/heatsink-dev/heatsink/pkg/schema"
	"github.com/heatsink-dev/heatsink/pkg/sortkey"
)

// MaxUserBytes is the largest user that can be signed up, as DynamoDB counts: what an item may have, less room for what comes to it later. A rename may
// lengthen it, and a row of an index table has a sort key (1,024 bytes at most) and a version beside the user's attributes.
const MaxUserBytes = ddb.MaxItemSize - 2048

// keyChecks are the indexes of the user table, ready to refuse values that they cannot hold: the table would refuse the write (GSI), or the row would be left
// out (index table).
type keyChecks struct {
	indexes []*schema.Index
	// parts are codecs of single sort key parts, by index and position.
	parts map[*schema.Index][]*sortkey.Codec
}

func newKeyChecks(table *schema.BaseTable) (keyChecks, error) {
	checks := keyChecks{indexes: table.Indexes, parts: map[*schema.Index][]*sortkey.Codec{}}
	for _, index := range table.Indexes {
		for _, part := range index.SortKey {
			codec, err := sortkey.New(sortkey.Part{Name: part.Name, Kind: part.Type.Kind(), Width: part.Width})
			if err != nil {
				return keyChecks{}, fmt.Errorf("account: index %s: %w", index.Name, err)
			}
			checks.parts[index] = append(checks.parts[index], codec)
		}
	}
	return checks, nil
}

// checkAttributes refuses names that are not the caller's and values that no item or index can hold.
func (s *Service) checkAttributes(userID string, attributes ddb.Item) error {
	for _, name := range slices.Sorted(maps.Keys(attributes)) {
		field := "attributes." + name
		switch {
		case name == "":
			return &FieldError{Field: "attributes", Reason: ReasonName, Detail: "has an empty name"}
		case len(name) > ddb.MaxNameBytes:
			bad := tooLong(ddb.MaxNameBytes, len(name), "bytes of a name")
			bad.Field = "attributes"
			return bad
		case name == UserIDAttribute, name == NicknameAttribute, name == EmailAttribute:
			return &FieldError{Field: field, Reason: ReasonName, Detail: "is a name of its own: give it beside attributes"}
		case schema.Reserved(name):
			return &FieldError{Field: field, Reason: ReasonName, Detail: "is reserved for index rows"}
		case s.config.Users.IsPrivate(name):
			return &FieldError{Field: field, Reason: ReasonName, Detail: "is reserved"}
		}
		if err := ddb.Check(attributes[name]); err != nil {
			return unstorable(field, err)
		}
	}
	for _, index := range s.keys.indexes {
		if bad := s.keys.check(index, userID, attributes); bad != nil {
			bad.Field = "attributes." + bad.Field
			return bad
		}
	}
	return nil
}

// unstorable words what no item can hold.
func unstorable(field string, err error) *FieldError {
	bad, ok := errors.AsType[*ddb.ValueError](err)
	switch {
	case !ok:
		return &FieldError{Field: field, Reason: ReasonValue, Detail: "cannot be stored"}
	case bad.Path == "", bad.Path[0] == '[':
		field += bad.Path
	default:
		field += "." + bad.Path
	}
	return &FieldError{Field: field, Reason: ReasonValue, Detail: bad.Reason}
}

// check checks each part of an index key that is there, and the sort key as a whole where all of them are.
func (c keyChecks) check(index *schema.Index, userID string, attributes ddb.Item) *FieldError {
	if value, has := attributes[index.PartitionKey.Name]; has {
		key, bad := keyValue(index.PartitionKey, value)
		if bad != nil {
			return bad
		}
		if err := sortkey.CheckPartitionKey(index.PartitionKey.Name, key); err != nil {
			return unfit(index.PartitionKey.Name, err)
		}
	}
	values := []sortkey.Value{}
	for n, part := range index.SortKey {
		value, has := attributes[part.Name]
		if !has {
			continue
		}
		key, bad := keyValue(part.Attribute, value)
		if bad != nil {
			return bad
		}
		if _, err := c.parts[index][n].Encode(key); err != nil {
			return unfit(part.Name, err)
		}
		values = append(values, key)
	}
	if len(values) == len(index.SortKey) && len(values) > 0 && index.Build.Has(schema.Table) {
		if _, err := index.Codec.Encode(append(values, sortkey.Text(userID))...); err != nil {
			return unfit(index.SortKey[0].Name, err)
		}
	}
	return nil
}

// keyValue checks type and length of a key attribute.
func keyValue(attribute schema.Attribute, value types.AttributeValue) (sortkey.Value, *FieldError) {
	key, ok := ddb.KeyValue(value)
	if !ok || key.Kind() != attribute.Type.Kind() {
		word := map[schema.AttributeType]string{schema.String: "a string", schema.Number: "a number", schema.Binary: "binary"}[attribute.Type]
		return key, &FieldError{Field: attribute.Name, Reason: ReasonType, Detail: "must be " + word + ", as the key of an index, or absent"}
	}
	if key.Kind() == sortkey.KindText && key.String() == "" {
		return key, &FieldError{Field: attribute.Name, Reason: ReasonValue, Detail: "must not be empty, as the key of an index, or absent"}
	}
	return key, nil
}

// unfit words what an index cannot hold.
func unfit(part string, err error) *FieldError {
	bad, ok := errors.AsType[*sortkey.Error](err)
	if !ok {
		return &FieldError{Field: part, Reason: ReasonValue, Detail: "does not fit the index"}
	}
	if bad.Part != "" && bad.Part != UserIDAttribute {
		part = bad.Part
	}
	fault := &FieldError{Field: part, Reason: ReasonValue, Limit: bad.Limit, Got: bad.Got}
	switch bad.Reason {
	case sortkey.ReasonWidth:
		fault.Unit = "digits"
		fault.Detail = fmt.Sprintf("must have at most %d digits, as the key of an index, has %d", bad.Limit, bad.Got)
	case sortkey.ReasonNegative:
		fault.Detail = "must not be negative, as the key of an index"
	case sortkey.ReasonFraction:
		fault.Detail = "must be a whole number, as the key of an index"
	case sortkey.ReasonTooLong:
		fault.Unit = "bytes"
		fault.Detail = fmt.Sprintf("is too long for the key of an index: at most %d bytes in all, is %d", bad.Limit, bad.Got)
	default:
		fault.Detail = "does not fit the key of an index: " + bad.Text()
	}
	return fault
}
