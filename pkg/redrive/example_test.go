package redrive_test

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/heatsink-dev/heatsink/pkg/catalog"
	"github.com/heatsink-dev/heatsink/pkg/indexsync"
	"github.com/heatsink-dev/heatsink/pkg/redrive"
)

func ExampleRedriver_Run() {
	body, err := os.ReadFile("../../events/failure-with-payload.json")
	if err != nil {
		fmt.Println(err)
		return
	}
	loaded, err := catalog.Load()
	if err != nil {
		fmt.Println(err)
		return
	}
	user, _ := loaded.Table(catalog.UserTable)
	config := indexsync.Config{Source: user, Writer: taking{}, Park: &indexsync.BucketParker{}} // a real one has the SDK's clients
	for _, index := range user.StreamIndexes() {
		config.Targets = append(config.Targets, indexsync.Target{Index: index, Table: index.TableName()})
	}
	syncer, err := indexsync.New(config)
	if err != nil {
		fmt.Println(err)
		return
	}
	redriver, err := redrive.New(redrive.Config{
		Bucket: "failures", Store: &single{body: body}, Stream: &scripted{}, Rows: taking{}, Syncer: redrive.Only("User", syncer),
		Now: func() time.Time { return time.Date(2026, 11, 15, 0, 0, 0, 0, time.UTC) },
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	report, err := redriver.Run(context.Background(), redrive.Options{Progress: func(n, m int, object redrive.ObjectReport) {
		fmt.Printf("%d of %d: %s, %d records: %s\n", n, m, object.Condition, object.Records, object.Outcome)
	}})
	fmt.Println(report.Done, "done,", report.Deleted, "deleted", err)
	// Output:
	// 1 of 1: RecordAgeExceeded, 3 records: done
	// 1 done, 1 deleted <nil>
}
