package cursor

import (
	"crypto/sha256"
	"encoding/binary"

	"github.com/heatsink-dev/heatsink/pkg/sortkey"
)

// Binding is the question that a token continues. A token opens for an equal binding alone.
type Binding struct {
	// Scope names what is walked, such as "index:managed" or "events". It does not say the form: a walk survives the switch.
	Scope string
	// Partition that is walked. Numbers are bound by value, so 1.0 and 1 are one partition, as in DynamoDB.
	Partition sortkey.Value
	// Condition is a canonical text of the sort condition, filter and whatever else selects rows: equal questions need equal texts.
	Condition string
	// Descending order.
	Descending bool
	// Tenant on whose behalf the walk goes. Empty where there is one.
	Tenant string
}

// additional is the data that a token authenticates beside its payload: its header, then each field with its length (or of fixed length), so that
// the encoding is injective. The partition goes in as a hash, which makes it short, whatever it is.
func (b *Binding) additional(header []byte) []byte {
	partition := b.Partition.String()
	if b.Partition.Kind() == sortkey.KindNumber {
		if canonical, err := sortkey.CanonicalNumber(partition); err == nil {
			partition = canonical
		}
	}
	hash := sha256.Sum256(append([]byte{byte(b.Partition.Kind())}, partition...))

	data := make([]byte, 0, len(header)+len(b.Scope)+len(hash)+len(b.Condition)+len(b.Tenant)+3*8+1)
	data = append(data, header...)
	data = appendField(data, b.Scope)
	data = append(data, hash[:]...)
	data = appendField(data, b.Condition)
	if b.Descending {
		data = append(data, 1)
	} else {
		data = append(data, 0)
	}
	return appendField(data, b.Tenant)
}

func appendField(data []byte, field string) []byte {
	data = binary.BigEndian.AppendUint64(data, uint64(len(field)))
	return append(data, field...)
}
