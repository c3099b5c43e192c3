package query_test

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/heatsink-dev/heatsink/pkg/cursor"
	"github.com/heatsink-dev/heatsink/pkg/ddb"
	"github.com/heatsink-dev/heatsink/pkg/ddbtest"
	"github.com/heatsink-dev/heatsink/pkg/indexsync"
	"github.com/heatsink-dev/heatsink/pkg/query"
	"github.com/heatsink-dev/heatsink/pkg/schema"
	"github.com/heatsink-dev/heatsink/pkg/sortkey"
)

func text(s string) types.AttributeValue   { return &types.AttributeValueMemberS{Value: s} }
func number(n string) types.AttributeValue { return &types.AttributeValueMemberN{Value: n} }
func binary(b string) types.AttributeValue { return &types.AttributeValueMemberB{Value: []byte(b)} }

func equal(v sortkey.Value) sortkey.Condition { return sortkey.Condition{Equal: &v} }

func lower(v sortkey.Value, inclusive bool) *sortkey.Bound {
	return &sortkey.Bound{Value: v, Inclusive: inclusive}
}

var upper = lower // the same, read at the other end

// sealer has a fixed key: cursors made by one reader of a test open in the others.
func sealer(t testing.TB) *cursor.Sealer {
	t.Helper()
	key, err := cursor.DeriveKey([]byte(strings.Repeat("k", cursor.MinSecretBytes)), "v1")
	if err != nil {
		t.Fatal(err)
	}
	return cursor.New(cursor.NewStaticKeyring(key), cursor.Options{})
}

// compiled checks a table definition.
func compiled(t testing.TB, definition schema.TableDefinition) *schema.BaseTable {
	t.Helper()
	catalog, err := schema.Compile(definition)
	if err != nil {
		t.Fatal(err)
	}
	table, _ := catalog.Table(definition.Name)
	return table
}

func indexOf(t testing.TB, table *schema.BaseTable, name string) *schema.Index {
	t.Helper()
	for _, index := range table.Indexes {
		if index.Name == name {
			return index
		}
	}
	t.Fatalf("no index %s", name)
	return nil
}

const retention = 48 * time.Hour

// userTable is the catalog's table in small: the managed index in both forms.
func userTable(t testing.TB) *schema.BaseTable {
	t.Helper()
	return compiled(t, schema.TableDefinition{
		Name: "User",
		Attributes: []schema.Attribute{
			{Name: "userId", Type: schema.String}, {Name: "ID", Type: schema.String}, {Name: "managedKey", Type: schema.Number},
		},
		PartitionKey: "userId",
		Private:      []string{"_secret"},
		Indexes: []schema.IndexDefinition{{
			Name: "managed", PartitionKey: "ID", SortKey: []schema.Part{{Name: "managedKey", Width: 13}},
			Projection: schema.Projection{Kind: schema.All}, TombstoneRetention: retention,
			Build: schema.GSI | schema.Table, Type: schema.Table,
		}},
	})
}

// recorder passes Query on and keeps what went through.
type recorder struct {
	ddb.Querier
	mu     sync.Mutex
	inputs []dynamodb.QueryInput
}

func (r *recorder) Query(ctx context.Context, in *dynamodb.QueryInput, opts ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error) {
	r.mu.Lock()
	r.inputs = append(r.inputs, *in)
	r.mu.Unlock()
	return r.Querier.Query(ctx, in, opts...)
}

// store is a base table and its index tables on the real engine, filled as the indexer would fill them.
type store struct {
	t      testing.TB
	table  *schema.BaseTable
	name   string
	tables map[string]string // index name -> index table
	client *dynamodb.Client
	calls  *recorder
}

func newStore(t testing.TB, table *schema.BaseTable) *store {
	t.Helper()
	s := &store{t: t, table: table, name: ddbtest.Table(t, table), tables: map[string]string{}, client: ddbtest.Client(t)}
	s.calls = &recorder{Querier: s.client}
	for _, index := range table.StreamIndexes() {
		s.tables[index.Name] = ddbtest.IndexTable(t, index)
	}
	return s
}

