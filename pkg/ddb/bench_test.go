package ddb_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"

	"github.com/heatsink-dev/heatsink/pkg/ddb"
)

// BenchmarkDecodeItem compares our decoder of a stream image with the SDK's, which is laxer.
func BenchmarkDecodeItem(b *testing.B) {
	var attributes []string
	for n := range 12 {
		attributes = append(attributes, fmt.Sprintf(`"text%d":{"S":"some value %d"},"number%d":{"N":"1699900000%03d"},"map%d":{"M":{"a":{"L":[{"S":"x"},{"BOOL":true}]}}}`, n, n, n, n, n))
	}
	raw := []byte(`{` + strings.Join(attributes, ",") + `}`)
	b.Run("ours", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := ddb.DecodeItem(raw); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("attributevalue", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := attributevalue.UnmarshalMapJSON(raw); err != nil {
				b.Fatal(err)
			}
		}
	})
	item, err := ddb.DecodeItem(raw)
	if err != nil {
		b.Fatal(err)
	}
	b.Run("append plain", func(b *testing.B) {
		b.ReportAllocs()
		var dst []byte
		for b.Loop() {
			if dst, err = ddb.AppendPlain(dst[:0], item, nil); err != nil {
				b.Fatal(err)
			}
		}
	})
}
