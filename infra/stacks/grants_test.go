package stacks_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func contains(value any, want string) bool {
	list, _ := value.([]any)
	return slices.Contains(list, any(want))
}

// trim takes ${ and } away.
func trim(value any) string {
	text, _ := value.(string)
	return strings.TrimSuffix(strings.TrimPrefix(text, "${"), "}")
}

// texts lists a value that CloudFormation lets be one text or several.
func texts(value any) []string {
	if one, ok := value.(string); ok {
		return []string{one}
	}
	var all []string
	several, _ := value.([]any)
	for _, element := range several {
		all = append(all, fmt.Sprint(element))
	}
	return all
}

// grants lists what a function's role may do, one line for an action and resource: "dynamodb:PutItem on ${UserManagedIndexTable.Arn}", with its
// condition if it has one. Anything that is not a plain Allow is listed as it stands.
func grants(t template, function string) []string {
	owner, _ := at(t.resources("")[function], "Properties.Role")
	role := strings.TrimSuffix(trim(owner), ".Arn")
	found := []string{}
	if _, managed := at(t.resources("")[role], "Properties.ManagedPolicyArns"); managed {
		found = append(found, "a managed policy")
	}
	if _, inline := at(t.resources("")[role], "Properties.Policies"); inline {
		found = append(found, "an inline policy")
	}
	for _, policy := range t.resources("AWS::IAM::Policy") {
		if roles, _ := at(policy, "Properties.Roles"); !contains(roles, "${"+role+"}") {
			continue
		}
		statements, _ := at(policy, "Properties.PolicyDocument.Statement")
		all, _ := statements.([]any)
		for _, one := range all {
			statement, _ := one.(map[string]any)
			if statement["Effect"] != "Allow" || statement["NotAction"] != nil || statement["NotResource"] != nil {
				found = append(found, text(statement))
				continue
			}
			for _, action := range texts(statement["Action"]) {
				for _, resource := range texts(statement["Resource"]) {
					line := action + " on " + resource
					if statement["Condition"] != nil {
						line += " if " + text(statement["Condition"])
					}
					found = append(found, line)
				}
			}
		}
	}
	slices.Sort(found)
	return found
}

const (
	ownAccount    = ` if {"StringEquals":{"s3:ResourceAccount":"${AWS::AccountId}"}}`
	inTransaction = ` if {"ForAnyValue:StringEquals":{"dynamodb:EnclosingOperation":["TransactWriteItems"]}}`
)