func (s *store) reader(index string, budget query.Budget) *query.Reader {
	s.t.Helper()
	reader, err := query.New(indexOf(s.t, s.table, index), query.Config{
		Client: s.calls, BaseTable: s.name, IndexTable: s.tables[index], Cursors: sealer(s.t), Budget: budget,
	})
	if err != nil {
		s.t.Fatal(err)
	}
	return reader
}

// tester is a test or a case of a property.
type tester interface {
	Helper()
	Context() context.Context
	Fatalf(format string, args ...any)
}

// put writes items to the base table, and their rows to each index table.
func (s *store) put(t tester, items ...ddb.Item) {
	t.Helper()
	s.batch(t, s.name, items)
	s.index(t, s.table.Indexes, items)
}

// index writes the rows of items to index tables.
func (s *store) index(t tester, indexes []*schema.Index, items []ddb.Item) {
	t.Helper()
	for _, index := range indexes {
		var rows []ddb.Item
		for _, item := range items {
			if row, _, ok := indexsync.Row(index, item, "1"); ok {
				rows = append(rows, row)
			}
		}
		s.batch(t, s.tables[index.Name], rows)
	}
}

// bury writes the tombstones that items leave in index tables: as if they had been there and were deleted or moved.
func (s *store) bury(t tester, indexes []*schema.Index, items []ddb.Item) {
	t.Helper()
	for _, index := range indexes {
		buried := map[string]bool{}
		var rows []ddb.Item
		for _, item := range items {
			row, _, ok := indexsync.Row(index, item, "1")
			if !ok {
				continue
			}
			key := keyValue(row, index.PartitionKey.Name).String() + "/" + keyValue(row, schema.SortKeyAttribute).String()
			if buried[key] {
				continue // a batch takes a key once
			}
			buried[key] = true
			rows = append(rows, ddb.Item{
				index.PartitionKey.Name: row[index.PartitionKey.Name], schema.SortKeyAttribute: row[schema.SortKeyAttribute],
				schema.VersionAttribute: text("1"), schema.DeletedAttribute: &types.AttributeValueMemberBOOL{Value: true},
				schema.TTLAttribute: number("1899999999"),
			})
		}
		s.batch(t, s.tables[index.Name], rows)
	}
}

func (s *store) batch(t tester, table string, items []ddb.Item) {
	t.Helper()
	for chunk := range slices.Chunk(items, 25) {
		var requests []types.WriteRequest
		for _, item := range chunk {
			requests = append(requests, types.WriteRequest{PutRequest: &types.PutRequest{Item: item}})
		}
		out, err := s.client.BatchWriteItem(t.Context(), &dynamodb.BatchWriteItemInput{RequestItems: map[string][]types.WriteRequest{table: requests}})
		if err != nil {
			t.Fatalf("write %d items to %s: %v", len(chunk), table, err)
		}
		if len(out.UnprocessedItems) > 0 {
			t.Fatalf("%s left items of a batch unprocessed", table)
		}
	}
}

// spent forgets the calls so far and gives them.
func (s *store) spent() []dynamodb.QueryInput {
	s.calls.mu.Lock()
	defer s.calls.mu.Unlock()
	calls := s.calls.inputs
	s.calls.inputs = nil
	return calls
}

// script is a Querier that answers from a list, for what an engine cannot be made to say.
type script struct {
	answers []any // *dynamodb.QueryOutput or error
	inputs  []dynamodb.QueryInput
}

func (s *script) Query(_ context.Context, in *dynamodb.QueryInput, _ ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error) {
	s.inputs = append(s.inputs, *in)
	n := len(s.inputs) - 1
	if n >= len(s.answers) {
		return nil, fmt.Errorf("call %d is beyond the script", n+1)
	}
	switch answer := s.answers[n].(type) {
	case error:
		return nil, answer
	case *dynamodb.QueryOutput:
		return answer, nil
	default:
		return nil, fmt.Errorf("the script has a %T", answer)
	}
}

// limits are the read sizes that the script saw, 0 for none.
func (s *script) limits() []int32 {
	var sizes []int32
	for _, in := range s.inputs {
		sizes = append(sizes, aws.ToInt32(in.Limit))
	}
	return sizes
}

