package ddb

import (
	"fmt"
	"maps"
	"slices"

	"github.com/heatsink-dev/heatsink/pkg/sortkey"
)

// keyText gives one text for each key value: numbers by value, parts told apart by their length.
func keyText(item Item, names []string) (string, error) {
	var text []byte
	for _, name := range names {
		value, ok := KeyValue(item[name])
		if !ok {
			return "", fmt.Errorf("key attribute %q is missing or has no key's type", name)
		}
		part := value.String()
		if value.Kind() == sortkey.KindNumber {
			canonical, err := sortkey.CanonicalNumber(part)
			if err != nil {
				return "", fmt.Errorf("key attribute %q: %w", name, err)
			}
			part = canonical
		}
		text = fmt.Appendf(text, "%d:%d:%s", value.Kind(), len(part), part)
	}
	return string(text), nil
}

func namesOf(key Item) []string { return slices.Sorted(maps.Keys(key)) }

// keyShape says what is wrong with a key that has other attributes than the first one.
func keyShape(key Item, names []string) error {
	if len(key) != len(names) {
		return fmt.Errorf("has %d attributes, the first key has %d", len(key), len(names))
	}
	return nil
}
