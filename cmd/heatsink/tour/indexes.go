package tour

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/heatsink-dev/heatsink/pkg/catalog"
	"github.com/heatsink-dev/heatsink/pkg/schema"
)

const (
	users     = 120
	pageSize  = 50
	firstTime = 1_700_000_000_000 // epoch ms of the first user
)

// indexTour is the state of the chapter: the users that should be visible, by id, with their managedKey.
type indexTour struct {
	*Tour
	ctx               context.Context //nolint:containedctx // one chapter is one call
	index             *schema.Index
	table, indexTable string
	partition         string
	expected          map[string]int64
}

// page is an answer of /items.
type page struct {
	Items []struct {
		UserID     string `json:"userId"`
		ManagedKey int64  `json:"managedKey"`
		Note       string `json:"note"`
	} `json:"items"`
	Cursor string `json:"cursor"`
}

func indexes(ctx context.Context, t *Tour) error {
	c := &indexTour{Tour: t, ctx: ctx, partition: t.run, expected: map[string]int64{}}
	var known bool
	if c.index, known = t.Deployment.Catalog.Index("managed"); !known {
		return fmt.Errorf("the catalog has no index managed: the tour needs it")
	}
	var err error
	if c.table, err = t.Deployment.Table(catalog.UserTable); err != nil {
		return err
	}
	if c.indexTable, err = t.Deployment.Table(c.index.TableName()); err != nil {
		return err
	}
	walked := t.steps(c.write, c.follow, c.pages, c.newest, c.between, c.existsAndCount, c.move, c.remove, c.sideBySide, c.forge, c.team)
	return errorsFirst(walked, c.clean())
}

// errorsFirst prefers what the tour found over what tidying up did.
func errorsFirst(first, second error) error {
	if first != nil {
		return first
	}
	return second
}

func (c *indexTour) write() error {
	return c.step(fmt.Sprintf("write %d users into table User", users), func() (string, error) {
		for n := range users {
			if err := c.put(fmt.Sprintf("%s-u%03d", c.run, n), firstTime+int64(n), "first"); err != nil {
				return "", err
			}
		}
		return fmt.Sprintf("%d PutItem requests to %s, nothing else", users, c.table), nil
	})
}

func (c *indexTour) put(id string, managedKey int64, note string) error {
	_, err := c.dynamo.PutItem(c.ctx, &dynamodb.PutItemInput{TableName: &c.table, Item: map[string]types.AttributeValue{
		"userId": &types.AttributeValueMemberS{Value: id}, "ID": &types.AttributeValueMemberS{Value: c.partition},
		"managedKey": &types.AttributeValueMemberN{Value: strconv.FormatInt(managedKey, 10)},
		"note":       &types.AttributeValueMemberS{Value: note},
	}})
	if err != nil {
		return fmt.Errorf("put user %s: %w", id, err)
	}
	c.expected[id] = managedKey
	return nil
}

// rows counts what stands in the index table itself: live rows and tombstones.
func (c *indexTour) rows() (live, dead int, err error) {
	pages := dynamodb.NewQueryPaginator(c.dynamo, &dynamodb.QueryInput{
		TableName: &c.indexTable, ConsistentRead: aws.Bool(true), KeyConditionExpression: aws.String("#p = :p"),
		ExpressionAttributeNames:  map[string]string{"#p": c.index.PartitionKey.Name},
		ExpressionAttributeValues: map[string]types.AttributeValue{":p": &types.AttributeValueMemberS{Value: c.partition}},
	})
	for pages.HasMorePages() {
		answer, err := pages.NextPage(c.ctx)
		if err != nil {
			return 0, 0, fmt.Errorf("query the index table: %w", err)
		}
		for _, row := range answer.Items {
			if _, deleted := row[schema.DeletedAttribute]; deleted {
				dead++
			} else {
				live++
			}
		}
	}
	return live, dead, nil
}

// awaitRows waits until the indexer has made the index table so.
func (c *indexTour) awaitRows(live, dead int) error {
	return c.wait(c.ctx, func() (bool, string, error) {
		nowLive, nowDead, err := c.rows()
		return nowLive == live && nowDead == dead, fmt.Sprintf("%d live rows and %d tombstones, want %d and %d", nowLive, nowDead, live, dead), err
	})
}

func (c *indexTour) follow() error {
	return c.step("the stream Lambda fills the index table", func() (string, error) {
		return fmt.Sprintf("%d rows in %s", users, c.indexTable), c.awaitRows(users, 0)
	})
}

// items reads one page over HTTP.
func (c *indexTour) items(parameters ...string) (*page, error) {
	answer, err := c.http.Get(c.ctx, "/v1/indexes/managed/items", c.values(parameters...))
	if err != nil {
		return nil, err
	}
	if answer.Status != 200 {
		return nil, fmt.Errorf("HTTP %d %s", answer.Status, answer.Code())
	}
	var got page
	return &got, answer.Decode(&got)
}

