package backfill_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/heatsink-dev/heatsink/pkg/backfill"
	"github.com/heatsink-dev/heatsink/pkg/ddb"
)

// generated is a user table of n users that are made as they are read, and a claim table with a claim for each name, so that its size costs no memory here. Every
// 100,000th user has the nickname of the one before it, spelled otherwise.
type generated struct {
	backfill.Client
	n int
}

const generatedPage = 2000 // about what 1 MB holds

func (g generated) DescribeTable(_ context.Context, in *dynamodb.DescribeTableInput, _ ...func(*dynamodb.Options)) (*dynamodb.DescribeTableOutput, error) {
	key := map[string]string{"users": "userId", "claims": "pk"}[*in.TableName]
	return &dynamodb.DescribeTableOutput{Table: &types.TableDescription{
		TableArn: in.TableName, TableId: in.TableName, ItemCount: aws.Int64(int64(g.n)),
		KeySchema: []types.KeySchemaElement{{AttributeName: &key, KeyType: types.KeyTypeHash}},
	}}, nil
}

func (g generated) user(n int) ddb.Item {
	nickname := fmt.Sprint("player-", n)
	if n%100_000 == 99_999 {
		nickname = fmt.Sprint("Player-", n-1)
	}
	return ddb.Item{
		"userId": s(fmt.Sprintf("01hq%022d", n)), "nickname": s(nickname), "email": s(fmt.Sprintf("Player.%d@Example.com", n)),
		"_incarnation": s(fmt.Sprintf("incarnation%015d", n)),
	}
}

func (g generated) Scan(_ context.Context, in *dynamodb.ScanInput, _ ...func(*dynamodb.Options)) (*dynamodb.ScanOutput, error) {
	share := (g.n + int(*in.TotalSegments) - 1) / int(*in.TotalSegments)
	from, end := int(*in.Segment)*share, min(g.n, (int(*in.Segment)+1)*share)
	if key, has := in.ExclusiveStartKey["at"].(*types.AttributeValueMemberN); has {
		at, err := strconv.Atoi(key.Value)
		if err != nil {
			return nil, err
		}
		from = at
	}
	out := &dynamodb.ScanOutput{}
	for n := from; n < min(end, from+generatedPage); n++ {
		user := g.user(n)
		if *in.TableName == "users" {
			out.Items = append(out.Items, user)
			continue
		}
		nickname := fmt.Sprint("NICKNAME#player-", n)
		if n%100_000 != 99_999 {
			out.Items = append(out.Items, ddb.Item{"pk": s(nickname), "owner": user["userId"], "incarnation": user["_incarnation"]})
		}
		out.Items = append(out.Items, ddb.Item{"pk": s(fmt.Sprintf("EMAIL#player.%d@example.com", n)), "owner": user["userId"], "incarnation": user["_incarnation"]})
	}
	if from+generatedPage < end {
		out.LastEvaluatedKey = ddb.Item{"at": &types.AttributeValueMemberN{Value: strconv.Itoa(from + generatedPage)}}
	}
	return out, nil
}

func (g generated) find(id string) (ddb.Item, error) {
	n, err := strconv.Atoi(id[4:])
	if err != nil {
		return nil, err
	}
	return g.user(n), nil
}

func (g generated) BatchGetItem(_ context.Context, in *dynamodb.BatchGetItemInput, _ ...func(*dynamodb.Options)) (*dynamodb.BatchGetItemOutput, error) {
	out := &dynamodb.BatchGetItemOutput{Responses: map[string][]ddb.Item{}}
	for _, key := range in.RequestItems["users"].Keys {
		user, err := g.find(textOf(key, "userId"))
		if err != nil {
			return nil, err
		}
		out.Responses["users"] = append(out.Responses["users"], user)
	}
	return out, nil
}

