package stub

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/heatsink-dev/heatsink/pkg/ddb"
)

// getRequest is a GetItem, as far as the stub knows it. Every read is strongly consistent here.
type getRequest struct {
	TableName              string
	Key                    rawItem
	ConsistentRead         bool
	ReturnConsumedCapacity string
}

func (s *Server) getItem(body []byte) ([]byte, error) {
	var in getRequest
	if err := strict(body, &in); err != nil {
		return nil, err
	}
	t, err := s.table(in.TableName)
	if err != nil {
		return nil, err
	}
	key, err := in.Key.decode()
	if err != nil {
		return nil, err
	}
	t.mu.RLock()
	found := t.primary.get(key)
	t.mu.RUnlock()
	size, out := 0, []byte(`{`)
	if found != nil {
		size, out = found.size, append(append(out, `"Item":`...), found.json...)
	}
	units := ddb.ReadUnits(size, in.ConsistentRead)
	s.mu.Lock()
	s.counts.ReadUnits += units
	s.mu.Unlock()
	if in.ReturnConsumedCapacity == "TOTAL" {
		if found != nil {
			out = append(out, ',')
		}
		out = fmt.Appendf(out, `"ConsumedCapacity":{"TableName":%q,"CapacityUnits":%g}`, in.TableName, units)
	}
	return append(out, '}'), nil
}

// writeRequest is an UpdateItem, or one operation of a TransactWriteItems.
type writeRequest struct {
	TableName                           string
	Item, Key                           rawItem
	UpdateExpression                    string
	ConditionExpression                 string
	ExpressionAttributeNames            map[string]string
	ExpressionAttributeValues           rawItem
	ReturnConsumedCapacity              string
	ReturnValues                        string
	ReturnValuesOnConditionCheckFailure string

	remove bool
	// Of resolve: the tables and what stands there.
	table  *table
	key    ddb.Item
	item   ddb.Item // of a put
	test   condition
	change func(ddb.Item)
}

// resolve decodes the request, before any lock is taken.
func (w *writeRequest) resolve(s *Server) (err error) {
	if w.table, err = s.table(w.TableName); err != nil {
		return err
	}
	if w.item, err = w.Item.decode(); err != nil {
		return err
	}
	if w.key, err = w.Key.decode(); err != nil {
		return err
	}
	if w.key == nil {
		w.key = w.item
	}
	if _, ok := w.table.primary.place(w.key); !ok {
		return fmt.Errorf("stub: a key of table %s is missing", w.TableName)
	}
	values, err := w.ExpressionAttributeValues.decode()
	if err != nil {
		return err
	}
	if w.ConditionExpression != "" {
		if w.test, _, err = compile(w.ConditionExpression, w.ExpressionAttributeNames, values); err != nil {
			return err
		}
	}
	if w.UpdateExpression != "" {
		w.change, err = compileUpdate(w.UpdateExpression, w.ExpressionAttributeNames, values)
	}
	return err
}

// compileUpdate knows SET of values and REMOVE.
func compileUpdate(text string, names map[string]string, values ddb.Item) (func(ddb.Item), error) {
	e := &expression{words: split(text), names: names, values: values}
	set, remove, clause := ddb.Item{}, []string{}, ""
	for len(e.words) > 0 {
		if word := strings.ToUpper(e.words[0]); word == "SET" || word == "REMOVE" {
			clause = e.next()
		} else if !e.take(",") {
			return nil, fmt.Errorf("stub: update expression %q: unexpected %q", text, e.words[0])
		}
		name, err := e.name(e.next())
		if err != nil {
			return nil, err
		}
		if strings.EqualFold(clause, "REMOVE") {
			remove = append(remove, name)
			continue
		}
		if !e.take("=") {
			return nil, fmt.Errorf("stub: update expression %q: SET needs =", text)
		}
		if set[name], err = e.value(e.next()); err != nil {
			return nil, err
		}
	}
	return func(item ddb.Item) {
		maps.Copy(item, set)
		for _, name := range remove {
			delete(item, name)
		}
	}, nil
}

// before is what stands there, and whether the condition holds. The table is locked.
func (w *writeRequest) before() (*row, bool) {
	there := w.table.primary.get(w.key)
	item := ddb.Item{}
	if there != nil {
		item = there.item
	}
	return there, w.test == nil || w.test(item)
}

// apply does the write and gives the item after it and what it costs. The table is locked.
func (w *writeRequest) apply(before *row) (after ddb.Item, units float64, err error) {
	size := 0
	if before != nil {
		size = before.size
	}
	switch {
	case w.remove:
		w.table.drop(before)
	case w.item != nil:
		after = w.item
	case w.change != nil:
		after = maps.Clone(w.key)
		if before != nil {
			after = maps.Clone(before.item)
		}
		w.change(after)
	default: // a check
		return nil, ddb.WriteUnits(size), nil
	}
	if after != nil {
		var r *row
		if r, err = newRow(after); err == nil {
			err = w.table.store(before, r)
		}
	}
	return after, ddb.WriteUnits(max(size, ddb.Size(after))), err
}

