package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"sync"
	"sync/atomic"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/heatsink-dev/heatsink/bench/stub"
	"github.com/heatsink-dev/heatsink/pkg/account"
	"github.com/heatsink-dev/heatsink/pkg/catalog"
	"github.com/heatsink-dev/heatsink/pkg/ddb"
)

const (
	naiveTable = "NaiveUser"
	naiveIndex = "nickname"
	naiveName  = "query, then put"
	floorName  = "one transaction"
	// claimsTurn is how many sign-ups each caller makes in one operation of a contestant.
	claimsTurn = 4
)

// claimants are the two ways to give out nicknames.
type claimants struct {
	w       *world
	service *account.Service
	next    atomic.Int64 // names and ids are never used again
}

// claims measures what a nickname that only one can have costs, beside the way that lets several have it.
func claims(ctx context.Context, w *world, r *report) error {
	service, err := account.New(account.Config{Client: w.client, Users: w.users, UserTable: w.users.Name, ClaimTable: catalog.ClaimTable})
	if err != nil {
		return err
	}
	if err := w.createNaive(ctx); err != nil {
		return err
	}
	c := &claimants{w: w, service: service}
	if err := c.units(ctx, r); err != nil {
		return err
	}
	for _, one := range []bool{false, true} {
		for _, callers := range []int{1, 8, 64} {
			if err := c.race(ctx, r, callers, one); err != nil {
				return err
			}
		}
	}
	return nil
}

// createNaive makes the table of those who look into an index first.
func (w *world) createNaive(ctx context.Context) error {
	key := func(name string) []types.KeySchemaElement {
		return []types.KeySchemaElement{{AttributeName: &name, KeyType: types.KeyTypeHash}}
	}
	attribute := func(name string) types.AttributeDefinition {
		return types.AttributeDefinition{AttributeName: &name, AttributeType: types.ScalarAttributeTypeS}
	}
	_, err := w.raw.CreateTable(ctx, &dynamodb.CreateTableInput{
		TableName: aws.String(naiveTable), BillingMode: types.BillingModePayPerRequest, KeySchema: key("userId"),
		AttributeDefinitions: []types.AttributeDefinition{attribute("userId"), attribute("nickname")},
		GlobalSecondaryIndexes: []types.GlobalSecondaryIndex{{
			IndexName: aws.String(naiveIndex), KeySchema: key("nickname"), Projection: &types.Projection{ProjectionType: types.ProjectionTypeKeysOnly},
		}},
	})
	return err
}

// units compares each step with its floor: one transaction, 2 WRU for each item in it, and no other write.
func (c *claimants) units(ctx context.Context, r *report) error {
	nickname, email := "steps", "steps@example.com"
	for _, step := range []struct {
		name            string
		requests, units float64 // of the floor
		do              func() error
	}{
		{"sign-up with nickname and e-mail", 1, 6, func() error {
			_, err := c.service.SignUp(ctx, account.Application{UserID: "steps", Nickname: &nickname, Email: &email})
			return err
		}},
		{"rename", 1, 6, func() error {
			_, err := c.service.Rename(ctx, "steps", "steps-again")
			return err
		}},
		{"release", 1, 4, func() error { return c.service.ReleaseNickname(ctx, "steps") }},
	} {
		counts, err := c.w.counted(ctx, step.do)
		if err != nil {
			return fmt.Errorf("%s: %w", step.name, err)
		}
		r.add(step.name, "write requests", writes(counts), floorName, step.requests, atMost(1))
		r.add(step.name, "WRU", counts.WriteUnits, floorName, step.units, atMost(1))
		if reads := float64(counts.Total()) - writes(counts); reads > 0 {
			r.add(step.name, "all requests", float64(counts.Total()), "a read and one transaction", 2, atMost(1))
		}
	}
	return nil
}

func writes(counts stub.Counts) float64 {
	all := maps.Clone(counts.Requests)
	delete(all, "GetItem")
	total := 0
	for _, n := range all {
		total += n
	}
	return float64(total)
}

// race lets callers sign up at once: each for names of its own, or all of them for one new name at a time.
func (c *claimants) race(ctx context.Context, r *report, callers int, one bool) error {
	var owners, names [2]atomic.Int64
	contest := func(which int, signUp func(ctx context.Context, id, nickname string) (bool, error)) func(context.Context) error {
		return func(ctx context.Context) error {
			for range claimsTurn {
				run := c.next.Add(1)
				var group sync.WaitGroup
				failed := make(chan error, callers)
				for caller := range callers {
					group.Go(func() {
						nickname := fmt.Sprintf("n-%d", run)
						if !one {
							nickname = fmt.Sprintf("n-%d-%d", run, caller)
						}
						won, err := signUp(ctx, fmt.Sprintf("u-%d-%d", run, caller), nickname)
						if err != nil {
							failed <- err
						}
						if won {
							owners[which].Add(1)
						}
					})
				}
				group.Wait()
				select {
				case err := <-failed:
					return err
				default:
				}
				names[which].Add(int64(callers))
				if one {
					names[which].Add(int64(1 - callers))
				}
			}
			return nil
		}
	}
	costs, err := c.w.compare(ctx, 1, contestant{"ours", contest(0, c.ours)}, contestant{naiveName, contest(1, c.naive)})
	if err != nil {
		return err
	}
	kind := "of different names"
	if one {
		kind = "of one name"
	}
	name := fmt.Sprintf("sign-ups %s, %d at once", kind, callers)
	each := float64(callers * claimsTurn)
	r.pair(name, "µs/claim", func(c cost) float64 { return c.wall / each }, costs, naiveName, 1, none)
	ours, peers := costs.pair(0, 1, func(c cost) float64 { return c.wall / each })
	fmt.Fprintf(os.Stderr, "bench: %s: %.0f claims a second, %s %.0f\n", name, 1e6/ours, naiveName, 1e6/peers)
	r.pair(name, "requests/claim", func(c cost) float64 { return c.requests / each }, costs, naiveName, 1, atMost(1))
	mine, theirs := float64(owners[0].Load())/float64(names[0].Load()), float64(owners[1].Load())/float64(names[1].Load())
	r.add(name, "owners/name", mine, naiveName, theirs, oursAtMost(1))
	if mine != 1 {
		return fmt.Errorf("%s: %g owners a name", name, mine)
	}
	return nil
}

func (c *claimants) ours(ctx context.Context, id, nickname string) (won bool, err error) {
	_, err = c.service.SignUp(ctx, account.Application{UserID: id, Nickname: &nickname})
	if errors.Is(err, account.ErrNicknameTaken) {
		return false, nil
	}
	return err == nil, err
}

// naive is what somebody writes first. Here its index is never late, which is the best that can happen to it.
func (c *claimants) naive(ctx context.Context, id, nickname string) (won bool, err error) {
	found, err := c.w.raw.Query(ctx, &dynamodb.QueryInput{
		TableName: aws.String(naiveTable), IndexName: aws.String(naiveIndex), KeyConditionExpression: aws.String("#n = :n"), Limit: aws.Int32(1),
		ExpressionAttributeNames: map[string]string{"#n": "nickname"}, ExpressionAttributeValues: ddb.Item{":n": s(nickname)},
	})
	if err != nil || len(found.Items) > 0 {
		return false, err
	}
	_, err = c.w.raw.PutItem(ctx, &dynamodb.PutItemInput{
		TableName: aws.String(naiveTable), Item: ddb.Item{"userId": s(id), "nickname": s(nickname)},
		ConditionExpression: aws.String("attribute_not_exists(#id)"), ExpressionAttributeNames: map[string]string{"#id": "userId"},
	})
	return err == nil, err
}
