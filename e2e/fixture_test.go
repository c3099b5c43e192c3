package e2e_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/heatsink-dev/heatsink/cmd/heatsink/deployment"
	"github.com/heatsink-dev/heatsink/pkg/catalog"
	"github.com/heatsink-dev/heatsink/pkg/ddb"
	"github.com/heatsink-dev/heatsink/pkg/ddbtest"
	"github.com/heatsink-dev/heatsink/pkg/edge"
	"github.com/heatsink-dev/heatsink/pkg/schema"
)

// outputsEnv names the CDK outputs file of the deployment under test.
const outputsEnv = "HEATSINK_E2E_OUTPUTS"

// patience is how long the real stream may take to bring a change, on a machine with other things to do. A test that waits so long has failed.
const patience = 60 * time.Second

// firstTime is the managedKey of a test's first user, in epoch milliseconds.
const firstTime = 1_700_000_000_000

// stage is the deployment, seen by one test.
type stage struct {
	*testing.T
	deployed  *deployment.Deployment
	http      *deployment.Client
	dynamo    *dynamodb.Client
	lambda    *lambda.Client
	s3        *s3.Client
	config    aws.Config
	partition string
	prefix    string // of the ids of the test's users
	patience  time.Duration
}

// TestMain fails where there is no deployment: tests that did not run must never look like ones that passed.
func TestMain(m *testing.M) {
	if os.Getenv(outputsEnv) == "" || os.Getenv(ddbtest.EndpointEnv) == "" {
		fmt.Fprintf(os.Stderr, "e2e: %s and %s are not set: run make test, which deploys the stacks to a local cloud first\n", outputsEnv, ddbtest.EndpointEnv)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// onStage finds the deployment.
func onStage(t *testing.T) *stage {
	t.Helper()
	deployed, err := deployment.Load(os.Getenv(outputsEnv))
	if err != nil {
		t.Fatal(err)
	}
	base, err := deployed.URL()
	if err != nil {
		t.Fatal(err)
	}
	config := ddbtest.Config(t)
	own := fmt.Sprintf("%s-%d", strings.ReplaceAll(t.Name(), "/", "-"), time.Now().UnixNano())
	return &stage{
		T: t, deployed: deployed, config: config, http: &deployment.Client{Base: base, Config: config}, dynamo: dynamodb.NewFromConfig(config),
		lambda: lambda.NewFromConfig(config), s3: s3.NewFromConfig(config, edge.S3Options),
		partition: own, prefix: own, patience: patience,
	}
}

// output is a stack output.
func (s *stage) output(name string) string {
	s.Helper()
	value, err := s.deployed.Output(name)
	if err != nil {
		s.Fatal(err)
	}
	return value
}

func (s *stage) table(logical string) string {
	s.Helper()
	return s.output(schema.TableOutput(logical))
}

func (s *stage) index(name string) *schema.Index {
	s.Helper()
	index, ok := s.deployed.Catalog.Index(name)
	if !ok {
		s.Fatalf("the catalog has no index %s", name)
	}
	return index
}

func text(value string) types.AttributeValue { return &types.AttributeValueMemberS{Value: value} }

func number(value int64) types.AttributeValue {
	return &types.AttributeValueMemberN{Value: strconv.FormatInt(value, 10)}
}

// id of the test's n-th user.
func (s *stage) id(n int) string { return fmt.Sprintf("%s-u%03d", s.prefix, n) }

// put writes an item into the User table.
func (s *stage) put(item ddb.Item) {
	s.Helper()
	name := s.table(catalog.UserTable)
	if _, err := s.dynamo.PutItem(s.Context(), &dynamodb.PutItemInput{TableName: &name, Item: item}); err != nil {
		s.Fatal(err)
	}
}

// user writes the n-th user, at firstTime+at.
func (s *stage) user(n int, at int64, more ddb.Item) {
	s.Helper()
	item := ddb.Item{"userId": text(s.id(n)), "ID": text(s.partition), "managedKey": number(firstTime + at)}
	maps.Copy(item, more)
	s.put(item)
}

func (s *stage) remove(n int) {
	s.Helper()
	name := s.table(catalog.UserTable)
	if _, err := s.dynamo.DeleteItem(s.Context(), &dynamodb.DeleteItemInput{TableName: &name, Key: ddb.Item{"userId": text(s.id(n))}}); err != nil {
		s.Fatal(err)
	}
}

// eventually asks until the answer is yes.
func (s *stage) eventually(what string, ask func() (yes bool, state any)) {
	s.Helper()
	ctx, cancel := context.WithTimeout(s.Context(), s.patience)
	defer cancel()
	ticker := time.NewTicker(50 * time.Millisecond)
	defer ticker.Stop()
	for {
		yes, state := ask()
		if yes {
			return
		}
		select {
		case <-ctx.Done():
			s.Fatalf("%s: not within %s; last seen: %v", what, s.patience, state)
		case <-ticker.C:
		}
	}
}

// page is an answer of any index call.
type page struct {
	Items  []map[string]json.RawMessage
	Exists *bool
	Count  *int
	Cursor string
	Code   string
	Detail string
}

func (p page) ids() []string {
	ids := []string{}
	for _, item := range p.Items {
		ids = append(ids, strings.Trim(string(item["userId"]), `"`))
	}
	return ids
}

// get calls an index with query parameters, name, value, name, value; partition is the test's own.
func (s *stage) get(path string, parameters ...string) page {
	s.Helper()
	values := url.Values{"partition": {s.partition}}
	for n := 0; n+1 < len(parameters); n += 2 {
		values.Add(parameters[n], parameters[n+1])
	}
	answer, err := s.http.Get(s.Context(), "/v1/indexes/"+path, values)
	if err != nil {
		s.Fatal(err)
	}
	return s.page(answer, 200)
}

func (s *stage) page(answer *deployment.Answer, status int) page {
	s.Helper()
	var got page
	if err := json.Unmarshal(answer.Body, &got); err != nil || answer.Status != status {
		s.Fatalf("HTTP %d (want %d): %.300s (%v)", answer.Status, status, answer.Body, err)
	}
	return got
}

// rows of the test's partition in the index table of managed, by strongly consistent reads: live ones and tombstones.
func (s *stage) rows() (live, dead []ddb.Item) {
	s.Helper()
	name := s.table(s.index("managed").TableName())
	pages := dynamodb.NewQueryPaginator(s.dynamo, &dynamodb.QueryInput{
		TableName: &name, ConsistentRead: aws.Bool(true), KeyConditionExpression: aws.String("ID = :p"),
		ExpressionAttributeValues: ddb.Item{":p": text(s.partition)},
	})
	for pages.HasMorePages() {
		answer, err := pages.NextPage(s.Context())
		if err != nil {
			s.Fatal(err)
		}
		for _, row := range answer.Items {
			if _, deleted := row[schema.DeletedAttribute]; deleted {
				dead = append(dead, row)
			} else {
				live = append(live, row)
			}
		}
	}
	return live, dead
}

// settled waits until the indexer has made the partition so.
func (s *stage) settled(live, dead int) {
	s.Helper()
	s.eventually("the index table follows", func() (bool, any) {
		nowLive, nowDead := s.rows()
		return len(nowLive) == live && len(nowDead) == dead, fmt.Sprintf("%d live rows and %d tombstones, want %d and %d", len(nowLive), len(nowDead), live, dead)
	})
}

// users are the ids of the test's users with these numbers.
func (s *stage) users(numbers ...int) []string {
	ids := []string{}
	for _, n := range numbers {
		ids = append(ids, s.id(n))
	}
	return ids
}