func (c *indexTour) values(parameters ...string) url.Values {
	values := url.Values{"partition": {c.partition}}
	for n := 0; n+1 < len(parameters); n += 2 {
		values.Set(parameters[n], parameters[n+1])
	}
	return values
}

// walk reads all pages.
func (c *indexTour) walk(parameters ...string) (ids []string, sizes []int, err error) {
	cursor := ""
	for {
		more := slices.Clone(parameters)
		if cursor != "" {
			more = append(more, "cursor", cursor)
		}
		got, err := c.items(more...)
		if err != nil {
			return nil, nil, err
		}
		for _, item := range got.Items {
			ids = append(ids, item.UserID)
		}
		sizes = append(sizes, len(got.Items))
		if cursor = got.Cursor; cursor == "" {
			return ids, sizes, nil
		}
		if len(sizes) > users {
			return nil, nil, fmt.Errorf("the walk does not end")
		}
	}
}

// inOrder lists the expected users by managedKey, then id.
func (c *indexTour) inOrder(keep func(managedKey int64) bool) []string {
	var ids []string
	for id, managedKey := range c.expected {
		if keep == nil || keep(managedKey) {
			ids = append(ids, id)
		}
	}
	slices.SortFunc(ids, func(a, b string) int {
		return slices.Compare([]string{fmt.Sprintf("%020d", c.expected[a]), a}, []string{fmt.Sprintf("%020d", c.expected[b]), b})
	})
	return ids
}

func same(got, want []string) error {
	if !slices.Equal(got, want) {
		return fmt.Errorf("got %d users, want %d in order; first difference at %d", len(got), len(want), firstDifference(got, want))
	}
	return nil
}

func firstDifference(a, b []string) int {
	for n := range min(len(a), len(b)) {
		if a[n] != b[n] {
			return n
		}
	}
	return min(len(a), len(b))
}

func (c *indexTour) pages() error {
	return c.step(fmt.Sprintf("read all of them over HTTP in pages of %d", pageSize), func() (string, error) {
		got, sizes, err := c.walk("limit", strconv.Itoa(pageSize))
		if err != nil {
			return "", err
		}
		return fmt.Sprintf("pages of %v, each user once, in order of managedKey, no cursor after the last", sizes), same(got, c.inOrder(nil))
	})
}

func (c *indexTour) newest() error {
	return c.step("newest first", func() (string, error) {
		got, err := c.items("order", "desc", "limit", "3")
		if err != nil {
			return "", err
		}
		want := c.inOrder(nil)
		slices.Reverse(want)
		var ids []string
		for _, item := range got.Items {
			ids = append(ids, item.UserID)
		}
		return "order=desc, limit=3: the last three, newest first, and a cursor", same(ids, want[:3])
	})
}

func (c *indexTour) between() error {
	return c.step("a half-open interval", func() (string, error) {
		low, high := firstTime+int64(10), firstTime+int64(20)
		got, _, err := c.walk("gte", strconv.FormatInt(low, 10), "lt", strconv.FormatInt(high, 10))
		if err != nil {
			return "", err
		}
		return fmt.Sprintf("gte=%d, lt=%d: %d users, the lower border in, the upper out", low, high, len(got)),
			same(got, c.inOrder(func(key int64) bool { return key >= low && key < high }))
	})
}

// ask reads exists or count.
func (c *indexTour) ask(operation string, into any, parameters ...string) error {
	answer, err := c.http.Get(c.ctx, "/v1/indexes/managed/"+operation, c.values(parameters...))
	if err != nil {
		return err
	}
	if answer.Status != 200 {
		return fmt.Errorf("HTTP %d %s", answer.Status, answer.Code())
	}
	return answer.Decode(into)
}

func (c *indexTour) existsAndCount() error {
	return c.step("exists and count", func() (string, error) {
		var some, none struct{ Exists bool }
		var total struct{ Count int }
		border := strconv.FormatInt(firstTime+users-1, 10)
		if err := c.ask("exists", &some, "eq", border); err != nil {
			return "", err
		}
		if err := c.ask("exists", &none, "gt", border); err != nil {
			return "", err
		}
		if err := c.ask("count", &total); err != nil {
			return "", err
		}
		if !some.Exists || none.Exists || total.Count != len(c.expected) {
			return "", fmt.Errorf("exists at the border %t, beyond it %t, count %d of %d", some.Exists, none.Exists, total.Count, len(c.expected))
		}
		return fmt.Sprintf("one at the border, none beyond it, %d in all", total.Count), nil
	})
}
