package racelab

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/heatsink-dev/heatsink/pkg/account"
	"github.com/heatsink-dev/heatsink/pkg/ddb"
	"github.com/heatsink-dev/heatsink/pkg/unique"
)

// experiments share tables, each with names of its own.
type experiments struct {
	*Lab
	client  account.Client // with injected conflicts
	service *account.Service
	index   *lagging
}

// patience of a caller: how often it tries again in all.
const patience = 100

// spellings of one name.
func spelling(name string, n int) string {
	return []string{name, strings.ToUpper(name), "\uFF52" + name[1:]}[n%3] // the last with a full-width r
}

func (e *experiments) naiveAtOnce(ctx context.Context) (Row, error) {
	row := Row{Experiment: fmt.Sprintf("%d at once", atOnce), Way: Naive, Rounds: 1}
	err := together(ctx, atOnce, func(ctx context.Context, n int) func(*Row) error {
		err := e.naiveSignUp(ctx, fmt.Sprint("at-once-", n), spelling("race", n))
		return func(r *Row) error { return r.naiveOutcome(err) }
	}, &row)
	return e.naiveFinal(ctx, row, "at-once-", err)
}

func (e *experiments) claimAtOnce(ctx context.Context) (Row, error) {
	row := Row{Experiment: fmt.Sprintf("%d at once", atOnce), Way: Claims, Rounds: 1}
	err := together(ctx, atOnce, func(ctx context.Context, n int) func(*Row) error {
		return e.signUp(ctx, fmt.Sprint("at-once-", n), spelling("race", n))
	}, &row)
	return e.claimFinal(ctx, row, "at-once-", err)
}

func (e *experiments) naivePairs(ctx context.Context) (Row, error) {
	row := Row{Experiment: fmt.Sprintf("%d pairs back to back", pairs), Way: Naive, Rounds: pairs}
	for n := range 2 * pairs {
		err := e.naiveSignUp(ctx, fmt.Sprint("pair-", n), spelling(fmt.Sprint("r-pair-", n/2), n))
		if err := row.naiveOutcome(err); err != nil {
			return row, err
		}
	}
	return e.naiveFinal(ctx, row, "pair-", nil)
}

func (e *experiments) claimPairs(ctx context.Context) (Row, error) {
	row := Row{Experiment: fmt.Sprintf("%d pairs back to back", pairs), Way: Claims, Rounds: pairs}
	for n := range 2 * pairs {
		if err := e.signUp(ctx, fmt.Sprint("pair-", n), spelling(fmt.Sprint("r-pair-", n/2), n))(&row); err != nil {
			return row, err
		}
	}
	return e.claimFinal(ctx, row, "pair-", nil)
}

func (e *experiments) naiveDeletes(ctx context.Context) (Row, error) {
	row := Row{Experiment: fmt.Sprintf("2 deletes of one, %d rounds", deletes), Way: Naive, Rounds: deletes}
	for n := range deletes {
		id, form := fmt.Sprint("naive-target-", n), fmt.Sprint("r-naive-target-", n)
		if err := e.target(ctx, id, form); err != nil {
			return row, err
		}
		err := together(ctx, 2, func(ctx context.Context, _ int) func(*Row) error {
			err := e.naiveDelete(ctx, id, form)
			return func(r *Row) error { return r.naiveOutcome(err) }
		}, &row)
		if err != nil {
			return row, err
		}
	}
	return e.deletesFinal(ctx, row, "naive-target-")
}

func (e *experiments) claimDeletes(ctx context.Context) (Row, error) {
	row := Row{Experiment: fmt.Sprintf("2 deletes of one, %d rounds", deletes), Way: Claims, Rounds: deletes}
	for n := range deletes {
		id := fmt.Sprint("target-", n)
		if err := e.target(ctx, id, fmt.Sprint("r-target-", n)); err != nil {
			return row, err
		}
		err := together(ctx, 2, func(ctx context.Context, _ int) func(*Row) error {
			return e.call(ctx, func(ctx context.Context) error { return e.service.Withdraw(ctx, id) })
		}, &row)
		if err != nil {
			return row, err
		}
	}
	return e.deletesFinal(ctx, row, "target-")
}

// target is somebody to be deleted.
func (e *experiments) target(ctx context.Context, id, nickname string) error {
	var made Row
	if err := e.signUp(ctx, id, nickname)(&made); err != nil {
		return err
	}
	if made.Wins != 1 {
		return fmt.Errorf("sign up %s: not done", id)
	}
	return nil
}

func (e *experiments) signUp(ctx context.Context, id, nickname string) func(*Row) error {
	return e.call(ctx, func(ctx context.Context) error {
		_, err := e.service.SignUp(ctx, account.Application{UserID: id, Nickname: &nickname, IdempotencyKey: "lab-" + id})
		return err
	})
}

// call is a caller that tries again while it has no answer. What comes of it is added to a row later, by one alone.
func (e *experiments) call(ctx context.Context, step func(context.Context) error) func(*Row) error {
	var err error
	calls, again := 0, 0
	for calls < patience {
		calls++
		err = step(ctx)
		if !undecided(err) {
			break
		}
		again++
		if !e.config.Retry.Wait(ctx, min(again, 6)) {
			break
		}
	}
	return func(r *Row) error {
		r.Calls += calls
		r.TryAgains += again
		switch {
		case err == nil:
			r.Wins++
		case errors.Is(err, account.ErrNicknameTaken), errors.Is(err, account.ErrUserExists), errors.Is(err, account.ErrUserNotFound):
			r.Refused++
		case ctx.Err() == nil && undecided(err):
			r.Undecided++
		default:
			return fmt.Errorf("%s, %s: %w", r.Experiment, r.Way, err)
		}
		return nil
	}
}

// undecided reports whether a step ended without an answer, so that a caller tries again: told so, or by a connection that broke.
func undecided(err error) bool {
	return errors.Is(err, unique.ErrTryAgain) || errors.Is(err, unique.ErrUnknown) || ddb.Classify(err).Class == ddb.UnknownOutcome
}

// together starts n callers at one moment and adds up what came of them.
func together(ctx context.Context, n int, call func(context.Context, int) func(*Row) error, row *Row) error {
	var ready sync.WaitGroup
	ready.Add(n)
	group, ctx := errgroup.WithContext(ctx)
	var mu sync.Mutex
	for k := range n {
		group.Go(func() error {
			ready.Done()
			ready.Wait()
			add := call(ctx, k)
			mu.Lock()
			defer mu.Unlock()
			return add(row)
		})
	}
	return group.Wait()
}
