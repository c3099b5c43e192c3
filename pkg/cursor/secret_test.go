package cursor_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/heatsink-dev/heatsink/pkg/cursor"
)

// old is a version that was put long before start.
func old(id string) version {
	return version{id: id, secret: []byte(id + string(secret)), created: start.Add(-24 * time.Hour)}
}

// walk is a sealer over a vault, on a clock of its own.
type walk struct {
	*cursor.Sealer
	vault *vault
	clock *clock
}

func newWalk(versions ...version) *walk {
	w := &walk{vault: &vault{versions: versions}, clock: newClock()}
	keys := cursor.NewSecretKeyring(w.vault, "heatsink/cursor", cursor.SecretKeyringOptions{Now: w.clock.Now})
	w.Sealer = cursor.New(keys, cursor.Options{Now: w.clock.Now})
	return w
}

// token is one that another function instance seals with that version.
func token(t testing.TB, id string) string {
	t.Helper()
	return seal(t, cursor.New(cursor.NewStaticKeyring(key(t, id)), cursor.Options{Now: newClock().Now}), binding, id)
}

func (w *walk) wantOpen(t testing.TB, token string, want error) {
	t.Helper()
	if _, err := w.Open(context.Background(), binding, token); !errors.Is(err, want) {
		t.Errorf("Open = %v, want %v", err, want)
	}
}

func (w *walk) wantFetches(t testing.TB, want int) {
	t.Helper()
	if got := w.vault.count(); got != want {
		t.Errorf("%d fetches, want %d", got, want)
	}
}

// sealedBy is the version that a new token is sealed with.
func (w *walk) sealedBy(t testing.TB) string {
	t.Helper()
	sealed := seal(t, w.Sealer, binding, "payload")
	for _, id := range []string{"v1", "v2", "v3"} {
		if string(decode(t, sealed)[1:9]) == string(idOf(key(t, id))) {
			return id
		}
	}
	return "unknown"
}

func idOf(k cursor.Key) []byte { return k.ID[:] }

func TestKeysAreKeptForFiveMinutes(t *testing.T) {
	t.Parallel()
	w := newWalk(old("v1"))
	w.wantFetches(t, 0)
	for range 10 {
		w.wantOpen(t, seal(t, w.Sealer, binding, "payload"), nil)
	}
	w.clock.Add(cursor.CacheTime - time.Nanosecond)
	w.wantOpen(t, token(t, "v1"), nil)
	w.wantFetches(t, 1)
	w.clock.Add(time.Nanosecond)
	w.wantOpen(t, token(t, "v1"), nil)
	w.wantFetches(t, 2)
}

func TestPreviousVersionOpensAndTheOneBeforeDoesNot(t *testing.T) {
	t.Parallel()
	w := newWalk(old("v1"), old("v2"), old("v3"))
	w.wantOpen(t, token(t, "v3"), nil)
	w.wantOpen(t, token(t, "v2"), nil)
	w.wantOpen(t, token(t, "v1"), cursor.ErrInvalid)
	if by := w.sealedBy(t); by != "v3" {
		t.Errorf("sealed by %s, want v3", by)
	}
	w.wantFetches(t, 1)
}

func TestASecretMayBeTextOrBinary(t *testing.T) {
	t.Parallel()
	text, binary := old("v1"), old("v1")
	text.text = true
	newWalk(text).wantOpen(t, token(t, "v1"), nil)
	newWalk(binary).wantOpen(t, token(t, "v1"), nil)
}

func TestARotationIsSeenByItsFirstToken(t *testing.T) {
	t.Parallel()
	w := newWalk(old("v1"))
	w.wantOpen(t, token(t, "v1"), nil)
	w.clock.Add(cursor.RefreshInterval)
	w.vault.rotate(old("v2"))
	w.wantOpen(t, token(t, "v2"), nil)
	w.wantOpen(t, token(t, "v1"), nil)
	w.wantFetches(t, 2)
}

// TestForgedKeyIDsCostOneRefreshEachInterval sends a thousand forged ids in each of ten intervals.
func TestForgedKeyIDsCostOneRefreshEachInterval(t *testing.T) {
	t.Parallel()
	w := newWalk(old("v1"))
	w.wantOpen(t, token(t, "v1"), nil)
	w.wantFetches(t, 1)
	forged := decode(t, token(t, "v1"))
	for interval := range 9 { // until the cache time, which fetches too
		for n := range 1000 {
			forged[1], forged[2] = byte(n), byte(n>>8)
			w.wantOpen(t, encode(forged), cursor.ErrInvalid)
		}
		w.wantFetches(t, 1+interval)
		w.clock.Add(cursor.RefreshInterval)
	}
}

