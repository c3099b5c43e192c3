package buffer

import (
	"encoding/base32"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/heatsink-dev/heatsink/pkg/shard"
)

const (
	// batchIDBytes are the random bits of a batch: 80.
	batchIDBytes = 10
	// BatchIDLen is the length of a batch's id, in characters of a-z and 0-9.
	BatchIDLen = batchIDBytes * 8 / 5
	// timeDigits are those of epoch milliseconds until the year 2286.
	timeDigits = 13
	// MaxTime is the latest time of an event, in epoch milliseconds: 2286-11-20T17:46:39.999Z.
	MaxTime = 9_999_999_999_999
	// positionDigits are those of an event's place in its batch.
	positionDigits = 7
	// MaxBatchEvents is the largest number of events of one request or upload.
	MaxBatchEvents = 10_000_000
)

// alphabet sorts like the numbers that it writes, and leaves out letters that are taken for digits (https://www.crockford.com/base32.html).
var alphabet = base32.NewEncoding("0123456789abcdefghjkmnpqrstvwxyz").WithPadding(base32.NoPadding)

// Batch is what the keys of a request's or an upload's events derive from. Whoever may come twice keeps it in a record, so that a repeat makes the same keys.
type Batch struct {
	// ID is random, BatchIDLen characters.
	ID string
	// Time of all events, in epoch milliseconds.
	Time int64
	// Shards is the number of shards that the events are spread over, First the one of the first event. Each next event goes to the next shard.
	Shards, First int
}

// Check says what is wrong with a batch that comes from a record.
func (b Batch) Check() error {
	switch {
	case !isBatchID(b.ID):
		return fmt.Errorf("batch: ID must be %d characters of a-z and 0-9", BatchIDLen)
	case b.Time < 0 || b.Time > MaxTime:
		return fmt.Errorf("batch: Time must be 0 to %d", int64(MaxTime))
	case b.Shards < 1 || b.Shards > shard.MaxShards || b.First < 0 || b.First >= b.Shards:
		return fmt.Errorf("batch: First must be 0 to Shards-1, and Shards 1 to %d", shard.MaxShards)
	}
	return nil
}

// Key is that of the event at a position of the batch, from 0 to MaxBatchEvents-1.
func (b Batch) Key(position int) Key {
	return Key{Date: dateOf(b.Time), Shard: (b.First + position) % b.Shards, Sort: b.prefix() + fmt.Sprintf("%0*d", positionDigits, position)}
}

// prefix is what the sort keys of the batch's events begin with; their positions follow.
func (b Batch) prefix() string { return fmt.Sprintf("%0*d-%s-", timeDigits, b.Time, b.ID) }

// Key is where an event lies.
type Key struct {
	// Date in UTC, YYYY-MM-DD.
	Date string
	// Shard of the date.
	Shard int
	// Sort is the message_sk: 13 digits of epoch milliseconds, then a suffix.
	Sort string
}

// Partition is the message_pk.
func (k Key) Partition() string { return k.Date + "#" + strconv.Itoa(k.Shard) }

// ID is the event's id: safe in a path, and enough to find the event. Its form is not for others to rely on.
func (k Key) ID() string { return k.Date + "." + strconv.Itoa(k.Shard) + "." + k.Sort }

// maxSuffix bounds the suffix of a sort key that an id may carry; ours have 25 characters.
const maxSuffix = 64

// ParseID is the inverse of [Key.ID]. It takes exactly the texts that ID can make; false for every other.
func ParseID(id string) (Key, bool) {
	parts := strings.Split(id, ".")
	if len(parts) != 3 || !validDate(parts[0]) {
		return Key{}, false
	}
	number, err := strconv.Atoi(parts[1])
	if err != nil || number < 0 || number >= shard.MaxShards || strconv.Itoa(number) != parts[1] {
		return Key{}, false
	}
	sort := parts[2]
	if len(sort) < timeDigits || len(sort) > timeDigits+maxSuffix {
		return Key{}, false
	}
	for n := range len(sort) {
		c := sort[n]
		digit := c >= '0' && c <= '9'
		if !digit && (n < timeDigits || (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && c != '-' && c != '_') {
			return Key{}, false
		}
	}
	return Key{Date: parts[0], Shard: number, Sort: sort}, true
}

// parsePartition reads a message_pk.
func parsePartition(text string) (date string, number int, ok bool) {
	date, rest, ok := strings.Cut(text, "#")
	number, err := strconv.Atoi(rest)
	return date, number, ok && err == nil
}

// timeOf reads the milliseconds that a sort key begins with; 0 where it does not.
func timeOf(sort string) int64 {
	if len(sort) < timeDigits {
		return 0
	}
	ms, err := strconv.ParseUint(sort[:timeDigits], 10, 63)
	if err != nil {
		return 0
	}
	return int64(ms)
}

func dateOf(ms int64) string { return time.UnixMilli(ms).UTC().Format(shard.DateForm) }

// validDate: a real day from 1970-01-01 to the last day that 13 digits of milliseconds reach.
func validDate(text string) bool {
	day, err := time.Parse(shard.DateForm, text)
	return err == nil && day.Format(shard.DateForm) == text && day.UnixMilli() >= 0 && day.UnixMilli() <= MaxTime
}

// IsBatchID reports whether a text can be the id of a batch.
func IsBatchID(text string) bool { return isBatchID(text) }

func isBatchID(text string) bool {
	raw, err := alphabet.DecodeString(text)
	return err == nil && len(raw) == batchIDBytes && len(text) == BatchIDLen
}

func newBatchID(random io.Reader) (string, error) {
	var raw [batchIDBytes]byte
	if _, err := io.ReadFull(random, raw[:]); err != nil {
		return "", fmt.Errorf("read random bytes: %w", err)
	}
	return alphabet.EncodeToString(raw[:]), nil
}
