package partition

import (
	"fmt"
	"math/big"
)

// KeyDesign is what is known of the keys of a table or an index.
type KeyDesign struct {
	Name string
	// Partition and Sort: names of the attributes and their patterns. An attribute without a pattern (the zero value) is reported; a sort key may be missing.
	PartitionKey, SortKey string
	Partition, Sort       Pattern
	// GSI says that the keys are a global secondary index's.
	GSI bool
	// Item is the size of an item or of an index entry, in bytes.
	Item Bytes
	// PeakWrites, write units a second, and UsableWrites of a partition.
	PeakWrites, UsableWrites WriteUnits
	// HottestShare is the share of the writes that the busiest key gets; 0 is an even share.
	HottestShare PPM
	// HeadroomPercent multiplies the shards that are proposed.
	HeadroomPercent int64
	// LSI says that the table has a local secondary index; CollectionBytes is the largest item collection, 0 if unknown.
	LSI             bool
	CollectionBytes Bytes
}

// Severity of a remark. Zero is unspecified.
type Severity uint8

// The severities.
const (
	Fine Severity = iota + 1
	Warn
	Bad
)

// String gives "fine", "warning" or "problem".
func (s Severity) String() string {
	switch s {
	case Fine:
		return "fine"
	case Warn:
		return "warning"
	case Bad:
		return "problem"
	default:
		return "unspecified"
	}
}

// MarshalText is [Severity.String].
func (s Severity) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// Remark of a key review.
type Remark struct {
	Severity Severity `json:"severity"`
	// Code is stable: one-key, today-key, low-cardinality, skewed-key, hot-key, shard-in-sort-key, increasing-sort-key, large-item, lsi-collection, back-pressure, unknown-key, spread.
	Code string `json:"code"`
	Text string `json:"text"`
}

// Review of one key design.
type Review struct {
	Name         string   `json:"name"`
	PartitionKey string   `json:"partitionKey"`
	SortKey      string   `json:"sortKey,omitempty"`
	Remarks      []Remark `json:"remarks"`
}

// Worst severity of its remarks.
func (r Review) Worst() Severity {
	worst := Fine
	for _, remark := range r.Remarks {
		worst = max(worst, remark.Severity)
	}
	return worst
}

// Validate names the first field out of range.
func (d KeyDesign) Validate() error {
	for _, check := range []struct {
		field             string
		value, least, top int64
	}{
		{"Item", int64(d.Item), 1, int64(MaxItemBytes)},
		{"PeakWrites", int64(d.PeakWrites), 1, 100_000_000},
		{"UsableWrites", int64(d.UsableWrites), 1, int64(PartitionWrites)},
		{"HottestShare", int64(d.HottestShare), 0, 1_000_000},
		{"HeadroomPercent", d.HeadroomPercent, 100, 10_000},
		{"CollectionBytes", int64(d.CollectionBytes), 0, 1 << 60},
	} {
		if err := within(check.field, check.value, check.least, check.top); err != nil {
			return err
		}
	}
	return nil
}

// Review finds what will become hot, too large or unreadable. The error is an [*InputError].
func (d KeyDesign) Review() (Review, error) {
	if err := d.Validate(); err != nil {
		return Review{}, err
	}
	r := Review{Name: d.Name, PartitionKey: described(d.PartitionKey, d.Partition), SortKey: described(d.SortKey, d.Sort)}
	add := func(severity Severity, code, format string, args ...any) {
		for i, arg := range args { // numbers with commas
			switch number := arg.(type) {
			case int64:
				args[i] = count(number)
			case WriteUnits:
				args[i] = count(number)
			}
		}
		r.Remarks = append(r.Remarks, Remark{severity, code, fmt.Sprintf(format, args...)})
	}
	d.cardinality(add)
	d.hottest(add)
	d.sortKey(add)
	d.size(add)
	if d.LSI {
		d.collection(add)
	}
	if d.GSI && r.Worst() == Bad {
		add(Warn, "back-pressure", "this is a GSI: when one of its partitions is hot, DynamoDB refuses writes of the base table; an index table takes the heat off it")
	}
	return r, nil
}

func described(attribute string, pattern Pattern) string {
	if pattern.text == "" {
		return attribute
	}
	return attribute + " = " + pattern.text
}

type remarks func(severity Severity, code, format string, args ...any)

