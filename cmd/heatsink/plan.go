package main

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"

	"github.com/heatsink-dev/heatsink/pkg/partition"
)

type planCommand struct {
	Events        int64  `help:"Events a day." default:"100000" group:"Events"`
	Month         int64  `help:"Days of a month." default:"30" group:"Events"`
	Retention     int64  `help:"Days that an event is kept." default:"90" group:"Events"`
	ItemBytes     int64  `help:"Size of an event." default:"800" group:"Events"`
	KeysOnlyBytes int64  `help:"Size of a KeysOnly index entry." default:"170" group:"Events"`
	IncludeBytes  int64  `help:"Size of an Include index entry." default:"400" group:"Events"`
	Pending       string `help:"Percent of a day's events that are pending at its end." default:"1" placeholder:"PERCENT" group:"Events"`
	Failed        string `help:"Percent that have failed and are pending at its end." default:"0.01" placeholder:"PERCENT" group:"Events"`
	Retried       string `help:"Percent that fail once, so are retried." default:"1" placeholder:"PERCENT" group:"Events"`
	PlainRetry    bool   `help:"Retry by two writes instead of a transaction." group:"Events"`

	PendingQueries int64  `help:"Reads of pending events a day." default:"100" group:"Reads"`
	PendingRows    int64  `help:"Rows of one." default:"200" group:"Reads"`
	PendingPeak    int64  `help:"Such reads a second at peak." default:"10" group:"Reads"`
	PendingMs      string `help:"Milliseconds of one with KeysOnly, Include and All." default:"150,80,50" placeholder:"K,I,A" group:"Reads"`
	PendingTarget  int64  `help:"Milliseconds promised." default:"50" group:"Reads"`
	FailedQueries  int64  `help:"Reads of failed events a day." default:"50" group:"Reads"`
	FailedRows     int64  `help:"Rows of one." default:"10" group:"Reads"`
	FailedPeak     int64  `help:"Such reads a second at peak." default:"5" group:"Reads"`
	FailedMs       string `help:"Milliseconds of one with KeysOnly, Include and All." default:"30,25,20" placeholder:"K,I,A" group:"Reads"`
	FailedTarget   int64  `help:"Milliseconds promised." default:"100" group:"Reads"`
	IncludeFetch   string `help:"Percent of an Include index's rows that are then fetched from the table." default:"20" placeholder:"PERCENT" group:"Reads"`
	StrongGets     bool   `help:"Fetch by strongly consistent reads, at twice the units." group:"Reads"`

	PeakWrites int64  `help:"Write units a second at peak." default:"3000" group:"Shards"`
	Spike      int64  `help:"A spike is so many times the peak." default:"10" group:"Shards"`
	Usable     int64  `help:"Write units a second to use of a partition's 1,000." default:"800" group:"Shards"`
	Headroom   string `help:"Factor on the shards that the peak needs." default:"2.5" placeholder:"FACTOR" group:"Shards"`
	Shards     *int64 `help:"Shards, 1 to 1000. Default: twice what peak and headroom need." placeholder:"N" group:"Shards"`
	Partitions *int64 `help:"Partitions of the table. Default: what size and peak need, 4 at least." placeholder:"N" group:"Shards"`

	PriceSet     string `help:"Prices to take from the file, by name. Default: us-east-1, or the only ones." placeholder:"NAME" group:"Prices"`
	Prices       string `help:"File of prices, as pkg/partition/prices.json, instead of the built-in ones." type:"path" placeholder:"FILE" group:"Prices"`
	PriceWrites  string `help:"Dollars for a million write units." placeholder:"USD" group:"Prices"`
	PriceReads   string `help:"Dollars for a million read units." placeholder:"USD" group:"Prices"`
	PriceStorage string `help:"Dollars for a GB (2^30 bytes) and month." placeholder:"USD" group:"Prices"`
	PriceRegion  string `help:"Region of the prices given by flags." placeholder:"REGION" group:"Prices"`
	PriceDate    string `help:"Day of the prices given by flags." placeholder:"YYYY-MM-DD" group:"Prices"`

	Table           *string           `help:"Review the keys of this table of the catalog and of its indexes. Default: the event buffer's keys." placeholder:"NAME" group:"Keys"`
	Pattern         map[string]string `help:"How a key attribute's values are made: message_pk={date}#{shard:20}. Without --table, the attributes are partition and sort. Repeatable." mapsep:"none" placeholder:"ATTRIBUTE=PATTERN" group:"Keys"`
	Hottest         *string           `help:"Percent of the writes that the busiest key gets." placeholder:"PERCENT" group:"Keys"`
	LSI             bool              `name:"lsi" help:"The table has a local secondary index." group:"Keys"`
	CollectionBytes *int64            `help:"Size of the largest item collection, with --lsi." placeholder:"N" group:"Keys"`

	JSON bool   `help:"Print JSON."`
	HTML string `name:"html" help:"Write a page with charts, that needs no network, to this file." type:"path" placeholder:"FILE"`
}

