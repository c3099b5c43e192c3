package stub

import (
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/heatsink-dev/heatsink/pkg/ddb"
)

// Counts is what a stub has done since it was last asked to count anew.
type Counts struct {
	// Requests by operation, such as "Query".
	Requests map[string]int
	// Evaluated rows, and those of them that were Returned.
	Evaluated, Returned int
	// ReadUnits and WriteUnits are RRU and WRU.
	ReadUnits, WriteUnits float64
	// Connections that clients opened.
	Connections int
}

// Total is the number of all requests.
func (c Counts) Total() int {
	total := 0
	for _, n := range c.Requests {
		total += n
	}
	return total
}

// Server is the stub as an HTTP handler.
type Server struct {
	mu      sync.Mutex
	tables  map[string]*table
	counts  Counts
	latency time.Duration
}

// NewServer has no tables and no latency.
func NewServer() *Server {
	return &Server{tables: map[string]*table{}, counts: Counts{Requests: map[string]int{}}}
}

// rawItem and rawValue are DynamoDB JSON, decoded when needed.
type (
	rawItem  json.RawMessage
	rawValue json.RawMessage
)

func (r *rawItem) UnmarshalJSON(raw []byte) error  { *r = append((*r)[:0], raw...); return nil }
func (r *rawValue) UnmarshalJSON(raw []byte) error { *r = append((*r)[:0], raw...); return nil }

func (r rawItem) decode() (ddb.Item, error) {
	if len(r) == 0 {
		return nil, nil
	}
	return ddb.DecodeItem(r)
}

func (r rawValue) decode() (types.AttributeValue, error) {
	item, err := ddb.DecodeItem([]byte(`{"v":` + string(r) + `}`))
	return item["v"], err
}

// refusal is an error that DynamoDB has a name for.
type refusal struct{ code, message string }

func (r *refusal) Error() string { return r.code + ": " + r.message }

// ServeHTTP answers DynamoDB's JSON 1.0 protocol, and below /_stub/ the benchmark's own calls.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if strings.HasPrefix(r.URL.Path, "/_stub/") {
		s.control(w, r)
		return
	}
	began := time.Now()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	_, operation, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	s.mu.Lock()
	s.counts.Requests[operation]++
	latency := s.latency
	s.mu.Unlock()
	out, err := s.do(operation, body)
	time.Sleep(time.Until(began.Add(latency))) // the stub's own work is a part of it
	status := http.StatusOK
	if err != nil {
		code := "ValidationException"
		if refused, ok := errors.AsType[*refusal](err); ok {
			code = refused.code
		}
		out, _ = json.Marshal(map[string]string{"__type": "com.amazonaws.dynamodb.v20120810#" + code, "message": err.Error()})
		if transaction, ok := errors.AsType[*cancelled](err); ok {
			out = transaction.body()
		}
		status = http.StatusBadRequest
	}
	header := w.Header()
	header.Set("Content-Type", "application/x-amz-json-1.0")
	header.Set("Content-Length", strconv.Itoa(len(out)))
	header.Set("X-Amz-Crc32", strconv.FormatUint(uint64(crc32.ChecksumIEEE(out)), 10))
	header.Set("X-Amzn-Requestid", "STUB")
	w.WriteHeader(status)
	_, _ = w.Write(out) //nolint:gosec // JSON for an SDK, not for a browser
}

func (s *Server) do(operation string, body []byte) ([]byte, error) {
	switch operation {
	case "Query":
		return s.query(body)
	case "PutItem":
		return s.putItem(body)
	case "GetItem":
		return s.getItem(body)
	case "UpdateItem":
		return s.updateItem(body)
	case "TransactWriteItems":
		return s.transact(body)
	case "BatchWriteItem":
		return s.batchWrite(body)
	case "CreateTable":
		return s.createTable(body)
	case "DescribeTable":
		return s.describeTable(body)
	default:
		return nil, &refusal{"UnknownOperationException", "stub: it does not know " + operation}
	}
}

func (s *Server) table(name string) (*table, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if t, ok := s.tables[name]; ok {
		return t, nil
	}
	return nil, &refusal{"ResourceNotFoundException", "stub: no table " + name}
}

func (s *Server) query(body []byte) ([]byte, error) {
	var q queryRequest
	if err := strict(body, &q); err != nil {
		return nil, err
	}
	t, err := s.table(q.TableName)
	if err != nil {
		return nil, err
	}
	a, err := t.query(&q)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	s.counts.Evaluated += a.evaluated
	s.counts.Returned += len(a.rows)
	s.counts.ReadUnits += a.units
	s.mu.Unlock()

	out := fmt.Appendf(make([]byte, 0, 512*len(a.rows)+512), `{"Count":%d,"ScannedCount":%d`, len(a.rows), a.evaluated)
	if q.Select != string(types.SelectCount) {
		out = append(out, `,"Items":[`...)
		for n, r := range a.rows {
			if n > 0 {
				out = append(out, ',')
			}
			if out, err = appendRow(out, r, a.names); err != nil {
				return nil, err
			}
		}
		out = append(out, ']')
	}
	if a.last != nil {
		key, err := ddb.EncodeItem(a.last)
		if err != nil {
			return nil, err
		}
		out = append(append(out, `,"LastEvaluatedKey":`...), key...)
	}
	if q.ReturnConsumedCapacity == "TOTAL" {
		out = fmt.Appendf(out, `,"ConsumedCapacity":{"TableName":%q,"CapacityUnits":%g}`, q.TableName, a.units)
	}
	return append(out, '}'), nil
}

func appendRow(out []byte, r *row, names []string) ([]byte, error) {
	if names == nil {
		return append(out, r.json...), nil
	}
	part := ddb.Item{}
	for _, name := range names {
		if value, ok := r.item[name]; ok {
			part[name] = value
		}
	}
	encoded, err := ddb.EncodeItem(part)
	return append(out, encoded...), err
}

// strict refuses what the stub does not know.
func strict(body []byte, into any) error {
	decoder := json.NewDecoder(strings.NewReader(string(body)))
	decoder.DisallowUnknownFields()
	return decoder.Decode(into)
}

// control sets the latency, and hands out the counts.
func (s *Server) control(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch strings.TrimPrefix(r.URL.Path, "/_stub/") {
	case "latency":
		latency, err := time.ParseDuration(r.URL.Query().Get("of"))
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		s.latency = latency
	case "counts": // and begin anew
		_ = json.NewEncoder(w).Encode(s.counts)
		s.counts = Counts{Requests: map[string]int{}}
	default:
		http.NotFound(w, r)
	}
}

// Connected counts a new connection.
func (s *Server) Connected() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.counts.Connections++
}
