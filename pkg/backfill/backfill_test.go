package backfill_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/google/go-cmp/cmp"

	"github.com/heatsink-dev/heatsink/pkg/backfill"
	"github.com/heatsink-dev/heatsink/pkg/ddb"
	"github.com/heatsink-dev/heatsink/pkg/ddbtest"
	"github.com/heatsink-dev/heatsink/pkg/unique"
)

func TestBackfillWritesEveryClaimOnce(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	k.crowd(25)
	k.legacy("nameless", "", "")
	k.signUp("new", "Fresh", "fresh@example.com")
	result, err := k.backfill(k.tool())
	if err != nil {
		t.Fatal(err)
	}
	want := backfill.Counts{Read: 27, Written: 25, Skipped: 2, NoName: 1, Held: 1, ClaimsWritten: 25 + 13, ClaimsHeld: 2}
	if diff := cmp.Diff(want, result.Counts); diff != "" || !result.Finished || result.Resumed {
		t.Errorf("%+v: %s", result, diff)
	}
	k.whole()
	// Done is done: nothing is read again, and nothing written.
	k.faults.Clear()
	again, err := k.backfill(k.tool())
	if err != nil || again.Counts != want || !again.Resumed || k.faults.Count("Scan") > 0 || k.faults.Count("TransactWriteItems") > 0 {
		t.Errorf("again: %+v, %v", again, err)
	}
	// From the beginning, all is there.
	k.checkpoint += "-2"
	again, err = k.backfill(k.tool())
	if err != nil || again.Held != 26 || again.Written != 0 || k.faults.Count("TransactWriteItems") > 0 {
		t.Errorf("anew: %+v, %v", again, err)
	}
}

// What account leaves behind when it renames a user that has no incarnation is brought into one: claims and user get it together.
func TestBackfillGivesAnIncarnationToUsersAndTheClaimsThatTheyHave(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	k.legacy("u", "Before", "u@example.com")
	if _, err := k.live.Rename(t.Context(), "u", "After"); err != nil {
		t.Fatal(err)
	}
	result, err := k.backfill(k.tool())
	if err != nil || result.Written != 1 || result.ClaimsWritten != 2 {
		t.Errorf("%+v, %v", result, err)
	}
	k.whole()
	if diff := cmp.Diff(map[string]string{"NICKNAME#after": "u", "EMAIL#u@example.com": "u"}, k.state()); diff != "" {
		t.Error(diff)
	}
	if err := k.live.Withdraw(t.Context(), "u"); err != nil || len(k.state()) > 0 {
		t.Errorf("%v, left %v", err, k.state())
	}
}

func TestBackfillStopsOnFindingsBeforeItWrites(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	k.crowd(6)
	k.legacy("a", "Ａlice", "a@example.com")
	k.legacy("b", "alice", "")
	k.legacy("c", "no good", "c@example.com")
	_, err := k.backfill(k.tool())
	if !errors.Is(err, backfill.ErrFindings) || k.faults.Count("TransactWriteItems") > 0 || len(k.state()) > 0 {
		t.Fatalf("%v, claims %v", err, k.state())
	}
	want := []string{"duplicate NICKNAME#alice a,b", "unmappable NICKNAME# c"}
	if diff := cmp.Diff(want, lines(t, k.checkpoint+backfill.FindingsSuffix)); diff != "" {
		t.Error(diff)
	}
	// It may be told to go on without them: nobody gets the shared name, and their other names are claimed.
	result, err := k.tool().Backfill(t.Context(), backfill.Options{Checkpoint: k.checkpoint, SkipFindings: true})
	if err != nil || result.Rejected != 3 || result.Written != 6 || result.ClaimsRejected != 3 || result.ClaimsWritten != 6+3+2 {
		t.Errorf("%+v, %v", result, err)
	}
	claims := k.state()
	if claims["NICKNAME#alice"] != "" || claims["EMAIL#a@example.com"] != "a" || claims["EMAIL#c@example.com"] != "c" {
		t.Errorf("claims %v", claims)
	}
	want = []string{"duplicate NICKNAME#alice a", "duplicate NICKNAME#alice b", "unmappable NICKNAME# c"}
	if diff := cmp.Diff(want, lines(t, k.checkpoint+backfill.RejectedSuffix)); diff != "" {
		t.Error(diff)
	}
	// The other way round is another run.
	if _, err := k.backfill(k.tool()); err == nil || !strings.Contains(err.Error(), "skipping findings") {
		t.Errorf("%v", err)
	}
}

