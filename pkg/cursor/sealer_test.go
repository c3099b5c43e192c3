package cursor_test

import (
	"bytes"
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/heatsink-dev/heatsink/pkg/cursor"
	"github.com/heatsink-dev/heatsink/pkg/sortkey"
)

func drawValue(t *rapid.T, label string) sortkey.Value {
	switch rapid.IntRange(0, 2).Draw(t, label+" kind") {
	case 0:
		return sortkey.Text(rapid.String().Draw(t, label))
	case 1:
		return sortkey.Number(rapid.StringMatching(`(0|-?[1-9][0-9]{0,37})`).Draw(t, label))
	default:
		return sortkey.Binary(rapid.SliceOf(rapid.Byte()).Draw(t, label))
	}
}

func drawBinding(t *rapid.T, label string) cursor.Binding {
	return cursor.Binding{
		Scope:      rapid.String().Draw(t, label+" scope"),
		Partition:  drawValue(t, label+" partition"),
		Condition:  rapid.String().Draw(t, label+" condition"),
		Descending: rapid.Bool().Draw(t, label+" descending"),
		Tenant:     rapid.String().Draw(t, label+" tenant"),
	}
}

func TestSealedPayloadOpens(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		secret := rapid.SliceOfN(rapid.Byte(), cursor.MinSecretBytes, 100).Draw(t, "secret")
		key, err := cursor.DeriveKey(secret, rapid.StringN(1, 64, 64).Draw(t, "version id"))
		if err != nil {
			t.Fatal(err)
		}
		sealer := cursor.New(cursor.NewStaticKeyring(key), cursor.Options{})
		b := drawBinding(t, "binding")
		payload := rapid.SliceOfN(rapid.Byte(), 0, 300).Draw(t, "payload")
		token, err := sealer.Seal(context.Background(), b, payload)
		if err != nil {
			t.Fatal(err)
		}
		if len(token) > cursor.MaxTokenBytes || strings.Trim(token, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_") != "" {
			t.Fatalf("token %q is not base64url without padding", token)
		}
		got, err := sealer.Open(context.Background(), b, token)
		if err != nil || !bytes.Equal(got, payload) {
			t.Fatalf("Open = %q, %v, want %q", got, err, payload)
		}
	})
}

// TestTokenFormat opens a token with nothing but the standard library and the words of doc.go, so that the format can't change unnoticed: tokens
// are out while functions are deployed.
func TestTokenFormat(t *testing.T) {
	t.Parallel()
	nonce := []byte("twelve bytes")
	k, err := cursor.DeriveKey(secret, "EXAMPLE1-90ab-cdef-fedc-ba987EXAMPLE")
	if err != nil {
		t.Fatal(err)
	}
	sealer := cursor.New(cursor.NewStaticKeyring(k), cursor.Options{Expiry: time.Hour, Now: newClock().Now, Rand: bytes.NewReader(nonce)})
	token := seal(t, sealer, binding, "payload")

	raw := decode(t, token)
	id := sha256.Sum256([]byte("EXAMPLE1-90ab-cdef-fedc-ba987EXAMPLE"))
	header := append([]byte{1}, id[:8]...)
	if want := append(bytes.Clone(header), nonce...); !bytes.HasPrefix(raw, want) {
		t.Fatalf("token begins %x, want version, key id, nonce: %x", raw[:21], want)
	}
	mac := func(key []byte, text string) []byte {
		h := hmac.New(sha256.New, key)
		h.Write([]byte(text))
		return h.Sum(nil)
	}
	block, err := aes.NewCipher(mac(mac(make([]byte, 32), string(secret)), "heatsink/cursor/v1\x01")) // HKDF, RFC 5869
	if err != nil {
		t.Fatal(err)
	}
	aead, err := cipher.NewGCM(block)
	if err != nil {
		t.Fatal(err)
	}
	partition := sha256.Sum256([]byte("\x01team-1"))
	additional := string(header) +
		"\x00\x00\x00\x00\x00\x00\x00\x0dindex:managed" + string(partition[:]) + "\x00\x00\x00\x00\x00\x00\x00\x05>=100" + "\x00" + "\x00\x00\x00\x00\x00\x00\x00\x04acme"
	plain, err := aead.Open(nil, nonce, raw[21:], []byte(additional))
	if err != nil {
		t.Fatal(err)
	}
	want := append(binary.BigEndian.AppendUint64(nil, uint64(start.Add(time.Hour).UnixMilli())), "payload"...)
	if diff := cmp.Diff(want, plain); diff != "" {
		t.Errorf("sealed bytes (-want +got):\n%s", diff)
	}
	const golden = "AZwfOBbvRjIcdHdlbHZlIGJ5dGVzQwGOEaGC9rXvgB0k4iuGwfxnMpZS4Cnth0Q4ibvuwg"
	if token != golden {
		t.Errorf("token is %s, was %s", token, golden)
	}
}