// scripted is a reader of the managed index over a script.
func scripted(t testing.TB, budget query.Budget, answers ...any) (*query.Reader, *script) {
	t.Helper()
	s := &script{answers: answers}
	reader, err := query.New(indexOf(t, userTable(t), "managed"), query.Config{
		Client: s, BaseTable: "base", IndexTable: "index", Cursors: sealer(t), Budget: budget,
	})
	if err != nil {
		t.Fatal(err)
	}
	return reader, s
}

// tableRow is a live row of the managed index table.
func tableRow(n int) ddb.Item {
	item := user(n)
	item[schema.SortKeyAttribute], item[schema.VersionAttribute] = text(rowKey(n)), text("1")
	return item
}

func rowKey(n int) string { return fmt.Sprintf("%013d#u%05d", n, n) }

// user is a base item of the managed index in partition t.
func user(n int) ddb.Item {
	return ddb.Item{"userId": text(fmt.Sprintf("u%05d", n)), "ID": text("t"), "managedKey": number(fmt.Sprint(n)), "name": text(fmt.Sprintf("user %d", n))}
}

// tableKey is the LastEvaluatedKey at row n of the index table.
func tableKey(n int) ddb.Item {
	return ddb.Item{"ID": text("t"), schema.SortKeyAttribute: text(rowKey(n))}
}

func gsiKey(n int) ddb.Item {
	item := user(n)
	delete(item, "name")
	return item
}

// answer is a response that evaluated so many rows.
func answer(evaluated int, next ddb.Item, rows ...ddb.Item) *dynamodb.QueryOutput {
	return &dynamodb.QueryOutput{
		Items: rows, Count: int32(len(rows)), ScannedCount: int32(evaluated), LastEvaluatedKey: next,
		ConsumedCapacity: &types.ConsumedCapacity{CapacityUnits: aws.Float64(0.5)},
	}
}

// rowsOf are live rows from to to, in either direction.
func rowsOf(row func(int) ddb.Item, from, to int) []ddb.Item {
	var rows []ddb.Item
	step := cmp.Compare(to, from)
	for n := from; ; n += step {
		rows = append(rows, row(n))
		if n == to {
			return rows
		}
	}
}

func ids(items []ddb.Item) []string {
	names := []string{}
	for _, item := range items {
		names = append(names, item["userId"].(*types.AttributeValueMemberS).Value)
	}
	return names
}

func partition(value string) sortkey.Value { return sortkey.Text(value) }

// collect drains All.
func collect(ctx context.Context, reader *query.Reader, request query.Request) ([]ddb.Item, error) {
	var items []ddb.Item
	for item, err := range reader.All(ctx, request) {
		if err != nil {
			return items, err
		}
		items = append(items, item)
	}
	return items, nil
}

// model answers a request from base items, with none of the code under test: numbers are big.Rat, texts are bytes.
type model struct {
	index *schema.Index
	items []ddb.Item
}

// rat parses a number text, exponents included.
func rat(n string) *big.Rat {
	r, ok := new(big.Rat).SetString(n)
	if !ok {
		panic("not a number: " + n)
	}
	return r
}

func compareValues(a, b sortkey.Value) int {
	if a.Kind() == sortkey.KindNumber {
		return rat(a.String()).Cmp(rat(b.String()))
	}
	return cmp.Compare(a.String(), b.String())
}

func keyValue(item ddb.Item, name string) sortkey.Value {
	value, ok := ddb.KeyValue(item[name])
	if !ok {
		panic("not a key value: " + name)
	}
	return value
}

// holds says whether the index has the item.
func (m *model) holds(item ddb.Item) bool {
	if _, ok := item[m.index.PartitionKey.Name]; !ok {
		return false
	}
	for _, part := range m.index.SortKey {
		if _, ok := item[part.Name]; !ok {
			return false
		}
		if part.Width > 0 {
			n := rat(keyValue(item, part.Name).String())
			most := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(part.Width)), nil)
			if !n.IsInt() || n.Sign() < 0 || n.Num().Cmp(most) >= 0 {
				return false
			}
		}
	}
	return true
}

