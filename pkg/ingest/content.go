package ingest

import (
	"bufio"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
)

// MaxObjectBytes bounds the object as it was uploaded, MaxContentBytes what it holds after decompression. S3 takes 5 GiB in one PUT
// (https://docs.aws.amazon.com/AmazonS3/latest/userguide/upload-objects.html); ten million events of 500 bytes are as much.
const (
	MaxObjectBytes  = 5 << 30
	MaxContentBytes = 5 << 30
)

// ContentError says that an upload cannot be ingested, or not to its end: the batch fails with its reason, which holds nothing of the upload.
type ContentError struct{ Reason string }

// Error is the reason.
func (e *ContentError) Error() string { return e.Reason }

// decoded reads an upload: decompressed where its first bytes are those of gzip (RFC 1952), several members in a row too, and at most limit bytes.
// Errors of source come through as they are; what is wrong with the content is a [*ContentError].
func decoded(source io.Reader, limit int64) (io.Reader, error) {
	tracked := &tracker{source: source}
	start := bufio.NewReaderSize(tracked, 64<<10)
	magic, err := start.Peek(2)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if len(magic) < 2 || magic[0] != 0x1f || magic[1] != 0x8b {
		return &bounded{source: start, left: limit, limit: limit}, nil
	}
	unzip, err := gzip.NewReader(start)
	if err != nil {
		return nil, tracked.blame(err)
	}
	return &bounded{source: &unzipped{unzip, tracked}, left: limit, limit: limit}, nil
}

// tracker remembers the source's own failure, which the decompressor would pass on as one of the content.
type tracker struct {
	source io.Reader
	err    error
}

// Read passes on.
func (t *tracker) Read(p []byte) (int, error) {
	n, err := t.source.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		t.err = err
	}
	return n, err
}

// blame says whose fault an error of the decompressor is.
func (t *tracker) blame(err error) error {
	switch {
	case t.err != nil:
		return t.err
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return &ContentError{Reason: "the gzip stream ends too early"}
	default:
		return &ContentError{Reason: "the gzip stream is damaged"}
	}
}

// unzipped is a decompressor whose errors are told apart.
type unzipped struct {
	source  *gzip.Reader
	tracked *tracker
}

// Read decompresses. io.EOF comes at the end of the last member alone.
func (u *unzipped) Read(p []byte) (int, error) {
	n, err := u.source.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		err = u.tracked.blame(err)
	}
	return n, err
}

// bounded ends with an error past its limit, where io.LimitReader would feign an end.
type bounded struct {
	source      io.Reader
	left, limit int64
}

// Read gives at most what is left, and asks for one byte more to tell an end from too much.
func (b *bounded) Read(p []byte) (int, error) {
	if int64(len(p)) > b.left+1 {
		p = p[:b.left+1]
	}
	n, err := b.source.Read(p)
	if int64(n) > b.left {
		n = int(b.left)
		b.left = 0
		return n, &ContentError{Reason: fmt.Sprintf("the upload holds more than %d bytes", b.limit)}
	}
	b.left -= int64(n)
	return n, err
}