func TestEachFieldOfTheBindingIsBound(t *testing.T) {
	t.Parallel()
	sealer := newSealer(t)
	token := seal(t, sealer, binding, "payload")
	for name, change := range map[string]func(*cursor.Binding){
		"another index":                   func(b *cursor.Binding) { b.Scope = "index:team-status" },
		"another kind of walk":            func(b *cursor.Binding) { b.Scope = "events" },
		"no scope":                        func(b *cursor.Binding) { b.Scope = "" },
		"another partition":               func(b *cursor.Binding) { b.Partition = sortkey.Text("team-2") },
		"partition of another kind":       func(b *cursor.Binding) { b.Partition = sortkey.Binary([]byte("team-1")) },
		"no partition":                    func(b *cursor.Binding) { b.Partition = sortkey.Value{} },
		"another condition":               func(b *cursor.Binding) { b.Condition = ">100" },
		"no condition":                    func(b *cursor.Binding) { b.Condition = "" },
		"another order":                   func(b *cursor.Binding) { b.Descending = true },
		"another tenant":                  func(b *cursor.Binding) { b.Tenant = "acme2" },
		"no tenant":                       func(b *cursor.Binding) { b.Tenant = "" },
		"text moved from scope to tenant": func(b *cursor.Binding) { b.Scope, b.Tenant = "index:manage", "dacme" },
		"condition and tenant exchanged":  func(b *cursor.Binding) { b.Condition, b.Tenant = b.Tenant, b.Condition },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			other := binding
			change(&other)
			if payload, err := sealer.Open(t.Context(), other, token); !same(err, cursor.ErrInvalid) || payload != nil {
				t.Errorf("Open = %q, %v, want ErrInvalid itself", payload, err)
			}
		})
	}
	if _, err := sealer.Open(t.Context(), binding, token); err != nil {
		t.Errorf("unchanged: %v", err)
	}
}

func TestNumberPartitionIsBoundByValue(t *testing.T) {
	t.Parallel()
	sealer := newSealer(t)
	token := seal(t, sealer, cursor.Binding{Partition: sortkey.Number("1.0")}, "payload")
	if _, err := sealer.Open(t.Context(), cursor.Binding{Partition: sortkey.Number("1")}, token); err != nil {
		t.Errorf("1 after 1.0: %v", err)
	}
	if _, err := sealer.Open(t.Context(), cursor.Binding{Partition: sortkey.Text("1")}, token); !same(err, cursor.ErrInvalid) {
		t.Errorf("text 1 after number 1: %v, want ErrInvalid", err)
	}
}

// TestBindingEncodingIsInjective draws fields from few letters and lengths, so that two bindings often have the same letters in other places.
func TestBindingEncodingIsInjective(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		field := rapid.StringOfN(rapid.SampledFrom([]rune{'a', 0, 1}), 0, 2, -1)
		draw := func(label string) cursor.Binding {
			return cursor.Binding{
				Scope: field.Draw(t, label+" scope"), Condition: field.Draw(t, label+" condition"), Tenant: field.Draw(t, label+" tenant"),
				Partition: sortkey.Text(field.Draw(t, label+" partition")), Descending: rapid.Bool().Draw(t, label+" descending"),
			}
		}
		a, b := draw("a"), draw("b")
		if got := bytes.Equal(a.Additional(), b.Additional()); got != (a == b) {
			t.Fatalf("same encoding: %v, for %+v and %+v", got, a, b)
		}
	})
}

func TestExpiryBorder(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		after time.Duration
		want  error
	}{
		"at once":                         {0, nil},
		"a millisecond before":            {time.Hour - time.Millisecond, nil},
		"at the expiry":                   {time.Hour, cursor.ErrInvalid},
		"after it":                        {time.Hour + time.Millisecond, cursor.ErrInvalid},
		"years after":                     {100 * 365 * 24 * time.Hour, cursor.ErrInvalid},
		"on a clock that is a bit behind": {-time.Minute, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			clock := newClock()
			sealer := cursor.New(cursor.NewStaticKeyring(key(t, "v1")), cursor.Options{Expiry: time.Hour, Now: clock.Now})
			token := seal(t, sealer, binding, "payload")
			clock.Add(test.after)
			if _, err := sealer.Open(t.Context(), binding, token); !same(err, test.want) {
				t.Errorf("Open = %v, want %v", err, test.want)
			}
		})
	}
}

