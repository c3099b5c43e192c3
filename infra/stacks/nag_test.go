package stacks_test

import (
	"os"
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
					rules, _ := at(resource, "Metadata.cdk_nag.rules_to_suppress")
					list, _ := rules.([]any)
					for _, one := range list {
						rule := one.(map[string]any)
						if reason, _ := rule["reason"].(string); len(reason) < 30 || !strings.HasSuffix(reason, ".") {
							t.Errorf("%s/%s: %s: the reason is %q", name, id, rule["id"], reason)
						}
						only, _ := rule["applies_to"].([]any)
						if rule["id"] == "AwsSolutions-IAM5" && len(only) == 0 {
							t.Errorf("%s/%s: IAM5 without the resources it is for", name, id)
						}
					}
				}
			}
			if len(used) == 0 {
				t.Error("the reports name no exemption")
			}
		})
	}
}

// exempted lists what nag's reports say was suppressed: rule and resource.
func exempted(t *testing.T, folder string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*NagReport*"))
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, file := range files {
		body, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, string(body))
	}
	return list
}