// A run that dies at its n-th call, before or after the engine did it, and is started again, ends as one that never died, for every n.
func TestBackfillKilledAtAnyCallLosesAndDoublesNothing(t *testing.T) {
	t.Parallel()
	want := backfill.Counts{Read: 8, Written: 6, Skipped: 1, NoName: 1, Rejected: 1, ClaimsWritten: 6 + 3, ClaimsRejected: 1}
	deaths := 0
	for n := 1; ; n++ {
		alive := 0
		for name, fault := range map[string]ddbtest.Fault{"before": ddbtest.Crash(), "after": ddbtest.CrashAfter()} {
			k := newKit(t)
			k.crowd(6)
			k.legacy("nameless", "", "")
			k.legacy("bad", "x y", "")
			small := func(c *backfill.Config) { c.Segments, c.PageSize, c.Concurrency = 2, 3, 2 }
			options := backfill.Options{Checkpoint: k.checkpoint, SkipFindings: true}
			k.faults.Add(ddbtest.Rule{From: n, Do: fault})
			result, err := k.tool(small).Backfill(t.Context(), options)
			if err == nil {
				alive++
			} else if !crashed(err) {
				t.Fatalf("call %d, %s: %v", n, name, err)
			} else {
				deaths++
				k.faults.Clear()
				if result, err = k.tool(small).Backfill(t.Context(), options); err != nil {
					t.Fatalf("call %d, %s: resumed: %v", n, name, err)
				}
			}
			if diff := cmp.Diff(want, result.Counts); diff != "" || !result.Finished {
				t.Errorf("call %d, %s: %s", n, name, diff)
			}
			if diff := cmp.Diff([]string{"unmappable NICKNAME# bad"}, lines(t, k.checkpoint+backfill.RejectedSuffix)); diff != "" {
				t.Errorf("call %d, %s: %s", n, name, diff)
			}
			claims := k.state()
			if len(claims) != 9 {
				t.Errorf("call %d, %s: %d claims", n, name, len(claims))
			}
			for i := range 6 {
				if key := fmt.Sprint("NICKNAME#name", i); claims[key] != fmt.Sprint("old-", i) {
					t.Errorf("call %d, %s: %s belongs to %q", n, name, key, claims[key])
				}
			}
		}
		if alive == 2 {
			break
		}
	}
	if deaths < 30 {
		t.Errorf("died %d times only", deaths)
	}
}

// What a crash leaves half-written beside the checkpoint, or past its end, does not count.
func TestBackfillIgnoresWhatACrashLeftInFiles(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	k.crowd(9)
	k.legacy("bad", "x y", "")
	options := backfill.Options{Checkpoint: k.checkpoint, SkipFindings: true}
	k.faults.Add(ddbtest.Rule{Operation: "TransactWriteItems", From: 5, Do: ddbtest.Crash()})
	if _, err := k.tool().Backfill(t.Context(), options); !crashed(err) {
		t.Fatal(err)
	}
	k.faults.Clear()
	for path, more := range map[string]string{k.checkpoint + ".123.part": `{"version":1,`, k.checkpoint + backfill.RejectedSuffix: `{"kind":"unmappable","userIds":["` + strings.Repeat("torn", 200)} {
		file, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := file.WriteString(more); err != nil {
			t.Fatal(err)
		}
		if err := file.Close(); err != nil {
			t.Fatal(err)
		}
	}
	result, err := k.tool().Backfill(t.Context(), options)
	if err != nil || result.Read != 10 || result.Written != 9 {
		t.Errorf("%+v, %v", result, err)
	}
	if diff := cmp.Diff([]string{"unmappable NICKNAME# bad"}, lines(t, k.checkpoint+backfill.RejectedSuffix)); diff != "" {
		t.Error(diff)
	}
}

