package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager"

	"github.com/heatsink-dev/heatsink/pkg/catalog"
	"github.com/heatsink-dev/heatsink/pkg/ddb"
	"github.com/heatsink-dev/heatsink/pkg/ddbtest"
	"github.com/heatsink-dev/heatsink/pkg/edge"
	"github.com/heatsink-dev/heatsink/pkg/indexsync"
	"github.com/heatsink-dev/heatsink/pkg/schema"
)

// heatsink runs the program.
func heatsink(t *testing.T, variables map[string]string, args ...string) (code int, out, errOut string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	code = run(t.Context(), args, &stdout, &stderr, func(name string) (string, bool) { value, ok := variables[name]; return value, ok })
	return code, stdout.String(), stderr.String()
}

func TestBadInputIsOneLineAndExitCode2(t *testing.T) {
	t.Parallel()
	broken, partial := filepath.Join(t.TempDir(), "outputs.json"), filepath.Join(t.TempDir(), "partial.json")
	for path, text := range map[string]string{broken: "{", partial: `{"Data":{"FailureBucketName":"b"}}`} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for call, want := range map[string]string{
		"bogus":           "unexpected argument bogus; try: heatsink --help",
		"--bogus":         "unknown flag --bogus; try: heatsink --help",
		"explain":         "try: heatsink explain --help",
		"explain managed": "missing flags: --partition",
		"explain managed --partition p --form both":             "--form",
		"explain nobody --partition p":                          `there is no index "nobody"; the catalog has: `,
		"explain managed --partition p --eq x":                  "--eq: must be a DynamoDB number",
		"explain managed --partition p --limit 0":               "--limit: must be a whole number from 1 to 1000",
		"explain managed --partition p --eq 1 --lt 2":           "--eq: contradicts",
		"explain managed --partition=":                          "--partition: must be 1 to 2048 bytes",
		"explain managed --partition p --consistent --form gsi": "--consistent: ",
		"explain team-status --partition p --form gsi":          "--form: index team-status is built as TABLE only",
		"decode-key managed":                                    "decode-key --help",
		"decode-key managed abc":                                "it must be managedKey#userId",
		"decode-key managed 123#u":                              "the text is no key of index managed: managedKey: needs 13 digits\n",
		"decode-key managed 1699900000000#":                     "the text is no key of index managed: userId: must not be empty\n",
		"decode-key managed 1699900000000#u$":                   "userId: needs text as the index writes it",
		"decode-key team-status #2026-01-31#u":                  "must not be empty",
		"decode-key managed =":                                  "it must be managedKey#userId, 1024 bytes at most",
		"decode-key managed \xff":                               "argument 3 is not UTF-8",
		"explain managed --partition p\xff":                     "argument 4 is not UTF-8",
		"explain managed --partition p --eq 1 --eq 2":           "--eq is given more than once",
		"explain managed --partition p --partition=p":           "--partition is given more than once",
		"explain team-status --partition p --under a --under b": "--under is given more than once",
		"explain managed --partition p --json --json":           "--json is given more than once",
		"redrive --bucket a --bucket b":                         "--bucket is given more than once",
		"plan --events 5 --events 6":                            "--events is given more than once",
		"redrive --outputs " + broken:                           "is no outputs file of the CDK",
		"redrive --outputs " + partial:                          "has no UserTableName: deploy all stacks, then try again; outputs: ",
		"cursor rotate --outputs " + broken:                     "is no outputs file of the CDK",
		"demo --outputs " + broken:                              "is no outputs file of the CDK",
		"claims scan --outputs " + broken:                       "is no outputs file of the CDK",
		"decode-key pending-index x":                            "has no index table",
		"decode-key nobody x":                                   `there is no index "nobody"`,
		"redrive":                                               "which bucket?",
		"redrive --bucket b":                                    "HEATSINK_TABLE_USER",
		"redrive --outputs /nowhere":                            "no such file",
		"redrive --outputs /":                                   "is a folder",
		"cursor rotate":                                         "which secret?",
		"cursor rotate --outputs /nowhere":                      "no such file",
		"demo --outputs /nowhere":                               "deploy first: make up",
		"demo --patience soon":                                  "--patience",
		"check extra":                                           "check --help",
	} {
		code, out, errOut := heatsink(t, nil, strings.Fields(call)...)
		if code != exitUsage || out != "" || strings.Count(errOut, "\n") != 1 || !strings.HasPrefix(errOut, "heatsink: ") || !strings.Contains(errOut, want) || strings.Contains(errOut, "unmarshal") {
			t.Errorf("%s: exit %d, out %q, err %q; want %q", call, code, out, errOut, want)
		}
	}
	if code, _, errOut := heatsink(t, nil, "decode-key", "managed", ""); code != exitUsage || !strings.Contains(errOut, "it must be managedKey#userId") {
		t.Errorf("exit %d, err %q", code, errOut)
	}
	// What may be repeated still may.
	if code, _, errOut := heatsink(t, nil, "plan", "--pattern", "partition={status:3}", "--pattern", "sort={ms}"); code != exitOK {
		t.Errorf("exit %d, err %q", code, errOut)
	}
}

