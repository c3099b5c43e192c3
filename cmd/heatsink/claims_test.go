package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/heatsink-dev/heatsink/pkg/backfill"
	"github.com/heatsink-dev/heatsink/pkg/catalog"
	"github.com/heatsink-dev/heatsink/pkg/ddb"
	"github.com/heatsink-dev/heatsink/pkg/ddbtest"
	"github.com/heatsink-dev/heatsink/pkg/racelab"
	"github.com/heatsink-dev/heatsink/pkg/schema"
)

func TestBadInputOfClaimsAndLabIsOneLineAndExitCode2(t *testing.T) {
	t.Parallel()
	for call, want := range map[string]string{
		"claims bogus":     "claims --help",
		"claims scan":      "which User table?",
		"claims scan -x":   "claims --help",
		"claims scan more": "unexpected argument more",
		"claims scan --user-table u --segments 0":                                         "--segments: must be 1 to 256, is 0",
		"claims scan --user-table u --segments x":                                         "--segments",
		"claims scan --user-table u --segments 257":                                       "--segments: must be 1 to 256, is 257",
		"claims scan --user-table u --concurrency 0":                                      "--concurrency: must be 1 to 256, is 0",
		"claims scan --user-table u --patience 10m":                                       "--patience: must be 1s to 9m, is 10m0s",
		"claims scan --user-table u --temp /nowhere":                                      "--temp: /nowhere is no folder",
		"claims scan --outputs /nowhere":                                                  "no such file",
		"claims backfill --user-table u --claim-table c":                                  "missing flags: --checkpoint",
		"claims backfill --checkpoint x":                                                  "which User table?",
		"claims backfill --checkpoint x --user-table u":                                   "which Claim table?",
		"claims backfill --checkpoint /nowhere/x --user-table u --claim-table c":          "--checkpoint: /nowhere is no folder",
		"claims backfill --checkpoint x --user-table u --claim-table c --write-units=-1":  "--write-units: must be 0 or more, is -1",
		"claims backfill --checkpoint x --user-table u --claim-table c --write-units NaN": "--write-units: must be 0 or more, is NaN",
		"claims verify --user-table u":                                                    "which Claim table?",
		"claims verify --user-table u --claim-table c --write-units=+Inf":                 "--write-units: must be 0 or more",
		"lab":                 "lab --help",
		"lab bogus":           "lab --help",
		"lab race --lag soon": "--lag",
		"lab race --lag=-1s":  "--lag: must be 0s to 1m, is -1s",
		"lab race --lag 2m":   "--lag: must be 0s to 1m, is 2m0s",
	} {
		code, out, errOut := heatsink(t, nil, strings.Fields(call)...)
		if code != exitUsage || out != "" || strings.Count(errOut, "\n") != 1 || !strings.HasPrefix(errOut, "heatsink: ") || !strings.Contains(errOut, want) {
			t.Errorf("%s: exit %d, out %q, err %q; want %q", call, code, out, errOut, want)
		}
	}
}

func TestClaimsAndLabHaveHelpWithExamples(t *testing.T) {
	t.Parallel()
	for _, command := range []string{"claims scan", "claims backfill", "claims verify", "lab race"} {
		code, out, errOut := heatsink(t, nil, append(strings.Fields(command), "--help")...)
		if code != exitOK || !strings.Contains(out, "Examples:") || !strings.Contains(out, "heatsink "+command) || !strings.Contains(out, "--json") ||
			!strings.Contains(out, "Exit code") || errOut != "" {
			t.Errorf("%s: exit %d, %s%s", command, code, out, errOut)
		}
		for line := range strings.Lines(out) {
			if example, ok := strings.CutPrefix(strings.TrimSpace(line), "heatsink "); ok && strings.HasPrefix(example, command) {
				if _, _, errOut := heatsink(t, nil, append(strings.Fields(example), "--help")...); errOut != "" {
					t.Errorf("%s: %s", example, errOut)
				}
			}
		}
	}
}

