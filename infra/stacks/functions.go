package stacks

import (
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-cdk-go/awscdk/v2/awsdynamodb"

	"github.com/heatsink-dev/heatsink/pkg/catalog"
	"github.com/heatsink-dev/heatsink/pkg/edge/routes"
	"github.com/heatsink-dev/heatsink/pkg/schema"
)

// httpTimeout is a second less than API Gateway waits for an answer (30 s), so that a function that hangs is told apart from a gateway that does.
const httpTimeout = 29

// servedIndexes lists the indexes that function api answers for: those of the User table, as its main.go says. The event buffer's own are read by
// function events alone.
func servedIndexes(tables *schema.Catalog) []*schema.Index {
	users, known := tables.Table(catalog.UserTable)
	if !known {
		return nil
	}
	return users.Indexes
}

// addAPI makes the function that reads indexes.
func (a *APIStack) addAPI(b *builder, data *DataStack) *function {
	var names []string
	var resources []*string
	for _, index := range servedIndexes(b.catalog) {
		if index.Build.Has(schema.GSI) {
			names = append(names, index.Source.Name)
		}
		if index.Build.Has(schema.Table) {
			names = append(names, index.TableName())
		}
		resources = append(resources, data.forms(index)...)
	}
	environment := data.tableVariables(names...)
	environment[schema.EnvCursorSecret] = data.CursorSecret.SecretArn()
	api := b.function(a.Stack, functionProps{
		Name:        routes.API,
		Description: "pages of an index over HTTP",
		// Half a core encodes 4 MB within the deadline; a page of 50 is bound by DynamoDB.
		MemoryMB:       1024,
		TimeoutSeconds: httpTimeout,
		// The stage's 2,000 requests a second at 100 ms each.
		Reserved:    200,
		Environment: environment,
	})
	if len(resources) > 0 {
		grant(api, allow([]string{"dynamodb:Query"}, resources...))
	}
	grant(api, allow([]string{"secretsmanager:GetSecretValue"}, data.CursorSecret.SecretArn()))
	return api
}

// addNickname makes the function of users and their unique names.
func (a *APIStack) addNickname(b *builder, data *DataStack) *function {
	nickname := b.function(a.Stack, functionProps{
		Name: routes.Nickname, Description: "users and their unique names over HTTP",
		MemoryMB: 512, TimeoutSeconds: httpTimeout, Reserved: 100,
		Environment: data.tableVariables(catalog.UserTable, catalog.ClaimTable),
	})
	users, claims := data.Tables[catalog.UserTable].TableArn(), data.Tables[catalog.ClaimTable].TableArn()
	grant(
		nickname,
		// No Query, no Scan: it reads by key alone, and strongly.
		allow([]string{"dynamodb:GetItem"}, users, claims),
		// Beside its transactions, one write: the mark that a withdrawal begins with, and a new spelling of the same name.
		allow([]string{"dynamodb:UpdateItem"}, users),
		// A claim, and what a user has claimed, change only together.
		allowInTransaction(users, claims),
	)
	return nickname
}

// addEvents makes the function of the event buffer.
func (a *APIStack) addEvents(b *builder, data *DataStack) *function {
	environment := data.eventVariables(b)
	environment[schema.EnvCursorSecret] = data.CursorSecret.SecretArn()
	events := b.function(a.Stack, functionProps{
		Name: routes.Events, Description: "the event buffer over HTTP",
		// Merging 20 shards and encoding the page.
		MemoryMB: 1024, TimeoutSeconds: httpTimeout, Reserved: 100,
		Environment: environment,
	})
	tables, indexes := data.eventTables(b.catalog)
	grant(
		events,
		allow([]string{
			"dynamodb:GetItem", "dynamodb:BatchGetItem", "dynamodb:Query",
			"dynamodb:PutItem", "dynamodb:BatchWriteItem", "dynamodb:UpdateItem", "dynamodb:ConditionCheckItem",
		}, arns(tables)...),
		allow([]string{"dynamodb:Query"}, indexes...),
		allow([]string{"secretsmanager:GetSecretValue"}, data.CursorSecret.SecretArn()),
	)
	if b.options.Has(routes.Ingest) {
		// A presigned upload acts with the rights of the function that signed it.
		grant(events, ownBucket(a.Stack, allow([]string{"s3:PutObject"}, below(data.Uploads, uploadPrefix))))
		exemptWildcards(events, "An upload's object is named by its batch id, made when it is asked for.", objects(uploadBucket, uploadPrefix))
	}
	return events
}

// eventTables lists the tables of the event buffer (the ones whose name begins with Event: the events, and the records of keys and batches that
// belong to them) and the ARNs of their GSIs.
func (d *DataStack) eventTables(tables *schema.Catalog) (names map[string]awsdynamodb.Table, indexes []*string) {
	names = map[string]awsdynamodb.Table{}
	for _, table := range tables.Tables() {
		if !isEventTable(table) {
			continue
		}
		names[table.Name] = d.Tables[table.Name]
		for _, index := range table.Indexes {
			indexes = append(indexes, d.forms(index)...)
		}
	}
	return names, indexes
}

func (d *DataStack) eventVariables(b *builder) map[string]*string {
	tables, _ := d.eventTables(b.catalog)
	variables := map[string]*string{}
	for name := range tables {
		maps.Copy(variables, d.tableVariables(name))
	}
	if d.Uploads != nil {
		variables[schema.EnvUploadBucket] = d.Uploads.BucketName()
	}
	return variables
}

func isEventTable(table *schema.BaseTable) bool {
	return strings.HasPrefix(table.Name, catalog.EventTable)
}

func arns(tables map[string]awsdynamodb.Table) []*string {
	var list []*string
	for _, name := range slices.Sorted(maps.Keys(tables)) {
		list = append(list, tables[name].TableArn())
	}
	return list
}
