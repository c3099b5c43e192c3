package stub

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/heatsink-dev/heatsink/pkg/ddb"
)

// putRequest is a PutItem, as far as the stub knows it.
type putRequest struct {
	TableName                           string
	Item                                rawItem
	ConditionExpression                 string
	ExpressionAttributeNames            map[string]string
	ExpressionAttributeValues           rawItem
	ReturnConsumedCapacity              string
	ReturnValues                        string
	ReturnValuesOnConditionCheckFailure string
}

func (s *Server) putItem(body []byte) ([]byte, error) {
	var in putRequest
	if err := strict(body, &in); err != nil {
		return nil, err
	}
	t, err := s.table(in.TableName)
	if err != nil {
		return nil, err
	}
	item, err := in.Item.decode()
	if err != nil {
		return nil, err
	}
	if _, ok := t.primary.place(item); !ok {
		return nil, fmt.Errorf("stub: the item lacks a key of table %s", in.TableName)
	}
	values, err := in.ExpressionAttributeValues.decode()
	if err != nil {
		return nil, err
	}
	test := condition(nil)
	if in.ConditionExpression != "" {
		if test, _, err = compile(in.ConditionExpression, in.ExpressionAttributeNames, values); err != nil {
			return nil, err
		}
	}
	stored, err := t.put(item, test)
	if err != nil {
		return nil, err
	}
	units := ddb.WriteUnits(ddb.Size(item))
	s.mu.Lock()
	s.counts.WriteUnits += units
	s.mu.Unlock()
	if !stored {
		return nil, &refusal{"ConditionalCheckFailedException", "The conditional request failed"}
	}
	if in.ReturnConsumedCapacity == "TOTAL" {
		return fmt.Appendf(nil, `{"ConsumedCapacity":{"TableName":%q,"CapacityUnits":%g}}`, in.TableName, units), nil
	}
	return []byte(`{}`), nil
}

// batchRequest is a BatchWriteItem.
type batchRequest struct {
	RequestItems map[string][]struct {
		PutRequest    *struct{ Item rawItem }
		DeleteRequest *struct{ Key rawItem }
	}
	ReturnConsumedCapacity string
}

func (s *Server) batchWrite(body []byte) ([]byte, error) {
	var in batchRequest
	if err := strict(body, &in); err != nil {
		return nil, err
	}
	units := 0.0
	for name, requests := range in.RequestItems {
		t, err := s.table(name)
		if err != nil {
			return nil, err
		}
		for _, request := range requests {
			if request.DeleteRequest != nil {
				key, err := request.DeleteRequest.Key.decode()
				if err != nil {
					return nil, err
				}
				t.remove(key)
				units++
				continue
			}
			if request.PutRequest == nil {
				return nil, fmt.Errorf("stub: a write request is neither a put nor a delete")
			}
			item, err := request.PutRequest.Item.decode()
			if err != nil {
				return nil, err
			}
			if _, err := t.put(item, nil); err != nil {
				return nil, err
			}
			units += ddb.WriteUnits(ddb.Size(item))
		}
	}
	s.mu.Lock()
	s.counts.WriteUnits += units
	s.mu.Unlock()
	return []byte(`{"UnprocessedItems":{}}`), nil
}

type keyElement struct{ AttributeName, KeyType string }

type createRequest struct {
	TableName              string
	AttributeDefinitions   json.RawMessage
	KeySchema              []keyElement
	BillingMode            string
	StreamSpecification    json.RawMessage
	GlobalSecondaryIndexes []struct {
		IndexName  string
		KeySchema  []keyElement
		Projection struct {
			ProjectionType   string
			NonKeyAttributes []string
		}
	}
}

func (s *Server) createTable(body []byte) ([]byte, error) {
	var in createRequest
	if err := strict(body, &in); err != nil {
		return nil, err
	}
	primary := newIndex("", in.KeySchema, nil)
	t := &table{name: in.TableName, primary: primary, indexes: map[string]*index{}}
	for _, given := range in.GlobalSecondaryIndexes {
		x := newIndex(given.IndexName, given.KeySchema, in.KeySchema)
		if given.Projection.ProjectionType != "ALL" {
			x.projected = func(name string) bool {
				return slices.Contains(x.keys, name) || slices.Contains(given.Projection.NonKeyAttributes, name)
			}
		}
		t.indexes[x.name] = x
	}
	var described map[string]json.RawMessage
	if err := json.Unmarshal(body, &described); err != nil {
		return nil, err
	}
	delete(described, "BillingMode")
	described["TableStatus"] = json.RawMessage(`"ACTIVE"`)
	description, err := json.Marshal(described)
	if err != nil {
		return nil, err
	}
	t.description = description
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, there := s.tables[in.TableName]; there {
		return nil, &refusal{"ResourceInUseException", "stub: table " + in.TableName + " exists"}
	}
	s.tables[in.TableName] = t
	return fmt.Appendf(nil, `{"TableDescription":%s}`, description), nil
}

func newIndex(name string, keys, base []keyElement) *index {
	x := &index{name: name, partitions: map[string][]*row{}}
	for _, key := range keys {
		x.keys = append(x.keys, key.AttributeName)
		if key.KeyType == "HASH" {
			x.partition = key.AttributeName
		} else {
			x.sort = append(x.sort, key.AttributeName)
		}
	}
	for _, key := range base {
		if !slices.Contains(x.keys, key.AttributeName) {
			x.keys = append(x.keys, key.AttributeName)
			x.sort = append(x.sort, key.AttributeName)
		}
	}
	return x
}

func (s *Server) describeTable(body []byte) ([]byte, error) {
	var in struct{ TableName string }
	if err := strict(body, &in); err != nil {
		return nil, err
	}
	t, err := s.table(in.TableName)
	if err != nil {
		return nil, err
	}
	return fmt.Appendf(nil, `{"Table":%s}`, t.description), nil
}