// cardinality judges how many partition keys share the peak.
func (d KeyDesign) cardinality(add remarks) {
	if d.Partition.text == "" {
		add(Warn, "unknown-key", "nothing is known about the values of %s; say it with a pattern, such as {date}#{shard:20}", d.PartitionKey)
		return
	}
	least, headroom := ShardCount(d.PeakWrites, d.UsableWrites, d.HeadroomPercent)
	keys := d.Partition.concurrent()
	when, timed := d.Partition.has(kindTime)
	serial, counted := d.Partition.has(kindSerial)
	few, small := d.Partition.has(kindFew)
	each := ceilDiv(int64(d.PeakWrites), keys)
	severity := Bad
	if each <= int64(d.UsableWrites) {
		severity = Warn
	}
	switch {
	case len(d.Partition.parts) == 0:
		add(severity, "one-key", "every item has the partition key %s: all of them together get %v write and %v read units a second, whatever the table has; at a peak of %v a second it needs %v keys, with headroom %v: %s#{shard:%v}",
			d.Partition.text, PartitionWrites, PartitionReads, d.PeakWrites, least, headroom, d.Partition.text, 2*headroom)
	case timed && keys == 1:
		add(severity, "today-key", "{%s} is one value now: all writes of the moment, %v units a second at peak, go to one key, while the keys of the past rest; append a shard: %s#{shard:%v}", when.name, d.PeakWrites, d.Partition.text, 2*headroom)
	case counted && keys == unbounded:
		add(Fine, "spread", "{%s} grows, but as a partition key it is hashed: its values spread", serial.name)
	case keys == unbounded:
		if other, ok := d.Partition.has(kindOther); ok {
			add(Warn, "unknown-key", "how many values {%s} has at one time isn't known: give it as {%s:N}", other.name, other.name)
			return
		}
		add(Fine, "spread", "as many keys as there are things; look at the busiest one")
	case each > int64(d.UsableWrites):
		add(Bad, "low-cardinality", "%v keys at one time share %v write units a second: %v each, above the usable %v of a partition; it takes %v, with headroom %v", keys, d.PeakWrites, each, d.UsableWrites, least, headroom)
	default:
		add(Fine, "spread", "%v keys at one time share %v write units a second: %v each, %v %% of a partition", keys, d.PeakWrites, each, ceilDiv(each*100, int64(PartitionWrites)))
	}
	if small && d.HottestShare == 0 {
		assumed := ""
		if !few.given {
			assumed = fmt.Sprintf(" (assumed to have %d values)", fewValues)
		}
		add(Warn, "skewed-key", "the values of {%s}%s are rarely equally frequent: the busiest counts, so give its share", few.name, assumed)
	}
}

// hottest judges the busiest key.
func (d KeyDesign) hottest(add remarks) {
	if d.HottestShare == 0 {
		return
	}
	hottest := d.HottestShare.Of(int64(d.PeakWrites))
	least, _ := ShardCount(WriteUnits(hottest), d.UsableWrites, d.HeadroomPercent)
	share := new(big.Rat).SetFrac64(int64(d.HottestShare), 10_000).FloatString(2)
	switch {
	case hottest > int64(PartitionWrites):
		add(Bad, "hot-key", "the busiest key gets %s %% of the writes, %v units a second at peak, above the %v of a partition; a partition never splits within one item or one growing range: spread that key over %v shards at least", share, hottest, PartitionWrites, least)
	case hottest > int64(d.UsableWrites):
		add(Warn, "hot-key", "the busiest key gets %s %% of the writes, %v units a second at peak, above the usable %v: little is left for retries and spikes", share, hottest, d.UsableWrites)
	default:
		add(Fine, "hot-key", "the busiest key gets %s %% of the writes, %v units a second at peak, %v %% of a partition", share, hottest, ceilDiv(hottest*100, int64(PartitionWrites)))
	}
}

// sortKey judges whether heat can split a key's items, and whether a shard stands where it does nothing.
func (d KeyDesign) sortKey(add remarks) {
	if d.SortKey == "" || d.Sort.text == "" {
		return
	}
	if spread, ok := d.Sort.has(kindSpread); ok && spread.name == "shard" {
		add(Warn, "shard-in-sort-key", "{%s} stands in the sort key, where it spreads nothing: only the partition key is hashed", spread.name)
	}
	if !d.Sort.increasing() {
		return
	}
	per := ceilDiv(int64(d.PeakWrites), max(1, d.Partition.concurrent()))
	if d.Partition.text == "" {
		per = int64(d.PeakWrites)
	}
	hottest := max(per, d.HottestShare.Of(int64(d.PeakWrites)))
	if hottest > int64(d.UsableWrites) {
		add(Bad, "increasing-sort-key", "%s only grows: all writes of a key go to its end, and DynamoDB does not split such a range for heat; a key stays at %v write units a second, and gets %v", d.SortKey, PartitionWrites, hottest)
		return
	}
	add(Fine, "increasing-sort-key", "%s only grows: DynamoDB does not split a key for heat, so a key stays at %v write units a second; it gets %v", d.SortKey, PartitionWrites, hottest)
}

// size judges what one partition serves of items so large.
func (d KeyDesign) size(add remarks) {
	write, read := int64(WriteCost(0, d.Item)), int64(ItemReadCost(d.Item, Strong))/2
	text := fmt.Sprintf("an item of %s bytes costs %s and %s: one partition takes %s writes, or %s strong or %s eventual reads of it a second",
		count(d.Item), unitsText(WriteUnits(write), "write unit"), unitsText(WriteUnits(read), "read unit"), count(int64(PartitionWrites)/write), count(PartitionReads/read), count(2*PartitionReads/read))
	switch {
	case d.Item > 100*KiB:
		add(Bad, "large-item", "%s; keep the payload in S3 and its key in the item", text)
	case write > 1:
		add(Warn, "large-item", "%s; the peak must be given in write units, not in items", text)
	default:
		add(Fine, "large-item", "%s", text)
	}
}

// collection judges an LSI's limit.
func (d KeyDesign) collection(add remarks) {
	const rule = "an LSI keeps all items of a partition key in one partition: at 10 GB writes fail with ItemCollectionSizeLimitExceededException"
	switch {
	case d.CollectionBytes > PartitionBytes:
		add(Bad, "lsi-collection", "%s; the largest collection is %s already", rule, decimalGB(d.CollectionBytes))
	case d.CollectionBytes > 0:
		add(Warn, "lsi-collection", "%s; the largest collection is %s, %v %% of that", rule, decimalGB(d.CollectionBytes), ceilDiv(int64(d.CollectionBytes)*100, int64(PartitionBytes)))
	default:
		add(Warn, "lsi-collection", "%s; and a hot key can't be split by its sort key. Prefer a GSI or an index table", rule)
	}
}

func decimalGB(size Bytes) string {
	return new(big.Rat).SetFrac64(int64(size), 1_000_000_000).FloatString(1) + " GB"
}
