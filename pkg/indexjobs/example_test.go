package indexjobs_test

import (
	"encoding/json"
	"fmt"

	"github.com/heatsink-dev/heatsink/pkg/indexjobs"
	"github.com/heatsink-dev/heatsink/pkg/redrive"
)

// What function redrive answers an operator.
func ExampleNewRedriveAnswer() {
	report := redrive.Report{Objects: 2, Done: 1, Refused: 1, Deleted: 1, Records: 3, Last: "aws/lambda/b.json", Problems: []redrive.ObjectReport{
		{Key: "aws/lambda/b.json", Outcome: redrive.Refused, Reason: "192h0m0s old"},
	}}
	text, err := json.Marshal(indexjobs.NewRedriveAnswer(report))
	fmt.Println(string(text), err)
	// Output:
	// {"objects":2,"done":1,"toReplay":0,"refused":1,"stillPoison":0,"failed":0,"deleted":1,"records":3,"problems":[{"key":"aws/lambda/b.json","outcome":"refused","reason":"192h0m0s old"}],"stopped":false,"last":"aws/lambda/b.json"} <nil>
}
