package cursor

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
)

const (
	// MinSecretBytes is the least length of a secret: as much as the AES key that is derived from it.
	MinSecretBytes = 32
	// keyIDBytes is enough to tell the few keys of one secret apart; it authenticates nothing.
	keyIDBytes = 8
	keyInfo    = "heatsink/cursor/v1"
)

// ErrUnknownKey is a [Keyring]'s answer for a key id that is certainly none of its keys. [Sealer.Open] turns it into [ErrInvalid].
var ErrUnknownKey = errors.New("cursor: unknown key id")

var errWeakSecret = errors.New("cursor: derive key: the secret is too short")

// Key seals and opens tokens. It prints as its id, in every verb and log. The zero Key is refused.
type Key struct {
	// ID is the first 8 bytes of SHA-256(VersionId). It stands readably in each token.
	ID [keyIDBytes]byte
	// aead gives the cipher out of a closure. fmt prints what it finds in unexported fields without asking for their methods, and with a verb such as %s even
	// what a pointer points to; a function it can't look into.
	aead func() cipher.AEAD
}

// DeriveKey makes the key of one version of a secret: AES-256 from HKDF-SHA256(secret, "heatsink/cursor/v1"). The secret must have at least
// [MinSecretBytes] bytes; it is used as it is, text or not.
func DeriveKey(secret []byte, versionID string) (Key, error) {
	if len(secret) < MinSecretBytes {
		return Key{}, fmt.Errorf("%w: it has %d bytes, the least is %d", errWeakSecret, len(secret), MinSecretBytes)
	}
	if versionID == "" {
		return Key{}, errors.New("cursor: derive key: VersionId is empty")
	}
	raw, err := hkdf.Key(sha256.New, secret, nil, keyInfo, 32)
	if err != nil {
		return Key{}, fmt.Errorf("cursor: derive key: %w", err)
	}
	block, err := aes.NewCipher(raw)
	if err != nil {
		return Key{}, fmt.Errorf("cursor: derive key: %w", err)
	}
	aead, err := cipher.NewGCM(block)
	if err != nil {
		return Key{}, fmt.Errorf("cursor: derive key: %w", err)
	}
	return Key{ID: keyID(versionID), aead: func() cipher.AEAD { return aead }}, nil
}

func keyID(versionID string) (id [keyIDBytes]byte) {
	sum := sha256.Sum256([]byte(versionID))
	copy(id[:], sum[:])
	return id
}

// String gives the key's id, which is public.
func (k Key) String() string { return "cursor.Key(" + hex.EncodeToString(k.ID[:]) + ")" }

// Format gives [Key.String] for every verb.
func (k Key) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(k.String())) }

// LogValue gives [Key.String].
func (k Key) LogValue() slog.Value { return slog.StringValue(k.String()) }

var (
	_ fmt.Formatter  = Key{}
	_ slog.LogValuer = Key{}
)

// Keyring gives the keys of tokens. It is safe for concurrent use. Any error but [ErrUnknownKey] says that the keys could not be had now, and that
// the same call may succeed later.
type Keyring interface {
	// Current is the key to seal with.
	Current(ctx context.Context) (Key, error)
	// ByID is the key to open with: the current one or one that was current before. ErrUnknownKey if there is none of that id.
	ByID(ctx context.Context, id [keyIDBytes]byte) (Key, error)
}

// StaticKeyring holds keys that never change: for tests, and for programs that get their secret elsewhere.
type StaticKeyring struct{ keys []Key }

// NewStaticKeyring seals with current and opens with current and each of previous.
func NewStaticKeyring(current Key, previous ...Key) *StaticKeyring {
	return &StaticKeyring{keys: append([]Key{current}, previous...)}
}

// Current is the key that the keyring was made with.
func (k *StaticKeyring) Current(context.Context) (Key, error) { return k.keys[0], nil }

// ByID finds the key among all. It makes no request.
func (k *StaticKeyring) ByID(_ context.Context, id [keyIDBytes]byte) (Key, error) {
	return find(k.keys, id)
}

func find(keys []Key, id [keyIDBytes]byte) (Key, error) {
	for _, key := range keys {
		if key.ID == id {
			return key, nil
		}
	}
	return Key{}, ErrUnknownKey
}

var _ Keyring = (*StaticKeyring)(nil)
