package indexapi_test

import (
	"errors"
	"fmt"
	"time"

	"github.com/heatsink-dev/heatsink/pkg/edge"
	"github.com/heatsink-dev/heatsink/pkg/indexapi"
	"github.com/heatsink-dev/heatsink/pkg/schema"
)

// A query string becomes a request for the index, or a problem that names the parameter.
func ExampleRequest() {
	catalog, err := schema.Compile(schema.TableDefinition{
		Name: "User", Attributes: []schema.Attribute{{Name: "userId", Type: schema.String}, {Name: "ID", Type: schema.String}, {Name: "managedKey", Type: schema.Number}}, PartitionKey: "userId",
		Indexes: []schema.IndexDefinition{{
			Name: "managed", PartitionKey: "ID", SortKey: []schema.Part{{Name: "managedKey", Width: 13}}, Projection: schema.Projection{Kind: schema.All},
			TombstoneRetention: 48 * time.Hour, Build: schema.Table,
		}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	index, _ := catalog.Index("managed")
	request, err := indexapi.Request(index, edge.Parameters{"partition": "team-1", "gte": "1.7E12", "order": "desc"})
	fmt.Println(request.Partition, request.Where.Lower.Value, request.Descending, request.Limit, err)

	_, err = indexapi.Request(index, edge.Parameters{"partition": "team-1", "gte": "yesterday"})
	problem, _ := errors.AsType[*edge.Problem](err)
	fmt.Println(problem.Code.Status(), problem.Code, problem.Detail)
	// Output:
	// team-1 1700000000000 true 50 <nil>
	// 400 invalid_parameter gte: must be a DynamoDB number: the text is not a number
}