func TestBackfillRefusesTheCheckpointOfAnotherRun(t *testing.T) {
	t.Parallel()
	k, other := newKit(t), newKit(t)
	k.crowd(8)
	k.faults.Add(ddbtest.Rule{Operation: "TransactWriteItems", From: 3, Do: ddbtest.Crash()})
	if _, err := k.backfill(k.tool()); !crashed(err) {
		t.Fatal(err)
	}
	k.faults.Clear()
	raw, err := os.ReadFile(k.checkpoint)
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		change func(*backfill.Config)
		edit   func(map[string]any)
		want   string
	}{
		"user table":       {change: func(c *backfill.Config) { c.UserTable = other.users }, want: "is of the user table"},
		"claim table":      {change: func(c *backfill.Config) { c.ClaimTable = other.claims }, want: "is of the claim table"},
		"segments":         {change: func(c *backfill.Config) { c.Segments = 5 }, want: "is of 3 segments, not of 5"},
		"user table anew":  {edit: func(c map[string]any) { c["userTableId"] = "gone" }, want: "is of an earlier table"},
		"claim table anew": {edit: func(c map[string]any) { c["claimTableId"] = "gone" }, want: "is of an earlier table"},
		"version":          {edit: func(c map[string]any) { c["version"] = 2 }, want: "is no checkpoint of this version"},
		"unknown field":    {edit: func(c map[string]any) { c["x"] = 2 }, want: "is no checkpoint"},
		"bad key": {edit: func(c map[string]any) {
			c["progress"] = []any{map[string]any{"next": "x"}, map[string]any{}, map[string]any{}}
		}, want: "is no checkpoint"},
		"other findings":    {edit: func(c map[string]any) { c["findingsSha256"] = "0" }, want: "goes with another"},
		"longer rejections": {edit: func(c map[string]any) { c["rejectedBytes"] = 1000 }, want: "goes with another"},
	} {
		content := map[string]any{}
		if err := json.Unmarshal(raw, &content); err != nil {
			t.Fatal(err)
		}
		if test.edit != nil {
			test.edit(content)
		}
		edited, err := json.Marshal(content)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(k.checkpoint, edited, 0o600); err != nil {
			t.Fatal(err)
		}
		change := test.change
		if change == nil {
			change = func(*backfill.Config) {}
		}
		k.faults.Clear()
		_, err = k.backfill(k.tool(change))
		if bad, ok := errors.AsType[*backfill.CheckpointError](err); !ok || !strings.Contains(bad.Error(), test.want) || k.faults.Count("TransactWriteItems") > 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := os.WriteFile(k.checkpoint, []byte("not json"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := k.backfill(k.tool()); err == nil || !strings.Contains(err.Error(), "is no checkpoint") {
		t.Errorf("%v", err)
	}
}

// Where throttling does not end, the run does, and says so; nothing is counted that was not done.
func TestBackfillEndsWhenThrottlingDoesNot(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	k.crowd(5)
	k.faults.Add(ddbtest.Rule{Operation: "TransactWriteItems", Do: ddbtest.Throttle(ddbtest.CodeProvisioned)})
	// The clock of the retries jumps, so that no test waits: each wait is a minute of the five.
	clock := ddbtest.NewClock(time.Now())
	tool := k.tool(func(c *backfill.Config) {
		c.Retry = ddb.Policy{Now: clock.Now, Sleep: func(ctx context.Context, _ time.Duration) error { clock.Advance(time.Minute); return ctx.Err() }}
	})
	result, err := k.backfill(tool)
	if !errors.Is(err, unique.ErrTryAgain) || result.Read != 0 || result.Finished {
		t.Errorf("%+v, %v", result, err)
	}
	k.faults.Clear()
	if result, err = k.backfill(k.tool()); err != nil || result.Written != 5 || !result.Resumed {
		t.Errorf("%+v, %v", result, err)
	}
}

// A user that DynamoDB refuses to write is rejected, and the run goes on.
func TestBackfillRejectsAUserThatCannotGrow(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	k.legacy("u", "Name", "")
	k.faults.Add(ddbtest.Rule{Operation: "TransactWriteItems", Nth: 1, Do: ddbtest.Cancel("ValidationError", "None")})
	result, err := k.backfill(k.tool())
	if err != nil || result.Rejected != 1 || !result.Balanced() {
		t.Errorf("%+v, %v", result, err)
	}
	if diff := cmp.Diff([]string{"refused # u"}, lines(t, k.checkpoint+backfill.RejectedSuffix)); diff != "" {
		t.Error(diff)
	}
}

// The rate is kept by what was consumed: 10 users of 4 WRU each at 8 WRU a second are 5 seconds of waiting, less the last.
func TestBackfillKeepsTheWriteRate(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	for n := range 10 {
		k.legacy(fmt.Sprint("u", n), fmt.Sprint("name", n), "")
	}
	clock := ddbtest.NewClock(time.Now())
	start := clock.Now()
	tool := k.tool(func(c *backfill.Config) {
		c.Segments, c.Concurrency, c.WriteUnits, c.Now = 1, 1, 8, clock.Now
		c.Retry = ddb.Policy{Now: time.Now, Sleep: func(ctx context.Context, d time.Duration) error { clock.Advance(d); return ctx.Err() }}
	})
	ctx, meter := ddb.WithMeter(t.Context())
	if _, err := tool.Backfill(ctx, backfill.Options{Checkpoint: k.checkpoint}); err != nil {
		t.Fatal(err)
	}
	units := max(meter.Usage().WriteUnits, 40)
	waited := clock.Now().Sub(start).Seconds()
	if least, most := (units-units/10)/8*0.99, units/8; waited < least || waited > most {
		t.Errorf("%g WRU in %g s, want %g to %g s", units, waited, least, most)
	}
}

func TestBackfillStopsWhenItIsTold(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	k.crowd(20)
	ctx, cancel := context.WithCancel(t.Context())
	k.faults.Add(ddbtest.Rule{Operation: "TransactWriteItems", Nth: 7, Do: ddbtest.RunAfter(cancel)})
	result, err := k.tool().Backfill(ctx, backfill.Options{Checkpoint: k.checkpoint})
	if !errors.Is(err, context.Canceled) || result.Finished {
		t.Fatalf("%+v, %v", result, err)
	}
	k.faults.Clear()
	if result, err = k.backfill(k.tool()); err != nil || result.Written != 20 || result.ClaimsWritten != 30 {
		t.Errorf("%+v, %v", result, err)
	}
	k.whole()
}

func TestConfigAndTablesAreChecked(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	for want, change := range map[string]func(*backfill.Config){
		"Segments must be 1 to 256, is 300":   func(c *backfill.Config) { c.Segments = 300 },
		"Concurrency must be 1 to 256, is -1": func(c *backfill.Config) { c.Concurrency = -1 },
		"PageSize must be 1 to 1000, is 2000": func(c *backfill.Config) { c.PageSize = 2000 },
		"needs a client":                      func(c *backfill.Config) { c.Client = (*dynamodb.Client)(nil); c.UserTable = "" },
	} {
		config := backfill.Config{Client: k.plain, UserTable: k.users}
		change(&config)
		if _, err := backfill.New(config); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	swapped := k.tool(func(c *backfill.Config) { c.UserTable, c.ClaimTable = k.claims, k.users })
	if _, err := swapped.Scan(t.Context(), (&found{}).add); err == nil || !strings.Contains(err.Error(), "its key must be userId (S) alone") {
		t.Errorf("%v", err)
	}
	nowhere := k.tool(func(c *backfill.Config) { c.UserTable = "nowhere" })
	if _, err := nowhere.Scan(t.Context(), (&found{}).add); ddb.Classify(err).Class != ddb.NotFound {
		t.Errorf("%v", err)
	}
	if _, err := k.tool().Backfill(t.Context(), backfill.Options{Checkpoint: filepath.Join(t.TempDir(), "no", "such", "folder")}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%v", err)
	}
}

func TestCountsKnowWhenTheyDoNotBalance(t *testing.T) {
	t.Parallel()
	good := backfill.Counts{Read: 6, Written: 1, Skipped: 3, NoName: 1, Held: 1, Gone: 1, Rejected: 2}
	if !good.Balanced() {
		t.Error("balanced counts are refused")
	}
	for name, change := range map[string]func(*backfill.Counts){
		"read": func(c *backfill.Counts) { c.Read++ }, "written": func(c *backfill.Counts) { c.Written-- },
		"skipped": func(c *backfill.Counts) { c.Skipped++; c.Read++ }, "rejected": func(c *backfill.Counts) { c.Rejected++ },
	} {
		bad := good
		if change(&bad); bad.Balanced() {
			t.Errorf("%s: not seen", name)
		}
	}
}

// A checkpoint is outside bytes: whatever they are, it is read or refused.
func FuzzCheckpoint(f *testing.F) {
	f.Add([]byte(`{"version":1,"userTable":"a","userTableId":"b","claimTable":"c","claimTableId":"d","segments":1,"run":"r","progress":[{"next":{"userId":{"S":"u"}}}]}`))
	f.Add([]byte(`{"version":1,"segments":-1,"run":"r","progress":[]}`))
	f.Add([]byte(`{"version":1,"segments":1,"run":"r","progress":[{"next":{"userId":{"S":1}}}]}`))
	f.Add([]byte(`null`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		if err := backfill.ParseCheckpoint(raw); err != nil {
			if _, ok := errors.AsType[*backfill.CheckpointError](err); !ok {
				t.Errorf("%T: %v", err, err)
			}
		}
	})
}
