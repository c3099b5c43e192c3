package deployment

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
)

// maxAnswer is more than any answer of the API holds.
const maxAnswer = 8 << 20

// Client calls the HTTP API of a deployment. It signs each request with the caller's AWS credentials, which auth=iam asks for and auth=none does not mind.
type Client struct {
	Base   string
	Config aws.Config
	HTTP   *http.Client
}

// Answer of one call.
type Answer struct {
	Status int
	Header http.Header
	Body   []byte
}

// Decode reads the body into v.
func (a *Answer) Decode(v any) error {
	if err := json.Unmarshal(a.Body, v); err != nil {
		return fmt.Errorf("the answer is no JSON of that form: %w", err)
	}
	return nil
}

// Code is the code of a problem, or "" for any other body.
func (a *Answer) Code() string {
	var problem struct{ Code string }
	_ = json.Unmarshal(a.Body, &problem)
	return problem.Code
}

// Get calls with query parameters.
func (c *Client) Get(ctx context.Context, path string, parameters url.Values) (*Answer, error) {
	return c.Do(ctx, http.MethodGet, path, parameters.Encode(), nil)
}

// Send calls with a JSON body.
func (c *Client) Send(ctx context.Context, method, path string, body any) (*Answer, error) {
	text, err := json.Marshal(body)
	if err != nil {
		return nil, fmt.Errorf("encode body: %w", err)
	}
	return c.Do(ctx, method, path, "", text)
}

// Do calls with the query string and body as they are. Headers are name, value, name, value.
func (c *Client) Do(ctx context.Context, method, path, query string, body []byte, headers ...string) (*Answer, error) {
	target := strings.TrimSuffix(c.Base, "/") + path
	if query != "" {
		target += "?" + query
	}
	request, err := http.NewRequestWithContext(ctx, method, target, bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", method, path, err)
	}
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	for n := 0; n+1 < len(headers); n += 2 {
		request.Header.Set(headers[n], headers[n+1])
	}
	if err := c.sign(ctx, request, body); err != nil {
		return nil, err
	}
	client := c.HTTP
	if client == nil {
		client = http.DefaultClient
	}
	response, err := client.Do(request)
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", method, path, err)
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer))
	if err != nil {
		return nil, fmt.Errorf("%s %s: read answer: %w", method, path, err)
	}
	return &Answer{Status: response.StatusCode, Header: response.Header, Body: text}, nil
}

func (c *Client) sign(ctx context.Context, request *http.Request, body []byte) error {
	if c.Config.Credentials == nil {
		return nil
	}
	credentials, err := c.Config.Credentials.Retrieve(ctx)
	if err != nil {
		return fmt.Errorf("AWS credentials: %w", err)
	}
	hash := sha256.Sum256(body)
	if err := v4.NewSigner().SignHTTP(ctx, credentials, request, hex.EncodeToString(hash[:]), "execute-api", c.Config.Region, time.Now()); err != nil {
		return fmt.Errorf("sign request: %w", err)
	}
	return nil
}
