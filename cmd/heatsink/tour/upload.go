package tour

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// uploadCount is the number of events of the upload, uploadBad the line that is none.
const (
	uploadCount = 2000
	uploadBad   = 1000
)

// upload brings in a batch past one request: a presigned PUT, and then nothing to do but to ask how it is.
func (c *eventTour) upload() error {
	return c.step(fmt.Sprintf("upload %d events and one bad line, then once more", uploadCount), func() (string, error) {
		var batch struct {
			BatchID   string `json:"batchId"`
			UploadURL string `json:"uploadUrl"`
		}
		if err := c.call("POST", "/v1/event-batches", struct{}{}, 201, &batch); err != nil {
			return "", err
		}
		c.uploads = append(c.uploads, batch.BatchID)
		began := c.Now()
		if err := c.put(batch.UploadURL, c.lines()); err != nil {
			return "", err
		}
		status, err := c.ended(batch.BatchID)
		if err != nil {
			return "", err
		}
		took := c.Now().Sub(began).Round(time.Millisecond)
		if status.Status != "done" || status.Accepted != uploadCount || status.RejectedCount != 1 || len(status.Rejected) != 1 || status.Rejected[0].Line != uploadBad {
			return "", fmt.Errorf("%s: %d accepted, %d rejected %s", status.Status, status.Accepted, status.RejectedCount, status.Reason)
		}
		if err := c.put(batch.UploadURL, []byte("\"another upload\"\n")); err != nil {
			return "", err
		}
		ids, err := c.ofBatch(batch.BatchID, began)
		if err != nil {
			return "", err
		}
		c.made = append(c.made, ids...)
		if len(ids) != uploadCount {
			return "", fmt.Errorf("%d events are pending", len(ids))
		}
		return fmt.Sprintf("done %s later: each line once, line %d rejected (%s); the second upload to the same URL changed nothing", took, uploadBad, status.Rejected[0].Reason), nil
	})
}

// lines are the events as newline-delimited JSON, in gzip.
func (c *eventTour) lines() []byte {
	var body bytes.Buffer
	w := gzip.NewWriter(&body)
	for n := range uploadCount + 1 {
		if n+1 == uploadBad {
			_, _ = io.WriteString(w, "this is no JSON\n") // into memory
			continue
		}
		_, _ = fmt.Fprintf(w, "{\"tour\":%q,\"line\":%d}\n", c.run, n+1)
	}
	_ = w.Close()
	return body.Bytes()
}

func (c *eventTour) put(target string, body []byte) error {
	request, err := http.NewRequestWithContext(c.ctx, http.MethodPut, target, bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("upload: %w", err)
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return fmt.Errorf("upload: %w", err)
	}
	_, _ = io.Copy(io.Discard, answer.Body)
	_ = answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("upload: HTTP %d", answer.StatusCode)
	}
	return nil
}

// batchStatus is an answer about a batch.
type batchStatus struct {
	Status        string `json:"status"`
	Accepted      int    `json:"accepted"`
	RejectedCount int    `json:"rejectedCount"`
	Rejected      []struct {
		Line   int    `json:"line"`
		Reason string `json:"reason"`
	} `json:"rejected"`
	Reason string `json:"reason"`
}

// ended asks until a batch is done or failed.
func (c *eventTour) ended(batchID string) (got batchStatus, err error) {
	err = c.wait(c.ctx, func() (bool, string, error) {
		got = batchStatus{}
		err := c.call("GET", "/v1/event-batches/"+batchID, nil, 200, &got)
		return got.Status == "done" || got.Status == "failed", got.Status, err
	})
	return got, err
}

// ofBatch lists the pending events of a batch that was ingested since a time. Around midnight they may be of the next date.
func (c *eventTour) ofBatch(batchID string, since time.Time) ([]string, error) {
	other := *c
	other.batch, other.time = batchID, since.Add(-time.Minute).UnixMilli() // clocks differ
	var all []string
	today, now := since.UTC().Format(time.DateOnly), c.Now().UTC().Format(time.DateOnly)
	for _, date := range []string{today, now} {
		other.date = date
		ids, _, err := other.list("pending", "asc")
		if err != nil {
			return nil, err
		}
		all = append(all, ids...)
		if today == now {
			break
		}
	}
	return all, nil
}

// cleanUploads deletes the records of the chapter's batches. Their objects expire.
func (c *eventTour) cleanUploads() error {
	for _, id := range c.uploads {
		_, err := c.dynamo.DeleteItem(c.ctx, &dynamodb.DeleteItemInput{
			TableName: &c.requests, Key: map[string]types.AttributeValue{"id": &types.AttributeValueMemberS{Value: "batch#" + id}},
		})
		if err != nil {
			return fmt.Errorf("delete the record of a batch: %w", err)
		}
	}
	return nil
}
