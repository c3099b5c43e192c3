package stacks

import (
	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/constructs-go/constructs/v10"
	"github.com/aws/jsii-runtime-go"
	"github.com/cdklabs/cdk-nag-go/cdknag/v2"
)

// exemption is one finding of cdk-nag that is meant to be, for one construct.
type exemption struct {
	rule   string
	only   []string // the exact findings, for rules with more than one, such as one resource of a policy
	reason string
}

// exempt takes findings of one construct away. Never of a whole stack: the next resource must speak for itself.
func exempt(scope constructs.IConstruct, exemptions ...exemption) {
	var list []*cdknag.NagPackSuppression
	for _, e := range exemptions {
		suppression := &cdknag.NagPackSuppression{Id: jsii.String(e.rule), Reason: jsii.String(e.reason)}
		if len(e.only) > 0 {
			var only []any
			for _, finding := range e.only {
				only = append(only, jsii.String(finding))
			}
			suppression.AppliesTo = &only
		}
		list = append(list, suppression)
	}
	cdknag.NagSuppressions_AddResourceSuppressions(scope, &list, jsii.Bool(true))
}

// checkWithNag has cdk-nag look at every resource of the app when it is synthesized: AWS's Solutions rules, then its serverless ones. An error stops
// the deploy; the tests stop at warnings too, and at an exemption that exempts nothing, which they see in the reports beside the templates.
func checkWithNag(app awscdk.App) {
	aspects := awscdk.Aspects_Of(app)
	props := &cdknag.NagPackProps{
		Verbose: jsii.Bool(true), Reports: jsii.Bool(true), ReportFormats: &[]cdknag.NagReportFormat{cdknag.NagReportFormat_JSON},
	}
	aspects.Add(cdknag.NewAwsSolutionsChecks(props), nil)
	aspects.Add(cdknag.NewServerlessChecks(props), nil)
}

// fixLogicalID gives a resource a logical id that does not follow from where its construct stands in the code, so that moving code never makes
// CloudFormation replace it.
func fixLogicalID(resource constructs.IConstruct, id string) {
	resource.(awscdk.CfnElement).OverrideLogicalId(jsii.String(id))
}

// exemptWildcards lets the function's role name exactly these resources with a * in them.
func exemptWildcards(of *function, reason string, resources ...string) {
	e := exemption{rule: "AwsSolutions-IAM5", reason: reason}
	for _, resource := range resources {
		e.only = append(e.only, "Resource::"+resource)
	}
	exempt(of.lambda.Role(), e)
}

// objects is how cdk-nag writes the objects below a prefix of one of our buckets.
func objects(bucketID, prefix string) string { return "<" + bucketID + ".Arn>/" + prefix + "*" }
