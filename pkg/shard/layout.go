package shard

import (
	"errors"
	"fmt"
	"time"

	"github.com/heatsink-dev/heatsink/pkg/schema"
)

// MaxShards bounds the number of shards: each page makes at least so many requests.
const MaxShards = 1000

// DateForm is how a date is written: UTC, and in the order of time as text.
const DateForm = time.DateOnly

// Layout says how many shards there are, by date.
type Layout struct{ epochs []schema.ShardEpoch }

// NewLayout checks the epochs, oldest first. The first one has no date: it has always been.
func NewLayout(epochs ...schema.ShardEpoch) (*Layout, error) {
	if len(epochs) == 0 {
		return nil, errors.New("shard layout: no epoch")
	}
	last := ""
	for n, epoch := range epochs {
		if epoch.Shards < 1 || epoch.Shards > MaxShards {
			return nil, fmt.Errorf("shard layout: epoch %d: Shards must be 1 to %d, is %d", n, MaxShards, epoch.Shards)
		}
		if n == 0 {
			if epoch.From != "" {
				return nil, errors.New("shard layout: epoch 0: From must be empty, it has always been")
			}
			continue
		}
		if _, err := time.Parse(DateForm, epoch.From); err != nil {
			return nil, fmt.Errorf("shard layout: epoch %d: From must be a date YYYY-MM-DD, is %q", n, epoch.From)
		}
		if epoch.From <= last {
			return nil, fmt.Errorf("shard layout: epoch %d: From must be after that of the epoch before", n)
		}
		last = epoch.From
	}
	return &Layout{append([]schema.ShardEpoch(nil), epochs...)}, nil
}

// Write is the number of shards that a writer uses now, for whatever date it writes to.
func (l *Layout) Write(now time.Time) int {
	today := now.UTC().Format(DateForm)
	shards := l.epochs[0].Shards
	for _, epoch := range l.epochs[1:] {
		if epoch.From <= today {
			shards = epoch.Shards
		}
	}
	return shards
}

// Read is the number of shards that a reader of a date must ask now: the largest that any writer may have used for it. Writers come to a date when it is today, and
// later too (a retry keeps the date of its original), so that counts the epoch of the date and all that followed, up to tomorrow: clocks differ.
func (l *Layout) Read(date string, now time.Time) int {
	tomorrow := now.UTC().AddDate(0, 0, 1).Format(DateForm)
	shards := 0
	for n, epoch := range l.epochs {
		over := n+1 < len(l.epochs) && l.epochs[n+1].From <= date // by the date's first moment it was
		future := n > 0 && epoch.From > tomorrow && epoch.From > date
		if !over && !future {
			shards = max(shards, epoch.Shards)
		}
	}
	return shards
}