// deployed makes the two tables and gives the functions' variables for them.
func deployed(t *testing.T) (variables map[string]string, users, claims string) {
	t.Helper()
	all, err := catalog.Load()
	if err != nil {
		t.Fatal(err)
	}
	user, _ := all.Table(catalog.UserTable)
	claim, _ := all.Table(catalog.ClaimTable)
	users, claims = ddbtest.Table(t, user), ddbtest.Table(t, claim)
	return map[string]string{schema.TableEnv(catalog.UserTable): users, schema.TableEnv(catalog.ClaimTable): claims}, users, claims
}

func legacy(t *testing.T, table, id, nickname string) {
	t.Helper()
	item := ddb.Item{"userId": &types.AttributeValueMemberS{Value: id}, "nickname": &types.AttributeValueMemberS{Value: nickname}}
	if _, err := ddbtest.Client(t).PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &table, Item: item}); err != nil {
		t.Fatal(err)
	}
}

func TestAnOldTableComesUnderClaims(t *testing.T) {
	local(t)
	variables, users, claims := deployed(t)
	dir := t.TempDir()
	report, checkpoint := filepath.Join(dir, "found.jsonl"), filepath.Join(dir, "claims.json")
	for n := range 20 {
		legacy(t, users, fmt.Sprint("u", n), fmt.Sprint("Name", n))
	}
	legacy(t, users, "a", "Ａlice")
	legacy(t, users, "b", "alice")

	code, out, errOut := heatsink(t, variables, "claims", "scan", "--report", report)
	if code != exitFailed || !strings.Contains(out, "22 users, 22 names: 1 duplicates (2 users), 0 that cannot be mapped") || !strings.Contains(errOut, " of 8 segments, of about") {
		t.Errorf("scan: exit %d, %s%s", code, out, errOut)
	}
	raw, err := os.ReadFile(report)
	var finding backfill.Finding
	if err != nil || json.Unmarshal(raw, &finding) != nil || finding.Form != "alice" || len(finding.UserIDs) != 2 || len(finding.Spellings) != 2 {
		t.Errorf("report %s, %v", raw, err)
	}
	if info, err := os.Stat(report); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("others may read the report: %v, %v", info.Mode(), err)
	}

	code, out, errOut = heatsink(t, variables, "claims", "backfill", "--checkpoint", checkpoint, "--json")
	if code != exitFailed || !strings.Contains(errOut, "nothing was written: 1 duplicates, 0 unmappable") || !strings.Contains(out, `"written": 0`) {
		t.Errorf("backfill: exit %d, %s%s", code, out, errOut)
	}
	if n := len(ddbtest.Dump(t, ddbtest.Client(t), claims)); n > 0 {
		t.Errorf("%d claims", n)
	}
	legacy(t, users, "b", "bob") // resolved

	code, out, errOut = heatsink(t, variables, "claims", "backfill", "--checkpoint", checkpoint, "--write-units", "10000")
	want := "22 users read = 22 written + 0 skipped (0 without a name, 0 with all claims, 0 gone) + 0 rejected\n22 claims written, 0 there already, 0 rejected\n"
	if code != exitOK || out != want || !strings.Contains(errOut, "write claims: ") {
		t.Errorf("backfill: exit %d, %s%s", code, out, errOut)
	}
	code, _, errOut = heatsink(t, variables, "claims", "backfill", "--checkpoint", checkpoint, "--segments", "4")
	if code != exitUsage || !strings.Contains(errOut, "is of 8 segments, not of 4") || strings.Count(errOut, "\n") != 1 {
		t.Errorf("other segments: exit %d, %s", code, errOut)
	}

	verify := filepath.Join(dir, "verify.jsonl")
	if code, out, errOut = heatsink(t, variables, "claims", "verify", "--report", verify); code != exitOK || !strings.Contains(out, "22 users, 22 claims: 0 faults") {
		t.Errorf("verify: exit %d, %s%s", code, out, errOut)
	}
	if _, err := ddbtest.Client(t).DeleteItem(t.Context(), &dynamodb.DeleteItemInput{TableName: &users, Key: ddb.Item{"userId": &types.AttributeValueMemberS{Value: "a"}}}); err != nil {
		t.Fatal(err)
	}
	code, out, errOut = heatsink(t, variables, "claims", "verify", "--report", verify)
	if code != exitFailed || !strings.Contains(out, "orphan      1") || !strings.Contains(errOut, "1 faults are not repaired") {
		t.Errorf("orphan: exit %d, %s%s", code, out, errOut)
	}
	if code, out, errOut = heatsink(t, variables, "claims", "verify", "--report", verify, "--repair", "--json"); code != exitOK || errOut != "" || !strings.Contains(out, `"repaired": 1`) {
		t.Errorf("repair: exit %d, %s%s", code, out, errOut)
	}
	if n := len(ddbtest.Dump(t, ddbtest.Client(t), claims)); n != 21 {
		t.Errorf("%d claims", n)
	}
	if code, _, errOut := heatsink(t, nil, "claims", "scan", "--user-table", "nowhere", "--report", report); code != exitFailed || !strings.Contains(errOut, "describe table nowhere") {
		t.Errorf("no table: exit %d, %s", code, errOut)
	}
}

