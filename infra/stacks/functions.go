package stacks

import (
	"github.com/heatsink-dev/heatsink/pkg/catalog"
	"github.com/heatsink-dev/heatsink/pkg/edge/routes"
	"github.com/heatsink-dev/heatsink/pkg/schema"
)

// httpTimeout is a second less than API Gateway waits for an answer (30 s), so that a function that hangs is told apart from a gateway that does.
const httpTimeout = 29

// servedIndexes lists the indexes that function api answers for: those of the User table, as its main.go says. The event buffer's own are read by
// function events alone.
func servedIndexes(tables *schema.Catalog) []*schema.Index {
	users, _ := tables.Table(catalog.UserTable) // there, or New would have refused
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
	grant(
		events,
		allow([]string{
			"dynamodb:GetItem", "dynamodb:BatchGetItem", "dynamodb:Query",
			"dynamodb:PutItem", "dynamodb:BatchWriteItem", "dynamodb:UpdateItem",
		}, data.Tables[catalog.EventTable].TableArn()),
		allow([]string{"dynamodb:Query"}, data.eventIndexes(b.catalog)...),
		allow([]string{"dynamodb:GetItem", "dynamodb:PutItem", "dynamodb:UpdateItem"}, data.Tables[catalog.EventRequestTable].TableArn()),
		allow([]string{"secretsmanager:GetSecretValue"}, data.CursorSecret.SecretArn()),
	)
	if b.options.Has(routes.Ingest) {
		// A presigned upload acts with the rights of the function that signed it.
		grant(events, ownBucket(a.Stack, allow([]string{"s3:PutObject"}, below(data.Uploads, uploadPrefix))))
		exemptWildcards(events, "An upload's object is named by its batch id, made when it is asked for.", objects(uploadBucket, uploadPrefix))
	}
	return events
}

// eventIndexes lists the ARNs of the event table's GSIs.
func (d *DataStack) eventIndexes(tables *schema.Catalog) []*string {
	var resources []*string
	if table, known := tables.Table(catalog.EventTable); known {
		for _, index := range table.Indexes {
			resources = append(resources, d.forms(index)...)
		}
	}
	return resources
}

// eventVariables is what both functions of the event buffer read.
func (d *DataStack) eventVariables(b *builder) map[string]*string {
	variables := d.tableVariables(catalog.EventTable, catalog.EventRequestTable)
	if b.options.Has(routes.Ingest) {
		variables[schema.EnvUploadBucket] = d.Uploads.BucketName()
	}
	return variables
}
