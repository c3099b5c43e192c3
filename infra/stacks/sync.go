package stacks

import (
	"strconv"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/jsii-runtime-go"

	"github.com/heatsink-dev/heatsink/pkg/edge/routes"
	"github.com/heatsink-dev/heatsink/pkg/schema"
)

// SyncStack keeps index tables in step with their base tables.
type SyncStack struct {
	Stack   awscdk.Stack
	Indexer *function
	Redrive *function // nil without functions/redrive
	// Mappings of the indexer, by the name of the base table.
	Mappings map[string]awslambda.EventSourceMapping
}

func newSyncStack(b *builder, data *DataStack) *SyncStack {
	s := &SyncStack{
		Stack:    b.stack(schema.SyncStack, "index tables in step with their base tables", false),
		Mappings: map[string]awslambda.EventSourceMapping{},
	}
	sources := sourcesOf(b.catalog)
	s.Indexer = s.addIndexer(b, data, sources)
	for _, table := range sources {
		s.addMapping(data, table)
	}
	if b.options.Has(routes.Redrive) {
		s.Redrive = s.addRedrive(b, data, sources)
	}
	return s
}

// sourcesOf lists the tables whose change stream feeds index tables.
func sourcesOf(catalog *schema.Catalog) []*schema.BaseTable {
	var sources []*schema.BaseTable
	for _, table := range catalog.Tables() {
		if len(table.StreamIndexes()) > 0 {
			sources = append(sources, table)
		}
	}
	return sources
}

// syncEnvironment is what the indexer's code reads, in both functions that run it.
func (d *DataStack) syncEnvironment(sources []*schema.BaseTable) map[string]*string {
	var names []string
	for _, table := range sources {
		names = append(names, table.Name)
		for _, index := range table.StreamIndexes() {
			names = append(names, index.TableName())
		}
	}
	environment := d.tableVariables(names...)
	environment[schema.EnvFailureBucket] = d.Failures.BucketName()
	return environment
}

// addIndexer makes the function that reads change records and writes index rows.
func (s *SyncStack) addIndexer(b *builder, data *DataStack, sources []*schema.BaseTable) *function {
	indexTables, tables := data.sourceARNs(sources)
	environment := data.syncEnvironment(sources)
	// The local cloud takes any answer as success and would lose the records of a failed batch, so there the indexer returns an error instead.
	environment[schema.EnvPartialBatch] = jsii.String(strconv.FormatBool(!b.options.Local))
	indexer := b.function(s.Stack, functionProps{
		Name:        routes.Indexer,
		Description: "change records of a base table become rows of its index tables",
		// Encoding and waiting for 100 writes: CPU-bound below this, idle above.
		MemoryMB: 512,
		// A batch takes tens of milliseconds; a throttled one is given back after a minute.
		TimeoutSeconds: 60,
		// 40,000 write units, a table's default quota, are 40 partitions and so 40 shards, times two lanes, and the children of a splitting shard.
		Reserved:    100,
		Environment: environment,
	})
	grant(
		indexer,
		allow([]string{"dynamodb:PutItem"}, indexTables...),
		allow([]string{"dynamodb:DescribeTable"}, tables...), // it refuses to start on a stream without old images
		ownBucket(s.Stack, allow([]string{"s3:PutObject"}, below(data.Failures, poisonPrefix))),
		findStreams(),
	)
	exemptWildcards(indexer, "Objects below the prefix have no names yet; ListStreams takes no resource, and Lambda demands it for a stream mapping.",
		objects(failureBucket, poisonPrefix), objects(failureBucket, awsPrefix), "*")
	return indexer
}

func (s *SyncStack) addMapping(data *DataStack, table *schema.BaseTable) {
	grant(s.Indexer, readStream(data.streamARN(table)))
	id := table.Name + "Stream"
	options := indexerMapping.props(&failureDestination{stack: s.Stack, bucket: data.Failures})
	options.EventSourceArn = data.streamARN(table)
	mapping := s.Indexer.lambda.AddEventSourceMapping(jsii.String(id), options)
	fixLogicalID(mapping.Node().DefaultChild(), id)
	awscdk.CrossStackReferences_Of(mapping).Produce(awscdk.ReferenceStrength_WEAK)
	s.Mappings[table.Name] = mapping
}

// addRedrive makes the function that an operator invokes to replay the failure bucket.
func (s *SyncStack) addRedrive(b *builder, data *DataStack, sources []*schema.BaseTable) *function {
	indexTables, tables := data.sourceARNs(sources)
	redrive := b.function(s.Stack, functionProps{
		Name:        routes.Redrive,
		Description: "replays records of the failure bucket",
		MemoryMB:    512,
		// As long as Lambda allows; it stops before, and tells where.
		TimeoutSeconds: 900,
		// Two at once would replay each object twice: right, but for nothing.
		Reserved:    1,
		Environment: data.syncEnvironment(sources),
	})
	grant(
		redrive,
		// GetItem: to see whether something newer stands where a row is refused.
		allow([]string{"dynamodb:PutItem", "dynamodb:GetItem"}, indexTables...),
		allow([]string{"dynamodb:DescribeTable"}, tables...),
		ownBucket(s.Stack, allow([]string{"s3:ListBucket"}, data.Failures.BucketArn())),
		ownBucket(s.Stack, allow([]string{"s3:GetObject", "s3:DeleteObject"}, below(data.Failures, awsPrefix), below(data.Failures, poisonPrefix))),
		// What fails again is parked again, under its own key.
		ownBucket(s.Stack, allow([]string{"s3:PutObject"}, below(data.Failures, poisonPrefix))),
	)
	for _, table := range sources {
		grant(redrive, readStream(data.streamARN(table)))
	}
	exemptWildcards(redrive, "Its objects' names are known only from listing the bucket; nothing outside the two prefixes is named.",
		objects(failureBucket, poisonPrefix), objects(failureBucket, awsPrefix))
	return redrive
}

// sourceARNs lists the ARNs of the index tables of the sources, and of the sources themselves.
func (d *DataStack) sourceARNs(sources []*schema.BaseTable) (indexTables, tables []*string) {
	for _, table := range sources {
		tables = append(tables, d.Tables[table.Name].TableArn())
		for _, index := range table.StreamIndexes() {
			indexTables = append(indexTables, d.Tables[index.TableName()].TableArn())
		}
	}
	return indexTables, tables
}
