package stacks_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

const data = "HeatsinkData"

func key(parts ...string) list {
	keys := list{object{"AttributeName": parts[0], "KeyType": "HASH"}}
	for _, part := range parts[1:] {
		keys = append(keys, object{"AttributeName": part, "KeyType": "RANGE"})
	}
	return keys
}

// What contract and catalog say of each table, in the template's words.
func TestTablesAreTheCatalogs(t *testing.T) {
	t.Parallel()
	for _, c := range []claim{
		says(dev, data, "UserTable", "Properties.KeySchema", key("userId")),
		says(dev, data, "UserTable", "Properties.StreamSpecification", object{"StreamViewType": "NEW_AND_OLD_IMAGES"}),
		says(dev, data, "UserTable", "Properties.GlobalSecondaryIndexes", list{
			object{"IndexName": "managed", "KeySchema": key("ID", "managedKey"), "Projection": object{"ProjectionType": "ALL"}},
		}),
		says(dev, data, "UserTable", "Properties.AttributeDefinitions", list{
			object{"AttributeName": "userId", "AttributeType": "S"},
			object{"AttributeName": "ID", "AttributeType": "S"},
			object{"AttributeName": "managedKey", "AttributeType": "N"},
		}),
		says(dev, data, "UserManagedIndexTable", "Properties.KeySchema", key("ID", "SK")),
		says(dev, data, "UserManagedIndexTable", "Properties.AttributeDefinitions", list{
			object{"AttributeName": "ID", "AttributeType": "S"}, object{"AttributeName": "SK", "AttributeType": "S"},
		}),
		says(dev, data, "UserManagedIndexTable", "Properties.TimeToLiveSpecification", object{"AttributeName": "_ttl", "Enabled": true}),
		saysNot(dev, data, "UserManagedIndexTable", "StreamSpecification"),
		says(dev, data, "UserTeamStatusIndexTable", "Properties.KeySchema", key("teamId", "SK")),
		says(dev, data, "UserTeamStatusIndexTable", "Properties.TimeToLiveSpecification", object{"AttributeName": "_ttl", "Enabled": true}),
		says(dev, data, "ClaimTable", "Properties.KeySchema", key("pk")),
		saysNot(dev, data, "ClaimTable", "StreamSpecification"),
		says(dev, data, "EventTable", "Properties.KeySchema", key("message_pk", "message_sk")),
		says(dev, data, "EventTable", "Properties.TimeToLiveSpecification", object{"AttributeName": "expiration_time", "Enabled": true}),
		saysNot(dev, data, "EventTable", "StreamSpecification"),
		says(dev, data, "EventTable", "Properties.GlobalSecondaryIndexes", list{
			object{
				"IndexName": "pending-index", "KeySchema": key("pending_message_pk", "pending_message_sk"), "Projection": object{"ProjectionType": "ALL"},
			},
			object{
				"IndexName": "failed-pending-index", "KeySchema": key("failed_pending_message_pk", "failed_pending_message_sk"),
				"Projection": object{"ProjectionType": "KEYS_ONLY"},
			},
		}),

		// What outside programs rely on, from the deployment's own catalog.
		says(own, data, "UserTable", "Properties.KeySchema", key("userId")),
		says(own, data, "UserManagedIndexTable", "Properties.KeySchema", key("ID", "SK")),
		says(own, data, "ClaimTable", "Properties.KeySchema", key("pk")),
		says(own, data, "EventTable", "Properties.KeySchema", key("message_pk", "message_sk")),
		outputs(own, data, "UserTableName", "${UserTable}"),
		outputs(own, data, "UserManagedIndexTableName", "${UserManagedIndexTable}"),
		outputs(own, data, "ClaimTableName", "${ClaimTable}"),
		outputs(own, data, "EventTableName", "${EventTable}"),

		// A sort key of two parts is two RANGE attributes, in order; an index may have none; an Include projection lists its attributes.
		says(other, data, "UserTable", "Properties.GlobalSecondaryIndexes", list{
			object{
				"IndexName": "by-team", "KeySchema": key("team", "state", "since"),
				"Projection": object{"ProjectionType": "INCLUDE", "NonKeyAttributes": list{"name"}},
			},
			object{"IndexName": "by-photo", "KeySchema": key("photo"), "Projection": object{"ProjectionType": "KEYS_ONLY"}},
		}),
		says(other, data, "OrderTable", "Properties.KeySchema", key("customer", "at")),
		says(other, data, "OrderTable", "Properties.AttributeDefinitions", list{
			object{"AttributeName": "customer", "AttributeType": "S"}, object{"AttributeName": "at", "AttributeType": "N"},
		}),
		says(other, data, "OrderTable", "Properties.TimeToLiveSpecification", object{"AttributeName": "until", "Enabled": true}),
		says(other, data, "OrderTable", "Properties.StreamSpecification", object{"StreamViewType": "NEW_AND_OLD_IMAGES"}),
		saysNot(other, data, "OrderTable", "GlobalSecondaryIndexes"),
		says(other, data, "OrderOrdersIndexTable", "Properties.KeySchema", key("state", "SK")),
	} {
		c.test(t)
	}
}