// TestManyCallersShareOneFetch: all callers are inside before the fetch answers.
func TestManyCallersShareOneFetch(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		before func(*testing.T, *walk)
		token  string
		want   error
		extra  int // fetches
	}{
		"first use":       {func(*testing.T, *walk) {}, "v1", nil, 1},
		"cache time over": {func(t *testing.T, w *walk) { w.wantOpen(t, token(t, "v1"), nil); w.clock.Add(cursor.CacheTime) }, "v1", nil, 1},
		"rotated": {func(t *testing.T, w *walk) {
			w.wantOpen(t, token(t, "v1"), nil)
			w.clock.Add(cursor.RefreshInterval)
			w.vault.rotate(old("v2"))
		}, "v2", nil, 1},
		"forged":                    {func(t *testing.T, w *walk) { w.wantOpen(t, token(t, "v1"), nil); w.clock.Add(cursor.RefreshInterval) }, "v3", cursor.ErrInvalid, 1},
		"forged just after a fetch": {func(t *testing.T, w *walk) { w.wantOpen(t, token(t, "v1"), nil) }, "v3", cursor.ErrInvalid, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := newWalk(old("v1"))
				test.before(t, w)
				before := w.vault.count()
				release := make(chan struct{})
				w.vault.mu.Lock()
				w.vault.hold = release
				w.vault.mu.Unlock()
				sealed := token(t, test.token)
				for range 100 {
					go w.wantOpen(t, sealed, test.want)
				}
				synctest.Wait() // all of them wait for the one fetch
				close(release)
				synctest.Wait()
				w.wantFetches(t, before+test.extra)
			})
		})
	}
}

func TestStaleKeysServeWhileFetchesFail(t *testing.T) {
	t.Parallel()
	for _, stage := range []string{"AWSCURRENT", "AWSPREVIOUS"} {
		t.Run(stage, func(t *testing.T) {
			t.Parallel()
			w := newWalk(old("v1"))
			w.wantOpen(t, token(t, "v1"), nil)
			w.vault.setFail(stage, errDown)
			w.clock.Add(cursor.CacheTime)
			for range 100 {
				w.wantOpen(t, token(t, "v1"), nil)
			}
			w.wantFetches(t, 2) // one attempt, not one for each request
			w.clock.Add(cursor.RefreshInterval)
			if by := w.sealedBy(t); by != "v1" {
				t.Errorf("sealed by %s, want v1", by)
			}
			w.wantFetches(t, 3)
			w.vault.setFail(stage, nil)
			w.vault.rotate(old("v2"))
			w.clock.Add(cursor.RefreshInterval)
			if by := w.sealedBy(t); by != "v2" {
				t.Errorf("after recovery sealed by %s, want v2", by)
			}
			w.wantFetches(t, 4)
		})
	}
}

// TestUnknownIDWhileFetchesFail: a token of a version that we could not fetch may be honest, so that the answer is "try again".
func TestUnknownIDWhileFetchesFail(t *testing.T) {
	t.Parallel()
	w := newWalk(old("v1"))
	w.wantOpen(t, token(t, "v1"), nil)
	w.clock.Add(cursor.RefreshInterval)
	w.vault.setFail("AWSCURRENT", errDown)
	for range 100 {
		w.wantOpen(t, token(t, "v2"), cursor.ErrUnavailable)
		w.wantOpen(t, token(t, "v2"), errDown)
	}
	w.wantFetches(t, 2)
	w.wantOpen(t, token(t, "v1"), nil)
	w.vault.setFail("AWSCURRENT", nil)
	w.vault.rotate(old("v2"))
	w.clock.Add(cursor.RefreshInterval)
	w.wantOpen(t, token(t, "v2"), nil)
}

func TestNoKeysAtAll(t *testing.T) {
	t.Parallel()
	w := newWalk(old("v1"))
	w.vault.setFail("AWSCURRENT", errDown)
	for range 100 {
		w.wantOpen(t, token(t, "v1"), cursor.ErrUnavailable)
		if _, err := w.Seal(t.Context(), binding, nil); !errors.Is(err, cursor.ErrUnavailable) || !errors.Is(err, errDown) {
			t.Errorf("Seal = %v, want ErrUnavailable with its cause", err)
		}
	}
	w.wantFetches(t, 1)
	w.vault.setFail("AWSCURRENT", nil)
	w.clock.Add(time.Second)
	w.wantOpen(t, token(t, "v1"), nil)
}

