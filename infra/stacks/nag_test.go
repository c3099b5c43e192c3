package stacks_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsdynamodb"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssqs"
	"github.com/aws/jsii-runtime-go"

	"github.com/heatsink-dev/heatsink/infra/stacks"
)

// findings lists the errors and warnings that a synthesis left: cdk-nag's and CDK's own.
func findings(t *testing.T, folder string) []string {
	t.Helper()
	type entry struct {
		Type string
		Data any
	}
	var manifest struct {
		Artifacts map[string]struct {
			Metadata               map[string][]entry
			AdditionalMetadataFile string
		}
	}
	if err := readJSON(filepath.Join(folder, "manifest.json"), &manifest); err != nil {
		t.Fatal(err)
	}
	var found []string
	add := func(metadata map[string][]entry) {
		for path, entries := range metadata {
			for _, e := range entries {
				if e.Type == "aws:cdk:error" || e.Type == "aws:cdk:warning" {
					first, _, _ := strings.Cut(strings.TrimSpace(text(e.Data)), `\n`)
					found = append(found, e.Type+" "+path+": "+first)
				}
			}
		}
	}
	for _, artifact := range manifest.Artifacts {
		add(artifact.Metadata)
		if artifact.AdditionalMetadataFile != "" {
			var more map[string][]entry
			if err := readJSON(filepath.Join(folder, artifact.AdditionalMetadataFile), &more); err != nil {
				t.Fatal(err)
			}
			add(more)
		}
	}
	return found
}

func TestNoErrorAndNoWarningOfCDKOrNag(t *testing.T) {
	t.Parallel()
	for _, v := range variants {
		t.Run(v.name, func(t *testing.T) {
			t.Parallel()
			for _, finding := range findings(t, v.get(t).folder) {
				t.Error(finding)
			}
		})
	}
}

// The two kinds of finding, on two resources that have them: a clean result above means that the rules ran.
func TestNagSeesErrorsAndWarnings(t *testing.T) {
	t.Parallel()
	synthesis.Lock()
	defer synthesis.Unlock()
	folder := filepath.Join(t.TempDir(), "cdk.out")
	app := stacks.NewApp(folder)
	stack := awscdk.NewStack(app, jsii.String("Careless"), nil)
	awssqs.NewQueue(stack, jsii.String("Queue"), nil)
	awsdynamodb.NewTable(stack, jsii.String("Table"), &awsdynamodb.TableProps{
		PartitionKey: &awsdynamodb.Attribute{Name: jsii.String("pk"), Type: awsdynamodb.AttributeType_STRING},
	})
	stacks.CheckWithNag(app)
	app.Synth(nil)
	all := strings.Join(findings(t, folder), "\n")
	for _, want := range []string{"aws:cdk:error /Careless/Queue/Resource: \"AwsSolutions-SQS4", "aws:cdk:warning /Careless/Table/Resource: \"AwsSolutions-DDB3", "Serverless-SQSRedrivePolicy"} {
		if !strings.Contains(all, want) {
			t.Errorf("no finding %q among\n%s", want, all)
		}
	}
}

// An exemption that exempts nothing hides the next finding; one on a whole stack hides all of them.
func TestEveryExemptionIsNarrowNeededAndReasoned(t *testing.T) {
	t.Parallel()
	for _, v := range variants {
		t.Run(v.name, func(t *testing.T) {
			t.Parallel()
			a := v.get(t)
			used := exempted(t, a.folder)
			for name, template := range a.templates {
				if _, whole := at(map[string]any(template), "Metadata.cdk_nag"); whole {
					t.Errorf("stack %s as a whole is exempted from a rule", name)
				}
				for id, resource := range template.resources("") {
					for _, e := range exemptionsOf(resource) {
						if len(e.reason) < 30 || !strings.HasSuffix(e.reason, ".") {
							t.Errorf("%s/%s: %s: the reason is %q", name, id, e.rule, e.reason)
						}
						if strings.HasPrefix(e.rule, "AwsSolutions-IAM5") && !strings.Contains(e.rule, "[Resource::") {
							t.Errorf("%s/%s: IAM5 without the resource it is for", name, id)
						}
						if !used[e] {
							t.Errorf("%s/%s: nothing needs the exemption from %s", name, id, e.rule)
						}
					}
				}
			}
		})
	}
}

// exempted is one rule, with its finding if it has one, and the reason given.
type exemptedRule struct{ rule, reason string }

// exemptionsOf lists what a resource's template says that nag shall not report.
func exemptionsOf(resource map[string]any) []exemptedRule {
	rules, _ := at(resource, "Metadata.cdk_nag.rules_to_suppress")
	list, _ := rules.([]any)
	var all []exemptedRule
	for _, one := range list {
		rule := one.(map[string]any)
		id, _ := rule["id"].(string)
		reason, _ := rule["reason"].(string)
		only, _ := rule["applies_to"].([]any)
		for _, finding := range only {
			all = append(all, exemptedRule{fmt.Sprintf("%s[%v]", id, finding), reason})
		}
		if len(only) == 0 {
			all = append(all, exemptedRule{id, reason})
		}
	}
	return all
}

// exempted reads from nag's reports what was suppressed.
func exempted(t *testing.T, folder string) map[exemptedRule]bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*-NagReport.json"))
	if err != nil {
		t.Fatal(err)
	}
	used := map[exemptedRule]bool{}
	for _, file := range files {
		var report struct {
			Lines []struct{ RuleID, Compliance, ExceptionReason string }
		}
		if err := readJSON(file, &report); err != nil {
			t.Fatal(err)
		}
		for _, line := range report.Lines {
			if line.Compliance == "Suppressed" {
				rule, finding, has := strings.Cut(line.RuleID, "[")
				reason := line.ExceptionReason
				if start, rest, found := strings.Cut(reason, "] "); found && strings.HasPrefix(start, "[") {
					finding, has, reason = start[1:]+"]", true, rest
				}
				if has {
					rule += "[" + finding
				}
				used[exemptedRule{rule, reason}] = true
			}
		}
	}
	return used
}
