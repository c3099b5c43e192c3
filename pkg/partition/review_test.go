package partition_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/heatsink-dev/heatsink/pkg/partition"
)

func pattern(t *testing.T, text string) partition.Pattern {
	t.Helper()
	if text == "" {
		return partition.Pattern{}
	}
	parsed, err := partition.ParsePattern(text)
	if err != nil {
		t.Fatal(err)
	}
	return parsed
}

func design(t *testing.T, partitionKey, sortKey string) partition.KeyDesign {
	t.Helper()
	d := partition.KeyDesign{
		Name: "table", PartitionKey: "pk", Partition: pattern(t, partitionKey), Item: 800, PeakWrites: 3000, UsableWrites: 800, HeadroomPercent: 250,
	}
	if sortKey != "" {
		d.SortKey, d.Sort = "sk", pattern(t, sortKey)
	}
	return d
}

func TestKeyReview(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		partition, sort string
		change          func(d *partition.KeyDesign)
		severity        partition.Severity
		code, text      string
	}{
		"one key for all":                   {"ORDERS", "", nil, partition.Bad, "one-key", "ORDERS#{shard:20}"},
		"one key for a little":              {"ORDERS", "", func(d *partition.KeyDesign) { d.PeakWrites = 10 }, partition.Warn, "one-key", "1,000 write and 3,000 read units"},
		"a date is one key today":           {"{date}", "{ms}", nil, partition.Bad, "today-key", "{date}#{shard:20}"},
		"an hour is one key now":            {"T#{hour}", "", nil, partition.Bad, "today-key", "{hour}"},
		"createdAt is a time":               {"{createdAt}", "", nil, partition.Bad, "today-key", "{createdAt}"},
		"joined_on is a time":               {"{joined_on}", "", nil, partition.Bad, "today-key", "{joined_on}"},
		"few keys":                          {"{status:3}", "", nil, partition.Bad, "low-cardinality", "1,000 each"},
		"few keys, of unknown number":       {"{orderStatus}", "", nil, partition.Warn, "skewed-key", "assumed to have 5 values"},
		"a date with few shards":            {"{date}#{shard:3}", "{ms}", nil, partition.Bad, "low-cardinality", "it takes 4, with headroom 10"},
		"a date with shards":                {"{date}#{shard:20}", "{ms}", nil, partition.Fine, "spread", "150 each, 15 %"},
		"ids":                               {"{userId}", "", nil, partition.Fine, "spread", "busiest"},
		"a serial number is hashed":         {"{seq}", "", nil, partition.Fine, "spread", "hashed"},
		"an unknown word":                   {"{thing}", "", nil, partition.Warn, "unknown-key", "{thing:N}"},
		"nothing known":                     {"", "", nil, partition.Warn, "unknown-key", "pk"},
		"a hot key":                         {"{userId}", "", func(d *partition.KeyDesign) { d.HottestShare = 400_000 }, partition.Bad, "hot-key", "40.00 % of the writes, 1,200 units"},
		"a warm key":                        {"{userId}", "", func(d *partition.KeyDesign) { d.HottestShare = 300_000 }, partition.Warn, "hot-key", "above the usable 800"},
		"a cool key":                        {"{userId}", "", func(d *partition.KeyDesign) { d.HottestShare = 100_000 }, partition.Fine, "hot-key", "30 % of a partition"},
		"a growing sort key of a hot key":   {"{date}", "{ms}", nil, partition.Bad, "increasing-sort-key", "gets 3,000"},
		"a growing sort key behind a word":  {"{date}#{shard:20}", "EVENT#{seq}", nil, partition.Fine, "increasing-sort-key", "gets 150"},
		"a growing sort key of a busy key":  {"{userId}", "{ulid}", func(d *partition.KeyDesign) { d.HottestShare = 500_000 }, partition.Bad, "increasing-sort-key", "gets 1,500"},
		"a shard in the sort key":           {"{date}", "{shard:20}#{ms}", nil, partition.Warn, "shard-in-sort-key", "only the partition key is hashed"},
		"20 KB are 5 read units: 600 reads": {"{userId}", "", func(d *partition.KeyDesign) { d.Item = 20 * partition.KiB }, partition.Warn, "large-item", "20 write units and 5 read units: one partition takes 50 writes, or 600 strong or 1,200 eventual reads"},
		"300 KB":                            {"{userId}", "", func(d *partition.KeyDesign) { d.Item = 300 * partition.KiB }, partition.Bad, "large-item", "S3"},
		"1 KiB is still one unit":           {"{userId}", "", func(d *partition.KeyDesign) { d.Item = partition.KiB }, partition.Fine, "large-item", "1 write unit and 1 read unit: one partition takes 1,000 writes, or 3,000 strong"},
		"an LSI":                            {"{userId}", "", func(d *partition.KeyDesign) { d.LSI = true }, partition.Warn, "lsi-collection", "ItemCollectionSizeLimitExceededException"},
		"an LSI at its limit":               {"{userId}", "", func(d *partition.KeyDesign) { d.LSI, d.CollectionBytes = true, 10_000_000_000 }, partition.Warn, "lsi-collection", "10.0 GB, 100 %"},
		"an LSI past it":                    {"{userId}", "", func(d *partition.KeyDesign) { d.LSI, d.CollectionBytes = true, 12_000_000_000 }, partition.Bad, "lsi-collection", "12.0 GB already"},
		"a hot GSI stops its table":         {"{date}", "", func(d *partition.KeyDesign) { d.GSI = true }, partition.Warn, "back-pressure", "refuses writes of the base table"},
	} {
		d := design(t, test.partition, test.sort)
		if test.change != nil {
			test.change(&d)
		}
		review, err := d.Review()
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if !slices.ContainsFunc(review.Remarks, func(r partition.Remark) bool {
			return r.Severity == test.severity && r.Code == test.code && strings.Contains(r.Text, test.text)
		}) {
			t.Errorf("%s: no %s %s with %q in %+v", name, test.severity, test.code, test.text, review.Remarks)
		}
	}
}