func TestMissingOrWeakSecret(t *testing.T) {
	t.Parallel()
	newWalk().wantOpen(t, token(t, "v1"), cursor.ErrUnavailable)
	weak := version{id: "v2", secret: secret[:31]}
	newWalk(old("v1"), weak).wantOpen(t, token(t, "v1"), cursor.ErrUnavailable)
	// A weak version that was replaced can't have sealed anything, and must not keep its good successor from working.
	newWalk(weak, old("v1")).wantOpen(t, token(t, "v1"), nil)
}

// TestGivingUpDoesNotFailTheOthers: the caller that began the fetch goes away; the one that joined it gets the keys, and the first one its context's error.
func TestGivingUpDoesNotFailTheOthers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWalk(old("v1"))
		w.vault.hold = make(chan struct{})
		sealed := token(t, "v1")
		ctx, cancel := context.WithCancel(t.Context())
		gaveUp := make(chan error, 1)
		go func() {
			_, err := w.Open(ctx, binding, sealed)
			gaveUp <- err
		}()
		synctest.Wait()
		go w.wantOpen(t, sealed, nil)
		synctest.Wait()
		cancel()
		if err := <-gaveUp; !errors.Is(err, context.Canceled) || !errors.Is(err, cursor.ErrUnavailable) {
			t.Errorf("the caller that gave up: %v, want ErrUnavailable with context.Canceled", err)
		}
		close(w.vault.hold)
		synctest.Wait()
		w.wantFetches(t, 1)
	})
}

// TestAHangingFetchEnds: a request with keys at hand waits no longer than the bound of a fetch.
func TestAHangingFetchEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWalk(old("v1"))
		w.wantOpen(t, token(t, "v1"), nil)
		w.clock.Add(cursor.CacheTime)
		w.vault.hold = make(chan struct{}) // never
		began := time.Now()
		w.wantOpen(t, token(t, "v1"), nil)
		if waited := time.Since(began); waited != 3*time.Second {
			t.Errorf("waited %v, want 3s (on the test's own clock)", waited)
		}
	})
}

// TestARotationBetweenTheTwoReads: the version that was current until then must be among the keys.
func TestARotationBetweenTheTwoReads(t *testing.T) {
	t.Parallel()
	w := newWalk(old("v0"), old("v1"))
	w.vault.between = func() { w.vault.rotate(old("v2")) }
	w.wantOpen(t, token(t, "v1"), nil)
	if want := []string{"AWSCURRENT", "AWSPREVIOUS"}; !slices.Equal(w.vault.calls, want) {
		t.Errorf("calls %v, want %v", w.vault.calls, want)
	}
	w.clock.Add(cursor.RefreshInterval)
	w.wantOpen(t, token(t, "v2"), nil)
}

// TestANewVersionSealsWhenAllCanKnowIt is the case that the settling time is for: one instance refreshes just before a rotation, for a forged id, and may not do so
// again for an interval; another one has the new version at once. What that one seals in the meantime opens everywhere.
func TestANewVersionSealsWhenAllCanKnowIt(t *testing.T) {
	t.Parallel()
	early, late := newWalk(old("v1")), newWalk(old("v1"))
	early.wantOpen(t, token(t, "v1"), nil)
	early.wantOpen(t, token(t, "v9"), cursor.ErrInvalid)

	fresh := version{id: "v2", secret: old("v2").secret, created: start.Add(time.Second)}
	early.vault.rotate(fresh)
	late.vault.rotate(fresh)
	late.clock.Add(2 * time.Second)
	early.clock.Add(2 * time.Second)
	early.wantOpen(t, seal(t, late.Sealer, binding, "payload"), nil) // "early" may not refresh yet
	if by := late.sealedBy(t); by != "v1" {
		t.Errorf("a second after the rotation sealed by %s, want v1", by)
	}

	late.clock.Add(cursor.SettleTime)
	early.clock.Add(cursor.SettleTime)
	if by := late.sealedBy(t); by != "v2" {
		t.Errorf("a minute after the rotation sealed by %s, want v2", by)
	}
	early.wantOpen(t, seal(t, late.Sealer, binding, "payload"), nil)
	late.wantFetches(t, 1)

	first := newWalk(version{id: "v1", secret: old("v1").secret, created: start})
	if by := first.sealedBy(t); by != "v1" {
		t.Errorf("the first version of all sealed by %s, want v1 at once", by)
	}
}

func TestAClockThatWasSetBackDoesNotKeepOldKeys(t *testing.T) {
	t.Parallel()
	w := newWalk(old("v1"))
	w.wantOpen(t, token(t, "v1"), nil)
	w.clock.Add(-time.Hour)
	w.wantOpen(t, token(t, "v1"), nil)
	w.wantFetches(t, 2)
}
