package stub

import (
	"slices"
	"sync"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/heatsink-dev/heatsink/pkg/ddb"
)

// table is a table with its indexes. Rows never change: a write replaces them.
type table struct {
	mu          sync.RWMutex
	name        string
	description []byte // of CreateTable, for DescribeTable
	primary     *index
	indexes     map[string]*index
}

// index is the primary key or a GSI: rows by partition, in order.
type index struct {
	name       string
	partition  string
	sort       []string // of the index, then whatever of the base key makes rows unique
	keys       []string // of a LastEvaluatedKey
	projected  func(name string) bool
	partitions map[string][]*row
}

type row struct {
	item ddb.Item
	json []byte
	size int
}

func newRow(item ddb.Item) (*row, error) {
	encoded, err := ddb.EncodeItem(item)
	if err != nil {
		return nil, err
	}
	return &row{item: item, json: encoded, size: ddb.Size(item)}, nil
}

// place is the partition that the item belongs to; ok is false for an item that the index does not hold.
func (x *index) place(item ddb.Item) (partition string, ok bool) {
	for _, name := range x.sort {
		if _, ok := ddb.KeyValue(item[name]); !ok {
			return "", false
		}
	}
	return keyText(item[x.partition])
}

func keyText(value types.AttributeValue) (string, bool) {
	key, ok := ddb.KeyValue(value)
	return string(rune('0'+key.Kind())) + key.String(), ok
}

// compare orders two items of one partition.
func (x *index) compare(a, b ddb.Item) int {
	for _, name := range x.sort {
		if c, _ := order(a[name], b[name]); c != 0 {
			return c
		}
	}
	return 0
}

func (x *index) find(partition string, key ddb.Item) (at int, found bool) {
	return slices.BinarySearchFunc(x.partitions[partition], key, func(r *row, key ddb.Item) int { return x.compare(r.item, key) })
}

func (x *index) get(key ddb.Item) *row {
	partition, ok := x.place(key)
	if !ok {
		return nil
	}
	at, found := x.find(partition, key)
	if !found {
		return nil
	}
	return x.partitions[partition][at]
}

func (x *index) remove(item ddb.Item) {
	if partition, ok := x.place(item); ok {
		if at, found := x.find(partition, item); found {
			x.partitions[partition] = slices.Delete(x.partitions[partition], at, at+1)
		}
	}
}

func (x *index) insert(r *row) {
	partition, ok := x.place(r.item)
	if !ok {
		return
	}
	at, found := x.find(partition, r.item)
	if found {
		x.partitions[partition][at] = r
		return
	}
	x.partitions[partition] = slices.Insert(x.partitions[partition], at, r)
}

// put stores an item, unless test refuses what is there.
func (t *table) put(item ddb.Item, test condition) (stored bool, err error) {
	r, err := newRow(item) // not under the lock
	if err != nil {
		return false, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	before := t.primary.get(item)
	there := ddb.Item{}
	if before != nil {
		there = before.item
	}
	if test != nil && !test(there) {
		return false, nil
	}
	return true, t.store(before, r)
}

// store puts a row in the place of the one before, which may be nil. The table is locked.
func (t *table) store(before, r *row) error {
	for _, x := range t.indexes {
		if before != nil {
			x.remove(before.item)
		}
		kept := r
		if x.projected != nil {
			part := ddb.Item{}
			for name, value := range r.item {
				if x.projected(name) {
					part[name] = value
				}
			}
			if _, held := x.place(part); !held {
				continue
			}
			var err error
			if kept, err = newRow(part); err != nil {
				return err
			}
		}
		x.insert(kept)
	}
	t.primary.insert(r)
	return nil
}

// remove deletes an item by key.
func (t *table) remove(key ddb.Item) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.drop(t.primary.get(key))
}

// drop deletes a row, which may be nil. The table is locked.
func (t *table) drop(before *row) {
	if before == nil {
		return
	}
	for _, x := range t.indexes {
		x.remove(before.item)
	}
	t.primary.remove(before.item)
}