// Help shows examples.
func (planCommand) Help() string {
	return `Plans a sharded event buffer: shards and partitions, the monthly bill by the story's rules beside the corrected one, the three projections of both
indexes with a recommendation, the load at peak and in a spike, and a review of the keys. Nothing is read from AWS; every input has a flag,
and the defaults are the story's. Sizes are in bytes, units are DynamoDB's, prices are on-demand in US dollars, with their date and region.

A pattern is text with placeholders: {date}, {ms}, {shard:20}, {status:3}, {userId}, {random}; the number is how many values there are at one time.

Examples:

    heatsink plan
    heatsink plan --events 1000000 --peak-writes 9000 --json
    heatsink plan --shards 64 --partitions 16 --html plan.html
    heatsink plan --price-writes 0.7 --price-reads 0.14 --price-region eu-central-1 --price-date 2026-01-31
    heatsink plan --table Event
    heatsink plan --pattern 'partition={status:3}' --pattern 'sort={ms}' --hottest 90 --item-bytes 20480`
}

// planned is what is printed.
type planned struct {
	partition.Plan
	Keys []partition.Review `json:"keys"`
}

// Run plans.
func (c *planCommand) Run(console *console) error {
	workload, err := c.workload()
	if err != nil {
		return err
	}
	now, then, err := c.prices()
	if err != nil {
		return err
	}
	made, err := partition.Make(workload, now, then)
	if err != nil {
		return planFault(err)
	}
	keys, err := c.review(made)
	if err != nil {
		return err
	}
	result := planned{made, keys}
	if c.HTML != "" {
		if err := writePlanPage(c.HTML, result); err != nil {
			return err
		}
	}
	if c.JSON {
		return console.json(result)
	}
	if c.HTML != "" {
		console.printf("written: %s\n", c.HTML)
		return nil
	}
	printPlan(console.out, result)
	return nil
}

// planFlags are the flags behind the fields of a workload and of a key design.
var planFlags = map[string]string{
	"EventsPerDay": "events", "DaysPerMonth": "month", "RetentionDays": "retention", "Item": "item-bytes", "KeysOnlyEntry": "keys-only-bytes",
	"IncludeEntry": "include-bytes", "PendingShare": "pending", "FailedShare": "failed", "RetryShare": "retried",
	"Pending.QueriesPerDay": "pending-queries", "Pending.Rows": "pending-rows", "Pending.PeakPerSecond": "pending-peak", "Pending.Millis": "pending-ms", "Pending.TargetMillis": "pending-target",
	"Failed.QueriesPerDay": "failed-queries", "Failed.Rows": "failed-rows", "Failed.PeakPerSecond": "failed-peak", "Failed.Millis": "failed-ms", "Failed.TargetMillis": "failed-target",
	"IncludeFetchShare": "include-fetch", "PeakWrites": "peak-writes", "SpikeFactor": "spike", "UsableWrites": "usable", "HeadroomPercent": "headroom",
	"Shards": "shards", "Partitions": "partitions",
	"HottestShare": "hottest", "CollectionBytes": "collection-bytes",
	"storagePerGBMonth": "price-storage", "writesPerMillion": "price-writes", "readsPerMillion": "price-reads", "date": "price-date", "region": "price-region",
}

