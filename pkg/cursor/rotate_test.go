package cursor_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager/types"

	"github.com/heatsink-dev/heatsink/pkg/cursor"
)

// engine is the local cloud's Secrets Manager, with a secret of the test's own.
func engine(t *testing.T) (client *secretsmanager.Client, secretID string) {
	t.Helper()
	endpoint := os.Getenv("HEATSINK_TEST_ENDPOINT")
	if endpoint == "" {
		t.Fatal("HEATSINK_TEST_ENDPOINT is not set: run `make test`, or start the local cloud and set it to its address")
	}
	client = secretsmanager.New(secretsmanager.Options{
		BaseEndpoint: &endpoint, Region: "us-east-1", Credentials: credentials.NewStaticCredentialsProvider("test", "test", ""),
	})
	name := fmt.Sprintf("cursor-test-%d", time.Now().UnixNano())
	out, err := client.CreateSecret(t.Context(), &secretsmanager.CreateSecretInput{Name: &name, SecretString: aws.String("as CloudFormation generates it: 32 characters or more")})
	if err != nil {
		t.Fatalf("create secret on %s: %v", endpoint, err)
	}
	t.Cleanup(func() {
		_, err := client.DeleteSecret(context.Background(), &secretsmanager.DeleteSecretInput{SecretId: &name, ForceDeleteWithoutRecovery: aws.Bool(true)})
		if err != nil {
			t.Errorf("delete secret %s: %v", name, err)
		}
	})
	return client, aws.ToString(out.ARN)
}

// TestRotationWalk goes through two rotations on the engine: a token of the previous version opens, one of the version before does not.
func TestRotationWalk(t *testing.T) {
	t.Parallel()
	client, secretID := engine(t)
	clock := &clock{now: time.Now()} // version dates are the engine's
	options := cursor.RotateOptions{Expiry: time.Hour, Now: clock.Now}
	// These tokens outlive what Rotate was told, so that the walk shows keys going, not tokens expiring.
	keys := cursor.NewSecretKeyring(client, secretID, cursor.SecretKeyringOptions{Now: clock.Now})
	sealer := cursor.New(keys, cursor.Options{Expiry: 1000 * time.Hour, Now: clock.Now})
	open := func(token string, want error) {
		t.Helper()
		if _, err := sealer.Open(t.Context(), binding, token); !errors.Is(err, want) {
			t.Errorf("Open = %v, want %v", err, want)
		}
	}
	rotate := func() cursor.Rotation {
		t.Helper()
		rotation, err := cursor.Rotate(t.Context(), client, secretID, options)
		if err != nil {
			t.Fatal(err)
		}
		return rotation
	}

	first := seal(t, sealer, binding, "first")
	rotate() // never rotated: at any time
	clock.Add(cursor.CacheTime + cursor.SettleTime)
	second := seal(t, sealer, binding, "second")
	open(first, nil)
	if bytes.Equal(decode(t, first)[1:9], decode(t, second)[1:9]) {
		t.Error("a token after the rotation has the key id of one before")
	}

	var tooSoon *cursor.TooSoonError
	if _, err := cursor.Rotate(t.Context(), client, secretID, options); !errors.As(err, &tooSoon) {
		t.Fatalf("a second rotation a few minutes later: %v, want TooSoonError", err)
	}
	if got := tooSoon.Allowed.Sub(tooSoon.Last); got != options.Expiry+cursor.CacheTime {
		t.Errorf("allowed %v after the last rotation, want expiry and cache time", got)
	}
	open(first, nil)

	clock.Add(options.Expiry)
	rotation := rotate()
	clock.Add(cursor.CacheTime)
	third := seal(t, sealer, binding, "third")
	open(third, nil)
	open(second, nil)
	open(first, cursor.ErrInvalid)

	out, err := client.GetSecretValue(t.Context(), &secretsmanager.GetSecretValueInput{SecretId: &secretID})
	if err != nil {
		t.Fatal(err)
	}
	if len(out.SecretBinary) != 32 || aws.ToString(out.VersionId) != rotation.VersionID {
		t.Errorf("the current version is %s with %d bytes, want %s with 32", aws.ToString(out.VersionId), len(out.SecretBinary), rotation.VersionID)
	}
}

