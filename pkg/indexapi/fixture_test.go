package indexapi_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/heatsink-dev/heatsink/pkg/cursor"
	"github.com/heatsink-dev/heatsink/pkg/ddb"
	"github.com/heatsink-dev/heatsink/pkg/ddbtest"
	"github.com/heatsink-dev/heatsink/pkg/edge"
	"github.com/heatsink-dev/heatsink/pkg/indexapi"
	"github.com/heatsink-dev/heatsink/pkg/schema"
	"github.com/heatsink-dev/heatsink/pkg/sortkey"
)

// definition of a table with an index of each kind that the surface must tell apart.
func definition(readers schema.Form) schema.TableDefinition {
	table := func(name, partition string, parts ...schema.Part) schema.IndexDefinition {
		return schema.IndexDefinition{
			Name: name, PartitionKey: partition, SortKey: parts, Projection: schema.Projection{Kind: schema.All},
			TombstoneRetention: 48 * time.Hour, Build: schema.Table, Type: schema.Table,
		}
	}
	managed := table("managed", "ID", schema.Part{Name: "at", Width: 13})
	managed.Build, managed.Type = schema.GSI|schema.Table, readers
	return schema.TableDefinition{
		Name: "User",
		Attributes: []schema.Attribute{
			{Name: "userId", Type: schema.String},
			{Name: "ID", Type: schema.String},
			{Name: "at", Type: schema.Number},
			{Name: "number", Type: schema.Number},
			{Name: "binary", Type: schema.Binary},
			{Name: "status", Type: schema.String},
			{Name: "since", Type: schema.String},
		},
		PartitionKey: "userId", Private: []string{"_secret"},
		Indexes: []schema.IndexDefinition{
			managed,
			table("by-status", "ID", schema.Part{Name: "status"}, schema.Part{Name: "since"}),
			table("by-number", "number", schema.Part{Name: "number2"}),
			table("by-binary", "binary", schema.Part{Name: "binary2"}),
			table("unsorted", "ID"),
		},
	}
}

// fixture is the surface over real tables.
type fixture struct {
	t       *testing.T
	catalog *schema.Catalog
	client  *dynamodb.Client
	faults  *ddbtest.Faults
	names   map[string]string
	handler http.Handler
	log     *bytes.Buffer
	metrics *bytes.Buffer
}

func newFixture(t *testing.T, readers schema.Form) *fixture {
	t.Helper()
	d := definition(readers)
	d.Attributes = append(d.Attributes, schema.Attribute{Name: "number2", Type: schema.Number}, schema.Attribute{Name: "binary2", Type: schema.Binary})
	catalog, err := schema.Compile(d)
	if err != nil {
		t.Fatal(err)
	}
	f := &fixture{t: t, catalog: catalog, faults: ddbtest.NewFaults(t, 0), names: map[string]string{}, log: &bytes.Buffer{}, metrics: &bytes.Buffer{}}
	f.client = ddbtest.Client(t)
	table, _ := catalog.Table("User")
	f.names["User"] = ddbtest.Table(t, table)
	for _, index := range table.Indexes {
		f.names[index.TableName()] = ddbtest.IndexTable(t, index)
	}
	key, err := cursor.DeriveKey(bytes.Repeat([]byte("k"), 32), "v1")
	if err != nil {
		t.Fatal(err)
	}
	served, err := indexapi.Open(table, func(logical string) string { return f.names[logical] },
		ddbtest.Client(t, ddb.Metered, f.faults.Install), cursor.New(cursor.NewStaticKeyring(key), cursor.Options{}))
	if err != nil {
		t.Fatal(err)
	}
	api, err := indexapi.New(served, indexapi.Options{TenantClaim: "tenant"})
	if err != nil {
		t.Fatal(err)
	}
	router := edge.NewRouter(edge.RouterConfig{Logger: edge.NewLogger(f.log, slog.LevelInfo), Metrics: edge.NewMetrics(f.metrics, "Heatsink", "api", nil)})
	api.Register(router)
	f.handler = router
	return f
}

// put writes an item into the base table, and the row of it that the indexer would write into each index table.
func (f *fixture) put(item ddb.Item) {
	f.t.Helper()
	f.write(f.names["User"], item)
	table, _ := f.catalog.Table("User")
	for _, index := range table.StreamIndexes() {
		row, values, indexed := ddb.Item{}, []sortkey.Value(nil), true
		for _, part := range index.Codec.Parts() {
			value, ok := ddb.KeyValue(item[part.Name])
			indexed = indexed && ok
			values = append(values, value)
		}
		if _, ok := item[index.PartitionKey.Name]; !ok || !indexed {
			continue
		}
		for name, value := range item {
			if index.Projects(name) {
				row[name] = value
			}
		}
		text, err := index.Codec.Encode(values...)
		if err != nil {
			f.t.Fatal(err)
		}
		row[schema.SortKeyAttribute], row[schema.VersionAttribute] = s(text), s("v")
		f.write(f.names[index.TableName()], row)
	}
}

func (f *fixture) write(table string, item ddb.Item) {
	f.t.Helper()
	if _, err := f.client.PutItem(f.t.Context(), &dynamodb.PutItemInput{TableName: &table, Item: item}); err != nil {
		f.t.Fatal(err)
	}
}

// users puts n users into partition p, at 1000, 1001, ...
func (f *fixture) users(n int) {
	f.t.Helper()
	for i := range n {
		f.put(ddb.Item{"userId": s(fmt.Sprintf("u%03d", i)), "ID": s("p"), "at": num(strconv.Itoa(1000 + i)), "_secret": s("hidden")})
	}
}

func s(text string) types.AttributeValue   { return &types.AttributeValueMemberS{Value: text} }
func num(text string) types.AttributeValue { return &types.AttributeValueMemberN{Value: text} }

// get calls with a raw query string, post with a raw body.
func (f *fixture) get(path, query string) *httptest.ResponseRecorder {
	f.t.Helper()
	request := httptest.NewRequestWithContext(f.t.Context(), http.MethodGet, path, nil)
	request.URL.RawQuery = query
	return f.serve(request)
}

func (f *fixture) post(path, body string) *httptest.ResponseRecorder {
	f.t.Helper()
	return f.serve(httptest.NewRequestWithContext(f.t.Context(), http.MethodPost, path, strings.NewReader(body)))
}

func (f *fixture) serve(request *http.Request) *httptest.ResponseRecorder {
	f.t.Helper()
	answer := httptest.NewRecorder()
	f.handler.ServeHTTP(answer, request)
	return answer
}

// answer is any body of the surface.
type answer struct {
	Items  []map[string]json.RawMessage
	Exists *bool
	Count  *int
	Cursor string
	Code   string
	Detail string
	Status int
}

func decode(t *testing.T, response *httptest.ResponseRecorder) answer {
	t.Helper()
	var got answer
	if err := json.Unmarshal(response.Body.Bytes(), &got); err != nil {
		t.Fatalf("%q: %v", response.Body, err)
	}
	return got
}

// ids of the users of an answer.
func (a answer) ids() []string {
	ids := []string{}
	for _, item := range a.Items {
		ids = append(ids, strings.Trim(string(item["userId"]), `"`))
	}
	return ids
}

// queryString builds a query string from name, value, name, value.
func queryString(parameters ...string) string {
	values := url.Values{}
	for n := 0; n+1 < len(parameters); n += 2 {
		values.Add(parameters[n], parameters[n+1])
	}
	return values.Encode()
}
