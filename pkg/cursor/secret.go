package cursor

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager/types"
)

const (
	// CacheTime is how long a [SecretKeyring] uses keys before it asks again, and so how long it may seal with a key after a rotation.
	CacheTime = 5 * time.Minute
	// RefreshInterval is the least time between two refreshes that an unknown key id, or a failure before, asks for.
	RefreshInterval = 30 * time.Second

	// settleTime is how old a version must be to seal, while there is one before it. Within RefreshInterval after a refresh an unknown id means
	// "forged" without asking. Were a version used the moment it exists, then its honest tokens could be refused by another function instance that
	// has just refreshed, be it for a forged id. By the time that a settled version seals, every refresh within RefreshInterval has seen it;
	// the rest is room for clocks that differ.
	settleTime = 2 * RefreshInterval
	// firstInterval is the least time between two attempts while there are no keys at all: nothing can be served meanwhile.
	firstInterval = time.Second
	// fetchTimeout bounds one refresh, retries included, so that a request with a stale key at hand does not wait for long.
	fetchTimeout = 3 * time.Second

	stageCurrent  = "AWSCURRENT"
	stagePrevious = "AWSPREVIOUS"
)

// SecretGetter reads one version of a secret: *secretsmanager.Client does.
type SecretGetter interface {
	GetSecretValue(context.Context, *secretsmanager.GetSecretValueInput, ...func(*secretsmanager.Options)) (*secretsmanager.GetSecretValueOutput, error)
}

// SecretKeyringOptions of a [SecretKeyring].
type SecretKeyringOptions struct {
	// Now is the clock. Nil: time.Now.
	Now func() time.Time
}

// SecretKeyring takes keys from one Secrets Manager secret: the version labelled AWSCURRENT seals, the one labelled AWSPREVIOUS still opens. (For its
// first minute a new current version leaves sealing to the previous one, until every function instance can know it.)
//
// Keys are fetched at first use (two GetSecretValue requests) and kept for [CacheTime]. All callers share one fetch. An
// unknown key id fetches again, at most once each [RefreshInterval] for all callers together, so that a rotation is seen early and forged ids cost nothing more.
//
// Where a fetch fails, keys at hand stay in use, and it is tried again after [RefreshInterval]: they are sound, since a rotation leaves the previous key
// open, and a failing Secrets Manager should not fail reads that need nothing new from it. Without any key, the failure is the caller's, and is
// tried again after a second. It is safe for concurrent use.
type SecretKeyring struct {
	client   SecretGetter
	secretID string
	now      func() time.Time

	mu      sync.Mutex
	held    *heldKeys // nil before the first success. Immutable
	tried   time.Time // start of the last attempt
	lastErr error     // of the last attempt
	flight  *flight   // under way, or nil
}

// heldKeys is what one fetch found.
type heldKeys struct {
	keys    []Key // current, then previous if there is one
	settled time.Time
	fetched time.Time
}

// flight is a fetch that callers wait for.
type flight struct {
	done chan struct{}
	held *heldKeys // what is held after it
	err  error
}

// NewSecretKeyring returns a keyring over the secret, given by name or ARN. It makes no request.
func NewSecretKeyring(client SecretGetter, secretID string, options SecretKeyringOptions) *SecretKeyring {
	if options.Now == nil {
		options.Now = time.Now
	}
	return &SecretKeyring{
		client: client, secretID: secretID,
		// Without the monotonic reading, which stands still while Lambda freezes an instance: keys must age by the wall clock.
		now: func() time.Time { return options.Now().Round(0) },
	}
}

// Current is the key to seal with.
func (k *SecretKeyring) Current(ctx context.Context) (Key, error) {
	held, err := k.load(ctx)
	if err != nil {
		return Key{}, err
	}
	if len(held.keys) > 1 && k.now().Before(held.settled) {
		return held.keys[1], nil
	}
	return held.keys[0], nil
}

// ByID is the key to open with. An unknown id joins or starts a refresh, unless the last one was less than [RefreshInterval] ago: then the answer is
// [ErrUnknownKey] if that one succeeded, and its error if it failed, since nobody can tell then.
func (k *SecretKeyring) ByID(ctx context.Context, id [keyIDBytes]byte) (Key, error) {
	held, err := k.load(ctx)
	if err != nil {
		return Key{}, err
	}
	if key, err := find(held.keys, id); err == nil {
		return key, nil
	}
	held, err = k.refresh(ctx, func(held *heldKeys, _ time.Time) bool {
		_, err := find(held.keys, id) // another caller's refresh may have brought it since
		return err != nil
	})
	if err != nil {
		return Key{}, err
	}
	return find(held.keys, id)
}

