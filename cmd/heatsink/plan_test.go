package main

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/net/html"
)

var update = flag.Bool("update", false, "write the golden files of testdata anew")

// golden compares with a file of testdata; `go test ./cmd/heatsink -run Plan -update` writes it.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s: %s", path, diff)
	}
}

func TestPlanPrintsTheStoryBesideTheCorrectedBill(t *testing.T) {
	t.Parallel()
	for name, call := range map[string][]string{
		"plan.golden":       {"plan"},
		"plan-event.golden": {"plan", "--table", "Event", "--events", "1000000", "--peak-writes", "9000", "--partitions", "16"},
		"plan-keys.golden":  {"plan", "--pattern", "partition={status:3}", "--pattern", "sort={ms}", "--hottest", "90", "--item-bytes", "20480", "--lsi"},
	} {
		code, out, errOut := heatsink(t, nil, call...)
		if code != exitOK || errOut != "" {
			t.Fatalf("%v: exit %d, %s", call, code, errOut)
		}
		golden(t, name, out)
	}
}

func TestPlanAsJSONHoldsTheStorysFigures(t *testing.T) {
	t.Parallel()
	code, out, errOut := heatsink(t, nil, "plan", "--json")
	if code != exitOK || errOut != "" {
		t.Fatalf("exit %d, %s", code, errOut)
	}
	var got struct {
		Shards    int64
		ShardPlan struct{ Least, Headroom, Chosen int64 }
		Prices    struct{ Region, Date, Source string }
		Story     struct {
			Chosen, Tenfold string
			Scenarios       []struct{ Name, Printed, WithReads string }
		}
		Corrected []struct{ Total string }
		Choices   []struct{ Index, Recommended string }
		Keys      []struct {
			Remarks []struct{ Severity, Code string }
		}
	}
	if err := json.Unmarshal([]byte(out), &got); err != nil {
		t.Fatal(err)
	}
	if got.Shards != 20 || got.ShardPlan.Least != 4 || got.ShardPlan.Headroom != 10 || got.ShardPlan.Chosen != 20 {
		t.Errorf("shards: %+v", got.ShardPlan)
	}
	if got.Story.Chosen != "13.28" || got.Story.Tenfold != "132.83" || len(got.Story.Scenarios) != 5 || got.Story.Scenarios[0].Printed != "5.75" || got.Story.Scenarios[3].WithReads != "13.3116" {
		t.Errorf("story: %+v", got.Story)
	}
	if got.Prices.Region != "us-east-1" || got.Prices.Date != "2024-11-01" || got.Prices.Source == "" {
		t.Errorf("prices: %+v", got.Prices)
	}
	if len(got.Choices) != 2 || got.Choices[0].Recommended != "All" || got.Choices[1].Recommended != "KeysOnly" || !strings.HasPrefix(got.Corrected[3].Total, "9.508") {
		t.Errorf("choices: %+v, corrected: %+v", got.Choices, got.Corrected)
	}
	if len(got.Keys) != 1 || len(got.Keys[0].Remarks) == 0 || got.Keys[0].Remarks[0].Severity != "fine" {
		t.Errorf("keys: %+v", got.Keys)
	}
}

// calls are what a script or a style would load with.
var calls = regexp.MustCompile(`(?i)@import|url\(\s*["']?(?:https?:)?//|\b(?:fetch|importScripts|XMLHttpRequest|WebSocket|EventSource)\s*\(|\bimport\s*\(`)

// loads lists what a browser would fetch for a page: attributes that name an address, and calls in scripts and styles.
func loads(page string) []string {
	var found []string
	for tokens := html.NewTokenizer(strings.NewReader(page)); ; {
		switch tokens.Next() {
		case html.ErrorToken:
			return found
		case html.StartTagToken, html.SelfClosingTagToken:
			token := tokens.Token()
			for _, attribute := range token.Attr {
				switch attribute.Key {
				case "src", "srcset", "href", "data", "action", "poster", "background", "xlink:href":
					found = append(found, token.String())
				}
				found = append(found, calls.FindAllString(attribute.Val, -1)...)
			}
		case html.TextToken:
			found = append(found, calls.FindAllString(tokens.Token().Data, -1)...)
		default: // ends, comments and the document type load nothing
		}
	}
}