// tables of the catalog as shipped. Another logical id is another, empty table.
var tables = []string{"UserTable", "UserManagedIndexTable", "UserTeamStatusIndexTable", "ClaimTable", "EventTable", "EventRequestTable"}

func TestEveryTableIsSafeAndOnDemand(t *testing.T) {
	t.Parallel()
	for _, v := range []*variant{dev, prod, local} {
		for _, table := range tables {
			for _, c := range []claim{
				says(v, data, table, "Type", "AWS::DynamoDB::Table"),
				says(v, data, table, "Properties.BillingMode", "PAY_PER_REQUEST"),
				says(v, data, table, "Properties.PointInTimeRecoverySpecification", object{"PointInTimeRecoveryEnabled": true}),
				says(v, data, table, "Properties.SSESpecification", object{"SSEEnabled": true}),
				saysNot(v, data, table, "TableName"), // CloudFormation's own, so that two deployments fit into an account
				says(v, data, table, "Properties.DeletionProtectionEnabled", v == prod),
				says(v, data, table, "DeletionPolicy", map[bool]string{true: "Retain", false: "Delete"}[v == prod]),
				says(v, data, table, "UpdateReplacePolicy", map[bool]string{true: "Retain", false: "Delete"}[v == prod]),
			} {
				c.test(t)
			}
		}
	}
}

func TestNoTableBesideTheCatalogs(t *testing.T) {
	t.Parallel()
	for v, want := range map[*variant][]string{dev: tables, other: {"OrderOrdersIndexTable", "OrderTable", "UserByTeamIndexTable", "UserTable"}} {
		var got []string
		for id := range v.get(t).stack(t, data).resources("AWS::DynamoDB::Table") {
			got = append(got, id)
		}
		slices.Sort(got)
		want := slices.Sorted(slices.Values(want))
		if !slices.Equal(got, want) {
			t.Errorf("%s: tables are %s, want %s", v.name, strings.Join(got, ", "), strings.Join(want, ", "))
		}
	}
}

func TestBucketsArePrivateExpireAndTellEventBridge(t *testing.T) {
	t.Parallel()
	for bucket, days := range map[string]float64{"FailureBucket": 30, "UploadBucket": 7} {
		expire := object{"Id": "expire", "Status": "Enabled", "ExpirationInDays": days, "AbortIncompleteMultipartUpload": object{"DaysAfterInitiation": 1.0}}
		if bucket == "UploadBucket" {
			// A second upload to the same URL must leave the first as it is.
			says(dev, data, bucket, "Properties.VersioningConfiguration", object{"Status": "Enabled"}).test(t)
			expire["NoncurrentVersionExpiration"] = object{"NoncurrentDays": days}
		}
		for _, c := range []claim{
			says(prod, data, bucket, "Properties.PublicAccessBlockConfiguration", object{
				"BlockPublicAcls": true, "BlockPublicPolicy": true, "IgnorePublicAcls": true, "RestrictPublicBuckets": true,
			}),
			says(prod, data, bucket, "Properties.BucketEncryption.ServerSideEncryptionConfiguration.0.ServerSideEncryptionByDefault", object{"SSEAlgorithm": "AES256"}),
			says(prod, data, bucket, "Properties.OwnershipControls.Rules", list{object{"ObjectOwnership": "BucketOwnerEnforced"}}),
			says(prod, data, bucket, "Properties.LifecycleConfiguration.Rules", list{expire}),
			says(prod, data, bucket, "Properties.NotificationConfiguration", object{"EventBridgeConfiguration": object{"EventBridgeEnabled": true}}),
			says(prod, data, bucket, "DeletionPolicy", "Retain"),
			says(dev, data, bucket, "DeletionPolicy", "Delete"),
			onlyOverTLS(bucket),
		} {
			c.test(t)
		}
	}
}

// onlyOverTLS claims the statement that denies everything over plain HTTP.
func onlyOverTLS(bucket string) claim {
	policy := func(t template) (object, string) {
		for id, p := range t.resources("AWS::S3::BucketPolicy") {
			if name, _ := at(p, "Properties.Bucket"); name == "${"+bucket+"}" {
				return p, id
			}
		}
		return nil, ""
	}
	return claim{
		variant: prod, stack: data, name: bucket + " over TLS alone",
		check: func(t template) error {
			found, _ := policy(t)
			statements, _ := at(found, "Properties.PolicyDocument.Statement")
			all, _ := statements.([]any)
			for _, statement := range all {
				if text(statement) == text(object{
					"Action": "s3:*", "Effect": "Deny", "Principal": object{"AWS": "*"}, "Condition": object{"Bool": object{"aws:SecureTransport": "false"}},
					"Resource": list{"${" + bucket + ".Arn}", "${" + bucket + ".Arn}/*"},
				}) {
					return nil
				}
			}
			return fmt.Errorf("statements are %s", text(statements))
		},
		spoil: map[string]func(template){
			"the policy removed":    func(t template) { _, id := policy(t); remove(t, "Resources."+id) },
			"the statement removed": func(t template) { p, _ := policy(t); remove(p, "Properties.PolicyDocument.Statement.0") },
			"the condition removed": func(t template) { p, _ := policy(t); remove(p, "Properties.PolicyDocument.Statement.0.Condition") },
		},
	}
}

