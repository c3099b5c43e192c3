package backfill

import (
	"context"
)

// ScanPages is [Tool.Scan] with pages of a size.
func ScanPages(t *Tool, ctx context.Context, sink Sink, page int) (ScanResult, error) {
	return t.scan(ctx, sink, page, maxNames)
}

// ScanSpool is [Tool.Scan] with so many names at most in memory.
func ScanSpool(t *Tool, ctx context.Context, sink Sink, names int) (ScanResult, error) {
	return t.scan(ctx, sink, 0, names)
}

// VerifyPages is [Tool.Verify] with pages of a size.
func VerifyPages(t *Tool, ctx context.Context, options VerifyOptions, sink Sink, page int) (VerifyResult, error) {
	return t.verify(ctx, options, sink, page)
}

// ParseCheckpoint reads a checkpoint.
func ParseCheckpoint(raw []byte) error {
	_, err := parseCheckpoint("file", raw)
	return err
}
