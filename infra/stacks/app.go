package stacks

import (
	"fmt"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/jsii-runtime-go"

	"github.com/heatsink-dev/heatsink/pkg/catalog"
	"github.com/heatsink-dev/heatsink/pkg/edge/routes"
	"github.com/heatsink-dev/heatsink/pkg/schema"
)

// Deployment holds the stacks of one application.
type Deployment struct {
	Data   *DataStack
	Sync   *SyncStack
	Ingest *IngestStack // nil without functions/ingest
	API    *APIStack
	Watch  *WatchStack
}

// NewApp makes the CDK application, which writes its templates to outdir; empty is where the CDK CLI wants them. Stack traces in metadata cost seconds and
// would differ between machines.
func NewApp(outdir string) awscdk.App {
	var folder *string
	if outdir != "" {
		folder = jsii.String(outdir)
	}
	return awscdk.NewApp(&awscdk.AppProps{
		Outdir:             folder,
		AnalyticsReporting: jsii.Bool(false), StackTraces: jsii.Bool(false),
		Context: &map[string]any{
			// A table, bucket or secret that another stack names cannot be replaced or dropped by mistake: CloudFormation refuses. What may come and go says
			// so where it is made.
			"@aws-cdk/core:defaultCrossStackReferences": "strong",
		},
	})
}

// Context reads the keys that [ReadOptions] knows.
func Context(app awscdk.App) map[string]string {
	values := map[string]string{}
	for _, key := range []string{"stage", "auth", "jwtIssuer", "jwtAudience", "local", "localEndpoint", "dist"} {
		if value := app.Node().TryGetContext(jsii.String(key)); value != nil {
			values[key] = fmt.Sprint(value)
		}
	}
	return values
}

// New builds the stacks of the catalog into app. The options must come from [ReadOptions]. The error is of a function whose table the catalog lacks.
func New(app awscdk.App, tables *schema.Catalog, options Options) (*Deployment, error) {
	for _, name := range options.Functions {
		for _, table := range tablesOf[name] {
			if _, known := tables.Table(table); !known {
				return nil, fmt.Errorf("functions/%s needs table %s, which pkg/catalog lacks: define it, or delete the function's folder", name, table)
			}
		}
	}
	b := &builder{app: app, catalog: tables, options: options}
	d := &Deployment{}
	d.Data = newDataStack(b)
	d.Sync = newSyncStack(b, d.Data)
	if options.Has(routes.Ingest) {
		d.Ingest = newIngestStack(b, d.Data)
	}
	d.API = newAPIStack(b, d.Data)
	d.Watch = newWatchStack(b, d)
	checkWithNag(app)
	return d, nil
}

// tablesOf lists the tables that functions name. The indexer and redrive take what the catalog has.
var tablesOf = map[string][]string{
	routes.API:      {catalog.UserTable},
	routes.Nickname: {catalog.UserTable, catalog.ClaimTable},
	routes.Events:   {catalog.EventTable, catalog.EventRequestTable},
	routes.Ingest:   {catalog.EventTable, catalog.EventRequestTable},
}

// builder is what every stack needs to build itself.
type builder struct {
	app     awscdk.App
	catalog *schema.Catalog
	options Options
}

// stack makes an empty stack with the tags that every resource inherits. Account and region are the CLI's, so that one template serves all.
func (b *builder) stack(name, description string, protect bool) awscdk.Stack {
	stack := awscdk.NewStack(b.app, jsii.String(name), &awscdk.StackProps{
		Description:           jsii.String("heatsink: " + description),
		TerminationProtection: jsii.Bool(protect && b.options.Stage == Prod),
	})
	tags := awscdk.Tags_Of(stack)
	tags.Add(jsii.String("project"), jsii.String("heatsink"), nil)
	tags.Add(jsii.String("stage"), jsii.String(string(b.options.Stage)), nil)
	return stack
}

// keep is what happens to a resource with data when it leaves the template.
func (b *builder) keep() awscdk.RemovalPolicy {
	if b.options.Stage == Prod {
		return awscdk.RemovalPolicy_RETAIN
	}
	return awscdk.RemovalPolicy_DESTROY
}

func output(stack awscdk.Stack, name string, value *string) {
	awscdk.NewCfnOutput(stack, jsii.String(name), &awscdk.CfnOutputProps{Value: value})
}