// What is rejected is the run's failure, though it came to its end.
func TestBackfillWithRejectedUsersFails(t *testing.T) {
	local(t)
	variables, users, _ := deployed(t)
	legacy(t, users, "a", "Alice")
	legacy(t, users, "b", "no name")
	checkpoint := filepath.Join(t.TempDir(), "claims.json")
	code, out, errOut := heatsink(t, variables, "claims", "backfill", "--checkpoint", checkpoint, "--skip-findings", "--json")
	if code != exitFailed || !strings.Contains(out, `"finished": true`) || !strings.Contains(out, `"rejected": 1`) || !strings.Contains(errOut, "1 users were rejected: see ") {
		t.Errorf("exit %d, %s%s", code, out, errOut)
	}
}

func TestLabRaceTellsTwoAnswersByExitCode(t *testing.T) {
	local(t)
	// So late that it does not matter how fast this machine is.
	code, out, errOut := heatsink(t, nil, "lab", "race", "--lag", "1m")
	for _, want := range []string{"1 name, 3 owners", "20 names, 40 owners", "20 names, 20 owners, each with its claim", "0 of 20 targets left, 0 claims", "as it was 1m0s ago", "claims held: yes\ncleaned up:  yes\n"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	if code != exitOK || errOut != "" {
		t.Errorf("exit %d, %s", code, errOut)
	}
	code, out, _ = heatsink(t, nil, "lab", "race", "--lag", "0s", "--no-conflicts", "--json")
	var report racelab.Report
	if err := json.Unmarshal([]byte(out), &report); err != nil || code != exitOK || !report.Passed || !report.CleanedUp || report.InjectedLag != "0s" || report.InjectedConflicts {
		t.Errorf("exit %d, %v, %s", code, err, out)
	}

	if code, out, errOut = heatsink(t, nil, "lab", "race"); code != exitOK || !strings.Contains(out, "as it was 200ms ago") {
		t.Errorf("exit %d, %s%s", code, out, errOut)
	}

	// An engine that takes every claim, and one that keeps a table.
	t.Setenv("AWS_ENDPOINT_URL", through(t, func(body []byte) []byte {
		return bytes.ReplaceAll(body, []byte("attribute_not_exists(#key)"), []byte("attribute_not_exists(#key) OR attribute_exists(#key)"))
	}, ""))
	code, out, errOut = heatsink(t, nil, "lab", "race")
	if code != exitFailed || !strings.Contains(out, "claims held: no\ncleaned up:  yes\n") || !strings.Contains(errOut, "claims did not hold") {
		t.Errorf("exit %d, %s%s", code, out, errOut)
	}
	t.Setenv("AWS_ENDPOINT_URL", through(t, func(body []byte) []byte { return body }, "DynamoDB_20120810.DeleteTable"))
	code, out, errOut = heatsink(t, nil, "lab", "race", "--json")
	if err := json.Unmarshal([]byte(out), &report); err != nil || code != exitLeftBehind || !report.Passed || report.CleanedUp || len(report.LeftBehind) != 3 ||
		!strings.Contains(errOut, "claims held; left behind: "+report.LeftBehind[0]) {
		t.Errorf("exit %d, %v, %s%s", code, err, out, errOut)
	}
	for _, name := range report.LeftBehind {
		if _, err := ddbtest.Client(t).DeleteTable(t.Context(), &dynamodb.DeleteTableInput{TableName: aws.String(name)}); err != nil {
			t.Error(err)
		}
	}
}

// through is the engine behind a proxy that changes requests, and refuses one operation.
func through(t *testing.T, change func([]byte) []byte, refused string) string {
	t.Helper()
	engine, err := url.Parse(ddbtest.Endpoint(t))
	if err != nil {
		t.Fatal(err)
	}
	proxy := httputil.NewSingleHostReverseProxy(engine)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if refused != "" && r.Header.Get("X-Amz-Target") == refused {
			w.Header().Set("Content-Type", "application/x-amz-json-1.0")
			w.WriteHeader(http.StatusBadRequest)
			_, _ = io.WriteString(w, `{"__type":"com.amazon.coral.service#AccessDeniedException","message":"not allowed"}`)
			return
		}
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		body = change(body)
		r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

func TestLabRaceRefusesAWS(t *testing.T) {
	local(t)
	for _, endpoint := range []string{"", "https://dynamodb.us-east-1.amazonaws.com", "http://localhost.example.com:4566", "http://10.0.0.1:4566"} {
		t.Setenv("AWS_ENDPOINT_URL", endpoint)
		code, out, errOut := heatsink(t, nil, "lab", "race")
		if code != exitUsage || out != "" || strings.Count(errOut, "\n") != 1 || !strings.Contains(errOut, "--yes-on-aws") ||
			strings.Count(errOut, "heatsink-lab-race-") != 3 || !strings.Contains(errOut, " requests") {
			t.Errorf("%s: exit %d, %s%s", endpoint, code, out, errOut)
		}
	}
	for endpoint, want := range map[string]bool{
		"http://127.0.0.1:4566": true, "http://localhost:4566": true, "http://[::1]:8000": true, "http://127.1.2.3": true,
		"http://0.0.0.0:4566": false, "::": false, "http://127.0.0.1.example.com": false,
	} {
		if isLocal(endpoint) != want {
			t.Errorf("%s: %t", endpoint, !want)
		}
	}
}

// Interrupted, the lab has cleaned up before it ends, and a backfill says how to go on.
func TestInterruptedCommandsSaySo(t *testing.T) {
	local(t)
	variables, users, _ := deployed(t)
	for n := range 10 {
		legacy(t, users, fmt.Sprint("u", n), fmt.Sprint("Name", n))
	}
	checkpoint := filepath.Join(t.TempDir(), "claims.json")
	for _, test := range []struct {
		args         []string
		out, errText string
	}{
		{[]string{"lab", "race"}, "claims held: no\ncleaned up:  yes\n", "heatsink: not done to the end: interrupted\n"},
		{[]string{"claims", "backfill", "--checkpoint", checkpoint}, "0 rejected", "not finished: interrupted; start it again with the same checkpoint to go on\n"},
	} {
		ctx, cancel := context.WithCancel(t.Context())
		t.Setenv("AWS_ENDPOINT_URL", through(t, func(body []byte) []byte {
			if bytes.Contains(body, []byte("TransactItems")) {
				cancel()
			}
			return body
		}, ""))
		var out, errOut bytes.Buffer
		code := run(ctx, test.args, &out, &errOut, func(name string) (string, bool) { value, ok := variables[name]; return value, ok })
		if code != exitFailed || !strings.Contains(out.String(), test.out) || !strings.HasSuffix(errOut.String(), test.errText) {
			t.Errorf("%v: exit %d, %s%s", test.args, code, &out, &errOut)
		}
		cancel()
	}
	t.Setenv("AWS_ENDPOINT_URL", ddbtest.Endpoint(t))
	if code, out, errOut := heatsink(t, variables, "claims", "backfill", "--checkpoint", checkpoint); code != exitOK || !strings.Contains(out, "10 users read = 10 written") {
		t.Errorf("gone on: exit %d, %s%s", code, out, errOut)
	}
}