func (s *Server) updateItem(body []byte) ([]byte, error) {
	var in writeRequest
	if err := strict(body, &in); err != nil {
		return nil, err
	}
	if err := in.resolve(s); err != nil {
		return nil, err
	}
	in.table.mu.Lock()
	defer in.table.mu.Unlock()
	before, holds := in.before()
	if !holds {
		s.charge(1)
		return nil, &refusal{"ConditionalCheckFailedException", "The conditional request failed"}
	}
	after, units, err := in.apply(before)
	if err != nil {
		return nil, err
	}
	s.charge(units)
	answer := map[string]any{}
	if in.ReturnValues == string(types.ReturnValueAllNew) {
		encoded, err := ddb.EncodeItem(after)
		if err != nil {
			return nil, err
		}
		answer["Attributes"] = json.RawMessage(encoded)
	}
	if in.ReturnConsumedCapacity == "TOTAL" {
		answer["ConsumedCapacity"] = map[string]any{"TableName": in.TableName, "CapacityUnits": units}
	}
	return json.Marshal(answer)
}

func (s *Server) charge(units float64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.counts.WriteUnits += units
}

// transactRequest is a TransactWriteItems. Its token is not remembered: no answer is ever lost here.
type transactRequest struct {
	TransactItems []struct {
		Put, Update, Delete, ConditionCheck *writeRequest
	}
	ClientRequestToken     string
	ReturnConsumedCapacity string
}

// cancelled is the error of a transaction, with its reasons by position.
type cancelled struct {
	codes []string
	items []*row
}

func (c *cancelled) Error() string {
	return "Transaction cancelled, please refer cancellation reasons for specific reasons [" + strings.Join(c.codes, ", ") + "]"
}

func (c *cancelled) body() []byte {
	type reason struct {
		Code string
		Item json.RawMessage `json:",omitempty"`
	}
	var reasons []reason
	for n, code := range c.codes {
		r := reason{Code: code}
		if c.items[n] != nil {
			r.Item = c.items[n].json
		}
		reasons = append(reasons, r)
	}
	out, _ := json.Marshal(map[string]any{
		"__type": "com.amazonaws.dynamodb.v20120810#TransactionCanceledException", "message": c.Error(), "CancellationReasons": reasons,
	})
	return out
}

func (s *Server) transact(body []byte) ([]byte, error) {
	var in transactRequest
	if err := strict(body, &in); err != nil {
		return nil, err
	}
	var writes []*writeRequest
	tables := map[string]*table{}
	for _, one := range in.TransactItems {
		given := slices.DeleteFunc([]*writeRequest{one.Put, one.Update, one.Delete, one.ConditionCheck}, func(w *writeRequest) bool { return w == nil })
		if len(given) != 1 {
			return nil, errors.New("stub: an operation must be exactly one of Put, Update, Delete and ConditionCheck")
		}
		given[0].remove = one.Delete != nil
		if err := given[0].resolve(s); err != nil {
			return nil, err
		}
		writes, tables[given[0].TableName] = append(writes, given[0]), given[0].table
	}
	for _, name := range slices.Sorted(maps.Keys(tables)) { // in one order, so that transactions cannot lock each other out
		tables[name].mu.Lock()
		defer tables[name].mu.Unlock()
	}
	return s.commit(&in, writes)
}

// commit checks all conditions, then does all writes. The tables are locked.
func (s *Server) commit(in *transactRequest, writes []*writeRequest) ([]byte, error) {
	refused, failed := &cancelled{}, false
	befores := make([]*row, len(writes))
	for n, w := range writes {
		before, holds := w.before()
		befores[n] = before
		code, item := "None", (*row)(nil)
		if !holds {
			failed, code = true, "ConditionalCheckFailed"
			if w.ReturnValuesOnConditionCheckFailure == string(types.ReturnValuesOnConditionCheckFailureAllOld) {
				item = before
			}
		}
		refused.codes, refused.items = append(refused.codes, code), append(refused.items, item)
	}
	total, byTable := 0.0, map[string]float64{}
	for n, w := range writes {
		units := 1.0 // what a refused one costs, at least
		if !failed {
			var err error
			if _, units, err = w.apply(befores[n]); err != nil {
				return nil, err
			}
		}
		total += 2 * units
		byTable[w.TableName] += 2 * units
	}
	s.charge(total)
	if failed {
		return nil, refused
	}
	if in.ReturnConsumedCapacity != "TOTAL" {
		return []byte(`{}`), nil
	}
	type capacity struct {
		TableName                         string
		CapacityUnits, WriteCapacityUnits float64
	}
	var consumed []capacity
	for name, units := range byTable {
		consumed = append(consumed, capacity{name, units, units})
	}
	return json.Marshal(map[string]any{"ConsumedCapacity": consumed})
}
