package ddb

import (
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/heatsink-dev/heatsink/pkg/sortkey"
)

// MaxItemSize is the size in bytes of the largest item, names and values, as [Size] counts
// (https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Constraints.html).
const MaxItemSize = 400 * 1024

// Size is an item's size in bytes as DynamoDB counts it against [MaxItemSize] and for capacity: the UTF-8 of names and the values
// (https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/CapacityUnitCalculations.html). The 100 bytes that storage adds to each item
// are no part of it. A value that DynamoDB does not know counts nothing.
func Size(item Item) int {
	size := 0
	for name, value := range item {
		size += len(name) + sizeOf(value)
	}
	return size
}

func sizeOf(value types.AttributeValue) int {
	size := 0
	switch v := value.(type) {
	case *types.AttributeValueMemberS:
		size = len(v.Value)
	case *types.AttributeValueMemberN:
		size = numberSize(v.Value)
	case *types.AttributeValueMemberB:
		size = len(v.Value)
	case *types.AttributeValueMemberBOOL, *types.AttributeValueMemberNULL:
		size = 1
	case *types.AttributeValueMemberSS:
		for _, element := range v.Value {
			size += len(element)
		}
	case *types.AttributeValueMemberNS:
		for _, element := range v.Value {
			size += numberSize(element)
		}
	case *types.AttributeValueMemberBS:
		for _, element := range v.Value {
			size += len(element)
		}
	case *types.AttributeValueMemberL:
		size = 3
		for _, element := range v.Value {
			size += 1 + sizeOf(element)
		}
	case *types.AttributeValueMemberM:
		size = 3
		for name, element := range v.Value {
			size += len(name) + 1 + sizeOf(element)
		}
	}
	return size
}

// numberSize: one byte, one more for each two digits before and behind the point without the zeros at either end, one more for a minus. AWS
// documents it as approximate; these are measured: 0 is 1, 100 is 2, 1.5 is 3, -42 is 3.
func numberSize(text string) int {
	text, err := sortkey.CanonicalNumber(text)
	if err != nil || text == "0" {
		return 1
	}
	size := 1
	if rest, negative := strings.CutPrefix(text, "-"); negative {
		text, size = rest, 2
	}
	whole, fraction, _ := strings.Cut(text, ".")
	if whole == "0" {
		whole, fraction = "", strings.TrimLeft(fraction, "0")
	}
	if fraction == "" {
		whole = strings.TrimRight(whole, "0")
	}
	return size + (len(whole)+1)/2 + (len(fraction)+1)/2
}

// WriteUnits is what one write of an item of that size costs in WRU: 1 for each KiB begun, at least 1. The larger of old and new item counts.
func WriteUnits(size int) float64 { return float64(max(1, (size+1023)/1024)) }

// ReadUnits is what reading that many bytes costs in RRU: 1 for each 4 KiB begun, at least 1, half of it where not consistent.
func ReadUnits(size int, consistent bool) float64 {
	units := float64(max(1, (size+4095)/4096))
	if !consistent {
		units /= 2
	}
	return units
}