func TestEveryCommandHasHelpWithExamples(t *testing.T) {
	t.Parallel()
	for _, command := range []string{"check", "explain", "decode-key", "redrive", "cursor rotate", "demo"} {
		code, out, errOut := heatsink(t, nil, append(strings.Fields(command), "--help")...)
		if code != exitOK || !strings.Contains(out, "Examples:") || !strings.Contains(out, "heatsink "+command) || !strings.Contains(out, "--json") || errOut != "" {
			t.Errorf("%s: exit %d, %s%s", command, code, out, errOut)
		}
	}
	for _, args := range [][]string{nil, {"--help"}, {"-h"}} {
		if code, out, _ := heatsink(t, nil, args...); code != exitOK || !strings.Contains(out, "decode-key") || !strings.Contains(out, "Exit codes") {
			t.Errorf("%v: exit %d, %s", args, code, out)
		}
	}
}

func TestDecodeKeyTakesAKeyApart(t *testing.T) {
	t.Parallel()
	code, out, errOut := heatsink(t, nil, "decode-key", "managed", "1699900000000#user$Saaa", "--json")
	want := `[{"name":"managedKey","kind":"number","value":"1699900000000"},{"name":"userId","kind":"text","value":"user#aaa"}]`
	if code != exitOK || errOut != "" || compact(t, out) != want {
		t.Errorf("exit %d, %s%s", code, out, errOut)
	}
	if _, out, _ := heatsink(t, nil, "decode-key", "team-status", "active#2026-01-31#u1"); !strings.Contains(out, `"2026-01-31"`) || strings.Count(out, "\n") != 3 {
		t.Errorf("out %s", out)
	}
}

func compact(t *testing.T, text string) string {
	t.Helper()
	var out bytes.Buffer
	if err := json.Compact(&out, []byte(text)); err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	return out.String()
}

func TestExplainShowsWhatARequestBecomes(t *testing.T) {
	t.Parallel()
	for call, want := range map[string][]string{
		"explain managed --partition team-1 --gte 5 --lt 10 --form table":                 {"UserManagedIndex", "BETWEEN", "0000000000005", "0000000000009$", "_deleted"},
		"explain managed --partition team-1 --gte 5 --lt 10 --form gsi":                   {"GSI of index managed", `{"N":"9"}`},
		"explain managed --partition team-1 --gte 10 --lte 5":                             {"none: nothing can match"},
		"explain team-status --partition t --under active --prefix 2026- --json":          {`"table": "UserTeamStatusIndex"`, `active#2026-`, `"order": "asc"`},
		"explain managed --partition team-1 --order desc --limit 7 --json":                {`"order": "desc"`, `"firstRead": 7`},
		"explain managed --partition team-1 --eq 1699900000000 --consistent --form table": {"begins_with", "1699900000000#", "at twice the read units"},
	} {
		code, out, errOut := heatsink(t, nil, strings.Fields(call)...)
		if code != exitOK || errOut != "" {
			t.Errorf("%s: exit %d, %s", call, code, errOut)
		}
		for _, part := range want {
			if !strings.Contains(out, part) {
				t.Errorf("%s: no %q in\n%s", call, part, out)
			}
		}
	}
}