func TestPlanPageLoadsNothing(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "plan.html")
	code, out, errOut := heatsink(t, nil, "plan", "--html", path, "--pattern", `partition=</script><script src="https://example.com/x.js">{date}`)
	if code != exitOK || errOut != "" || out != "written: "+path+"\n" {
		t.Fatalf("exit %d, %s%s", code, out, errOut)
	}
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	page := string(content)
	if found := loads(page); len(found) != 0 {
		t.Errorf("the page loads something: %q", found)
	}
	if !strings.Contains(page, `content="default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:"`) {
		t.Error("no policy forbids loads")
	}
	if strings.Contains(page, "go-echarts.github.io") || !strings.Contains(page, "Licensed to the Apache Software Foundation") {
		t.Error("the script isn't the one that is built in")
	}
	for _, id := range []string{"risk", "scenarios", "differences", "load0", "load1"} {
		if strings.Count(page, `id="`+id+`"`) != 1 || strings.Count(page, `getElementById("`+id+`")`) != 1 {
			t.Errorf("chart %s has no place or no options", id)
		}
	}
	for _, text := range []string{"$13.28", "$132.83", "us-east-1", "recommended: All", "recommended: KeysOnly", "&lt;/script&gt;"} {
		if !strings.Contains(page, text) {
			t.Errorf("no %q on the page", text)
		}
	}
	if left, err := filepath.Glob(filepath.Join(filepath.Dir(path), ".plan-*")); err != nil || len(left) != 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// The check above finds what it looks for.
func TestLoadsAreFound(t *testing.T) {
	t.Parallel()
	for _, page := range []string{
		`<script src="https://go-echarts.github.io/go-echarts-assets/assets/echarts.min.js">`, `<link rel=stylesheet href=//x>`, `<img src="x">`, `<style>@import "x"</style>`,
		`<style>p{background:url(https://x)}</style>`, `<p style="background:url('//x')">`, `<script>fetch("x")</script>`, `<script>new XMLHttpRequest()</script>`,
	} {
		if len(loads(page)) == 0 {
			t.Errorf("%s isn't found", page)
		}
	}
}

func TestPlanChartsHoldTheNumbersOfTheTables(t *testing.T) {
	t.Parallel()
	page := filepath.Join(t.TempDir(), "plan.html")
	if code, _, errOut := heatsink(t, nil, "plan", "--html", page); code != exitOK {
		t.Fatal(errOut)
	}
	content, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	options := regexp.MustCompile(`getElementById\("(\w+)"\)\);\s+chart\.setOption\((\{.*\})\);`).FindAllStringSubmatch(string(content), -1)
	got := map[string][]string{}
	for _, match := range options {
		var chart struct {
			Series []struct {
				Name string
				Data []struct{ Value json.Number }
			}
		}
		if err := json.Unmarshal([]byte(match[2]), &chart); err != nil {
			t.Fatalf("%s: %v", match[1], err)
		}
		for _, series := range chart.Series {
			line := series.Name + ":"
			for _, point := range series.Data {
				line += " " + point.Value.String()
			}
			got[match[1]] = append(got[match[1]], line)
		}
	}
	want := map[string][]string{
		"scenarios": {
			"the story: 5.7500 13.1600 13.2100 13.2800 13.2800", "corrected, its prices: 20.4897 17.1987 17.1388 17.1314 17.1295", "corrected: 11.1878 9.5424 9.5124 9.5088 9.5078",
		},
		"load0": {"corrected: 1100 300 200 75 55 50", "the story (pending index): 485 280 400 0 0 0"},
		"load1": {"corrected: 11000 3000 2000 750 550 500", "the story (pending index): 4850 2800 4000 0 0 0"},
	}
	for id, series := range want {
		if diff := cmp.Diff(series, got[id]); diff != "" {
			t.Errorf("%s: %s", id, diff)
		}
	}
	if len(got["risk"]) != 4 || !strings.Contains(got["risk"][0], "4 partitions: 1.0000 0.9063 ") || len(got["differences"]) != 4 {
		t.Errorf("%q, %q", got["risk"], got["differences"])
	}
}

