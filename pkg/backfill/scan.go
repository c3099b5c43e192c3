package backfill

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"golang.org/x/sync/errgroup"

	"github.com/heatsink-dev/heatsink/pkg/account"
	"github.com/heatsink-dev/heatsink/pkg/ddb"
)

// ScanResult is what a scan found.
type ScanResult struct {
	Users int64 `json:"users"`
	// Names that were compared, of all constraints.
	Names int64 `json:"names"`
	// Duplicates are names that several users have, InDuplicates those users. Unmappable are names that cannot be claimed.
	Duplicates   int64 `json:"duplicates"`
	InDuplicates int64 `json:"usersInDuplicates"`
	Unmappable   int64 `json:"unmappable"`
}

// Clean reports whether every name can be claimed by its user.
func (r ScanResult) Clean() bool { return r.Duplicates == 0 && r.Unmappable == 0 }

// Scan reads all users and tells the sink which names several of them have, in mapped form, and which cannot be mapped. It writes to no table. Requests: the Scans of
// the user table, strongly consistent, and the reads of users that seem to share a name. Memory: about 16 MB, a page of each segment, and 40 bytes for each name of the largest of the
// files that the names are spread over, at most 1,048,576 of them.
func (t *Tool) Scan(ctx context.Context, sink Sink) (ScanResult, error) {
	return t.scan(ctx, sink, 0, maxNames)
}

func (t *Tool) scan(ctx context.Context, sink Sink, page, most int) (result ScanResult, err error) {
	users, err := t.users(ctx)
	if err != nil {
		return result, err
	}
	names, err := newSpool(t.config.TempDir, most)
	if err != nil {
		return result, err
	}
	defer func() { err = errors.Join(err, names.close()) }()
	s := &scan{Tool: t, sink: sink, names: names}
	segments := t.userSegments(users, PhaseUsers)
	segments.page, segments.limit = s.page, page
	if err := segments.run(ctx); err != nil {
		return s.result(), err
	}
	several := func(t tally) bool { return t.users > 1 }
	err = names.groups(ctx, several, func(found []group) error { return s.confirmAll(ctx, found) }, t.comparing(len(names.files)))
	return s.result(), err
}

func (t *Tool) comparing(files int) func(int) {
	return func(done int) {
		if t.config.Progress != nil {
			t.config.Progress(Progress{Phase: PhaseCompare, Done: int64(done), About: int64(files)})
		}
	}
}

type scan struct {
	*Tool
	sinkMu sync.Mutex
	sink   Sink
	names  *spool

	users, named, duplicates, inDuplicates, unmappable atomic.Int64
}

func (s *scan) result() ScanResult {
	return ScanResult{
		Users: s.users.Load(), Names: s.named.Load(), Duplicates: s.duplicates.Load(), InDuplicates: s.inDuplicates.Load(), Unmappable: s.unmappable.Load(),
	}
}

func (s *scan) tell(f Finding) error {
	s.sinkMu.Lock()
	defer s.sinkMu.Unlock()
	return s.sink(f)
}

func (s *scan) page(_ context.Context, _ int, items []ddb.Item, _ ddb.Item) error {
	for _, item := range items {
		s.users.Add(1)
		id, _ := textOf(item, account.UserIDAttribute)
		for _, h := range account.Holdings(item) {
			s.named.Add(1)
			if h.Err != nil {
				s.unmappable.Add(1)
				if err := s.tell(unmappable(id, h)); err != nil {
					return err
				}
				continue
			}
			if err := s.names.add(row{hash: fingerprint(h.Constraint, h.Value), side: sideUser, id: id}); err != nil {
				return err
			}
		}
	}
	return nil
}

func unmappable(id string, h account.Holding) Finding {
	return Finding{
		Kind: KindUnmappable, Constraint: h.Constraint, UserIDs: []string{id}, Spellings: []string{h.Spelling}, Reason: h.Err.Error(),
	}
}

func (s *scan) confirmAll(ctx context.Context, found []group) error {
	workers, ctx := errgroup.WithContext(ctx)
	workers.SetLimit(s.config.Concurrency)
	for _, g := range found {
		workers.Go(func() error { return s.confirm(ctx, g) })
	}
	return workers.Wait()
}

// confirm reads the users of a name again: they were read at different times, so that one may have given it up before the other took it. It looks twice, since a batch of
// reads is no single moment either: who holds a name in the second look, after another held it in the first, took it in between.
func (s *scan) confirm(ctx context.Context, g group) error {
	ids := make([]string, 0, len(g.rows))
	for _, r := range g.rows {
		ids = append(ids, r.id)
	}
	byForm := map[string]*Finding{}
	for range 2 {
		items, err := s.getUsers(ctx, ids)
		if err != nil {
			return err
		}
		ids, byForm = ids[:0], map[string]*Finding{}
		for _, item := range items {
			id, _ := textOf(item, account.UserIDAttribute)
			for _, h := range account.Holdings(item) {
				if h.Err != nil || fingerprint(h.Constraint, h.Value) != g.hash {
					continue
				}
				ids = append(ids, id)
				key := h.Constraint + "#" + h.Value
				f := byForm[key]
				if f == nil {
					f = &Finding{Kind: KindDuplicate, Constraint: h.Constraint, Form: h.Value, More: g.more}
					byForm[key] = f
				}
				f.UserIDs, f.Spellings, f.Claimed = append(f.UserIDs, id), append(f.Spellings, h.Spelling), append(f.Claimed, h.Stored)
			}
		}
	}
	for _, f := range byForm {
		if len(f.UserIDs) < 2 {
			continue
		}
		s.duplicates.Add(1)
		s.inDuplicates.Add(int64(len(f.UserIDs) + f.More))
		if err := s.tell(*f); err != nil {
			return err
		}
	}
	return nil
}

// getUsers reads users, strongly consistent, in the order of their ids; who is gone is left out.
func (t *Tool) getUsers(ctx context.Context, ids []string) ([]ddb.Item, error) {
	keys := make([]ddb.Item, 0, len(ids))
	for _, id := range ids {
		keys = append(keys, ddb.Item{account.UserIDAttribute: text(id)})
	}
	return t.getBatch(ctx, t.config.UserTable, keys, account.OwnedAttributes())
}

func (t *Tool) getBatch(ctx context.Context, table string, keys []ddb.Item, attributes []string) (items []ddb.Item, err error) {
	in := types.KeysAndAttributes{ConsistentRead: aws.Bool(true), ExpressionAttributeNames: map[string]string{}}
	var names []string
	for n, attribute := range attributes {
		placeholder := "#" + strconv.Itoa(n)
		in.ExpressionAttributeNames[placeholder] = attribute
		names = append(names, placeholder)
	}
	in.ProjectionExpression = aws.String(strings.Join(names, ", "))
	err = t.read(ctx, func(ctx context.Context) (err error) {
		items, err = ddb.BatchGet(ctx, t.config.Client, table, keys, in, t.config.Retry)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read items of table %s: %w", table, err)
	}
	return items, nil
}

func text(value string) types.AttributeValue { return &types.AttributeValueMemberS{Value: value} }

func textOf(item ddb.Item, name string) (string, bool) {
	value, ok := item[name].(*types.AttributeValueMemberS)
	if !ok {
		return "", false
	}
	return value.Value, true
}
