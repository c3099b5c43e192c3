package indexsync

import (
	"encoding/json"
	"errors"
	"slices"
)

// operation is one write that one record asks for.
type operation struct {
	record    *record
	version   string
	tombstone bool
}

// before orders operations on one row: by version, and of a tie the tombstone last, as the conditions do.
func (o operation) before(other operation) bool {
	if o.version != other.version {
		return o.version < other.version
	}
	return !o.tombstone && other.tombstone
}

// key is one index row with the operations that a batch has for it, oldest first. Only the last is done; the earlier ones are kept for when DynamoDB refuses it
// for good.
type key struct {
	target     *target
	place      place
	operations []operation
}

func (k *key) last() operation { return k.operations[len(k.operations)-1] }

// work is everything that a batch has for one base item, or a record that cannot be decoded. It counts as done as a whole.
type work struct {
	first  *record // the one to report when this is not done
	keys   []*key
	poison []poisoned
}

// poisoned is a record that can never be written, and why.
type poisoned struct {
	record  *record
	reason  string
	refused bool // by DynamoDB
}

// keyID identifies an index row within a batch. The sort key ends with the base table's key, so a row belongs to one item.
type keyID struct {
	target    int
	partition string
	kind      uint8
	sort      string
}

// plan reads the records and gathers their operations by item and row. The works are in the order of their first records.
func (s *Syncer) plan(raw []json.RawMessage, stats *Stats) ([]*work, []Omission) {
	p := planner{syncer: s, stats: stats, items: make(map[itemKey]*work, len(raw)), keys: make(map[keyID]*key, len(raw))}
	works := make([]*work, 0, len(raw))
	for position, bytes := range raw {
		r, err := s.decode(bytes, position)
		if err != nil {
			works = append(works, &work{first: r, poison: []poisoned{{record: r, reason: err.Error()}}})
			continue
		}
		if r.ttl {
			stats.TTLRemoves++
		}
		w, known := p.items[r.item]
		if !known {
			w = &work{first: r}
			p.items[r.item] = w
			works = append(works, w)
		}
		p.record(w, r)
	}
	return works, p.omissions
}

type planner struct {
	syncer    *Syncer
	stats     *Stats
	items     map[itemKey]*work
	keys      map[keyID]*key
	omissions []Omission
}

// record adds what a record asks of every index. A panic makes the record poison, like any other record that cannot be read.
func (p *planner) record(w *work, r *record) {
	for _, t := range p.syncer.targets {
		if err := p.change(w, r, t); err != nil {
			if n := len(w.poison); n == 0 || w.poison[n-1].record != r {
				w.poison = append(w.poison, poisoned{record: r, reason: "index " + t.index.Name + ": " + err.Error()})
			}
		}
	}
}

// change turns a record into operations on one index: nothing, an upsert, a tombstone of the old place, or both when the item moved.
func (p *planner) change(w *work, r *record, t *target) (err error) {
	defer func() {
		if recover() != nil { // the text of a panic may hold values
			err = errors.New("reading the record panicked")
		}
	}()
	counts := &p.stats.Indexes[t.position].Counts
	before, _, had := locate(t.index, r.oldImage)
	after, reason, has := locate(t.index, r.newImage)
	if reason != "" {
		counts.notIndexed(reason)
		if len(p.omissions) < MaxOmissions {
			p.omissions = append(p.omissions, Omission{Sequence: r.sequence, Index: t.index.Name, Reason: reason})
		}
	}
	stayed := had && has && before.partition == after.partition && before.sort == after.sort
	if !had && !has || stayed && sameRow(t.index, r.oldImage, r.newImage) {
		counts.Unchanged++
		return nil
	}
	version, err := t.changeVersion(r)
	if err != nil {
		return err
	}
	if has {
		p.add(w, t, after, operation{record: r, version: version})
	}
	if had && !stayed {
		p.add(w, t, before, operation{record: r, version: version, tombstone: true})
		if has {
			counts.KeyMoves++
		}
	}
	return nil
}

// add puts an operation in its place among those on the same row. Records of an item come in order but for late ones, so the place is nearly always the end.
func (p *planner) add(w *work, t *target, at place, o operation) {
	id := keyID{target: t.position, partition: at.partition.String(), kind: uint8(at.partition.Kind()), sort: at.sort}
	k, known := p.keys[id]
	if !known {
		k = &key{target: t, place: at}
		p.keys[id] = k
		w.keys = append(w.keys, k)
	}
	n := len(k.operations)
	for n > 0 && o.before(k.operations[n-1]) {
		n--
	}
	k.operations = slices.Insert(k.operations, n, o)
}
