package ingestjobs

import (
	"encoding/json"
	"errors"
)

// created is EventBridge's event of an object
// (https://docs.aws.amazon.com/AmazonS3/latest/userguide/ev-events.html), as far as it is needed. A key in it is not URL-encoded.
type created struct {
	Source     string `json:"source"`
	DetailType string `json:"detail-type"`
	Detail     struct {
		Bucket struct {
			Name string `json:"name"`
		} `json:"bucket"`
		Object struct {
			Key     string `json:"key"`
			Size    int64  `json:"size"`
			ETag    string `json:"etag"`
			Version string `json:"version-id"`
		} `json:"object"`
	} `json:"detail"`
}

// readMessage reads a message's body. Its errors hold nothing of it.
func readMessage(body string) (*created, error) {
	var event created
	if err := json.Unmarshal([]byte(body), &event); err != nil {
		return nil, errors.New("the message is no JSON of EventBridge")
	}
	switch {
	case event.Source != "aws.s3" || event.DetailType != "Object Created":
		return nil, errors.New("the message does not tell of an object created in S3")
	case event.Detail.Bucket.Name == "" || event.Detail.Object.Key == "" || event.Detail.Object.ETag == "":
		return nil, errors.New("the message names no bucket, key or ETag")
	}
	return &event, nil
}
