package query_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/heatsink-dev/heatsink/pkg/ddb"
	"github.com/heatsink-dev/heatsink/pkg/query"
	"github.com/heatsink-dev/heatsink/pkg/schema"
)

// canned answers every request with one body, so that what is measured is the SDK and this package.
type canned struct{ body []byte }

func (c canned) Do(r *http.Request) (*http.Response, error) {
	if r.Body != nil {
		_, _ = io.Copy(io.Discard, r.Body)
	}
	return &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/x-amz-json-1.0"}}, ContentLength: int64(len(c.body)),
		Body: io.NopCloser(bytes.NewReader(c.body)), Request: r,
	}, nil
}

func cannedClient(b *testing.B, form schema.Form) *dynamodb.Client {
	b.Helper()
	var items bytes.Buffer
	for n := range 100 {
		if n > 0 {
			items.WriteByte(',')
		}
		row := answerRow(form, n)
		for m := range 8 {
			row[fmt.Sprint("attribute", m)] = text("some text of usual length")
		}
		raw, err := ddb.EncodeItem(row)
		if err != nil {
			b.Fatal(err)
		}
		items.Write(raw)
	}
	key := map[schema.Form]func(int) ddb.Item{schema.Table: tableKey, schema.GSI: gsiKey}[form]
	last, err := ddb.EncodeItem(key(99))
	if err != nil {
		b.Fatal(err)
	}
	body := fmt.Sprintf(`{"Items":[%s],"Count":100,"ScannedCount":100,"ConsumedCapacity":{"TableName":"t","CapacityUnits":3.5},"LastEvaluatedKey":%s}`, items.String(), last)
	return dynamodb.New(dynamodb.Options{
		Region: "us-east-1", Credentials: credentials.NewStaticCredentialsProvider("a", "b", ""), HTTPClient: canned{[]byte(body)}, BaseEndpoint: aws.String("http://localhost"),
	})
}

// BenchmarkPage compares a page of 100 with the same request made by the SDK alone.
func BenchmarkPage(b *testing.B) {
	for _, form := range []schema.Form{schema.GSI, schema.Table} {
		client := cannedClient(b, form)
		b.Run(form.String()+"/sdk", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				input := &dynamodb.QueryInput{
					TableName: aws.String("index"), KeyConditionExpression: aws.String("#p = :p"), Limit: aws.Int32(100),
					ExpressionAttributeNames:  map[string]string{"#p": "ID"},
					ExpressionAttributeValues: map[string]types.AttributeValue{":p": text("t")},
				}
				if form == schema.GSI {
					input.IndexName = aws.String("managed")
				} else {
					input.FilterExpression = aws.String("attribute_not_exists(#d)")
					input.ExpressionAttributeNames["#d"] = "_deleted"
				}
				if _, err := client.Query(context.Background(), input); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(form.String()+"/heatsink", func(b *testing.B) {
			reader, err := query.New(indexOf(b, userTable(b), "managed"), query.Config{Client: client, BaseTable: "base", IndexTable: "index", Cursors: sealer(b)})
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				if _, err := reader.Query(context.Background(), query.Request{Partition: partition("t"), Limit: 100, Form: form}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
