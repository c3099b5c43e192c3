package redrive_test

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	s3types "github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/heatsink-dev/heatsink/pkg/catalog"
	"github.com/heatsink-dev/heatsink/pkg/indexsync"
	"github.com/heatsink-dev/heatsink/pkg/redrive"
)

// single is a bucket with one object.
type single struct {
	body    []byte
	deleted bool
}

func (b *single) ListObjectsV2(context.Context, *s3.ListObjectsV2Input, ...func(*s3.Options)) (*s3.ListObjectsV2Output, error) {
	return &s3.ListObjectsV2Output{Contents: []s3types.Object{object("x")}}, nil
}

func (b *single) GetObject(context.Context, *s3.GetObjectInput, ...func(*s3.Options)) (*s3.GetObjectOutput, error) {
	return &s3.GetObjectOutput{Body: io.NopCloser(bytes.NewReader(b.body))}, nil
}

func (b *single) DeleteObject(context.Context, *s3.DeleteObjectInput, ...func(*s3.Options)) (*s3.DeleteObjectOutput, error) {
	b.deleted = true
	return &s3.DeleteObjectOutput{}, nil
}

// taking takes every row.
type taking struct{}

func (taking) PutItem(context.Context, *dynamodb.PutItemInput, ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error) {
	return &dynamodb.PutItemOutput{}, nil
}

// GetItem finds nothing.
func (taking) GetItem(context.Context, *dynamodb.GetItemInput, ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error) {
	return &dynamodb.GetItemOutput{}, nil
}

// FuzzObject gives any bytes as a failure object: nothing panics, and an object is deleted only if all of its records were replayed.
func FuzzObject(f *testing.F) {
	names, err := filepath.Glob("../../events/*.json")
	if err != nil || len(names) == 0 {
		f.Fatal("no samples")
	}
	for _, name := range names {
		raw, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(raw)
	}
	for _, raw := range []string{``, `{"payload":"{\"Records\":[null]}"}`, `{"payload":"{\"Records\":[]}","timestamp":"2026-11-14T00:00:00Z"}`, `{"DDBStreamBatchInfo":{"batchSize":-1}}`} {
		f.Add([]byte(raw))
	}
	loaded, err := catalog.Load()
	if err != nil {
		f.Fatal(err)
	}
	source, _ := loaded.Table(catalog.UserTable)
	f.Fuzz(func(t *testing.T, body []byte) {
		store, writer := &single{body: body}, taking{}
		config := indexsync.Config{Source: source, Writer: writer, Park: &indexsync.BucketParker{}, Concurrency: 1}
		for _, index := range source.StreamIndexes() {
			config.Targets = append(config.Targets, indexsync.Target{Index: index, Table: index.Name})
		}
		syncer, err := indexsync.New(config)
		if err != nil {
			t.Fatal(err)
		}
		redriver, err := redrive.New(redrive.Config{
			Bucket: "b", Store: store, Stream: &scripted{}, Rows: taking{}, Syncer: redrive.Only("User", syncer), Now: func() time.Time { return now },
		})
		if err != nil {
			t.Fatal(err)
		}
		var seen redrive.ObjectReport
		report, err := redriver.Run(t.Context(), redrive.Options{Progress: func(_, _ int, o redrive.ObjectReport) { seen = o }})
		if err != nil || report.Objects != 1 {
			t.Fatalf("report %+v, error %v", report, err)
		}
		if store.deleted && (seen.Replayed != seen.Records || seen.Outcome != redrive.Done) {
			t.Fatalf("deleted although not done: %+v", seen)
		}
		if !store.deleted && seen.Reason == "" {
			t.Fatalf("kept without a reason: %+v", seen)
		}
	})
}
