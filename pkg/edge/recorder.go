package edge

import (
	"encoding/base64"
	"net/http"
	"strings"
	"unicode/utf8"

	"github.com/aws/aws-lambda-go/events"
)

// recorder is the response writer behind [Adapt]: the whole answer in memory, since a Lambda answers in one piece.
type recorder struct {
	header http.Header
	status int
	sent   http.Header // as it stood when the status was written, like net/http's
	body   []byte
}

// Header to be sent with the status.
func (r *recorder) Header() http.Header {
	if r.header == nil {
		r.header = http.Header{}
	}
	return r.header
}

// WriteHeader keeps the first final status. Informational ones have no meaning here.
func (r *recorder) WriteHeader(status int) {
	if r.status != 0 || status < 200 {
		return
	}
	r.status = status
	r.sent = r.Header().Clone()
}

// Write appends to the body, except to an answer that has none.
func (r *recorder) Write(p []byte) (int, error) {
	r.WriteHeader(http.StatusOK)
	if r.status == http.StatusNoContent || r.status == http.StatusNotModified {
		return 0, http.ErrBodyNotAllowed
	}
	r.body = append(r.body, p...)
	return len(p), nil
}

// response is what the gateway gets. Set-Cookie goes into its own list, which alone may hold several; other repeated headers are joined. A body goes as text
// where it can, and in base64 where it is not UTF-8 or where that is shorter than its escapes, so that [MaxAnswerBytes] always fit.
func (r *recorder) response() events.APIGatewayV2HTTPResponse {
	r.WriteHeader(http.StatusOK)
	answer := events.APIGatewayV2HTTPResponse{StatusCode: r.status, Headers: map[string]string{}, Cookies: r.sent["Set-Cookie"]}
	for name, values := range r.sent {
		if name != "Set-Cookie" {
			answer.Headers[name] = strings.Join(values, ", ")
		}
	}
	if !utf8.Valid(r.body) || escapedLen(r.body) > base64.StdEncoding.EncodedLen(len(r.body)) {
		answer.Body, answer.IsBase64Encoded = base64.StdEncoding.EncodeToString(r.body), true
	} else {
		answer.Body = string(r.body)
	}
	return answer
}

// escapedLen is the length of body inside a JSON string as encoding/json writes it without HTML escaping, which is how aws-lambda-go sends it.
func escapedLen(body []byte) int {
	n := len(body)
	for i, b := range body {
		switch {
		case b == '"' || b == '\\' || b == '\n' || b == '\r' || b == '\t' || b == '\b' || b == '\f':
			n++
		case b < 0x20:
			n += 5
		case b == 0xE2 && i+2 < len(body) && body[i+1] == 0x80 && body[i+2]&^1 == 0xA8: // U+2028 and U+2029 become six bytes
			n += 3
		}
	}
	return n
}