// shelf scripts the answers of Secrets Manager to a rotation, with its rule for request tokens, which the engine lacks.
type shelf struct {
	versions []types.SecretVersionsListEntry
	put      map[string][]byte
	pageSize int
	listErr  error
	putErr   error
	lists    int
}

func (s *shelf) ListSecretVersionIds(_ context.Context, in *secretsmanager.ListSecretVersionIdsInput, _ ...func(*secretsmanager.Options)) (*secretsmanager.ListSecretVersionIdsOutput, error) {
	s.lists++
	if s.listErr != nil {
		return nil, s.listErr
	}
	from := 0
	if in.NextToken != nil {
		_, _ = fmt.Sscan(*in.NextToken, &from)
	}
	size := s.pageSize
	if size == 0 {
		size = 100
	}
	to := min(from+size, len(s.versions))
	out := &secretsmanager.ListSecretVersionIdsOutput{Versions: s.versions[from:to]}
	if to < len(s.versions) {
		out.NextToken = aws.String(fmt.Sprint(to))
	}
	return out, nil
}

func (s *shelf) PutSecretValue(_ context.Context, in *secretsmanager.PutSecretValueInput, _ ...func(*secretsmanager.Options)) (*secretsmanager.PutSecretValueOutput, error) {
	if s.putErr != nil {
		return nil, s.putErr
	}
	if s.put == nil {
		s.put = map[string][]byte{}
	}
	token := aws.ToString(in.ClientRequestToken)
	if there, exists := s.put[token]; exists && !bytes.Equal(there, in.SecretBinary) {
		return nil, &types.ResourceExistsException{}
	}
	s.put[token] = in.SecretBinary
	return &secretsmanager.PutSecretValueOutput{VersionId: &token}, nil
}

func entry(id string, created time.Time, stages ...string) types.SecretVersionsListEntry {
	return types.SecretVersionsListEntry{VersionId: &id, CreatedDate: &created, VersionStages: stages}
}

func TestRotateBorder(t *testing.T) {
	t.Parallel()
	const expiry = 2 * time.Hour
	keep := expiry + cursor.CacheTime
	ago := func(d time.Duration) time.Time { return start.Add(-d) }
	for name, test := range map[string]struct {
		versions []types.SecretVersionsListEntry
		pageSize int
		allowed  time.Time // zero: now
	}{
		"never rotated, made a second ago": {versions: []types.SecretVersionsListEntry{entry("a", ago(time.Second), "AWSCURRENT")}},
		"at the border": {versions: []types.SecretVersionsListEntry{
			entry("a", ago(99*keep), "AWSPREVIOUS"), entry("b", ago(keep), "AWSCURRENT"),
		}},
		"a nanosecond before": {versions: []types.SecretVersionsListEntry{
			entry("a", ago(99*keep), "AWSPREVIOUS"), entry("b", ago(keep-1), "AWSCURRENT"),
		}, allowed: start.Add(1)},
		"labels moved back: the younger version counts": {versions: []types.SecretVersionsListEntry{
			entry("a", ago(99*keep), "AWSCURRENT"), entry("b", ago(time.Hour), "AWSPREVIOUS"),
		}, allowed: ago(time.Hour).Add(keep)},
		"another label doesn't count": {versions: []types.SecretVersionsListEntry{
			entry("a", ago(99*keep), "AWSPREVIOUS"), entry("b", ago(keep), "AWSCURRENT"), entry("c", ago(1), "AWSPENDING"),
		}},
		"previous version on the second page": {versions: []types.SecretVersionsListEntry{
			entry("b", ago(time.Hour), "AWSCURRENT"), entry("a", ago(99*keep), "AWSPREVIOUS"),
		}, pageSize: 1, allowed: ago(time.Hour).Add(keep)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			shelf := &shelf{versions: test.versions, pageSize: test.pageSize}
			rotation, err := cursor.Rotate(t.Context(), shelf, "secret", cursor.RotateOptions{Expiry: expiry, Now: newClock().Now})
			if test.allowed.IsZero() {
				if err != nil || len(shelf.put) != 1 || len(shelf.put[rotation.VersionID]) != 32 || !rotation.NextAllowed.Equal(start.Add(keep)) {
					t.Errorf("Rotate = %+v, %v, put %d", rotation, err, len(shelf.put))
				}
				return
			}
			tooSoon, ok := errors.AsType[*cursor.TooSoonError](err)
			if !ok || !tooSoon.Allowed.Equal(test.allowed) || len(shelf.put) != 0 {
				t.Errorf("Rotate = %v, put %d, want allowed at %v and nothing put", err, len(shelf.put), test.allowed)
			}
			if ok && !strings.Contains(err.Error(), "rotate then or later") {
				t.Errorf("the error doesn't say what to do: %v", err)
			}
		})
	}
}

