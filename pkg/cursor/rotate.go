package cursor

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager/types"
)

// SecretPutter adds a version to a secret: *secretsmanager.Client does.
type SecretPutter interface {
	PutSecretValue(context.Context, *secretsmanager.PutSecretValueInput, ...func(*secretsmanager.Options)) (*secretsmanager.PutSecretValueOutput, error)
	ListSecretVersionIds(context.Context, *secretsmanager.ListSecretVersionIdsInput, ...func(*secretsmanager.Options)) (*secretsmanager.ListSecretVersionIdsOutput, error)
}

// ErrRotating is returned by [Rotate] when another rotation from the same version won. The secret is rotated: there is nothing left to do.
var ErrRotating = errors.New("cursor: rotate: another rotation has just put a version")

// TooSoonError is returned by [Rotate] when cursors of the previous key may still be valid, which one more rotation would end.
type TooSoonError struct {
	// Last is when the last rotation put its version, Allowed when the next may come (UTC).
	Last, Allowed time.Time
}

// Error says when the rotation is allowed.
func (e *TooSoonError) Error() string {
	return fmt.Sprintf("cursor: rotate: the last rotation was at %s; cursors of the key before it may be valid until %s: rotate then or later",
		e.Last.Format(time.RFC3339), e.Allowed.Format(time.RFC3339))
}

// RotateOptions of [Rotate].
type RotateOptions struct {
	// Expiry is the longest expiry of the sealers that use the secret. Zero or less: [DefaultExpiry].
	Expiry time.Duration
	// Now is the clock. Nil: time.Now.
	Now func() time.Time
	// Rand gives the new secret. Nil: crypto/rand.
	Rand io.Reader
}

// Rotation is what [Rotate] did.
type Rotation struct {
	// VersionID is the new AWSCURRENT.
	VersionID string
	// NextAllowed is when the next rotation may come (UTC).
	NextAllowed time.Time
}

// Rotate puts 32 random bytes as the secret's next version. Secrets Manager moves AWSCURRENT to it and AWSPREVIOUS to the version before by itself
// (https://docs.aws.amazon.com/secretsmanager/latest/apireference/API_PutSecretValue.html), so cursors that are out stay valid and no reader is told.
//
// What AWSPREVIOUS leaves can open nothing more. Readers seal with a version for up to [CacheTime] after it was replaced, and what they sealed last is valid
// for Expiry: sooner than both together after the last rotation, Rotate refuses with a [*TooSoonError] and puts nothing. A secret that was never rotated
// may be at any time. Of rotations at the same time from the same version one succeeds; others end with [ErrRotating].
//
// It makes one ListSecretVersionIds request (one for each 100 versions with labels) and one PutSecretValue request.
func Rotate(ctx context.Context, client SecretPutter, secretID string, options RotateOptions) (Rotation, error) {
	if options.Expiry <= 0 {
		options.Expiry = DefaultExpiry
	}
	if options.Now == nil {
		options.Now = time.Now
	}
	if options.Rand == nil {
		options.Rand = rand.Reader
	}
	versions, err := listVersions(ctx, client, secretID)
	if err != nil {
		return Rotation{}, fmt.Errorf("cursor: rotate: list versions of secret %s: %w", secretID, err)
	}
	now := options.Now().UTC()
	keep := options.Expiry + CacheTime
	if last, rotated := lastRotation(versions); rotated && now.Before(last.Add(keep)) {
		return Rotation{}, &TooSoonError{Last: last, Allowed: last.Add(keep)}
	}
	secret := make([]byte, MinSecretBytes)
	if _, err := io.ReadFull(options.Rand, secret); err != nil {
		return Rotation{}, fmt.Errorf("cursor: rotate: read random bytes: %w", err)
	}
	out, err := client.PutSecretValue(ctx, &secretsmanager.PutSecretValueInput{
		SecretId: &secretID, SecretBinary: secret, ClientRequestToken: aws.String(requestToken(versions)),
	})
	if _, exists := errors.AsType[*types.ResourceExistsException](err); exists {
		return Rotation{}, ErrRotating
	}
	if err != nil {
		return Rotation{}, fmt.Errorf("cursor: rotate: put a version of secret %s: %w", secretID, err)
	}
	return Rotation{VersionID: aws.ToString(out.VersionId), NextAllowed: now.Add(keep)}, nil
}

// listVersions gives the versions that have labels.
func listVersions(ctx context.Context, client SecretPutter, secretID string) ([]types.SecretVersionsListEntry, error) {
	var versions []types.SecretVersionsListEntry
	input := &secretsmanager.ListSecretVersionIdsInput{SecretId: &secretID, MaxResults: aws.Int32(100)}
	for {
		out, err := client.ListSecretVersionIds(ctx, input)
		if err != nil {
			return nil, err
		}
		versions = append(versions, out.Versions...)
		if aws.ToString(out.NextToken) == "" {
			return versions, nil
		}
		input.NextToken = out.NextToken
	}
}

// lastRotation is when the younger of the two versions was put: normally the current one, the previous one after somebody moved the labels back.
// Without a previous version there was no rotation.
func lastRotation(versions []types.SecretVersionsListEntry) (last time.Time, rotated bool) {
	for _, version := range versions {
		previous := slices.Contains(version.VersionStages, stagePrevious)
		rotated = rotated || previous
		if created := aws.ToTime(version.CreatedDate); (previous || slices.Contains(version.VersionStages, stageCurrent)) && created.After(last) {
			last = created.UTC()
		}
	}
	return last, rotated
}

// requestToken becomes the VersionId. It depends on the versions found: two operators who rotate at the same time use one token with different
// bytes, and Secrets Manager refuses the second. With random tokens both would succeed, and the key that was current would be gone.
func requestToken(versions []types.SecretVersionsListEntry) string {
	var lines []string
	for _, version := range versions {
		lines = append(lines, fmt.Sprintf("%q %q", aws.ToString(version.VersionId), slices.Sorted(slices.Values(version.VersionStages))))
	}
	slices.Sort(lines)
	sum := sha256.Sum256([]byte("heatsink/cursor/rotate\n" + strings.Join(lines, "\n")))
	sum[6], sum[8] = sum[6]&0x0f|0x80, sum[8]&0x3f|0x80 // a version 8 UUID (RFC 9562): the API asks for that type
	return fmt.Sprintf("%x-%x-%x-%x-%x", sum[:4], sum[4:6], sum[6:8], sum[8:10], sum[10:16])
}
