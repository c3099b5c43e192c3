package tour

import (
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/heatsink-dev/heatsink/pkg/cursor"
	"github.com/heatsink-dev/heatsink/pkg/query"
	"github.com/heatsink-dev/heatsink/pkg/schema"
	"github.com/heatsink-dev/heatsink/pkg/sortkey"
)

func (c *indexTour) move() error {
	return c.step("update one user, move another to a new managedKey", func() (string, error) {
		updated, moved := c.run+"-u000", c.run+"-u001"
		if err := c.put(updated, c.expected[updated], "second"); err != nil {
			return "", err
		}
		if err := c.put(moved, firstTime+1000, "moved"); err != nil {
			return "", err
		}
		if err := c.awaitRows(users, 1); err != nil {
			return "", err
		}
		err := c.wait(c.ctx, func() (bool, string, error) {
			got, err := c.items("limit", "1")
			if err != nil {
				return false, "", err
			}
			return len(got.Items) == 1 && got.Items[0].Note == "second", "the update does not show", nil
		})
		if err != nil {
			return "", err
		}
		got, _, err := c.walk()
		if err != nil {
			return "", err
		}
		return "the move wrote a row at the new place and a tombstone at the old; HTTP shows each user once", same(got, c.inOrder(nil))
	})
}

func (c *indexTour) remove() error {
	return c.step("delete three users", func() (string, error) {
		for n := 5; n < 8; n++ {
			if err := c.delete(fmt.Sprintf("%s-u%03d", c.run, n)); err != nil {
				return "", err
			}
		}
		if err := c.awaitRows(users-3, 4); err != nil {
			return "", err
		}
		got, sizes, err := c.walk("limit", "10")
		if err != nil {
			return "", err
		}
		if sizes[0] != 10 {
			return "", fmt.Errorf("a page of 10 held %d", sizes[0])
		}
		return fmt.Sprintf("the index table keeps 4 tombstones, HTTP hides them and still fills its pages: %v", sizes), same(got, c.inOrder(nil))
	})
}

func (c *indexTour) delete(id string) error {
	_, err := c.dynamo.DeleteItem(c.ctx, &dynamodb.DeleteItemInput{
		TableName: &c.table, Key: map[string]types.AttributeValue{"userId": &types.AttributeValueMemberS{Value: id}},
	})
	if err != nil {
		return fmt.Errorf("delete user %s: %w", id, err)
	}
	delete(c.expected, id)
	return nil
}

// sideBySide reads both forms through the library, half of the walk on each: the switch, without a deploy.
func (c *indexTour) sideBySide() error {
	return c.step("GSI and index table side by side", func() (string, error) {
		if !c.index.Build.Has(schema.GSI | schema.Table) {
			return "only one form is built", nil
		}
		key, err := cursor.DeriveKey([]byte(strings.Repeat("tour", 8)), c.run)
		if err != nil {
			return "", err
		}
		reader, err := query.New(c.index, query.Config{
			Client: c.dynamo, BaseTable: c.table, IndexTable: c.indexTable, Cursors: cursor.New(cursor.NewStaticKeyring(key), cursor.Options{}),
		})
		if err != nil {
			return "", err
		}
		for _, form := range []schema.Form{schema.GSI, schema.Table} {
			got, err := c.readForm(reader, form)
			if err != nil {
				return "", fmt.Errorf("%s: %w", form, err)
			}
			if err := same(got, c.inOrder(nil)); err != nil {
				return "", fmt.Errorf("%s: %w", form, err)
			}
		}
		return fmt.Sprintf("both answer the same %d users in the same order; readers use the %s", len(c.expected), c.index.Type), nil
	})
}

func (c *indexTour) readForm(reader *query.Reader, form schema.Form) ([]string, error) {
	var ids []string
	for item, err := range reader.All(c.ctx, query.Request{Partition: sortkey.Text(c.partition), Form: form}) {
		if err != nil {
			return nil, err
		}
		id, ok := item["userId"].(*types.AttributeValueMemberS)
		if !ok {
			return nil, errors.New("an item without userId")
		}
		ids = append(ids, id.Value)
	}
	return ids, nil
}

func (c *indexTour) forge() error {
	return c.step("a cursor of another question, and a forged one", func() (string, error) {
		got, err := c.items("limit", "1")
		if err != nil {
			return "", err
		}
		middle := len(got.Cursor) / 2
		forged := got.Cursor[:middle] + strings.Map(func(r rune) rune {
			if r == 'A' {
				return 'B'
			}
			return 'A'
		}, got.Cursor[middle:middle+1]) + got.Cursor[middle+1:]
		for what, values := range map[string]url.Values{
			"for another order": c.values("cursor", got.Cursor, "order", "desc"),
			"with one bit else": c.values("cursor", forged),
			"another partition": {"partition": {c.partition + "x"}, "cursor": {got.Cursor}},
		} {
			answer, err := c.http.Get(c.ctx, "/v1/indexes/managed/items", values)
			if err != nil {
				return "", err
			}
			if answer.Status != 400 || answer.Code() != "invalid_cursor" {
				return "", fmt.Errorf("%s: HTTP %d %s", what, answer.Status, answer.Code())
			}
		}
		return "each is a 400 invalid_cursor, without a word about why", nil
	})
}

// team shows the second index: a two-part key, sparse, with an Include projection.
func (c *indexTour) team() error {
	return c.step("a second index: who of a team is active, and since when", func() (string, error) {
		for n, status := range []string{"active", "left", "active", "active"} {
			id := fmt.Sprintf("%s-t%d", c.run, n)
			_, err := c.dynamo.PutItem(c.ctx, &dynamodb.PutItemInput{TableName: &c.table, Item: map[string]types.AttributeValue{
				"userId": &types.AttributeValueMemberS{Value: id}, "teamId": &types.AttributeValueMemberS{Value: c.run},
				"status": &types.AttributeValueMemberS{Value: status}, "joinedOn": &types.AttributeValueMemberS{Value: fmt.Sprintf("2026-0%d-01", n+1)},
			}})
			if err != nil {
				return "", fmt.Errorf("put user %s: %w", id, err)
			}
		}
		want := []string{c.run + "-t2", c.run + "-t3"}
		var ids []string
		err := c.wait(c.ctx, func() (bool, string, error) {
			answer, err := c.http.Get(c.ctx, "/v1/indexes/team-status/items", url.Values{"partition": {c.run}, "under": {"active"}, "gte": {"2026-02-01"}})
			if err != nil {
				return false, "", err
			}
			var got page
			if err := answer.Decode(&got); err != nil {
				return false, "", err
			}
			ids = nil
			for _, item := range got.Items {
				ids = append(ids, item.UserID)
			}
			return same(ids, want) == nil, fmt.Sprintf("%d users, want %d", len(ids), len(want)), nil
		})
		return "under=active, gte=2026-02-01: the two of four, in order of joining", err
	})
}

// clean removes the users of this walk. Their tombstones expire by themselves.
func (c *indexTour) clean() error {
	return c.step("tidy up", func() (string, error) {
		removed := 0
		for _, id := range c.inOrder(nil) {
			if err := c.delete(id); err != nil {
				return "", err
			}
			removed++
		}
		for n := range 4 {
			if err := c.delete(fmt.Sprintf("%s-t%d", c.run, n)); err != nil {
				return "", err
			}
			removed++
		}
		return fmt.Sprintf("%d users of this walk deleted; their tombstones expire", removed), nil
	})
}