func TestAGoodDesignHasNothingToComplainOf(t *testing.T) {
	t.Parallel()
	review, err := design(t, "{date}#{shard:20}", "{ms}{random}").Review()
	if err != nil || review.Worst() != partition.Fine {
		t.Errorf("%+v, %v", review, err)
	}
	if review.PartitionKey != "pk = {date}#{shard:20}" || review.SortKey != "sk = {ms}{random}" {
		t.Errorf("%q, %q", review.PartitionKey, review.SortKey)
	}
}

func TestReviewNamesTheFieldOutOfRange(t *testing.T) {
	t.Parallel()
	for field, change := range map[string]func(d *partition.KeyDesign){
		"Item": func(d *partition.KeyDesign) { d.Item = 0 }, "PeakWrites": func(d *partition.KeyDesign) { d.PeakWrites = 0 },
		"UsableWrites": func(d *partition.KeyDesign) { d.UsableWrites = 1001 }, "HottestShare": func(d *partition.KeyDesign) { d.HottestShare = -1 },
		"HeadroomPercent": func(d *partition.KeyDesign) { d.HeadroomPercent = 0 }, "CollectionBytes": func(d *partition.KeyDesign) { d.CollectionBytes = -1 },
	} {
		d := design(t, "{id}", "")
		change(&d)
		_, err := d.Review()
		if bad, ok := errors.AsType[*partition.InputError](err); !ok || bad.Field != field {
			t.Errorf("%s: %v", field, err)
		}
	}
}

func TestParsePatternRefusesWhatItCannotRead(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"": "is empty", "{": "no partner", "a}": "no partner", "{a{b}}": "no partner", "{}": "no name", "{:3}": "no name",
		"{a:}": "1 to 1000000000", "{a:0}": "1 to 1000000000", "{a:-1}": "1 to 1000000000", "{a:x}": "1 to 1000000000", "{a:1000000001}": "1 to 1000000000",
	} {
		if _, err := partition.ParsePattern(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

func TestGuessPattern(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{"userId": "{userId}", "ID": "{ID}", "createdAt": "{createdAt}", "status": "{status}", "message_pk": "", "": "", "nickname": ""} {
		got, ok := partition.GuessPattern(name)
		if got != want || ok != (want != "") {
			t.Errorf("%q: %q, %t", name, got, ok)
		}
	}
}

func FuzzParsePattern(f *testing.F) {
	for _, seed := range []string{"{date}#{shard:20}", "ORDERS", "{", "{a:999999999}{b:999999999}{c:999999999}", "{x:1}{y}", "{}"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		parsed, err := partition.ParsePattern(text)
		if err != nil {
			return
		}
		d := partition.KeyDesign{PartitionKey: "pk", SortKey: "sk", Partition: parsed, Sort: parsed, Item: 1, PeakWrites: 3000, UsableWrites: 800, HeadroomPercent: 250}
		review, err := d.Review()
		if err != nil || parsed.String() != text || len(review.Remarks) == 0 {
			t.Errorf("%q: %+v, %v", text, review, err)
		}
	})
}