// TestOperatorsRotateAtTheSameTime: both saw the same versions. Were both to succeed, the version that sealed until now would be neither current nor previous.
func TestOperatorsRotateAtTheSameTime(t *testing.T) {
	t.Parallel()
	shelf := &shelf{versions: []types.SecretVersionsListEntry{entry("a", start, "AWSCURRENT")}}
	if _, err := cursor.Rotate(t.Context(), shelf, "secret", cursor.RotateOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := cursor.Rotate(t.Context(), shelf, "secret", cursor.RotateOptions{}); !errors.Is(err, cursor.ErrRotating) {
		t.Errorf("the second operator: %v, want ErrRotating", err)
	}
	if len(shelf.put) != 1 {
		t.Errorf("%d versions put, want 1", len(shelf.put))
	}
	for token := range shelf.put {
		if !regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`).MatchString(token) {
			t.Errorf("the request token %q is no UUID", token)
		}
	}
	// After somebody moved the labels back, the same version is current again, and rotating it must not meet the old token.
	shelf.versions = []types.SecretVersionsListEntry{entry("a", start.Add(-99*time.Hour), "AWSCURRENT"), entry("b", start.Add(-98*time.Hour), "AWSPREVIOUS")}
	if _, err := cursor.Rotate(t.Context(), shelf, "secret", cursor.RotateOptions{Now: newClock().Now}); err != nil {
		t.Errorf("after the labels were moved back: %v", err)
	}
}

func TestRotateFailures(t *testing.T) {
	t.Parallel()
	versions := []types.SecretVersionsListEntry{entry("a", start, "AWSCURRENT")}
	for name, test := range map[string]struct {
		shelf   *shelf
		options cursor.RotateOptions
		want    string
	}{
		"list": {&shelf{listErr: errDown}, cursor.RotateOptions{}, "cursor: rotate: list versions of secret my-secret: secrets manager is down"},
		"put":  {&shelf{versions: versions, putErr: errDown}, cursor.RotateOptions{}, "cursor: rotate: put a version of secret my-secret: secrets manager is down"},
		"random bytes": {
			&shelf{versions: versions},
			cursor.RotateOptions{Rand: iotest.ErrReader(errDown)},
			"cursor: rotate: read random bytes: secrets manager is down",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := cursor.Rotate(t.Context(), test.shelf, "my-secret", test.options)
			if !errors.Is(err, errDown) || err.Error() != test.want {
				t.Errorf("Rotate = %v, want %q", err, test.want)
			}
			if len(test.shelf.put) != 0 {
				t.Error("something was put")
			}
		})
	}
}
