package indexsync

import (
	"context"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// TableDescriber describes a table. *dynamodb.Client implements it.
type TableDescriber interface {
	DescribeTable(context.Context, *dynamodb.DescribeTableInput, ...func(*dynamodb.Options)) (*dynamodb.DescribeTableOutput, error)
}

var _ TableDescriber = (*dynamodb.Client)(nil)

// CheckStream is what a function does once at start-up, before its first record: it refuses a source that is also one of the index tables, which would feed the indexer
// with its own writes, and a stream without both images, by which a moved or removed row could not be found. It makes one DescribeTable request of the
// source (IAM: dynamodb:DescribeTable). source is the deployed name or ARN of the base table.
func (s *Syncer) CheckStream(ctx context.Context, client TableDescriber, source string) error {
	if source == "" {
		return fmt.Errorf("indexsync: check table %s: its deployed name is missing", s.source.Name)
	}
	for _, t := range s.targets {
		if tableOf(*t.table) == tableOf(source) {
			return fmt.Errorf("indexsync: check table %s: source and the table of index %s are both %s: the indexer would index its own writes",
				s.source.Name, t.index.Name, source)
		}
	}
	answer, err := client.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: aws.String(source)})
	if err != nil {
		return fmt.Errorf("indexsync: describe table %s (%s): %w", s.source.Name, source, err)
	}
	if answer.Table == nil || answer.Table.StreamSpecification == nil || !aws.ToBool(answer.Table.StreamSpecification.StreamEnabled) {
		return fmt.Errorf("indexsync: check table %s (%s): it has no stream", s.source.Name, source)
	}
	if view := answer.Table.StreamSpecification.StreamViewType; view != types.StreamViewTypeNewAndOldImages {
		return fmt.Errorf("indexsync: check table %s (%s): the stream's view must be %s, is %s",
			s.source.Name, source, types.StreamViewTypeNewAndOldImages, view)
	}
	return nil
}

// tableOf is the table's name in an ARN, or the name itself.
func tableOf(nameOrARN string) string {
	if name := StreamTable(nameOrARN); name != "" && strings.HasPrefix(nameOrARN, "arn:") {
		return name
	}
	return nameOrARN
}
