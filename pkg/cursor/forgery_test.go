package cursor_test

import (
	"context"
	"errors"
	"flag"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/heatsink-dev/heatsink/pkg/cursor"
)

// mutations is how many mutated tokens the test tries: `make fuzz` sets a million.
var mutations = flag.Int("mutations", 20_000, "mutated tokens that TestMutatedTokensAreRefused tries")

// TestForgeriesGetOneAnswer: the same error value for every kind of forgery, so that nothing about the reason can leak, by text or by type.
func TestForgeriesGetOneAnswer(t *testing.T) {
	t.Parallel()
	sealer := newSealer(t)
	token := seal(t, sealer, binding, "payload")
	raw := decode(t, token)
	with := func(at int, bits byte) string {
		forged := append([]byte(nil), raw...)
		forged[at] ^= bits
		return encode(forged)
	}
	otherKey := cursor.New(cursor.NewStaticKeyring(key(t, "v2")), cursor.Options{Now: newClock().Now})
	sameID, err := cursor.DeriveKey([]byte(strings.Repeat("another secret ", 3)), "v1")
	if err != nil {
		t.Fatal(err)
	}
	past := newClock()
	past.Add(-2 * time.Hour)
	for name, forged := range map[string]string{
		"empty":                      "",
		"one character":              "A",
		"not base64":                 "?" + token[1:],
		"standard alphabet":          strings.Repeat("+/", len(token)/2),
		"padded":                     token + "=",
		"line break at the end":      token + "\n",
		"line break inside":          token[:10] + "\n" + token[10:],
		"carriage return inside":     token[:10] + "\r" + token[10:],
		"space":                      token[:10] + " " + token[10:],
		"twice":                      token + token,
		"cut by a character":         token[:len(token)-1],
		"one character more":         token + "A",
		"header alone":               token[:12],
		"header, nonce and tag":      encode(raw[:cursor.MinRawBytes-8]),
		"version 0":                  with(0, 1),
		"version 2":                  with(0, 3),
		"unknown key id":             with(1, 0x80),
		"changed nonce":              with(cursor.HeaderBytes, 1),
		"changed expiry":             with(cursor.HeaderBytes+cursor.NonceBytes+7, 1),
		"changed payload":            with(cursor.HeaderBytes+cursor.NonceBytes+8, 1),
		"changed tag":                with(len(raw)-1, 1),
		"sealed by another key":      seal(t, otherKey, binding, "payload"),
		"another secret, our key id": seal(t, cursor.New(cursor.NewStaticKeyring(sameID), cursor.Options{Now: newClock().Now}), binding, "payload"),
		"expired":                    seal(t, cursor.New(cursor.NewStaticKeyring(key(t, "v1")), cursor.Options{Expiry: time.Hour, Now: past.Now}), binding, "payload"),
		"a byte past the limit":      strings.Repeat("A", cursor.MaxTokenBytes+1),
		"at the limit":               strings.Repeat("A", cursor.MaxTokenBytes),
		"ten megabytes":              strings.Repeat("A", 10_000_000),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			payload, err := sealer.Open(t.Context(), binding, forged)
			if !same(err, cursor.ErrInvalid) || payload != nil || errors.Unwrap(err) != nil {
				t.Errorf("Open = %q, %v, want ErrInvalid itself", payload, err)
			}
		})
	}
	if _, err := sealer.Open(t.Context(), binding, token); err != nil {
		t.Errorf("the token that all were made from: %v", err)
	}
}

// TestUnusedBitsOfTheLastCharacter: a lenient decoder takes four or sixteen spellings for one token.
func TestUnusedBitsOfTheLastCharacter(t *testing.T) {
	t.Parallel()
	const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
	sealer := newSealer(t)
	for _, payload := range []string{"p", "pa", "pay"} { // every remainder of the length by three
		token := seal(t, sealer, binding, payload)
		for _, last := range alphabet {
			other := token[:len(token)-1] + string(last)
			_, err := sealer.Open(t.Context(), binding, other)
			if accepted := err == nil; accepted != (other == token) {
				t.Errorf("payload %q: the token with last character %c opens: %v", payload, last, accepted)
			}
		}
	}
}

func TestTooLongTokenCostsNothing(t *testing.T) {
	sealer := newSealer(t)
	token := strings.Repeat("A", 10_000_000)
	if allocations := testing.AllocsPerRun(10, func() { _, _ = sealer.Open(context.Background(), binding, token) }); allocations != 0 {
		t.Errorf("%v allocations for a token past the limit", allocations)
	}
}

