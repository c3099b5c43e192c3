package indexsync

import (
	"errors"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/heatsink-dev/heatsink/pkg/ddb"
	"github.com/heatsink-dev/heatsink/pkg/schema"
	"github.com/heatsink-dev/heatsink/pkg/sortkey"
)

// NotIndexed says why an item that has every key attribute of an index is not in it. An item that lacks one is simply not in the index (sparse), and there is no
// reason to count: the zero value.
type NotIndexed string

// The reasons. Each is a metric's dimension value.
const (
	ReasonNull      NotIndexed = "null"       // a key attribute is NULL
	ReasonEmpty     NotIndexed = "empty"      // a key attribute, or the whole sort key, is empty
	ReasonWrongType NotIndexed = "wrong_type" // a key attribute has another type than declared
	ReasonTooLong   NotIndexed = "too_long"   // partition key past 2,048 bytes or sort key past 1,024
	ReasonTooWide   NotIndexed = "too_wide"   // a number with more digits than its part's width
	ReasonNegative  NotIndexed = "negative"   // a negative number in a part with a width
	ReasonFraction  NotIndexed = "fraction"   // a fraction in a part with a width
	ReasonInvalid   NotIndexed = "invalid"    // not a value that DynamoDB could hold, such as text that is not UTF-8
)

// place is the key of an index row.
type place struct {
	attribute types.AttributeValue // the partition key as the base item holds it
	partition sortkey.Value        // the same, canonical
	sort      string
}

// locate finds where the index puts an item. Not indexed: ok is false, with a reason unless a key attribute is simply absent.
func locate(index *schema.Index, item ddb.Item) (p place, reason NotIndexed, ok bool) {
	if item == nil {
		return p, "", false
	}
	partition, present := item[index.PartitionKey.Name]
	if !present {
		return p, "", false
	}
	for _, part := range index.SortKey {
		if _, present := item[part.Name]; !present {
			return p, "", false
		}
	}
	value, reason, ok := keyAttribute(partition, index.PartitionKey.Type)
	if !ok {
		return p, reason, false
	}
	if err := sortkey.CheckPartitionKey(index.PartitionKey.Name, value); err != nil {
		return p, refusal(err), false
	}
	p.attribute = partition
	p.partition, _ = canonical(value) // a number, checked above
	var buffer [8]sortkey.Value
	values := buffer[:0]
	for _, part := range index.SortKey {
		value, reason, ok := keyAttribute(item[part.Name], part.Type)
		if !ok {
			return p, reason, false
		}
		values = append(values, value)
	}
	for _, attribute := range index.Source.Key() {
		value, reason, ok := keyAttribute(item[attribute.Name], attribute.Type)
		if !ok {
			return p, reason, false
		}
		values = append(values, value)
	}
	text, err := index.Codec.Encode(values...)
	if err != nil {
		return p, refusal(err), false
	}
	p.sort = text
	return p, "", true
}

// keyAttribute reads a key attribute of the declared type. DynamoDB takes no empty key value in a GSI
// (https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/HowItWorks.NamingRulesDataTypes.html), so an index table has none either.
func keyAttribute(attribute types.AttributeValue, declared schema.AttributeType) (sortkey.Value, NotIndexed, bool) {
	value, ok := scalar(attribute, declared)
	switch {
	case ok && value.String() == "":
		return value, ReasonEmpty, false
	case ok:
		return value, "", true
	}
	if _, null := attribute.(*types.AttributeValueMemberNULL); null {
		return value, ReasonNull, false
	}
	return value, ReasonWrongType, false
}

// scalar reads an attribute of the declared type.
func scalar(attribute types.AttributeValue, declared schema.AttributeType) (sortkey.Value, bool) {
	if attribute == nil {
		return sortkey.Value{}, false
	}
	value, ok := ddb.KeyValue(attribute)
	return value, ok && value.Kind() == declared.Kind()
}

// refusal is the reason of the codec's error.
func refusal(err error) NotIndexed {
	refused, ok := errors.AsType[*sortkey.Error](err)
	if !ok {
		return ReasonInvalid
	}
	switch refused.Reason {
	case sortkey.ReasonTooLong:
		return ReasonTooLong
	case sortkey.ReasonWidth:
		return ReasonTooWide
	case sortkey.ReasonNegative:
		return ReasonNegative
	case sortkey.ReasonFraction:
		return ReasonFraction
	case sortkey.ReasonEmpty:
		return ReasonEmpty
	case sortkey.ReasonKind:
		return ReasonWrongType
	default:
		return ReasonInvalid
	}
}

// Row builds the index row of a base item, as the stream would have written it with that version: the attributes that the index projects, SK and _v. It is
// false where the item is not in the index, with the reason unless a key attribute is simply absent.
func Row(index *schema.Index, item ddb.Item, version string) (ddb.Item, NotIndexed, bool) {
	at, reason, ok := locate(index, item)
	if !ok {
		return nil, reason, false
	}
	row, _ := live(index, item, at.sort, version)
	return row, "", true
}

// live is the row of an item, and how many attributes of reserved names the item has, which no row can carry.
func live(index *schema.Index, item ddb.Item, sort, version string) (row ddb.Item, reserved int) {
	row = make(ddb.Item, len(item)+2)
	for name, value := range item {
		switch {
		case index.Projects(name):
			row[name] = value
		case schema.Reserved(name):
			reserved++
		}
	}
	row[schema.SortKeyAttribute] = &types.AttributeValueMemberS{Value: sort}
	row[schema.VersionAttribute] = &types.AttributeValueMemberS{Value: version}
	return row, reserved
}

// tombstone is the mark of a row that is gone: its key, and until when it must be remembered.
func tombstone(index *schema.Index, at place, version string, expiry time.Time) ddb.Item {
	return ddb.Item{
		index.PartitionKey.Name: at.attribute,
		schema.SortKeyAttribute: &types.AttributeValueMemberS{Value: at.sort},
		schema.DeletedAttribute: &types.AttributeValueMemberBOOL{Value: true},
		schema.VersionAttribute: &types.AttributeValueMemberS{Value: version},
		schema.TTLAttribute:     &types.AttributeValueMemberN{Value: strconv.FormatInt(expiry.Unix(), 10)},
	}
}

// sameRow reports whether the index shows no difference between two states of an item that stayed in its place.
func sameRow(index *schema.Index, before, after ddb.Item) bool {
	for name, value := range after {
		if !index.Projects(name) {
			continue
		}
		old, present := before[name]
		if !present || !ddb.Equal(old, value) {
			return false
		}
	}
	for name := range before {
		if _, present := after[name]; !present && index.Projects(name) {
			return false
		}
	}
	return true
}