func TestCheckListsTheCatalog(t *testing.T) {
	t.Parallel()
	code, out, errOut := heatsink(t, nil, "check", "--json")
	var got checked
	if err := json.Unmarshal([]byte(out), &got); err != nil || code != exitOK || !got.OK || errOut != "" {
		t.Fatalf("exit %d, %s%s (%v)", code, out, errOut, err)
	}
	tables, err := catalog.Load()
	if err != nil {
		t.Fatal(err)
	}
	for n, table := range tables.Tables() {
		if got.Tables[n].Name != table.Name || len(got.Tables[n].Indexes) != len(table.Indexes) {
			t.Errorf("table %d: %+v", n, got.Tables[n])
		}
	}
	if _, out, _ := heatsink(t, nil, "check"); !strings.Contains(out, "readers use the") || !strings.HasSuffix(out, "the catalog is sound\n") {
		t.Errorf("out %s", out)
	}
}

// local points the SDK at the test engine, as .local/env does.
func local(t *testing.T) aws.Config {
	t.Helper()
	for name, value := range map[string]string{
		"AWS_ENDPOINT_URL": ddbtest.Endpoint(t), "AWS_REGION": ddbtest.Region, "AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test",
		"AWS_CONFIG_FILE": os.DevNull, "AWS_SHARED_CREDENTIALS_FILE": os.DevNull, "AWS_PROFILE": "",
	} {
		t.Setenv(name, value)
	}
	return ddbtest.Config(t)
}

func TestRotatePutsANewKeyAndRefusesAnotherTooSoon(t *testing.T) {
	secrets := secretsmanager.NewFromConfig(local(t))
	name := fmt.Sprintf("cursor-%d", time.Now().UnixNano())
	_, err := secrets.CreateSecret(t.Context(), &secretsmanager.CreateSecretInput{Name: &name, SecretString: aws.String(strings.Repeat("s", 64))})
	if err != nil {
		t.Fatal(err)
	}
	code, out, errOut := heatsink(t, map[string]string{schema.EnvCursorSecret: name}, "cursor", "rotate", "--json")
	var got struct{ VersionID, NextAllowed string }
	if err := json.Unmarshal([]byte(out), &got); err != nil || code != exitOK || got.VersionID == "" || got.NextAllowed == "" {
		t.Fatalf("exit %d, %s%s (%v)", code, out, errOut, err)
	}
	code, out, errOut = heatsink(t, nil, "cursor", "rotate", "--secret", name)
	if code != exitFailed || out != "" || !strings.Contains(errOut, "rotate then or later") {
		t.Errorf("exit %d, %s%s", code, out, errOut)
	}
	value, err := secrets.GetSecretValue(t.Context(), &secretsmanager.GetSecretValueInput{SecretId: &name})
	if err != nil || *value.VersionId != got.VersionID || strings.Contains(out+errOut, string(value.SecretBinary)) {
		t.Errorf("version %v, %v", value, err)
	}
}

