package ddbtest

import (
	"maps"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/heatsink-dev/heatsink/pkg/ddb"
)

// target names the tables and the index of a call.
func target(input any) (tables []string, index string) {
	switch in := input.(type) {
	case *dynamodb.QueryInput:
		return []string{aws.ToString(in.TableName)}, aws.ToString(in.IndexName)
	case *dynamodb.ScanInput:
		return []string{aws.ToString(in.TableName)}, aws.ToString(in.IndexName)
	case *dynamodb.GetItemInput:
		return []string{aws.ToString(in.TableName)}, ""
	case *dynamodb.BatchGetItemInput:
		return slices.Sorted(maps.Keys(in.RequestItems)), ""
	case *dynamodb.TransactGetItemsInput:
		for _, item := range in.TransactItems {
			if item.Get != nil {
				tables = append(tables, aws.ToString(item.Get.TableName))
			}
		}
	default:
		for _, w := range writes(input) {
			tables = append(tables, w.table)
		}
	}
	slices.Sort(tables)
	return slices.Compact(tables), ""
}

// write is one item that a call may write: it has the item's key among its attributes.
type write struct {
	table string
	item  ddb.Item
	// check marks a transaction's condition check, which changes nothing.
	check bool
}

// writes lists what a call may write.
func writes(input any) []write {
	switch in := input.(type) {
	case *dynamodb.PutItemInput:
		return []write{{table: aws.ToString(in.TableName), item: in.Item}}
	case *dynamodb.UpdateItemInput:
		return []write{{table: aws.ToString(in.TableName), item: in.Key}}
	case *dynamodb.DeleteItemInput:
		return []write{{table: aws.ToString(in.TableName), item: in.Key}}
	case *dynamodb.BatchWriteItemInput:
		var list []write
		for table, requests := range in.RequestItems {
			for _, request := range requests {
				switch {
				case request.PutRequest != nil:
					list = append(list, write{table: table, item: request.PutRequest.Item})
				case request.DeleteRequest != nil:
					list = append(list, write{table: table, item: request.DeleteRequest.Key})
				}
			}
		}
		return list
	case *dynamodb.TransactWriteItemsInput:
		var list []write
		for _, item := range in.TransactItems {
			list = append(list, transactWrite(item))
		}
		return list
	default:
		return nil
	}
}

func transactWrite(item types.TransactWriteItem) write {
	switch {
	case item.Put != nil:
		return write{table: aws.ToString(item.Put.TableName), item: item.Put.Item}
	case item.Update != nil:
		return write{table: aws.ToString(item.Update.TableName), item: item.Update.Key}
	case item.Delete != nil:
		return write{table: aws.ToString(item.Delete.TableName), item: item.Delete.Key}
	case item.ConditionCheck != nil:
		return write{table: aws.ToString(item.ConditionCheck.TableName), item: item.ConditionCheck.Key, check: true}
	default:
		return write{}
	}
}