// wanted is what each function may do, exactly, beside writing its own log.
var wanted = map[string][]string{
	"indexer": {
		"dynamodb:PutItem on ${UserManagedIndexTable.Arn}",
		"dynamodb:PutItem on ${UserTeamStatusIndexTable.Arn}",
		"dynamodb:DescribeTable on ${UserTable.Arn}",
		"dynamodb:DescribeStream on ${UserTable.StreamArn}",
		"dynamodb:GetRecords on ${UserTable.StreamArn}",
		"dynamodb:GetShardIterator on ${UserTable.StreamArn}",
		"dynamodb:ListStreams on *", // Lambda demands it for a mapping, and it takes no resource
		"s3:PutObject on ${FailureBucket.Arn}/heatsink/poison/*" + ownAccount,
		"s3:PutObject on ${FailureBucket.Arn}/aws/lambda/*" + ownAccount, // the mapping's, which acts as the function
		"s3:ListBucket on ${FailureBucket.Arn}" + ownAccount,
	},
	"redrive": {
		"dynamodb:PutItem on ${UserManagedIndexTable.Arn}",
		"dynamodb:PutItem on ${UserTeamStatusIndexTable.Arn}",
		"dynamodb:GetItem on ${UserManagedIndexTable.Arn}",
		"dynamodb:GetItem on ${UserTeamStatusIndexTable.Arn}",
		"dynamodb:DescribeTable on ${UserTable.Arn}",
		"dynamodb:DescribeStream on ${UserTable.StreamArn}",
		"dynamodb:GetRecords on ${UserTable.StreamArn}",
		"dynamodb:GetShardIterator on ${UserTable.StreamArn}",
		"s3:ListBucket on ${FailureBucket.Arn}" + ownAccount,
		"s3:GetObject on ${FailureBucket.Arn}/aws/lambda/*" + ownAccount,
		"s3:GetObject on ${FailureBucket.Arn}/heatsink/poison/*" + ownAccount,
		"s3:DeleteObject on ${FailureBucket.Arn}/aws/lambda/*" + ownAccount,
		"s3:DeleteObject on ${FailureBucket.Arn}/heatsink/poison/*" + ownAccount,
		"s3:PutObject on ${FailureBucket.Arn}/heatsink/poison/*" + ownAccount,
	},
	"api": {
		"dynamodb:Query on ${UserTable.Arn}/index/managed",
		"dynamodb:Query on ${UserManagedIndexTable.Arn}",
		"dynamodb:Query on ${UserTeamStatusIndexTable.Arn}",
		"secretsmanager:GetSecretValue on ${CursorSecret}",
	},
	"nickname": {
		"dynamodb:GetItem on ${UserTable.Arn}",
		"dynamodb:GetItem on ${ClaimTable.Arn}",
		"dynamodb:UpdateItem on ${UserTable.Arn}",
		"dynamodb:PutItem on ${UserTable.Arn}" + inTransaction,
		"dynamodb:UpdateItem on ${UserTable.Arn}" + inTransaction,
		"dynamodb:DeleteItem on ${UserTable.Arn}" + inTransaction,
		"dynamodb:ConditionCheckItem on ${UserTable.Arn}" + inTransaction,
		"dynamodb:PutItem on ${ClaimTable.Arn}" + inTransaction,
		"dynamodb:UpdateItem on ${ClaimTable.Arn}" + inTransaction,
		"dynamodb:DeleteItem on ${ClaimTable.Arn}" + inTransaction,
		"dynamodb:ConditionCheckItem on ${ClaimTable.Arn}" + inTransaction,
	},
	"events": {
		"dynamodb:GetItem on ${EventTable.Arn}",
		"dynamodb:BatchGetItem on ${EventTable.Arn}",
		"dynamodb:Query on ${EventTable.Arn}",
		"dynamodb:PutItem on ${EventTable.Arn}",
		"dynamodb:BatchWriteItem on ${EventTable.Arn}",
		"dynamodb:UpdateItem on ${EventTable.Arn}",
		"dynamodb:Query on ${EventTable.Arn}/index/pending-index",
		"dynamodb:Query on ${EventTable.Arn}/index/failed-pending-index",
		"dynamodb:GetItem on ${EventRequestTable.Arn}",
		"dynamodb:PutItem on ${EventRequestTable.Arn}",
		"dynamodb:UpdateItem on ${EventRequestTable.Arn}",
		"s3:PutObject on ${UploadBucket.Arn}/uploads/*" + ownAccount,
		"secretsmanager:GetSecretValue on ${CursorSecret}",
	},
	"ingest": {
		"dynamodb:PutItem on ${EventTable.Arn}",
		"dynamodb:GetItem on ${EventRequestTable.Arn}",
		"dynamodb:UpdateItem on ${EventRequestTable.Arn}",
		"s3:GetObject on ${UploadBucket.Arn}/uploads/*" + ownAccount,
		"s3:GetObjectVersion on ${UploadBucket.Arn}/uploads/*" + ownAccount,
		"sqs:ReceiveMessage on ${Uploads.Arn}",
		"sqs:DeleteMessage on ${Uploads.Arn}",
		"sqs:ChangeMessageVisibility on ${Uploads.Arn}",
		"sqs:GetQueueAttributes on ${Uploads.Arn}",
	},
}

// withLog adds a function's log to what it may do, and writes the names that CDK makes up as we mean them.
func withLog(t template, function string, want []string) []string {
	group, _ := at(t.resources("")[function], "Properties.LoggingConfig.LogGroup")
	want = append(slices.Clone(want),
		"logs:CreateLogStream on ${"+trim(group)+".Arn}", "logs:PutLogEvents on ${"+trim(group)+".Arn}")
	for n, line := range want {
		for id := range t.resources("AWS::SQS::Queue") {
			if _, source := at(t.resources("")[id], "Properties.RedrivePolicy"); source {
				want[n] = strings.ReplaceAll(line, "${Uploads.Arn}", "${"+id+".Arn}")
			}
		}
	}
	slices.Sort(want)
	return want
}

// Not one action more, not one resource more, and each of them is missed when it goes.
func TestEachFunctionMayDoExactlyWhatItDoes(t *testing.T) {
	t.Parallel()
	for _, v := range []*variant{dev, prod, local} {
		for name, want := range wanted {
			id := functionID(name)
			check := func(t template) error {
				if diff := cmp.Diff(withLog(t, id, want), grants(t, id)); diff != "" {
					return fmt.Errorf("%s (-want +got):\n%s", name, diff)
				}
				return nil
			}
			claim{variant: v, stack: stackOf(name), name: id + " grants", check: check, spoil: spoiledGrants(v.get(t).stack(t, stackOf(name)), id)}.test(t)
		}
	}
}