func meets(where sortkey.Condition, value sortkey.Value) bool {
	in := func(b *sortkey.Bound, direction int) bool {
		if b == nil {
			return true
		}
		c := compareValues(value, b.Value) * direction
		return c > 0 || c == 0 && b.Inclusive
	}
	return (where.Equal == nil || compareValues(value, *where.Equal) == 0) &&
		(where.Prefix == nil || strings.HasPrefix(value.String(), *where.Prefix)) && in(where.Lower, 1) && in(where.Upper, -1)
}

// compare orders items by the parts of the index, then by base key.
func (m *model) compare(a, b ddb.Item, ties bool) int {
	var names []string
	for _, part := range m.index.SortKey {
		names = append(names, part.Name)
	}
	if ties {
		for _, key := range m.index.Source.Key() {
			names = append(names, key.Name)
		}
	}
	for _, name := range names {
		if c := compareValues(keyValue(a, name), keyValue(b, name)); c != 0 {
			return c
		}
	}
	return 0
}

// answer is what the request asks for, all of it, with each item as the index shows it.
func (m *model) answer(request query.Request, filter func(ddb.Item) bool) []ddb.Item {
	found := []ddb.Item{}
items:
	for _, item := range m.items {
		if !m.holds(item) || compareValues(keyValue(item, m.index.PartitionKey.Name), request.Partition) != 0 || filter != nil && !filter(item) {
			continue
		}
		for n, value := range request.Under {
			if compareValues(keyValue(item, m.index.SortKey[n].Name), value) != 0 {
				continue items
			}
		}
		if n := len(request.Under); n < len(m.index.SortKey) && !meets(request.Where, keyValue(item, m.index.SortKey[n].Name)) {
			continue
		}
		found = append(found, item)
	}
	slices.SortFunc(found, func(a, b ddb.Item) int {
		c := m.compare(a, b, true)
		if request.Descending {
			return -c
		}
		return c
	})
	return found
}

// shown is the item as an answer carries it.
func (m *model) shown(item ddb.Item, request query.Request) ddb.Item {
	shown := maps.Clone(item)
	for name := range item {
		if !m.index.Projects(name) || len(request.Projection) > 0 && !slices.Contains(request.Projection, name) {
			delete(shown, name)
		}
	}
	return shown
}

// plain is an index table of the managed index whose rows 0, 1, 2, ... are live or dead by a rule. It evaluates as DynamoDB does: start key, then Limit or the size of a
// response, then the filter; it is for long walks, where a real engine would only be slower.
type plain struct {
	rows  int
	live  func(n int) bool
	split int // rows that one response can hold, 0 for all

	inputs    []dynamodb.QueryInput
	evaluated int
}

func (p *plain) Query(_ context.Context, in *dynamodb.QueryInput, _ ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error) {
	p.inputs = append(p.inputs, *in)
	if in.Limit != nil && *in.Limit < 1 {
		return nil, fmt.Errorf("Limit %d", *in.Limit)
	}
	at, step, end := 0, 1, p.rows
	if in.ScanIndexForward != nil && !*in.ScanIndexForward {
		at, step, end = p.rows-1, -1, -1
	}
	if start := in.ExclusiveStartKey; start != nil {
		if _, err := fmt.Sscanf(start[schema.SortKeyAttribute].(*types.AttributeValueMemberS).Value, "%013d#", &at); err != nil {
			return nil, err
		}
		at += step
	}
	out := &dynamodb.QueryOutput{ConsumedCapacity: &types.ConsumedCapacity{CapacityUnits: aws.Float64(0.5)}}
	for ; at != end; at += step {
		out.ScannedCount++
		if p.live(at) {
			out.Count++
			if in.Select != types.SelectCount {
				out.Items = append(out.Items, tableRow(at))
			}
		}
		if in.Limit != nil && out.ScannedCount == *in.Limit || p.split > 0 && int(out.ScannedCount) == p.split {
			out.LastEvaluatedKey = tableKey(at)
			break
		}
	}
	p.evaluated += int(out.ScannedCount)
	return out, nil
}

func (p *plain) reader(t testing.TB, budget query.Budget) *query.Reader {
	t.Helper()
	reader, err := query.New(indexOf(t, userTable(t), "managed"), query.Config{Client: p, IndexTable: "index", Cursors: sealer(t), Budget: budget})
	if err != nil {
		t.Fatal(err)
	}
	return reader
}