func TestTheCursorSecretIsGeneratedAndNowhereInATemplate(t *testing.T) {
	t.Parallel()
	says(prod, data, "CursorSecret", "Properties.GenerateSecretString",
		object{"PasswordLength": 64.0, "ExcludePunctuation": true, "RequireEachIncludedType": true}).test(t)
	saysNot(prod, data, "CursorSecret", "SecretString").test(t)
	says(prod, data, "CursorSecret", "DeletionPolicy", "Retain").test(t)
	for stack, template := range prod.get(t).templates {
		if strings.Contains(text(object(template)), "resolve:secretsmanager") {
			t.Errorf("stack %s resolves a secret into a template", stack)
		}
	}
}

func TestDataOutputs(t *testing.T) {
	t.Parallel()
	for _, c := range []claim{
		outputs(dev, data, "UserTableName", "${UserTable}"),
		outputs(dev, data, "UserManagedIndexTableName", "${UserManagedIndexTable}"),
		outputs(dev, data, "UserTeamStatusIndexTableName", "${UserTeamStatusIndexTable}"),
		outputs(dev, data, "ClaimTableName", "${ClaimTable}"),
		outputs(dev, data, "EventTableName", "${EventTable}"),
		outputs(dev, data, "FailureBucketName", "${FailureBucket}"),
		outputs(dev, data, "UploadBucketName", "${UploadBucket}"),
		outputs(dev, data, "CursorSecretArn", "${CursorSecret}"),
	} {
		c.test(t)
	}
}

// No custom resource: a Lambda that nobody asked for, and one that hangs the local deploy. No function at all beside the data.
func TestDataHoldsNoCode(t *testing.T) {
	t.Parallel()
	for id, resource := range prod.get(t).stack(t, data).resources("") {
		kind := resource["Type"].(string)
		if strings.HasPrefix(kind, "Custom::") || strings.HasPrefix(kind, "AWS::Lambda::") || strings.HasPrefix(kind, "AWS::CloudFormation::Custom") {
			t.Errorf("%s is a %s", id, kind)
		}
	}
}

// A deploy of functions never changes the data stack: with two functions or with six, with one kind of authorization or another, it is the same, so that nothing
// that a function takes with it can be refused, replaced or dropped there.
func TestTheDataStackDependsOnCatalogAndStageAlone(t *testing.T) {
	t.Parallel()
	all, few := prod.get(t).stack(t, data), token.get(t).stack(t, data)
	if text(object(all)) != text(object(few)) {
		for _, part := range []string{"Resources", "Outputs"} {
			for name, value := range all[part].(map[string]any) {
				if other, there := few[part].(map[string]any)[name]; !there || text(other) != text(value) {
					t.Errorf("%s.%s differs", part, name)
				}
			}
			for name := range few[part].(map[string]any) {
				if _, there := all[part].(map[string]any)[name]; !there {
					t.Errorf("%s.%s is there only with fewer functions", part, name)
				}
			}
		}
	}
}

// Index tables, and streams, come and go with the catalog: an export of theirs would be refused to go while the deployed function stacks import it.
func TestOnlyWhatStaysIsExported(t *testing.T) {
	t.Parallel()
	exported := map[string]bool{}
	for _, output := range outputsOf(prod.get(t).stack(t, data)) {
		if output["Export"] != nil {
			exported[output["Value"].(string)] = true
		}
	}
	want := []string{
		"${ClaimTable.Arn}", "${ClaimTable}", "${CursorSecret}", "${EventTable.Arn}", "${EventTable}",
		"${EventRequestTable.Arn}", "${EventRequestTable}", "${FailureBucket.Arn}", "${FailureBucket}",
		"${UploadBucket.Arn}", "${UploadBucket}", "${UserTable.Arn}", "${UserTable}",
	}
	for value := range exported {
		if !slices.Contains(want, value) {
			t.Errorf("%s is exported", value)
		}
	}
	for _, value := range want {
		if !exported[value] {
			t.Errorf("%s is not exported", value)
		}
	}
	for stack, template := range prod.get(t).templates {
		if stack == data {
			continue
		}
		for name, output := range outputsOf(template) {
			if output["Export"] != nil {
				t.Errorf("%s exports %s, and could not drop it in one deploy", stack, name)
			}
		}
	}
}