// spoiledGrants are all the ways to take one statement away, or to widen it.
func spoiledGrants(clean template, function string) map[string]func(template) {
	spoil := map[string]func(template){
		"a managed policy added": func(t template) {
			owner, _ := at(t.resources("")[function], "Properties.Role")
			role := t.resources("")[strings.TrimSuffix(trim(owner), ".Arn")]
			role["Properties"].(map[string]any)["ManagedPolicyArns"] = list{"arn:aws:iam::aws:policy/AdministratorAccess"}
		},
	}
	owner, _ := at(clean.resources("")[function], "Properties.Role")
	for id, policy := range clean.resources("AWS::IAM::Policy") {
		if roles, _ := at(policy, "Properties.Roles"); !contains(roles, "${"+strings.TrimSuffix(trim(owner), ".Arn")+"}") {
			continue
		}
		statements, _ := at(policy, "Properties.PolicyDocument.Statement")
		for n, one := range statements.([]any) {
			path := fmt.Sprintf("Resources.%s.Properties.PolicyDocument.Statement.%d", id, n)
			spoil[fmt.Sprintf("statement %d removed", n)] = func(t template) { remove(t, path) }
			set := func(field string, value any) func(template) {
				return func(t template) {
					statement, _ := at(map[string]any(t), path)
					statement.(map[string]any)[field] = value
				}
			}
			spoil[fmt.Sprintf("statement %d with every action", n)] = set("Action", "*")
			if text(one.(map[string]any)["Resource"]) != `"*"` {
				spoil[fmt.Sprintf("statement %d on everything", n)] = set("Resource", "*")
			}
			if one.(map[string]any)["Condition"] != nil {
				spoil[fmt.Sprintf("statement %d without its condition", n)] = func(t template) { remove(t, path+".Condition") }
			}
		}
	}
	return spoil
}

// Over every template and every kind of policy: no action with a wildcard is allowed, and the resource * is allowed once.
func TestNothingIsAllowedWithAWildcardAction(t *testing.T) {
	t.Parallel()
	for _, v := range variants {
		for stack := range v.get(t).templates {
			claim{
				variant: v, stack: stack, name: "no wildcard action", check: noWildcards,
				spoil: map[string]func(template){
					"an action with a wildcard": func(t template) { addPolicy(t, "s3:Get*", "${Bucket.Arn}") },
					"every action":              func(t template) { addPolicy(t, "*", "${Bucket.Arn}") },
					"every resource":            func(t template) { addPolicy(t, "s3:GetObject", "*") },
					"every object":              func(t template) { addPolicy(t, "s3:GetObject", "${Bucket.Arn}/*") },
				},
			}.test(t)
		}
	}
}

func addPolicy(t template, action, resource string) {
	t["Resources"].(map[string]any)["Careless"] = object{"Type": "AWS::IAM::Policy", "Properties": object{"PolicyDocument": object{
		"Statement": list{object{"Effect": "Allow", "Action": action, "Resource": resource}},
	}}}
}

// wide are the resources with a * that are meant: see wanted.
var wide = []string{
	"dynamodb:ListStreams on *", "s3:PutObject on ${FailureBucket.Arn}/heatsink/poison/*", "s3:PutObject on ${FailureBucket.Arn}/aws/lambda/*",
	"s3:GetObject on ${FailureBucket.Arn}/aws/lambda/*", "s3:GetObject on ${FailureBucket.Arn}/heatsink/poison/*",
	"s3:DeleteObject on ${FailureBucket.Arn}/aws/lambda/*", "s3:DeleteObject on ${FailureBucket.Arn}/heatsink/poison/*",
	"s3:PutObject on ${UploadBucket.Arn}/uploads/*", "s3:GetObject on ${UploadBucket.Arn}/uploads/*",
	"s3:GetObjectVersion on ${UploadBucket.Arn}/uploads/*",
}

func noWildcards(t template) error {
	for id, resource := range t.resources("") {
		for _, statement := range statementsIn(resource) {
			if statement["Effect"] != "Allow" {
				continue
			}
			for _, action := range texts(statement["Action"]) {
				// The key's own policy, which AWS wants so: the account may administer it, and in it * is this key.
				if action == "kms:*" && resource["Type"] == "AWS::KMS::Key" && text(statement["Principal"]) == text(object{"AWS": "arn:${AWS::Partition}:iam::${AWS::AccountId}:root"}) {
					continue
				}
				if strings.Contains(action, "*") {
					return fmt.Errorf("%s allows %s", id, action)
				}
				for _, on := range texts(statement["Resource"]) {
					if strings.Contains(on, "*") && resource["Type"] != "AWS::KMS::Key" && !slices.Contains(wide, action+" on "+on) {
						return fmt.Errorf("%s allows %s on %s", id, action, on)
					}
				}
			}
		}
	}
	return nil
}

// statementsIn finds the statements of all policies anywhere in a resource.
func statementsIn(value any) []map[string]any {
	var found []map[string]any
	switch value := value.(type) {
	case []any:
		for _, element := range value {
			found = append(found, statementsIn(element)...)
		}
	case map[string]any:
		if value["Effect"] != nil && value["Action"] != nil {
			found = append(found, value)
		}
		for _, name := range slices.Sorted(maps.Keys(value)) {
			found = append(found, statementsIn(value[name])...)
		}
	}
	return found
}
