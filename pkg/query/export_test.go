package query

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// AttributeValue of the SDK.
type AttributeValue = types.AttributeValue

// SealForTest seals any payload for a request's question.
func (r *Reader) SealForTest(ctx context.Context, request Request, payload []byte) (string, error) {
	q, err := r.ask(request)
	if err != nil {
		return "", err
	}
	return r.config.Cursors.Seal(ctx, r.binding(q), payload)
}

// IndexedForTest is whether the index table would hold a GSI row.
func (r *Reader) IndexedForTest(row map[string]AttributeValue) bool { return r.indexed(row) }