// planFault names the flag of a bad input. Shares are told in the percent that was typed.
func planFault(err error) error {
	bad, ok := errors.AsType[*partition.InputError](err)
	if !ok {
		return err
	}
	reason := bad.Reason
	if bad.Field == "FailedShare" {
		reason = "must be at most what --pending and --retried say: a failed event that is pending was retried, and is pending"
	}
	if flag, known := planFlags[bad.Field]; known {
		return usage("--%s: %s", flag, reason)
	}
	return usage("%s", bad)
}

func (c *planCommand) workload() (partition.Workload, error) {
	w := partition.Workload{
		EventsPerDay: c.Events, DaysPerMonth: c.Month, RetentionDays: c.Retention,
		Item: partition.Bytes(c.ItemBytes), KeysOnlyEntry: partition.Bytes(c.KeysOnlyBytes), IncludeEntry: partition.Bytes(c.IncludeBytes),
		Pending:    partition.ReadPattern{QueriesPerDay: c.PendingQueries, Rows: c.PendingRows, PeakPerSecond: c.PendingPeak, TargetMillis: c.PendingTarget},
		Failed:     partition.ReadPattern{QueriesPerDay: c.FailedQueries, Rows: c.FailedRows, PeakPerSecond: c.FailedPeak, TargetMillis: c.FailedTarget},
		StrongGets: c.StrongGets, PlainRetry: c.PlainRetry,
		PeakWrites: partition.WriteUnits(c.PeakWrites), SpikeFactor: c.Spike, UsableWrites: partition.WriteUnits(c.Usable),
	}
	for _, share := range []struct {
		flag, text string
		to         *partition.PPM
	}{{"pending", c.Pending, &w.PendingShare}, {"failed", c.Failed, &w.FailedShare}, {"retried", c.Retried, &w.RetryShare}, {"include-fetch", c.IncludeFetch, &w.IncludeFetchShare}} {
		ppm, err := percentFlag(share.flag, share.text)
		if err != nil {
			return w, err
		}
		*share.to = ppm
	}
	headroom, ok := scaled(c.Headroom, 2)
	if !ok || headroom < 100 || headroom > 10_000 {
		return w, usage("--headroom: must be a number from 1 to 100 with at most 2 decimal places, is %q", c.Headroom)
	}
	w.HeadroomPercent = headroom
	for _, times := range []struct {
		flag, text string
		to         *[3]int64
	}{{"pending-ms", c.PendingMs, &w.Pending.Millis}, {"failed-ms", c.FailedMs, &w.Failed.Millis}} {
		values := strings.Split(times.text, ",")
		if len(values) != len(times.to) {
			return w, usage("--%s: must be three numbers with commas, for KeysOnly, Include and All, is %q", times.flag, times.text)
		}
		for i, value := range values {
			number, err := strconv.ParseInt(strings.TrimSpace(value), 10, 64)
			if err != nil {
				return w, usage("--%s: must be three whole numbers with commas, from 1 to 60000, is %q", times.flag, times.text)
			}
			times.to[i] = number
		}
	}
	for _, given := range []struct {
		flag  string
		value *int64
		top   int64
		to    *int64
	}{{"shards", c.Shards, partition.MaxShards, &w.Shards}, {"partitions", c.Partitions, partition.MaxPartitions, &w.Partitions}} {
		if given.value == nil {
			continue
		}
		if *given.value < 1 || *given.value > given.top {
			return w, usage("--%s: must be from 1 to %d, is %d", given.flag, given.top, *given.value)
		}
		*given.to = *given.value
	}
	return w, nil
}

