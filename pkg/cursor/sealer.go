package cursor

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"time"
)

const (
	// DefaultExpiry is long enough for a person who comes back to a page the next morning, and short enough to rotate keys daily.
	DefaultExpiry = 24 * time.Hour
	// MaxPayloadBytes holds the longest [Position]: a base key of 2,048 + 1,024 bytes and four key parts of 1,024, with room for their lengths.
	MaxPayloadBytes = 8 * 1024
	// MaxTokenBytes is the length of the token of the longest payload: 10,983 bytes of base64url.
	MaxTokenBytes = (maxRawBytes*8 + 5) / 6

	version     = 1
	nonceBytes  = 12
	tagBytes    = 16
	expiryBytes = 8
	headerBytes = 1 + keyIDBytes
	minRawBytes = headerBytes + nonceBytes + expiryBytes + tagBytes
	maxRawBytes = minRawBytes + MaxPayloadBytes
)

var (
	// ErrInvalid is the answer to every token that does not open: malformed, forged, of another question, of a key that is gone, or expired. It never
	// says which and wraps nothing. Answer it as a bad request; the client starts again without a cursor.
	ErrInvalid = errors.New("cursor: invalid cursor")
	// ErrUnavailable wraps a failure to get the keys. It says nothing about the token: answer "try again".
	ErrUnavailable = errors.New("cursor: keys unavailable")
	// ErrPayloadTooLarge is returned by [Sealer.Seal] for a payload past [MaxPayloadBytes].
	ErrPayloadTooLarge = fmt.Errorf("cursor: the payload is longer than %d bytes", MaxPayloadBytes)
)

// alphabet is strict: the unused bits of the last character must be zero.
var alphabet = base64.RawURLEncoding.Strict()

// Options of a [Sealer].
type Options struct {
	// Expiry is how long a token opens. Zero or less: [DefaultExpiry]. It bounds how often the secret may be rotated; see [Rotate].
	Expiry time.Duration
	// Now is the clock. Nil: time.Now.
	Now func() time.Time
	// Rand gives nonces, which must never repeat. Nil: crypto/rand.
	Rand io.Reader
}

// Sealer makes and opens tokens. It is safe for concurrent use.
type Sealer struct {
	keys   Keyring
	expiry time.Duration
	now    func() time.Time
	rand   io.Reader
}

// New returns a sealer with the keys of keys. It makes no request.
func New(keys Keyring, options Options) *Sealer {
	s := &Sealer{keys: keys, expiry: options.Expiry, now: options.Now, rand: options.Rand}
	if s.expiry <= 0 {
		s.expiry = DefaultExpiry
	}
	if s.now == nil {
		s.now = time.Now
	}
	if s.rand == nil {
		s.rand = rand.Reader
	}
	return s
}

// Seal returns a token that opens for an equal binding until the sealer's expiry has passed. Its error is [ErrPayloadTooLarge], or [ErrUnavailable]
// with the keyring's error.
func (s *Sealer) Seal(ctx context.Context, binding Binding, payload []byte) (string, error) {
	if len(payload) > MaxPayloadBytes {
		return "", ErrPayloadTooLarge
	}
	key, err := s.keys.Current(ctx)
	if err != nil {
		return "", fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	if key.aead == nil {
		return "", fmt.Errorf("%w: the current key is the zero Key", ErrUnavailable)
	}
	raw := make([]byte, headerBytes+nonceBytes, minRawBytes+len(payload))
	raw[0] = version
	copy(raw[1:], key.ID[:])
	nonce := raw[headerBytes:]
	if _, err := io.ReadFull(s.rand, nonce); err != nil {
		return "", fmt.Errorf("cursor: read nonce: %w", err)
	}
	plain := make([]byte, 0, expiryBytes+len(payload))
	plain = binary.BigEndian.AppendUint64(plain, uint64(s.now().Add(s.expiry).UnixMilli())) //nolint:gosec // a bit pattern, read back as it was
	plain = append(plain, payload...)
	return alphabet.EncodeToString(key.aead().Seal(raw, nonce, plain, binding.additional(raw[:headerBytes]))), nil
}

// Open returns the payload of a token that was sealed for an equal binding. Its error is exactly [ErrInvalid] where the token is at fault, and
// wraps [ErrUnavailable] where the keys could not be had.
func (s *Sealer) Open(ctx context.Context, binding Binding, token string) ([]byte, error) {
	raw, ok := decode(token)
	if !ok {
		return nil, ErrInvalid
	}
	header, nonce, sealed := raw[:headerBytes], raw[headerBytes:headerBytes+nonceBytes], raw[headerBytes+nonceBytes:]
	key, err := s.keys.ByID(ctx, [keyIDBytes]byte(header[1:]))
	switch {
	case errors.Is(err, ErrUnknownKey):
		return nil, ErrInvalid
	case err != nil:
		return nil, fmt.Errorf("%w: %w", ErrUnavailable, err)
	case key.aead == nil:
		return nil, fmt.Errorf("%w: the keyring holds the zero Key", ErrUnavailable)
	}
	plain, err := key.aead().Open(nil, nonce, sealed, binding.additional(header))
	if err != nil {
		return nil, ErrInvalid
	}
	expiry := int64(binary.BigEndian.Uint64(plain)) //nolint:gosec // see Seal
	if s.now().UnixMilli() >= expiry {
		return nil, ErrInvalid
	}
	return plain[expiryBytes:], nil
}

// decode turns the text into the bytes of a token of a known version. The lengths are checked before anything is decoded or allocated.
func decode(token string) ([]byte, bool) {
	if len(token) > MaxTokenBytes || alphabet.DecodedLen(len(token)) < minRawBytes {
		return nil, false
	}
	raw, err := alphabet.DecodeString(token)
	// The decoder skips line breaks, so that a text with some in it decodes too. Its bytes then need less text than it has.
	if err != nil || alphabet.EncodedLen(len(raw)) != len(token) || len(raw) < minRawBytes || raw[0] != version {
		return nil, false
	}
	return raw, true
}
