package main

import (
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/guregu/dynamo/v2"

	"github.com/heatsink-dev/heatsink/pkg/ddb"
	"github.com/heatsink-dev/heatsink/pkg/query"
	"github.com/heatsink-dev/heatsink/pkg/schema"
)

const (
	pageSize  = 100
	pageRows  = 2000 // of the partition that is walked, again and again
	pagesTurn = 10   // pages in one turn of a contestant
	pageOf    = "page"
	liveRows  = "attribute_not_exists(#d)"
	rawSDK    = "raw SDK"
	guregu    = "guregu/dynamo"
)

// pages compares a page of 100 live items, cursor in and cursor out, by form and by what the caller gets: items, or structs.
func pages(ctx context.Context, w *world, r *report) error {
	var items, rows []ddb.Item
	for n := range pageRows {
		item := user(pageOf, n)
		row, err := w.row(item, false)
		if err != nil {
			return err
		}
		items, rows = append(items, item), append(rows, row)
	}
	if err := w.load(ctx, w.users.Name, items); err != nil {
		return err
	}
	if err := w.load(ctx, w.managed.TableName(), rows); err != nil {
		return err
	}
	reader, err := w.reader(query.Budget{})
	if err != nil {
		return err
	}
	for _, form := range []schema.Form{schema.Table, schema.GSI} {
		for _, structs := range []bool{false, true} {
			if err := comparePages(ctx, w, r, reader, form, structs); err != nil {
				return fmt.Errorf("%s: %w", form, err)
			}
		}
	}
	return nil
}

func comparePages(ctx context.Context, w *world, r *report, reader *query.Reader, form schema.Form, structs bool) error {
	costs, err := w.compare(
		ctx, pagesTurn, contestant{"ours", ourPages(reader, form, structs)}, contestant{rawSDK, w.rawPages(form, structs)}, contestant{guregu, w.dynamoPages(form, structs)},
	)
	if err != nil {
		return err
	}
	name := fmt.Sprintf("page of %d items, %s", pageSize, form)
	if structs {
		name = fmt.Sprintf("page of %d structs, %s", pageSize, form)
	}
	for n, peer := range []string{rawSDK, guregu} {
		promised := atMost(1.05)
		if peer == guregu {
			// Its pages are of structs: maps it hands out as the SDK made them, and so as the raw SDK does, with all that ours takes out.
			promised = none
			if structs {
				promised = below(1)
			}
		}
		r.pair(name, "µs CPU/page", cpuOf, costs, peer, n+1, promised)
		r.pair(name, "allocations/page", allocationsOf, costs, peer, n+1, promised)
		r.pair(name, "bytes allocated/page", bytesOf, costs, peer, n+1, none)
	}
	if !structs {
		r.pair(name, "requests/page", requestsOf, costs, rawSDK, 1, atMost(1))
		r.pair(name, "RRU/page", readUnitsOf, costs, rawSDK, 1, atMost(1))
	}
	return nil
}

// full refuses a page that is not whole: then the comparison would not be fair.
func full(n int) error {
	if n != pageSize {
		return fmt.Errorf("a page has %d items instead of %d", n, pageSize)
	}
	return nil
}

func ourPages(reader *query.Reader, form schema.Form, structs bool) func(context.Context) error {
	request := query.Request{Partition: partitionOf(pageOf), Limit: pageSize, Form: form}
	return func(ctx context.Context) error {
		page, err := reader.Query(ctx, request)
		if err != nil {
			return err
		}
		got := len(page.Items)
		if structs {
			profiles, err := query.As[profile](page.Items)
			if err != nil {
				return err
			}
			got = len(profiles)
		}
		if request.Cursor = page.Cursor; page.Cursor == "" && got == 0 {
			return nil // the walk begins anew
		}
		return full(got)
	}
}

// rawPages is what somebody writes who has nothing but the SDK, wants to know what it costs and trusts the client with the start key: the same request.
func (w *world) rawPages(form schema.Form, structs bool) func(context.Context) error {
	var start ddb.Item
	return func(ctx context.Context) error {
		in := &dynamodb.QueryInput{
			TableName: aws.String(w.managed.TableName()), KeyConditionExpression: aws.String("#p = :p"), Limit: aws.Int32(pageSize), ExclusiveStartKey: start,
			ExpressionAttributeNames: map[string]string{"#p": "ID"}, ExpressionAttributeValues: ddb.Item{":p": s(pageOf)},
			ReturnConsumedCapacity: types.ReturnConsumedCapacityTotal,
		}
		if form == schema.GSI {
			in.TableName, in.IndexName = aws.String(w.users.Name), aws.String(w.managed.Name)
		} else {
			in.FilterExpression = aws.String(liveRows)
			in.ExpressionAttributeNames["#d"] = schema.DeletedAttribute
		}
		out, err := w.raw.Query(ctx, in)
		if err != nil {
			return err
		}
		got := len(out.Items)
		if structs {
			var profiles []profile
			if err := attributevalue.UnmarshalListOfMaps(out.Items, &profiles); err != nil {
				return err
			}
			got = len(profiles)
		}
		if start = out.LastEvaluatedKey; start == nil && got == 0 {
			return nil
		}
		return full(got)
	}
}

// dynamoPages is the same by guregu/dynamo. SearchLimit is its one-request page: with a filter its Limit reads 1 MB.
func (w *world) dynamoPages(form schema.Form, structs bool) func(context.Context) error {
	db := dynamo.NewFromIface(w.peer)
	table := db.Table(w.managed.TableName())
	if form == schema.GSI {
		table = db.Table(w.users.Name)
	}
	var start dynamo.PagingKey
	return func(ctx context.Context) error {
		q := table.Get("ID", pageOf)
		if form == schema.GSI {
			q = q.Index(w.managed.Name)
		} else {
			q = q.Filter("attribute_not_exists($)", schema.DeletedAttribute)
		}
		q = q.SearchLimit(pageSize).StartFrom(start)
		var got int
		var err error
		if structs {
			var profiles []profile
			start, err = q.AllWithLastEvaluatedKey(ctx, &profiles)
			got = len(profiles)
		} else {
			var items []ddb.Item
			start, err = q.AllWithLastEvaluatedKey(ctx, &items)
			got = len(items)
		}
		if err != nil {
			return err
		}
		if start == nil && got == 0 {
			return nil
		}
		return full(got)
	}
}
