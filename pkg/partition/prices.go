package partition

import (
	"bytes"
	_ "embed" // prices.json
	"encoding/json"
	"fmt"
	"io"
	"math/big"
	"slices"
	"strings"
	"time"
)

// prices.json is the one place where prices stand.
//
//go:embed prices.json
var priceFile []byte

// The sets of prices that prices.json holds.
const (
	TodaysPrices = "us-east-1"      // since on-demand was halved on 2024-11-01
	StorysPrices = "before-2024-11" // what the story reckoned with
)

// Prices of an on-demand table of the Standard class in one region on one day, in US dollars.
type Prices struct {
	Name   string `json:"name"`
	Region string `json:"region"`
	// Date since when, or on which, they were valid: YYYY-MM-DD.
	Date string `json:"date"`
	// Source is where they were read.
	Source string `json:"source"`
	// StoragePerGBMonth is for 2^30 bytes through a month.
	StoragePerGBMonth Money `json:"storagePerGBMonth"`
	// WritesPerMillion is for a million write units.
	WritesPerMillion Money `json:"writesPerMillion"`
	// ReadsPerMillion is for a million read units.
	ReadsPerMillion Money `json:"readsPerMillion"`
}

// PriceList is a checked list of prices.
type PriceList []Prices

// ShippedPrices is prices.json.
func ShippedPrices() (PriceList, error) { return ReadPrices(bytes.NewReader(priceFile)) }

// ReadPrices reads a list in the form of prices.json. Its error names the entry and the field.
func ReadPrices(r io.Reader) (PriceList, error) {
	decoder := json.NewDecoder(r)
	decoder.DisallowUnknownFields()
	var list PriceList
	if err := decoder.Decode(&list); err != nil {
		return nil, fmt.Errorf("prices: %w", err)
	}
	if _, err := decoder.Token(); err != io.EOF { //nolint:errorlint // Token returns io.EOF bare
		return nil, fmt.Errorf("prices: more follows after the list")
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("prices: the list is empty")
	}
	seen := map[string]bool{}
	for i, prices := range list {
		if err := prices.Validate(); err != nil {
			return nil, fmt.Errorf("prices, entry %d: %w", i+1, err)
		}
		if seen[prices.Name] {
			return nil, fmt.Errorf("prices, entry %d: name %q stands twice", i+1, prices.Name)
		}
		seen[prices.Name] = true
	}
	return list, nil
}

// maxPrice bounds each price, so that a typo of cents or of a decimal point shows.
var maxPrice = Money{big.NewRat(100, 1)}

// Validate names the first field that is missing or out of range.
func (p Prices) Validate() error {
	for _, field := range []struct{ name, value string }{{"name", p.Name}, {"region", p.Region}, {"date", p.Date}, {"source", p.Source}} {
		if strings.TrimSpace(field.value) == "" {
			return &InputError{field.name, "is missing"}
		}
	}
	if _, err := time.Parse(time.DateOnly, p.Date); err != nil {
		return &InputError{"date", fmt.Sprintf("must be a day as YYYY-MM-DD, is %q", p.Date)}
	}
	for _, field := range []struct {
		name  string
		value Money
	}{{"storagePerGBMonth", p.StoragePerGBMonth}, {"writesPerMillion", p.WritesPerMillion}, {"readsPerMillion", p.ReadsPerMillion}} {
		if field.value.rat().Sign() <= 0 || field.value.Cmp(maxPrice) > 0 {
			return &InputError{field.name, "must be above $0 and at most $100, is " + field.value.decimalText()}
		}
	}
	return nil
}

// Find gives the prices of a name.
func (l PriceList) Find(name string) (Prices, error) {
	i := slices.IndexFunc(l, func(p Prices) bool { return p.Name == name })
	if i >= 0 {
		return l[i], nil
	}
	names := make([]string, 0, len(l))
	for _, prices := range l {
		names = append(names, prices.Name)
	}
	return Prices{}, fmt.Errorf("there are no prices %q; there are: %s", name, strings.Join(names, ", "))
}

// gb is the gigabyte that storage is billed by.
const gb = 1 << 30

func (p Prices) storage(bytes *big.Rat, perGB int64) Money {
	return p.StoragePerGBMonth.Times(new(big.Rat).Quo(bytes, big.NewRat(perGB, 1)))
}

// Storage costs through one month.
func (p Prices) Storage(stored Bytes) Money { return p.storage(big.NewRat(int64(stored), 1), gb) }

// Writes cost.
func (p Prices) Writes(units WriteUnits) Money {
	return p.WritesPerMillion.Times(big.NewRat(int64(units), 1_000_000))
}

// Reads cost.
func (p Prices) Reads(halves ReadHalves) Money {
	return p.ReadsPerMillion.Times(big.NewRat(int64(halves), 2_000_000))
}
