package schema_test

import (
	"fmt"

	"github.com/heatsink-dev/heatsink/pkg/schema"
)

func ExampleTableOutput() {
	fmt.Println(schema.TableOutput("UserManagedIndex"), schema.TableResource("UserManagedIndex"))
	// Output: UserManagedIndexTableName UserManagedIndexTable
}

func ExampleFunctionOutput() {
	fmt.Println(schema.FunctionOutput("indexer"), schema.FunctionOutput("event-export"))
	// Output: IndexerFunctionName EventExportFunctionName
}
