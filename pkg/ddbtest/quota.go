package ddbtest

import "context"

// noQuota is a retry quota that never ends: a test with many faults must not meet a limit that depends on the test before it.
type noQuota struct{}

func (noQuota) GetToken(context.Context, uint) (func() error, error) {
	return func() error { return nil }, nil
}

func (noQuota) AddTokens(uint) error { return nil }
