package backfill_test

import (
	"fmt"
	"os"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"

	"github.com/heatsink-dev/heatsink/pkg/backfill"
	"github.com/heatsink-dev/heatsink/pkg/ddb"
	"github.com/heatsink-dev/heatsink/pkg/ddbtest"
)

func TestScanFindsDuplicatesAcrossSegmentsByMappedForm(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	k.crowd(30)
	k.legacy("a", "Ａlice", "x@example.com")
	k.legacy("b", "alice", "X@EXAMPLE.com")
	k.legacy("c", "ALICE", "")
	k.legacy("d", "straße", "")
	k.legacy("e", "strasse", "") // another name: ß is a letter of its own
	k.signUp("f", "Name7", "")   // a live user took the name of old-7, who has no claim yet
	k.legacy("g", "al ice", "")
	k.legacy("h", "аlice", "no address") // Cyrillic а: mixed scripts
	k.put(k.users, ddb.Item{"userId": s("i"), "nickname": &types.AttributeValueMemberN{Value: "7"}})
	k.put(k.users, ddb.Item{"userId": s("j"), "nickname": &types.AttributeValueMemberNULL{Value: true}})
	k.put(k.users, ddb.Item{"userId": s("k"), "nickname": s("")})
	before := ddbtest.Dump(t, k.plain, k.users)

	for _, segments := range []int{1, 3, 16} {
		var f found
		result, err := k.tool(func(c *backfill.Config) { c.Segments = segments }).Scan(t.Context(), f.add)
		if err != nil {
			t.Fatal(err)
		}
		want := []string{
			"duplicate EMAIL#x@example.com a,b", "duplicate NICKNAME#alice a,b,c", "duplicate NICKNAME#name7 f,old-7",
			"unmappable EMAIL# h", "unmappable NICKNAME# g", "unmappable NICKNAME# h", "unmappable NICKNAME# i", "unmappable NICKNAME# k",
		}
		if diff := cmp.Diff(want, f.texts()); diff != "" {
			t.Errorf("%d segments: %s", segments, diff)
		}
		if want := (backfill.ScanResult{Users: 41, Names: 30 + 15 + 8 + 3 + 2, Duplicates: 3, InDuplicates: 7, Unmappable: 5}); result != want || result.Clean() {
			t.Errorf("%d segments: %+v, want %+v", segments, result, want)
		}
		for _, one := range f.list {
			if one.Kind == backfill.KindDuplicate && len(one.Spellings) != len(one.UserIDs) {
				t.Errorf("%+v", one)
			}
			if one.Kind == backfill.KindUnmappable && one.Reason == "" {
				t.Errorf("%+v: no reason", one)
			}
		}
	}
	if diff := cmp.Diff(before, ddbtest.Dump(t, k.plain, k.users), ignoreState()); diff != "" {
		t.Errorf("a scan wrote: %s", diff)
	}
	for _, call := range k.faults.Calls() {
		switch call.Operation {
		case "DescribeTable", "Scan", "BatchGetItem":
		default:
			t.Errorf("a scan called %s", call.Operation)
		}
	}
}

// A name that one user gives up and another takes while the scan goes on is no duplicate.
func TestScanReadsAgainBeforeItSaysDuplicate(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	k.signUp("first", "shared", "")
	k.signUp("second", "other", "")
	// The first page that shows one of them is read before the change, the other segment's after it.
	moved := false
	k.faults.Add(ddbtest.Rule{Operation: "Scan", Do: ddbtest.RunAfter(func() {
		if moved {
			return
		}
		moved = true
		if _, err := k.live.Rename(t.Context(), "first", "elsewhere"); err != nil {
			t.Error(err)
		}
		if _, err := k.live.Rename(t.Context(), "second", "shared"); err != nil {
			t.Error(err)
		}
	})})
	var f found
	pages := k.tool(func(c *backfill.Config) { c.Segments = 1 })
	if _, err := backfill.ScanPages(pages, t.Context(), f.add, 1); err != nil {
		t.Fatal(err)
	}
	if len(f.list) > 0 || k.faults.Count("BatchGetItem") == 0 {
		t.Errorf("findings %v after %d reads again", f.texts(), k.faults.Count("BatchGetItem"))
	}
}

func TestScanSplitsFilesWithTooManyNames(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	const n = 400 // about 5 names a file, where 2 are allowed
	var puts []types.WriteRequest
	want := []string{}
	for i := range n {
		name := fmt.Sprint("name", i)
		puts = append(puts, types.WriteRequest{PutRequest: &types.PutRequest{Item: ddb.Item{"userId": s("first-" + name), "nickname": s(name)}}})
		if i%10 == 0 {
			puts = append(puts, types.WriteRequest{PutRequest: &types.PutRequest{Item: ddb.Item{"userId": s("second-" + name), "nickname": s("N" + name[1:])}}})
			want = append(want, fmt.Sprintf("duplicate NICKNAME#%s first-%s,second-%s", name, name, name))
		}
	}
	k.putAll(puts)
	var f found
	dir := t.TempDir()
	tool := k.tool(func(c *backfill.Config) { c.TempDir = dir })
	result, err := backfill.ScanSpool(tool, t.Context(), f.add, 2)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(sorted(want), f.texts()); diff != "" || result.Names != n+n/10 {
		t.Errorf("%+v: %s", result, diff)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestScanListsManyHoldersOfOneNameBounded(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	var puts []types.WriteRequest
	for n := range 1010 {
		puts = append(puts, types.WriteRequest{PutRequest: &types.PutRequest{Item: ddb.Item{"userId": s(fmt.Sprint("u", n)), "nickname": s("same")}}})
	}
	k.putAll(puts)
	var f found
	result, err := k.tool().Scan(t.Context(), f.add)
	if err != nil || len(f.list) != 1 || len(f.list[0].UserIDs) != 1000 || f.list[0].More != 10 || result.InDuplicates != 1010 {
		t.Errorf("%+v, %v: %d findings", result, err, len(f.list))
	}
}

// Throttles and lost answers of reads are tried again.
func TestScanGoesOnThroughThrottlesAndLostAnswers(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	k.crowd(20)
	k.legacy("a", "name1", "")
	for n, fault := range []ddbtest.Fault{ddbtest.Throttle(ddbtest.CodeProvisioned), ddbtest.LostAnswer(), ddbtest.Timeout(), ddbtest.ServerError()} {
		for _, operation := range []string{"Scan", "BatchGetItem"} {
			k.faults.Add(ddbtest.Rule{Operation: operation, From: 1 + n, Times: 5, Do: fault})
		}
	}
	var f found
	result, err := k.tool().Scan(t.Context(), f.add)
	if err != nil || result.Duplicates != 1 || result.Users != 21 {
		t.Errorf("%+v, %v", result, err)
	}
}

func ignoreState() cmp.Option {
	return cmp.FilterPath(func(p cmp.Path) bool { return p.Last().String() == ".noSmithyDocumentSerde" }, cmp.Ignore())
}