func TestPlanTakesPricesFromAFileAndFromFlags(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "prices.json")
	list := `[{"name":"frankfurt","region":"eu-central-1","date":"2026-01-31","source":"a test","storagePerGBMonth":"0.5","writesPerMillion":"2","readsPerMillion":"0.4"}]`
	if err := os.WriteFile(file, []byte(list), 0o600); err != nil {
		t.Fatal(err)
	}
	broken := filepath.Join(t.TempDir(), "broken.json")
	if err := os.WriteFile(broken, []byte(strings.Replace(list, `"2"`, `"0"`, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		args, want []string
	}{
		{[]string{"--prices", file}, []string{"prices: eu-central-1, 2026-01-31: $0.500 a GB-month, $2.000 a million write units", "$6.00"}}, // 3,000,000 write units
		{[]string{"--price-writes", "0.7", "--price-region", "eu-west-1", "--price-date", "2026-02-01"}, []string{"prices: eu-west-1, 2026-02-01: $0.250 a GB-month, $0.700 a million write units", "$2.10"}},
		{[]string{"--price-set", "before-2024-11"}, []string{"prices: us-east-1, 2024-10-31", "$1.250 a million write units"}},
	} {
		code, out, errOut := heatsink(t, nil, append([]string{"plan"}, test.args...)...)
		flat := strings.Join(strings.Fields(out), " ")
		if code != exitOK || errOut != "" {
			t.Errorf("%v: exit %d, %s", test.args, code, errOut)
		}
		for _, want := range test.want {
			if !strings.Contains(flat, want) {
				t.Errorf("%v: no %q", test.args, want)
			}
		}
	}
	if code, _, errOut := heatsink(t, nil, "plan", "--prices", broken); code != exitUsage || !strings.Contains(errOut, "--prices: ") || !strings.Contains(errOut, "entry 1: writesPerMillion: must be above $0 and at most $100") {
		t.Errorf("exit %d, %s", code, errOut)
	}
}

func TestPlanRefusesBadInputInOneLineThatNamesTheFlagAndTheLimit(t *testing.T) {
	t.Parallel()
	for call, want := range map[string]string{
		"--events 0":            "--events: must be from 1 to 500000000, is 0",
		"--events x":            "--events: expected a valid 64 bit int",
		"--month 32":            "--month: must be from 1 to 31, is 32",
		"--retention 0":         "--retention: must be from 1 to 3650, is 0",
		"--item-bytes 409601":   "--item-bytes: must be from 1 to 409600, is 409601",
		"--keys-only-bytes 801": "--keys-only-bytes: must be from 1 to 800, is 801",
		"--include-bytes 169":   "--include-bytes: must be from 170 to 800, is 169",
		"--pending 101":         "--pending: must be a percentage from 0 to 100 with at most 4 decimal places",
		"--pending 0.00001":     "--pending: must be a percentage",
		"--retried x":           "--retried: must be a percentage",
		"--failed 2":            "--failed: must be at most what --pending and --retried say",
		"--pending-ms 1,2":      "--pending-ms: must be three numbers",
		"--pending-ms 1,2,x":    "--pending-ms: must be three whole numbers with commas, from 1 to 60000",
		"--failed-ms 1,2,0":     "--failed-ms: for All must be from 1 to 60000, is 0",
		"--pending-rows 10001":  "--pending-rows: must be from 0 to 10000, is 10001",
		"--failed-target 0":     "--failed-target: must be from 1 to 60000, is 0",
		"--peak-writes 1000000": "--peak-writes: would need 6250 shards, more than the 1000",
		"--spike 0":             "--spike: must be from 1 to 1000, is 0",
		"--usable 1001":         "--usable: must be from 1 to 1000, is 1001",
		"--headroom 0.5":        "--headroom: must be a number from 1 to 100",
		"--headroom 2.555":      "--headroom: must be a number from 1 to 100 with at most 2 decimal places",
		"--shards 0":            "--shards: must be from 1 to 1000, is 0",
		"--shards 1001":         "--shards: must be from 1 to 1000, is 1001",
		"--partitions 0":        "--partitions: must be from 1 to 100000, is 0",
		"--price-writes 0":      "--price-writes: must be above $0 and at most $100, is 0",
		"--price-reads 1e3":     "--price-reads: \"1e3\" is no amount of dollars",
		"--price-storage 101":   "--price-storage: must be above $0 and at most $100",
		"--price-writes 1 --price-date 2026-02-30": "--price-date: must be a day as YYYY-MM-DD",
		"--price-region x":                         "--price-region",
		"--price-set mars":                         "--price-set: there are no prices \"mars\"; there are: us-east-1, before-2024-11",
		"--prices /nowhere":                        "--prices: ",
		"--table Nope":                             "--table: there is no table \"Nope\"; the catalog has: User,",
		"--table=":                                 "--table: there is no table \"\"",
		"--pattern foo={id}":                       "--pattern: \"foo\" is no key attribute here; there are: partition, sort",
		"--pattern partition={":                    "--pattern: partition: pattern \"{\": a brace has no partner",
		"--table Event --pattern partition={id}":   "there are: failed_pending_message_pk,",
		"--hottest 101":                            "--hottest: must be a percentage",
		"--collection-bytes 5":                     "--collection-bytes: needs --lsi",
		"--html /nowhere/plan.html":                "--html: ",
		"--html /":                                 "--html: / is a folder",
		"extra":                                    "unexpected argument extra; try: heatsink plan --help",
	} {
		code, out, errOut := heatsink(t, nil, append([]string{"plan"}, strings.Fields(call)...)...)
		if code != exitUsage || out != "" || strings.Count(errOut, "\n") != 1 || !strings.HasPrefix(errOut, "heatsink: ") || !strings.Contains(errOut, want) {
			t.Errorf("%s: exit %d, out %q, err %q; want %q", call, code, out, errOut, want)
		}
	}
}

func TestPlanHasHelpWithExamples(t *testing.T) {
	t.Parallel()
	code, out, errOut := heatsink(t, nil, "plan", "--help")
	if code != exitOK || errOut != "" || !strings.Contains(out, "Examples:") || !strings.Contains(out, "heatsink plan --table Event") || !strings.Contains(out, "--json") || !strings.Contains(out, "--html") {
		t.Errorf("exit %d, %s%s", code, out, errOut)
	}
}

// The event buffer's own keys, as the catalog has them, have nothing against them.
func TestPlanFindsNothingWrongWithTheCatalogsEventTable(t *testing.T) {
	t.Parallel()
	code, out, _ := heatsink(t, nil, "plan", "--table", "Event", "--json")
	var got struct {
		Keys []struct {
			Name    string
			Remarks []struct{ Severity, Text string }
		}
	}
	if err := json.Unmarshal([]byte(out), &got); err != nil || code != exitOK || len(got.Keys) != 3 {
		t.Fatalf("exit %d, %d keys, %v", code, len(got.Keys), err)
	}
	for _, key := range got.Keys {
		for _, remark := range key.Remarks {
			if remark.Severity != "fine" {
				t.Errorf("%s: %s: %s", key.Name, remark.Severity, remark.Text)
			}
		}
	}
}