func (g generated) TransactGetItems(_ context.Context, in *dynamodb.TransactGetItemsInput, _ ...func(*dynamodb.Options)) (*dynamodb.TransactGetItemsOutput, error) {
	out := &dynamodb.TransactGetItemsOutput{}
	for _, get := range in.TransactItems {
		if *get.Get.TableName == "users" {
			user, err := g.find(textOf(get.Get.Key, "userId"))
			if err != nil {
				return nil, err
			}
			out.Responses = append(out.Responses, types.ItemResponse{Item: user})
			continue
		}
		var n int
		pk := textOf(get.Get.Key, "pk")
		if _, err := fmt.Sscanf(pk, "NICKNAME#player-%d", &n); err != nil {
			if _, err := fmt.Sscanf(pk, "EMAIL#player.%d@example.com", &n); err != nil {
				return nil, err
			}
		}
		user := g.user(n)
		out.Responses = append(out.Responses, types.ItemResponse{Item: ddb.Item{"pk": s(pk), "owner": user["userId"], "incarnation": user["_incarnation"]}})
	}
	return out, nil
}

// What a child process is told, and what it answers.
const memoryEnv = "HEATSINK_TEST_MEMORY"

type memoryTask struct {
	Users  int
	Verify bool
	Dir    string
}

type memoryAnswer struct {
	Scan   backfill.ScanResult
	Verify backfill.VerifyResult
	Found  int
}

// TestMain runs the child of the memory tests: a process of its own, so that nothing else is in its memory.
func TestMain(m *testing.M) {
	raw := os.Getenv(memoryEnv)
	if raw == "" {
		os.Exit(m.Run())
	}
	if err := memoryChild(raw); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func memoryChild(raw string) error {
	var task memoryTask
	if err := json.Unmarshal([]byte(raw), &task); err != nil {
		return err
	}
	tool, err := backfill.New(backfill.Config{Client: generated{n: task.Users}, UserTable: "users", ClaimTable: "claims", TempDir: task.Dir})
	if err != nil {
		return err
	}
	var f found
	var answer memoryAnswer
	if task.Verify {
		answer.Verify, err = tool.Verify(context.Background(), backfill.VerifyOptions{}, f.add)
	} else {
		answer.Scan, err = tool.Scan(context.Background(), f.add)
	}
	answer.Found = len(f.list)
	return errors.Join(err, json.NewEncoder(os.Stdout).Encode(answer))
}

// TestSoakMemoryStaysBounded reads 100,000 users in every run, and 10 million in a soak, in a process of its own, whose greatest size is below 512 MB.
func TestSoakMemoryStaysBounded(t *testing.T) {
	t.Parallel()
	users := 100_000
	if os.Getenv("HEATSINK_SOAK") != "" {
		users = 10_000_000
	}
	const limit = 512 << 20
	for _, verify := range []bool{false, true} {
		t.Run(map[bool]string{false: "scan", true: "verify"}[verify], func(t *testing.T) {
			raw, err := json.Marshal(memoryTask{Users: users, Verify: verify, Dir: t.TempDir()})
			if err != nil {
				t.Fatal(err)
			}
			started := time.Now()
			child := exec.CommandContext(t.Context(), os.Args[0])
			child.Env, child.Stderr = append(os.Environ(), memoryEnv+"="+string(raw)), os.Stderr
			out, err := child.Output()
			if err != nil {
				t.Fatal(err)
			}
			var answer memoryAnswer
			if err := json.Unmarshal(out, &answer); err != nil {
				t.Fatal(err)
			}
			pairs := int64(users / 100_000)
			if verify {
				// Who lacks the claim of its nickname finds it in another's hands.
				if answer.Verify.Users != int64(users) || answer.Verify.Claims != 2*int64(users)-pairs || answer.Verify.Faults[backfill.KindTaken] != pairs {
					t.Errorf("%+v", answer.Verify)
				}
			} else if answer.Scan.Users != int64(users) || answer.Scan.Names != 2*int64(users) || answer.Scan.Duplicates != pairs || int64(answer.Found) != pairs {
				t.Errorf("%+v, %d findings", answer.Scan, answer.Found)
			}
			usage, ok := child.ProcessState.SysUsage().(*syscall.Rusage)
			if !ok {
				t.Fatal("this system does not tell how large a process was")
			}
			size := usage.Maxrss
			if runtime.GOOS != "darwin" { // bytes there, KB elsewhere
				size <<= 10
			}
			t.Logf("%d users: %d MB at most, %s", users, size>>20, time.Since(started).Round(time.Second))
			if size > limit {
				t.Errorf("%d users took %d MB, at most %d", users, size>>20, limit>>20)
			}
		})
	}
}