// mutate changes a token in one of the ways that a client could: bits, characters, cuts, joins, exchanged pieces.
func mutate(r *rand.Rand, token, other string) string {
	const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_=+/\n\r \x00%"
	at := func(s string) int { return r.IntN(len(s) + 1) }
	text := []byte(token)
	switch r.IntN(8) {
	case 0: // flip one bit of the text
		text[r.IntN(len(text))] ^= 1 << r.IntN(8)
	case 1: // change a few characters
		for range 1 + r.IntN(4) {
			text[r.IntN(len(text))] = letters[r.IntN(len(letters))]
		}
	case 2: // insert one
		i := at(token)
		text = []byte(token[:i] + string(letters[r.IntN(len(letters))]) + token[i:])
	case 3: // cut
		text = text[:r.IntN(len(text))]
	case 4: // remove a piece
		i, j := at(token), at(token)
		text = []byte(token[:min(i, j)] + token[max(i, j):])
	case 5: // the head of one, the tail of another
		i := at(token)
		text = []byte(token[:i] + other[min(i, len(other)):])
	case 6: // exchange two characters
		i, j := r.IntN(len(text)), r.IntN(len(text))
		text[i], text[j] = text[j], text[i]
	default: // flip bits of the bytes
		raw := make([]byte, 0, len(token))
		raw = append(raw, mustDecode(token)...)
		for range 1 + r.IntN(3) {
			raw[r.IntN(len(raw))] ^= 1 << r.IntN(8)
		}
		text = []byte(encode(raw))
	}
	return string(text)
}

func TestMutatedTokensAreRefused(t *testing.T) {
	t.Parallel()
	sealer := newSealer(t)
	genuine := map[string]bool{}
	var tokens []string
	for _, payload := range []string{"", "p", "pa", "payload", strings.Repeat("long ", 100)} {
		for range 4 {
			token := seal(t, sealer, binding, payload)
			tokens, genuine[token] = append(tokens, token), true
		}
	}
	seed := rand.Uint64()               //nolint:gosec // test input
	r := rand.New(rand.NewPCG(seed, 0)) //nolint:gosec // test input
	tried, accepted := 0, 0
	for tried < *mutations {
		mutated := mutate(r, tokens[r.IntN(len(tokens))], tokens[r.IntN(len(tokens))])
		if genuine[mutated] {
			continue // changed into itself or into another genuine one
		}
		tried++
		payload, err := sealer.Open(t.Context(), binding, mutated)
		if err == nil {
			accepted++
			t.Errorf("seed %d: %q opens as %q", seed, mutated, payload)
		} else if !same(err, cursor.ErrInvalid) {
			t.Fatalf("seed %d: %q: %v, want ErrInvalid", seed, mutated, err)
		}
	}
	t.Logf("seed %d: %d mutated tokens, %d accepted", seed, tried, accepted)
}

func mustDecode(token string) []byte {
	raw, err := decodeText(token)
	if err != nil {
		panic(err)
	}
	return raw
}

// FuzzOpen opens arbitrary text: it never panics, and nothing but what was sealed opens.
func FuzzOpen(f *testing.F) {
	// One nonce, so that every process of the fuzzer has the same genuine token.
	sealer := cursor.New(cursor.NewStaticKeyring(key(f, "v1")), cursor.Options{Now: newClock().Now, Rand: strings.NewReader("twelve bytes")})
	token := seal(f, sealer, binding, "payload")
	for _, text := range []string{"", "A", token, token + "\n", token + "=", token[:len(token)-2], strings.Repeat("A", 60), strings.Repeat("_", 61)} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		payload, err := sealer.Open(t.Context(), binding, text)
		if text == token {
			return
		}
		if !same(err, cursor.ErrInvalid) || payload != nil {
			t.Errorf("Open = %q, %v, want ErrInvalid", payload, err)
		}
	})
}

// FuzzMutatedToken lets the fuzzer choose what to change in the bytes of a genuine token.
func FuzzMutatedToken(f *testing.F) {
	sealer := newSealer(f)
	raw := decode(f, seal(f, sealer, binding, "payload"))
	f.Add(uint16(0), []byte{1})
	f.Add(uint16(1), []byte{0, 0, 0, 0, 0, 0, 0, 1})
	f.Add(uint16(len(raw)-1), []byte{0x80, 0xff}) //nolint:gosec // short
	f.Fuzz(func(t *testing.T, at uint16, mask []byte) {
		mutated := append([]byte(nil), raw...)
		changed := false
		for n, bits := range mask {
			if i := int(at) + n; i < len(mutated) {
				mutated[i] ^= bits
				changed = changed || bits != 0
			} else {
				mutated = append(mutated, bits)
				changed = true
			}
		}
		payload, err := sealer.Open(t.Context(), binding, encode(mutated))
		if changed && (!same(err, cursor.ErrInvalid) || payload != nil) {
			t.Errorf("Open = %q, %v, want ErrInvalid", payload, err)
		}
		if !changed && err != nil {
			t.Errorf("the token itself: %v", err)
		}
	})
}