var plainDecimal = regexp.MustCompile(`^([0-9]{1,9})(?:\.([0-9]+))?$`)

// scaled reads a decimal number as a whole number of its places-th decimals: "2.5" with 2 is 250.
func scaled(text string, places int) (int64, bool) {
	match := plainDecimal.FindStringSubmatch(text)
	if match == nil || len(match[2]) > places {
		return 0, false
	}
	value, err := strconv.ParseInt(match[1]+match[2]+strings.Repeat("0", places-len(match[2])), 10, 64)
	return value, err == nil
}

func percentFlag(flag, text string) (partition.PPM, error) {
	ppm, ok := scaled(text, 4)
	if !ok || ppm > 1_000_000 {
		return 0, usage("--%s: must be a percentage from 0 to 100 with at most 4 decimal places, is %q", flag, text)
	}
	return partition.PPM(ppm), nil
}

// prices are those to plan with, and the story's.
func (c *planCommand) prices() (now, then partition.Prices, err error) {
	shipped, err := partition.ShippedPrices()
	if err != nil {
		return now, then, err
	}
	if then, err = shipped.Find(partition.StorysPrices); err != nil {
		return now, then, err
	}
	list := shipped
	if c.Prices != "" {
		if list, err = pricesFile(c.Prices); err != nil {
			return now, then, err
		}
	}
	name := c.PriceSet
	if name == "" && len(list) == 1 {
		name = list[0].Name
	}
	if name == "" {
		name = partition.TodaysPrices
	}
	if now, err = list.Find(name); err != nil {
		return now, then, usage("--price-set: %s", err)
	}
	given := false
	for _, price := range []struct {
		flag, text string
		to         *partition.Money
	}{{"price-writes", c.PriceWrites, &now.WritesPerMillion}, {"price-reads", c.PriceReads, &now.ReadsPerMillion}, {"price-storage", c.PriceStorage, &now.StoragePerGBMonth}} {
		if price.text == "" {
			continue
		}
		if *price.to, err = partition.ParseMoney(price.text); err != nil {
			return now, then, usage("--%s: %s", price.flag, err)
		}
		given = true
	}
	if !given && (c.PriceRegion != "" || c.PriceDate != "") {
		return now, then, usage("--price-region and --price-date describe prices given by --price-writes, --price-reads or --price-storage; for a list's prices use --price-set")
	}
	if given {
		now.Name, now.Source = "flags", "flags; what they leave out is of "+now.Region+", "+now.Date
		if c.PriceRegion != "" {
			now.Region = c.PriceRegion
		}
		if c.PriceDate != "" {
			now.Date = c.PriceDate
		}
	}
	if err := now.Validate(); err != nil {
		return now, then, planFault(err)
	}
	return now, then, nil
}

func pricesFile(path string) (partition.PriceList, error) {
	if err := readable(path); err != nil {
		return nil, usage("--prices: %s", err)
	}
	file, err := os.Open(path) // #nosec G304 -- the operator names it
	if err != nil {
		return nil, usage("--prices: %s", err)
	}
	defer func() { _ = file.Close() }()
	list, err := partition.ReadPrices(file)
	if err != nil {
		return nil, usage("--prices: %s: %s", path, err)
	}
	return list, nil
}

// dollars prints an amount that may be missing.
func dollars(amount *partition.Money, print func(partition.Money) string) string {
	if amount == nil {
		return ""
	}
	return print(*amount)
}

func pricesText(p partition.Prices) string {
	return fmt.Sprintf("%s, %s: %s a GB-month, %s a million write units, %s a million read units (%s)", p.Region, p.Date, p.StoragePerGBMonth.Text(3), p.WritesPerMillion.Text(3), p.ReadsPerMillion.Text(3), p.Source)
}