func TestExpiryDefaultsToADay(t *testing.T) {
	t.Parallel()
	for _, expiry := range []time.Duration{0, -time.Second} {
		clock := newClock()
		sealer := cursor.New(cursor.NewStaticKeyring(key(t, "v1")), cursor.Options{Expiry: expiry, Now: clock.Now})
		token := seal(t, sealer, binding, "payload")
		clock.Add(cursor.DefaultExpiry - time.Millisecond)
		if _, err := sealer.Open(t.Context(), binding, token); err != nil {
			t.Errorf("expiry %v: %v", expiry, err)
		}
		clock.Add(time.Millisecond)
		if _, err := sealer.Open(t.Context(), binding, token); !same(err, cursor.ErrInvalid) {
			t.Errorf("expiry %v: %v, want ErrInvalid", expiry, err)
		}
	}
}

func TestNoTwoTokensAreEqual(t *testing.T) {
	t.Parallel()
	sealer := newSealer(t)
	seen := map[string]bool{}
	for range 1000 {
		seen[string(decode(t, seal(t, sealer, binding, "payload"))[cursor.HeaderBytes:][:cursor.NonceBytes])] = true
	}
	if len(seen) != 1000 {
		t.Errorf("%d nonces in 1000 tokens", len(seen))
	}
}

func TestPayloadLimit(t *testing.T) {
	t.Parallel()
	sealer := newSealer(t)
	longest := strings.Repeat("x", cursor.MaxPayloadBytes)
	token := seal(t, sealer, binding, longest)
	if len(token) != cursor.MaxTokenBytes {
		t.Errorf("the longest token has %d bytes, MaxTokenBytes is %d", len(token), cursor.MaxTokenBytes)
	}
	if got, err := sealer.Open(t.Context(), binding, token); err != nil || string(got) != longest {
		t.Errorf("the longest token doesn't open: %v", err)
	}
	if _, err := sealer.Seal(t.Context(), binding, []byte(longest+"x")); !errors.Is(err, cursor.ErrPayloadTooLarge) {
		t.Errorf("Seal of a byte more: %v, want ErrPayloadTooLarge", err)
	}
}

// downKeyring has no keys to give.
type downKeyring struct{ err error }

func (k downKeyring) Current(context.Context) (cursor.Key, error) { return cursor.Key{}, k.err }

func (k downKeyring) ByID(context.Context, [8]byte) (cursor.Key, error) { return cursor.Key{}, k.err }

func TestUnavailableKeysAreNotTheTokensFault(t *testing.T) {
	t.Parallel()
	token := seal(t, newSealer(t), binding, "payload")
	for name, keys := range map[string]cursor.Keyring{
		"failing keyring":           downKeyring{err: context.DeadlineExceeded},
		"keyring with the zero Key": downKeyring{},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sealer := cursor.New(keys, cursor.Options{})
			if _, err := sealer.Open(t.Context(), binding, token); !errors.Is(err, cursor.ErrUnavailable) || errors.Is(err, cursor.ErrInvalid) {
				t.Errorf("Open = %v, want ErrUnavailable", err)
			}
			if _, err := sealer.Seal(t.Context(), binding, nil); !errors.Is(err, cursor.ErrUnavailable) {
				t.Errorf("Seal = %v, want ErrUnavailable", err)
			}
			if _, err := sealer.Open(t.Context(), binding, "no token"); !same(err, cursor.ErrInvalid) {
				t.Errorf("Open of garbage = %v, want ErrInvalid: it needs no key to say so", err)
			}
		})
	}
	sealer := cursor.New(downKeyring{err: context.DeadlineExceeded}, cursor.Options{})
	if _, err := sealer.Open(t.Context(), binding, token); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Open = %v, must keep the keyring's error", err)
	}
}

func TestFailingNonceSourceIsAnError(t *testing.T) {
	t.Parallel()
	sealer := cursor.New(cursor.NewStaticKeyring(key(t, "v1")), cursor.Options{Rand: strings.NewReader("short")})
	if token, err := sealer.Seal(t.Context(), binding, nil); err == nil {
		t.Errorf("Seal = %q with 5 of 12 random bytes", token)
	}
}