// load gives the keys at hand, fetched before if there are none or they are old.
func (k *SecretKeyring) load(ctx context.Context) (*heldKeys, error) {
	held, err := k.refresh(ctx, func(held *heldKeys, now time.Time) bool {
		return held == nil || elapsed(held.fetched, now, CacheTime)
	})
	if held != nil {
		return held, nil // stale if err says so
	}
	return nil, err
}

// refresh returns the keys at hand if they are not wanted newer. Else it joins the fetch under way or starts one, unless the last attempt is too
// recent. The error is that of the last attempt, or ctx's; keys that come with an error are older than it.
func (k *SecretKeyring) refresh(ctx context.Context, wanted func(held *heldKeys, now time.Time) bool) (*heldKeys, error) {
	k.mu.Lock()
	now := k.now()
	interval := RefreshInterval
	if k.held == nil {
		interval = firstInterval
	}
	if !wanted(k.held, now) {
		defer k.mu.Unlock()
		return k.held, nil
	}
	flying := k.flight
	if flying == nil {
		if !elapsed(k.tried, now, interval) {
			defer k.mu.Unlock()
			return k.held, k.lastErr
		}
		flying = &flight{done: make(chan struct{})}
		k.flight, k.tried = flying, now
		// Of no caller's context: the first one may give up while others wait.
		go k.fly(context.WithoutCancel(ctx), flying)
	}
	k.mu.Unlock()

	select {
	case <-flying.done:
		return flying.held, flying.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (k *SecretKeyring) fly(ctx context.Context, flying *flight) {
	ctx, cancel := context.WithTimeout(ctx, fetchTimeout)
	defer cancel()
	fetched, err := k.fetch(ctx)

	k.mu.Lock()
	defer k.mu.Unlock()
	if err == nil {
		k.held = fetched
	}
	k.lastErr, k.flight = err, nil
	flying.held, flying.err = k.held, err
	close(flying.done)
}

// fetch reads AWSCURRENT before AWSPREVIOUS. A rotation in between then shows one version as both; the other way round the version that was current
// until then would be in neither answer, and its tokens would be refused.
func (k *SecretKeyring) fetch(ctx context.Context) (*heldKeys, error) {
	fetched := k.now()
	current, created, err := k.version(ctx, stageCurrent)
	if err != nil {
		return nil, err
	}
	held := &heldKeys{keys: []Key{current}, settled: created.Add(settleTime), fetched: fetched}
	previous, _, err := k.version(ctx, stagePrevious)
	switch _, missing := errors.AsType[*types.ResourceNotFoundException](err); {
	case missing: // never rotated
	case errors.Is(err, errWeakSecret): // it can't have sealed anything
	case err != nil:
		return nil, err
	case previous.ID != current.ID:
		held.keys = append(held.keys, previous)
	}
	return held, nil
}

// version fetches one version of the secret and derives its key.
func (k *SecretKeyring) version(ctx context.Context, stage string) (Key, time.Time, error) {
	out, err := k.client.GetSecretValue(ctx, &secretsmanager.GetSecretValueInput{SecretId: &k.secretID, VersionStage: aws.String(stage)})
	if err != nil {
		return Key{}, time.Time{}, fmt.Errorf("get %s of secret %s: %w", stage, k.secretID, err)
	}
	secret := out.SecretBinary
	if len(secret) == 0 {
		secret = []byte(aws.ToString(out.SecretString))
	}
	key, err := DeriveKey(secret, aws.ToString(out.VersionId))
	if err != nil {
		return Key{}, time.Time{}, fmt.Errorf("%s of secret %s: %w", stage, k.secretID, err)
	}
	return key, aws.ToTime(out.CreatedDate), nil
}

// elapsed reports whether interval has passed since then. A clock that was set back has no say in it.
func elapsed(since, now time.Time, interval time.Duration) bool {
	age := now.Sub(since)
	return age < 0 || age >= interval
}

var _ Keyring = (*SecretKeyring)(nil)
