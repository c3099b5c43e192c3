package ddbtest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"

	smithyhttp "github.com/aws/smithy-go/transport/http"
)

// The faults below change what is on the wire, so that the engine and the SDK do their own parts.

// SmallPages lets a Query or Scan evaluate at most so many rows a request, as the limit of 1 MB does: the answer has fewer rows than asked and a key to go
// on from.
func SmallPages(rows int) Fault {
	return Fault{name: "small page", run: func(ctx context.Context, a *attempt) (*smithyhttp.Response, error) {
		if a.operation != "Query" && a.operation != "Scan" {
			return passThrough(ctx, a)
		}
		request, err := editRequest(a.request, func(body map[string]json.RawMessage) error {
			limit := rows
			if raw, has := body["Limit"]; has {
				var asked int
				if err := json.Unmarshal(raw, &asked); err != nil {
					return err
				}
				limit = min(limit, asked)
			}
			body["Limit"] = []byte(strconv.Itoa(limit))
			return nil
		})
		if err != nil {
			return nil, err
		}
		return a.send(ctx, request)
	}}
}

// Unprocessed does the first operations of a batch and hands the rest back as unprocessed, which is how a batch is throttled. Where none is done nothing reaches
// the engine. (DynamoDB then answers an error; use [Throttle] for it.)
func Unprocessed(done int) Fault {
	return Fault{name: "unprocessed", run: func(ctx context.Context, a *attempt) (*smithyhttp.Response, error) {
		switch a.operation {
		case "BatchWriteItem":
			return a.splitBatch(ctx, done, "UnprocessedItems", splitList)
		case "BatchGetItem":
			return a.splitBatch(ctx, done, "UnprocessedKeys", splitKeys)
		default:
			return passThrough(ctx, a)
		}
	}}
}

// splitBatch sends the first operations of the batch, table by table in no order, and puts the others into the answer's field.
func (a *attempt) splitBatch(
	ctx context.Context, done int, field string, split func(table json.RawMessage, room int) (first, rest json.RawMessage, taken int, err error),
) (*smithyhttp.Response, error) {
	left := map[string]json.RawMessage{}
	sent := 0
	request, err := editRequest(a.request, func(body map[string]json.RawMessage) error {
		var tables map[string]json.RawMessage
		if err := json.Unmarshal(body["RequestItems"], &tables); err != nil {
			return err
		}
		for table, raw := range tables {
			first, rest, taken, err := split(raw, done-sent)
			if err != nil {
				return err
			}
			sent += taken
			delete(tables, table)
			if first != nil {
				tables[table] = first
			}
			if rest != nil {
				left[table] = rest
			}
		}
		var err error
		body["RequestItems"], err = json.Marshal(tables)
		return err
	})
	if err != nil {
		return nil, err
	}
	answer := response(http.StatusOK, []byte(`{}`))
	if sent > 0 {
		if answer, err = a.send(ctx, request); err != nil || answer.StatusCode != http.StatusOK {
			return answer, err
		}
	}
	return editResponse(answer, func(body map[string]json.RawMessage) error {
		var err error
		body[field], err = json.Marshal(left)
		return err
	})
}

func splitList(raw json.RawMessage, room int) (first, rest json.RawMessage, taken int, err error) {
	var list []json.RawMessage
	if err := json.Unmarshal(raw, &list); err != nil {
		return nil, nil, 0, err
	}
	taken = min(room, len(list))
	if taken > 0 {
		if first, err = json.Marshal(list[:taken]); err != nil {
			return nil, nil, 0, err
		}
	}
	if taken < len(list) {
		if rest, err = json.Marshal(list[taken:]); err != nil {
			return nil, nil, 0, err
		}
	}
	return first, rest, taken, nil
}

func splitKeys(raw json.RawMessage, room int) (first, rest json.RawMessage, taken int, err error) {
	var ask map[string]json.RawMessage
	if err := json.Unmarshal(raw, &ask); err != nil {
		return nil, nil, 0, err
	}
	firstKeys, restKeys, taken, err := splitList(ask["Keys"], room)
	if err != nil {
		return nil, nil, 0, err
	}
	with := func(keys json.RawMessage) (json.RawMessage, error) {
		if keys == nil {
			return nil, nil
		}
		ask["Keys"] = keys
		return json.Marshal(ask)
	}
	if first, err = with(firstKeys); err != nil {
		return nil, nil, 0, err
	}
	rest, err = with(restKeys)
	return first, rest, taken, err
}

// editRequest gives a copy of the request with another body. The signature no longer fits; test engines do not check it.
func editRequest(request *smithyhttp.Request, edit func(map[string]json.RawMessage) error) (*smithyhttp.Request, error) {
	raw, err := requestBody(request)
	if err != nil {
		return nil, err
	}
	if raw, err = editJSON(raw, edit); err != nil {
		return nil, fmt.Errorf("ddbtest: edit a request: %w", err)
	}
	edited, err := request.Clone().SetStream(bytes.NewReader(raw))
	if err != nil {
		return nil, fmt.Errorf("ddbtest: edit a request: %w", err)
	}
	edited.ContentLength = int64(len(raw))
	return edited, nil
}

// requestBody reads the body and leaves it as it was.
func requestBody(request *smithyhttp.Request) ([]byte, error) {
	raw, err := io.ReadAll(request.GetStream())
	if err == nil {
		err = request.RewindStream()
	}
	if err != nil {
		return nil, fmt.Errorf("ddbtest: read a request: %w", err)
	}
	return raw, nil
}

// editResponse gives a response with another body, and without the checksum of the old one.
func editResponse(old *smithyhttp.Response, edit func(map[string]json.RawMessage) error) (*smithyhttp.Response, error) {
	raw, err := io.ReadAll(old.Body)
	if err = errors.Join(err, old.Body.Close()); err != nil {
		return nil, fmt.Errorf("ddbtest: read a response: %w", err)
	}
	if raw, err = editJSON(raw, edit); err != nil {
		return nil, fmt.Errorf("ddbtest: edit a response: %w", err)
	}
	return response(old.StatusCode, raw), nil
}

func editJSON(raw []byte, edit func(map[string]json.RawMessage) error) ([]byte, error) {
	var body map[string]json.RawMessage
	if err := json.Unmarshal(raw, &body); err != nil {
		return nil, err
	}
	if err := edit(body); err != nil {
		return nil, err
	}
	return json.Marshal(body)
}

func response(status int, body []byte) *smithyhttp.Response {
	return &smithyhttp.Response{Response: &http.Response{
		StatusCode:    status,
		Header:        http.Header{"Content-Type": {"application/x-amz-json-1.0"}},
		ContentLength: int64(len(body)),
		Body:          io.NopCloser(bytes.NewReader(body)),
	}}
}
