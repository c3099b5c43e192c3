package edge

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"strconv"
)

// MaxAnswerBytes bounds the body of an answer. Lambda takes 6 MB with the body escaped as a JSON string or in base64, whichever is shorter; in base64 this much
// always fits (https://docs.aws.amazon.com/lambda/latest/dg/gettingstarted-limits.html).
const MaxAnswerBytes = 4_000_000

// WriteJSON answers with v as JSON. It writes nothing where v cannot be encoded.
func WriteJSON(w http.ResponseWriter, status int, v any) error {
	var body bytes.Buffer
	encoder := json.NewEncoder(&body)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		return fmt.Errorf("encode answer: %w", err)
	}
	WriteBody(w, status, bytes.TrimSuffix(body.Bytes(), []byte("\n")))
	return nil
}

// WriteBody answers with JSON that is built already.
func WriteBody(w http.ResponseWriter, status int, body []byte) {
	write(w, status, "application/json", body)
}

// WriteProblem answers with application/problem+json.
func WriteProblem(ctx context.Context, w http.ResponseWriter, problem *Problem) {
	status := problem.Code.Status()
	members := make(map[string]any, len(problem.Members)+6)
	maps.Copy(members, problem.Members)
	members["type"] = "about:blank"
	members["title"] = http.StatusText(status)
	members["status"] = status
	members["code"] = problem.Code
	if problem.Detail != "" {
		members["detail"] = problem.Detail
	}
	if id := RequestID(ctx); id != "" {
		members["requestId"] = id
	}
	body, err := json.Marshal(members)
	if err != nil { // a member of a caller's making that has no JSON form: the code still goes out
		body, _ = json.Marshal(map[string]any{"type": "about:blank", "status": status, "code": problem.Code})
	}
	if wait := problem.retryAfter(); wait != "" {
		w.Header().Set("Retry-After", wait)
	}
	write(w, status, "application/problem+json", body)
}

func write(w http.ResponseWriter, status int, contentType string, body []byte) {
	header := w.Header()
	header.Set("Content-Type", contentType)
	header.Set("Content-Length", strconv.Itoa(len(body)))
	header.Set("Cache-Control", "no-store")
	header.Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_, _ = w.Write(body) // the client is gone: nobody is left to tell
}
