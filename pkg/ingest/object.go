package ingest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/heatsink-dev/heatsink/pkg/ddb"
)

// ObjectGetter reads an object. *s3.Client implements it.
type ObjectGetter interface {
	GetObject(context.Context, *s3.GetObjectInput, ...func(*s3.Options)) (*s3.GetObjectOutput, error)
}

var _ ObjectGetter = (*s3.Client)(nil)

// errGone says that the very object is not there any more: replaced, removed or expired.
var errGone = errors.New("the object is not there any more")

// maxBreaks is how often in a row a read may break without bringing a byte.
const maxBreaks = 5

// object is one version of an object, read to its end: where the connection breaks, as it may while a throttled table takes nothing for minutes, it goes on
// from there.
type object struct {
	ctx     context.Context //nolint:containedctx // io.Reader has no parameter for it
	getter  ObjectGetter
	input   s3.GetObjectInput
	retry   ddb.Policy
	body    io.ReadCloser
	version string
	size    int64
	offset  int64
	breaks  int
}

// openObject asks for the object with that ETag. An empty version is the latest. errGone: it is another one, or none.
func openObject(ctx context.Context, getter ObjectGetter, bucket, key, etag, version string, retry ddb.Policy) (*object, error) {
	o := &object{ctx: ctx, getter: getter, input: s3.GetObjectInput{Bucket: &bucket, Key: &key, IfMatch: aws.String(`"` + etag + `"`)}, retry: retry}
	if version != "" {
		o.input.VersionId = &version
	}
	if err := o.open(); err != nil {
		return nil, err
	}
	return o, nil
}

func (o *object) open() error {
	input := o.input
	if o.offset > 0 {
		input.Range = aws.String(fmt.Sprintf("bytes=%d-", o.offset))
	}
	out, err := o.getter.GetObject(o.ctx, &input)
	if err != nil {
		if gone(err) {
			err = fmt.Errorf("%w: %w", errGone, err)
		}
		return fmt.Errorf("get the uploaded object: %w", err)
	}
	if o.offset == 0 {
		if out.ContentLength == nil {
			_ = out.Body.Close()
			return errors.New("get the uploaded object: the answer has no length")
		}
		o.size = *out.ContentLength
		o.version = aws.ToString(out.VersionId)
		if o.version != "" {
			o.input.VersionId = out.VersionId
		}
	} else if !strings.HasPrefix(aws.ToString(out.ContentRange), fmt.Sprintf("bytes %d-", o.offset)) {
		// A range is a wish (RFC 9110, 14.2): this is the whole again.
		if _, err := io.CopyN(io.Discard, out.Body, o.offset); err != nil {
			_ = out.Body.Close()
			return fmt.Errorf("get the uploaded object: %w", err)
		}
	}
	o.body = out.Body
	return nil
}

// gone: the condition failed, or there is no such object or version.
func gone(err error) bool {
	if api, ok := errors.AsType[smithy.APIError](err); ok {
		switch api.ErrorCode() {
		case "NoSuchKey", "NoSuchVersion", "PreconditionFailed":
			return true
		}
	}
	response, ok := errors.AsType[*smithyhttp.ResponseError](err)
	return ok && (response.HTTPStatusCode() == http.StatusPreconditionFailed || response.HTTPStatusCode() == http.StatusNotFound)
}

// Read reads on, and ends with io.EOF after exactly the object's bytes.
func (o *object) Read(p []byte) (int, error) {
	for {
		if o.offset >= o.size {
			return 0, io.EOF
		}
		n, err := o.body.Read(p)
		if n > 0 {
			o.offset += int64(n)
			o.breaks = 0
			return n, nil
		}
		if err == nil {
			continue
		}
		if err := o.again(err); err != nil {
			return 0, err
		}
	}
}

// again opens the rest of the object after a break.
func (o *object) again(cause error) error {
	for {
		_ = o.body.Close()
		o.breaks++
		if o.ctx.Err() != nil {
			return o.ctx.Err()
		}
		if o.breaks > maxBreaks || !o.retry.Wait(o.ctx, o.breaks) {
			return fmt.Errorf("read the uploaded object: %w", cause)
		}
		err := o.open()
		if err == nil || errors.Is(err, errGone) {
			return err
		}
		cause = err
	}
}

// Close lets the connection go.
func (o *object) Close() error { return o.body.Close() }
