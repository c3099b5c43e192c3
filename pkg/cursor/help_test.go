package cursor_test

import (
	"context"
	"encoding/base64"
	"sync"
	"testing"
	"time"

	"github.com/heatsink-dev/heatsink/pkg/cursor"
	"github.com/heatsink-dev/heatsink/pkg/sortkey"
)

var (
	start  = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	secret = []byte("0123456789abcdef0123456789abcdef")
)

// clock is a clock that tests set.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func newClock() *clock { return &clock{now: start} }

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) Add(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

func key(t testing.TB, versionID string) cursor.Key {
	t.Helper()
	k, err := cursor.DeriveKey([]byte(versionID+string(secret)), versionID)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// newSealer has one key and stands at start.
func newSealer(t testing.TB) *cursor.Sealer {
	t.Helper()
	return cursor.New(cursor.NewStaticKeyring(key(t, "v1")), cursor.Options{Expiry: time.Hour, Now: newClock().Now})
}

var binding = cursor.Binding{Scope: "index:managed", Partition: sortkey.Text("team-1"), Condition: ">=100", Tenant: "acme"}

func seal(t testing.TB, s *cursor.Sealer, b cursor.Binding, payload string) string {
	t.Helper()
	token, err := s.Seal(context.Background(), b, []byte(payload))
	if err != nil {
		t.Fatal(err)
	}
	return token
}

func decode(t testing.TB, token string) []byte {
	t.Helper()
	raw, err := decodeText(token)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func decodeText(token string) ([]byte, error) { return base64.RawURLEncoding.DecodeString(token) }

func encode(raw []byte) string { return base64.RawURLEncoding.EncodeToString(raw) }

// same asks for the very value: ErrInvalid must not be wrapped.
func same(err, want error) bool { return err == want } //nolint:errorlint // see above
