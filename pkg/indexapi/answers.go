package indexapi

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/heatsink-dev/heatsink/pkg/cursor"
	"github.com/heatsink-dev/heatsink/pkg/ddb"
	"github.com/heatsink-dev/heatsink/pkg/edge"
	"github.com/heatsink-dev/heatsink/pkg/query"
	"github.com/heatsink-dev/heatsink/pkg/schema"
)

// maxItemsBytes bounds the items of a page: what an answer may hold less the longest cursor and the names around them.
const maxItemsBytes = edge.MaxAnswerBytes - cursor.MaxTokenBytes - 64

type existence struct {
	Exists bool   `json:"exists"`
	Cursor string `json:"cursor,omitempty"`
}

type counted struct {
	Count  int64  `json:"count"`
	Cursor string `json:"cursor,omitempty"`
}

func answerExists(ctx context.Context, w http.ResponseWriter, served Served, request query.Request) error {
	found, err := served.Reader.Exists(ctx, request)
	if err != nil {
		return err
	}
	spend(ctx, found.Cost, 0)
	return edge.WriteJSON(w, http.StatusOK, existence{found.Exists, found.Cursor})
}

func answerCount(ctx context.Context, w http.ResponseWriter, served Served, request query.Request) error {
	total, err := served.Reader.Count(ctx, request)
	if err != nil {
		return err
	}
	spend(ctx, total.Cost, 0)
	return edge.WriteJSON(w, http.StatusOK, counted{total.Count, total.Cursor})
}

// answerItems answers with a page. Where its JSON would be too long, it reads a page of as many items as do fit, whose cursor then stands behind the last of them.
func answerItems(ctx context.Context, w http.ResponseWriter, served Served, request query.Request) error {
	var spent query.Cost
	for {
		page, err := served.Reader.Query(ctx, request)
		if err != nil {
			return err
		}
		spent.Requests += page.Cost.Requests
		spent.Evaluated += page.Cost.Evaluated
		spent.ReadUnits += page.Cost.ReadUnits
		body, fitting, err := appendItems(served.Index, page.Items)
		if err != nil {
			return err
		}
		if fitting < len(page.Items) {
			if fitting == 0 {
				return &edge.Problem{
					Code: edge.Internal, Detail: "an item is longer than an answer can be",
					Cause: fmt.Errorf("an item of index %s has more than %d bytes of JSON", served.Index.Name, maxItemsBytes),
				}
			}
			request.Limit = fitting
			continue
		}
		if page.Cursor != "" {
			token, err := json.Marshal(page.Cursor)
			if err != nil {
				return fmt.Errorf("encode cursor: %w", err)
			}
			body = append(append(body, `,"cursor":`...), token...)
		}
		spend(ctx, spent, len(page.Items))
		edge.WriteBody(w, http.StatusOK, append(body, '}'))
		return nil
	}
}

// appendItems writes the page up to its cursor, with as many items as fit.
func appendItems(index *schema.Index, items []ddb.Item) (body []byte, fitting int, err error) {
	body = append(body, `{"items":[`...)
	for n, item := range items {
		end := len(body)
		if n > 0 {
			body = append(body, ',')
		}
		if body, err = ddb.AppendPlain(body, item, index.Projects); err != nil {
			return nil, 0, fmt.Errorf("encode an item of index %s: %w", index.Name, err)
		}
		if len(body) > maxItemsBytes {
			return append(body[:end], ']'), n, nil
		}
	}
	return append(body, ']'), len(items), nil
}
