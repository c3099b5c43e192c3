package cursor_test

import (
	"bytes"
	"context"
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/secretsmanager"

	"github.com/heatsink-dev/heatsink/pkg/cursor"
)

func TestDeriveKeyRefusesWeakSecrets(t *testing.T) {
	t.Parallel()
	for length := range cursor.MinSecretBytes {
		_, err := cursor.DeriveKey(make([]byte, length), "v1")
		if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("has %d bytes, the least is 32", length)) {
			t.Errorf("%d bytes: %v", length, err)
		}
	}
	if _, err := cursor.DeriveKey(secret, ""); err == nil {
		t.Error("an empty VersionId is accepted")
	}
	if _, err := cursor.DeriveKey(secret, "v1"); err != nil {
		t.Errorf("%d bytes: %v", len(secret), err)
	}
}

func TestStaticKeyringOpensWithPreviousKeys(t *testing.T) {
	t.Parallel()
	one, two, three := key(t, "v1"), key(t, "v2"), key(t, "v3")
	token := seal(t, cursor.New(cursor.NewStaticKeyring(one), cursor.Options{}), binding, "payload")
	if _, err := cursor.New(cursor.NewStaticKeyring(three, two, one), cursor.Options{}).Open(t.Context(), binding, token); err != nil {
		t.Errorf("a previous key: %v", err)
	}
	if _, err := cursor.New(cursor.NewStaticKeyring(three, two), cursor.Options{}).Open(t.Context(), binding, token); !same(err, cursor.ErrInvalid) {
		t.Errorf("no key any more: %v, want ErrInvalid", err)
	}
	if _, err := cursor.NewStaticKeyring(two).ByID(t.Context(), one.ID); !errors.Is(err, cursor.ErrUnknownKey) {
		t.Errorf("ByID: %v, want ErrUnknownKey", err)
	}
}

// getter is a client that has nothing to print.
type getter func(context.Context, *secretsmanager.GetSecretValueInput, ...func(*secretsmanager.Options)) (*secretsmanager.GetSecretValueOutput, error)

func (g getter) GetSecretValue(ctx context.Context, in *secretsmanager.GetSecretValueInput, o ...func(*secretsmanager.Options)) (*secretsmanager.GetSecretValueOutput, error) {
	return g(ctx, in, o...)
}

// TestNoKeyMaterialIsPrinted prints a key, and all that holds one, in every way that a program is likely to, and looks for the secret's and the AES key's
// bytes in every form that they could take.
func TestNoKeyMaterialIsPrinted(t *testing.T) {
	t.Parallel()
	aes, err := hkdf.Key(sha256.New, secret, nil, "heatsink/cursor/v1", 32)
	if err != nil {
		t.Fatal(err)
	}
	k, err := cursor.DeriveKey(secret, "v1")
	if err != nil {
		t.Fatal(err)
	}
	var shown []string
	for at := 0; at < len(aes); at += 4 { // the first words of the round keys are the key itself
		for _, word := range []uint32{binary.BigEndian.Uint32(aes[at:]), binary.LittleEndian.Uint32(aes[at:])} {
			shown = append(shown, fmt.Sprintf("%d ", word), fmt.Sprintf("%x", word), fmt.Sprintf("%X", word))
		}
	}
	for _, material := range [][]byte{secret, aes} {
		part := material[4:12]
		decimal := strings.Trim(fmt.Sprintf("%d", part), "[]")
		shown = append(shown, string(part), hex.EncodeToString(part), strings.ToUpper(hex.EncodeToString(part)), decimal, strings.ReplaceAll(decimal, " ", ","),
			strings.Trim(fmt.Sprintf("%#v", part), "[]byte{}"), strings.Trim(fmt.Sprintf("%o", part), "[]"),
			base64.StdEncoding.EncodeToString(material[3:12]))
	}
	type wrapped struct{ inner any }
	type direct struct{ inner cursor.Key }
	static := cursor.NewStaticKeyring(k, k)
	client := &vault{versions: []version{{id: "v1", secret: secret}}}
	held := cursor.NewSecretKeyring(getter(client.GetSecretValue), "secret", cursor.SecretKeyringOptions{})
	for range 2 { // the second call comes after the fetch has let go of all locks, which fmt would read
		if _, err := held.Current(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	for name, value := range map[string]any{
		"Key": k, "*Key": &k, "slice": []cursor.Key{k}, "map": map[string]cursor.Key{"k": k}, "any field": wrapped{k}, "unexported field": direct{k},
		"pointer to unexported field": &direct{k},
		"static keyring":              static, "static keyring by value": *static,
		"secret keyring": held, "secret keyring below": &wrapped{held}, "sealer": cursor.New(static, cursor.Options{}), "sealer by value": *cursor.New(held, cursor.Options{}),
	} {
		var out bytes.Buffer
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%o", "%b", "%c", "%U", "%t", "%p"} {
			fmt.Fprintf(&out, verb+"\n", value)
		}
		slog.New(slog.NewTextHandler(&out, nil)).Info("log", slog.Any("value", value))
		slog.New(slog.NewJSONHandler(&out, nil)).Info("log", slog.Any("value", value))
		if encoded, err := json.Marshal(value); err == nil {
			out.Write(encoded)
		}
		for _, material := range shown {
			if strings.Contains(out.String(), material) {
				t.Errorf("%s prints key material %q:\n%s", name, material, out.String())
			}
		}
	}
	if got, want := fmt.Sprintf("%v %s %d %#v", k, k, k, k), strings.TrimSpace(strings.Repeat("cursor.Key(3bfc269594ef6492) ", 4)); got != want {
		t.Errorf("a key prints as %q, want %q", got, want)
	}
}
