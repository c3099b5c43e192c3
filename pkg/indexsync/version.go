package indexsync

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/heatsink-dev/heatsink/pkg/ddb"
	"github.com/heatsink-dev/heatsink/pkg/schema"
	"github.com/heatsink-dev/heatsink/pkg/sortkey"
)

// maxSequenceDigits is the longest sequence number of a stream (documented as 21 to 40 digits:
// https://docs.aws.amazon.com/goto/WebAPI/streams-dynamodb-2012-08-10/SequenceNumberRange). Real ones differ in length, so text order needs padding, and
// 40 digits are more than a DynamoDB number holds, so the version is a text.
const maxSequenceDigits = 40

// zeros pads a sequence number.
const zeros = "0000000000000000000000000000000000000000"

// StreamVersion is the version of a row that a stream record wrote: the stream's label, a slash, and the sequence number padded to 40 digits. A stream
// that is created again has a later label, so its versions follow those of the earlier stream although its numbers may not.
func StreamVersion(label, sequence string) (string, error) {
	if !isLabel(label) {
		return "", errors.New("the record's eventSourceARN has no stream label")
	}
	if !isSequence(sequence) {
		return "", fmt.Errorf("the record's SequenceNumber is not 1 to %d digits", maxSequenceDigits)
	}
	return label + "/" + zeros[len(sequence):] + sequence, nil
}

// BackfillVersion is the version for rows that are written from a copy of the table as it was at that time (an export), so that every change record, even
// one from before the copy, and every later copy overrides them. Indexes whose version is an attribute of the item use the attribute's value instead: see [Version].
func BackfillVersion(at time.Time) string {
	return fmt.Sprintf("!%015d", max(at.UnixMilli(), 0)) // "!" is lower than any digit, and a label begins with one
}

// Version is the version of the row of a base item in an index whose version is an attribute of the item: the attribute's digits padded to the declared
// width. Missing, negative, fractional and wider values are refused.
func Version(index *schema.Index, item ddb.Item) (string, error) {
	codec, err := versionCodec(index)
	if err != nil {
		return "", err
	}
	return attributeVersion(codec, index.Version.Attribute, item)
}

func versionCodec(index *schema.Index) (*sortkey.Codec, error) {
	return sortkey.New(sortkey.Part{Name: index.Version.Attribute, Kind: sortkey.KindNumber, Width: index.Version.Width})
}

func attributeVersion(codec *sortkey.Codec, name string, item ddb.Item) (string, error) {
	attribute, present := item[name]
	if !present {
		return "", fmt.Errorf("the version attribute %q is missing", name)
	}
	value, scalar := ddb.KeyValue(attribute)
	if !scalar || value.Kind() != sortkey.KindNumber {
		return "", fmt.Errorf("the version attribute %q is not a number", name)
	}
	text, err := codec.Encode(value)
	if err != nil {
		return "", fmt.Errorf("the version attribute: %w", err)
	}
	return text, nil
}

// version gives the version of a change for a target, or the reason why it has none, which makes the record poison. A move writes both rows with the new
// version; a removal has the version of the item that it removed.
func (t *target) changeVersion(r *record) (string, error) {
	if t.version == nil {
		return r.streamVersion()
	}
	name := t.index.Version.Attribute
	if r.newImage == nil {
		return attributeVersion(t.version, name, r.oldImage)
	}
	version, err := attributeVersion(t.version, name, r.newImage)
	if err != nil || r.oldImage == nil {
		return version, err
	}
	if _, versioned := r.oldImage[name]; versioned {
		before, err := attributeVersion(t.version, name, r.oldImage)
		if err != nil {
			return "", err
		}
		if version <= before {
			return "", fmt.Errorf("the version attribute %q did not grow with the change", name)
		}
	}
	return version, nil
}

func isSequence(text string) bool {
	return text != "" && len(text) <= maxSequenceDigits && strings.IndexFunc(text, func(c rune) bool { return c < '0' || c > '9' }) < 0
}

// isLabel takes any text that begins with a digit and cannot be taken apart wrongly: AWS writes a UTC time, such as 2015-06-27T00:48:05.899.
func isLabel(text string) bool {
	return text != "" && len(text) <= 64 && text[0] >= '0' && text[0] <= '9' && !strings.ContainsRune(text, '/')
}

// streamLabel is the last element of a stream's ARN: arn:aws:dynamodb:<region>:<account>:table/<table>/stream/<label>.
func streamLabel(arn string) string {
	_, label, found := strings.Cut(arn, "/stream/")
	if !found || !isLabel(label) {
		return ""
	}
	return label
}

// StreamTable is the table's name in a stream's ARN, or "" where it names none.
func StreamTable(arn string) string {
	_, rest, found := strings.Cut(arn, ":table/")
	if !found {
		return ""
	}
	name, _, _ := strings.Cut(rest, "/")
	return name
}
