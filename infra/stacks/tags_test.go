package stacks_test

import (
	"fmt"
	"testing"
)

// untagged are the kinds of resource that CloudFormation takes no tags for.
var untagged = map[string]bool{
	"AWS::ApiGatewayV2::Integration": true, "AWS::ApiGatewayV2::Route": true, "AWS::ApiGatewayV2::Authorizer": true, "AWS::IAM::Policy": true,
	"AWS::Lambda::Permission": true, "AWS::S3::BucketPolicy": true, "AWS::SNS::TopicPolicy": true, "AWS::SQS::QueuePolicy": true,
}

func TestEverythingIsTaggedWithProjectAndStage(t *testing.T) {
	t.Parallel()
	for _, v := range []*variant{dev, prod} {
		for stack, template := range v.get(t).templates {
			for id, resource := range template.resources("") {
				kind := resource["Type"].(string)
				if untagged[kind] {
					continue
				}
				stage := map[*variant]string{dev: "dev", prod: "prod"}[v]
				if err := hasTags(resource, stage); err != nil {
					t.Errorf("%s: %s %s: %v", stack, kind, id, err)
				}
				spoiled := clone(resource).(map[string]any)
				remove(spoiled, "Properties.Tags")
				if hasTags(spoiled, stage) == nil {
					t.Errorf("%s: %s %s: the check finds tags that are not there", stack, kind, id)
				}
			}
		}
	}
}

func hasTags(resource map[string]any, stage string) error {
	tags, _ := at(resource, "Properties.Tags")
	found := map[string]any{}
	switch tags := tags.(type) {
	case map[string]any:
		found = tags
	case []any:
		for _, tag := range tags {
			found[tag.(map[string]any)["Key"].(string)] = tag.(map[string]any)["Value"]
		}
	}
	if found["project"] != "heatsink" || found["stage"] != stage {
		return fmt.Errorf("tags are %v", found)
	}
	return nil
}
