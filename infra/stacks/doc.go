// Package stacks is heatsink's CDK application: what runs on AWS, and with which rights.
//
//	HeatsinkData    tables, buckets, the cursor secret: everything that cannot be made again
//	HeatsinkSync    the indexer on the change streams, redrive
//	HeatsinkIngest  uploads into the event buffer, where functions/ingest exists
//	HeatsinkApi     the HTTP API and its functions
//	HeatsinkWatch   alarms, their topic, the dashboard
//
// Tables and indexes come from package catalog, routes from package routes, names of variables and outputs from package schema; nothing of them is
// repeated here. [ReadOptions] turns the CDK context into checked [Options], [New] builds the stacks.
//
// It guarantees that each function gets exactly the actions and resources that its code uses, that every statement or rule exempted from cdk-nag
// says why, and that production keeps its data when a stack goes. Its tests assert each of these on the synthesized templates, and that each assertion fails
// when the asserted thing is taken away.
//
// It does not look at what is deployed: whether CloudFormation can make an update at once is package schema's [GSIChange].
//
// [GSIChange]: https://pkg.go.dev/github.com/heatsink-dev/heatsink/pkg/schema#GSIChange
package stacks