func TestRedriveReplaysABucketAndSaysWhatIsNotDone(t *testing.T) {
	config := local(t)
	tables, err := catalog.Load()
	if err != nil {
		t.Fatal(err)
	}
	users, _ := tables.Table(catalog.UserTable)
	objects, bucket := s3.NewFromConfig(config, edge.S3Options), fmt.Sprintf("failures-%d", time.Now().UnixNano())
	if _, err := objects.CreateBucket(t.Context(), &s3.CreateBucketInput{Bucket: &bucket}); err != nil {
		t.Fatal(err)
	}
	variables := map[string]string{schema.EnvFailureBucket: bucket, schema.TableEnv(users.Name): ddbtest.Table(t, users)}
	for _, index := range users.StreamIndexes() {
		variables[schema.TableEnv(index.TableName())] = ddbtest.IndexTable(t, index)
	}
	stream := ddbtest.NewStream(variables[schema.TableEnv(users.Name)], []string{"userId"}, ddbtest.NewClock(time.Now()), 1)
	s := func(text string) types.AttributeValue { return &types.AttributeValueMemberS{Value: text} }
	record, _ := stream.Change(nil, ddb.Item{"userId": s("a"), "ID": s("p"), "managedKey": &types.AttributeValueMemberN{Value: "1"}})
	var object indexsync.FailureObject
	object.Payload = string(ddbtest.Event(record.JSON()))
	good, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	put := func(key string, body []byte) {
		if _, err := objects.PutObject(t.Context(), &s3.PutObjectInput{Bucket: &bucket, Key: &key, Body: bytes.NewReader(body)}); err != nil {
			t.Fatal(err)
		}
	}
	put("aws/lambda/a.json", good)
	put("aws/lambda/b.json", []byte("not ours"))

	code, out, _ := heatsink(t, variables, "redrive", "--dry-run", "--prefix", "aws/lambda/a")
	if code != exitOK || !strings.Contains(out, "1 objects: 1 to replay, 0 refused") || strings.Contains(out, "done") || !strings.Contains(out, "1 records to replay; nothing was written or deleted") {
		t.Errorf("dry run: exit %d, %s", code, out)
	}
	code, out, _ = heatsink(t, variables, "redrive", "--dry-run", "--json", "--prefix", "aws/lambda/a")
	if code != exitOK || !strings.Contains(out, `"toReplay": 1`) || !strings.Contains(out, `"done": 0`) {
		t.Errorf("dry run in JSON: exit %d, %s", code, out)
	}
	code, out, dryErr := heatsink(t, variables, "redrive", "--dry-run")
	if code != exitFailed || !strings.Contains(out, "1 to replay") || !strings.Contains(out, "1 failed") || !strings.Contains(dryErr, "1 of 2 objects would stay") {
		t.Errorf("dry run of what is not ours: exit %d, %s%s", code, out, dryErr)
	}
	code, out, errOut := heatsink(t, variables, "redrive")
	if code != exitFailed || !strings.Contains(out, "1 done") || !strings.Contains(out, "aws/lambda/b.json") || !strings.Contains(errOut, "1 of 2 objects are not done") {
		t.Errorf("run: exit %d, %s%s", code, out, errOut)
	}
	if !strings.Contains(errOut, "redrive") {
		t.Errorf("no progress on the error output: %q", errOut)
	}
	rows := ddbtest.Dump(t, ddbtest.Client(t), variables["HEATSINK_TABLE_USER_MANAGED_INDEX"])
	if len(rows) != 1 {
		t.Errorf("%d rows", len(rows))
	}
	code, out, errOut = heatsink(t, variables, "redrive", "--json", "--after", "aws/lambda/b.json")
	if code != exitOK || errOut != "" || !strings.Contains(out, `"objects": 0`) {
		t.Errorf("after the last: exit %d, %s%s", code, out, errOut)
	}
}

func TestEveryExampleInTheHelpParses(t *testing.T) {
	t.Parallel()
	commands := []interface{ Help() string }{checkCommand{}, explainCommand{}, decodeKeyCommand{}, redriveCommand{}, cursorRotateCommand{}, demoCommand{}}
	seen := 0
	for _, command := range commands {
		for line := range strings.Lines(command.Help()) {
			example, ok := strings.CutPrefix(strings.TrimSpace(line), "heatsink ")
			if !ok {
				continue
			}
			seen++
			words := strings.Fields(strings.ReplaceAll(example, "'", ""))
			if slices.Contains([]string{"explain", "decode-key"}, words[0]) { // the others talk to AWS
				if code, _, errOut := heatsink(t, nil, words...); code != exitOK {
					t.Errorf("%s: exit %d, %s", example, code, errOut)
				}
				continue
			}
			if _, _, errOut := heatsink(t, nil, append(words, "--help")...); errOut != "" {
				t.Errorf("%s: %s", example, errOut)
			}
		}
	}
	if seen < 12 {
		t.Errorf("%d examples", seen)
	}
}
