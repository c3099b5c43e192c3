package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/heatsink-dev/heatsink/pkg/catalog"
	"github.com/heatsink-dev/heatsink/pkg/ddb"
	"github.com/heatsink-dev/heatsink/pkg/ddbtest"
	"github.com/heatsink-dev/heatsink/pkg/schema"
)

func TestBadInputOfFillIsOneLineAndExitCode2(t *testing.T) {
	t.Parallel()
	for call, want := range map[string]string{
		"fill":                            "fill --help",
		"fill bogus":                      `there is no index "bogus"; the catalog has: failed-pending-index, managed, pending-index, team-status`,
		"fill pending-index":              "index pending-index has no table to fill: it is built as GSI only",
		"fill managed":                    "or give --outputs",
		"fill managed more":               "unexpected argument more",
		"fill managed --segments 0":       "--segments: must be 1 to 256, is 0",
		"fill managed --segments 257":     "--segments: must be 1 to 256, is 257",
		"fill managed --segments x":       "--segments",
		"fill managed --outputs /nowhere": "no such file",
	} {
		code, out, errOut := heatsink(t, nil, strings.Fields(call)...)
		if code != exitUsage || out != "" || strings.Count(errOut, "\n") != 1 || !strings.HasPrefix(errOut, "heatsink: ") || !strings.Contains(errOut, want) {
			t.Errorf("%s: exit %d, out %q, err %q; want %q", call, code, out, errOut, want)
		}
	}
}

func TestFillHasHelpWithExamplesThatParse(t *testing.T) {
	t.Parallel()
	code, out, errOut := heatsink(t, nil, "fill", "--help")
	if code != exitOK || errOut != "" || !strings.Contains(strings.Join(strings.Fields(out), " "), "the indexer must be running before") || !strings.Contains(out, "Exit code 1") {
		t.Errorf("exit %d, %s%s", code, out, errOut)
	}
	seen := 0
	for line := range strings.Lines(fillCommand{}.Help()) {
		if example, ok := strings.CutPrefix(strings.TrimSpace(line), "heatsink "); ok {
			seen++
			if _, _, errOut := heatsink(t, nil, append(strings.Fields(example), "--help")...); errOut != "" {
				t.Errorf("%s: %s", example, errOut)
			}
		}
	}
	if seen < 3 {
		t.Errorf("%d examples", seen)
	}
}

func TestFillFillsAnIndexTableAnyNumberOfTimes(t *testing.T) {
	local(t)
	tables, err := catalog.Load()
	if err != nil {
		t.Fatal(err)
	}
	index, _ := tables.Index("managed")
	base, table := ddbtest.Table(t, index.Source), ddbtest.IndexTable(t, index)
	variables := map[string]string{schema.TableEnv(index.Source.Name): base, schema.TableEnv(index.TableName()): table}
	client := ddbtest.Client(t)
	put := func(item ddb.Item) {
		if _, err := client.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &base, Item: item}); err != nil {
			t.Fatal(err)
		}
	}
	text := func(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }
	for n := range 10 {
		put(ddb.Item{"userId": text(fmt.Sprint("u", n)), "ID": text("team"), "managedKey": &types.AttributeValueMemberN{Value: fmt.Sprint(1700000000000 + n)}})
	}
	put(ddb.Item{"userId": text("sparse")})

	code, out, errOut := heatsink(t, variables, "fill", "managed")
	if code != exitOK || out != "11 items read = 10 written + 0 kept + 1 not indexed + 0 rejected\n" || !strings.Contains(errOut, "fill, of about") {
		t.Errorf("exit %d, %s%s", code, out, errOut)
	}
	if rows := ddbtest.Dump(t, client, table); len(rows) != 10 {
		t.Errorf("%d rows", len(rows))
	}
	code, out, errOut = heatsink(t, variables, "fill", "managed", "--json", "--segments", "1")
	if code != exitOK || errOut != "" || !strings.Contains(out, `"kept": 10`) || !strings.Contains(out, `"written": 0`) {
		t.Errorf("again: exit %d, %s%s", code, out, errOut)
	}

	big := ddb.Item{"userId": text("big"), "ID": text("team"), "managedKey": &types.AttributeValueMemberN{Value: "1"}, "x": text("")}
	big["x"] = text(strings.Repeat("x", ddb.MaxItemSize-ddb.Size(big)))
	put(big)
	code, out, errOut = heatsink(t, variables, "fill", "managed", "--json")
	if code != exitFailed || !strings.Contains(out, `"rejected": 1`) || !strings.Contains(errOut, "1 items have no row; one of them: index managed: the row has ") {
		t.Errorf("too large: exit %d, %s%s", code, out, errOut)
	}
	variables[schema.TableEnv(index.Source.Name)] = "nowhere"
	if code, _, errOut := heatsink(t, variables, "fill", "managed", "--json"); code != exitFailed || !strings.Contains(errOut, "not finished: ") {
		t.Errorf("no base table: exit %d, %s", code, errOut)
	}
}
