package stub

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
)

// Argument makes this program a stub instead: see [Main].
const Argument = "stub"

// Main serves a stub on a port of this machine, tells its address in the first line of standard output and ends when standard input does, so that it can't outlive the
// process that started it.
func Main() error {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	server := NewServer()
	httpServer := &http.Server{Handler: server, ReadHeaderTimeout: time.Minute, ConnState: func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			server.Connected()
		}
	}}
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		_ = httpServer.Close()
	}()
	fmt.Println(listener.Addr())
	if err := httpServer.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// Process is a stub in a process of its own.
type Process struct {
	// URL of its endpoint.
	URL     string
	command *exec.Cmd
	stdin   io.Closer
}

// Start runs this very program with [Argument]. Stop it with [Process.Stop].
func Start(ctx context.Context) (*Process, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	command := exec.CommandContext(ctx, program, Argument) //nolint:gosec // ourselves
	command.Stderr = os.Stderr
	stdin, err := command.StdinPipe()
	if err != nil {
		return nil, err
	}
	stdout, err := command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := command.Start(); err != nil {
		return nil, fmt.Errorf("start the stub: %w", err)
	}
	address, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		return nil, errors.Join(fmt.Errorf("the stub did not tell its address: %w", err), stdin.Close(), command.Wait())
	}
	return &Process{URL: "http://" + strings.TrimSpace(address), command: command, stdin: stdin}, nil
}

// Stop ends the process.
func (p *Process) Stop() error { return errors.Join(p.stdin.Close(), p.command.Wait()) }

// Client is an SDK client of the stub.
func (p *Process) Client(options ...func(*dynamodb.Options)) *dynamodb.Client {
	return Client(p.URL, options...)
}

// Client is an SDK client of a stub at url. It does not retry: a stub never fails by chance.
func Client(url string, options ...func(*dynamodb.Options)) *dynamodb.Client {
	return dynamodb.New(dynamodb.Options{
		Region: "us-east-1", BaseEndpoint: &url, Retryer: aws.NopRetryer{}, HTTPClient: heldBody{newTransport()},
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: "test", SecretAccessKey: "test"}, nil
		}),
	}, options...)
}

// connections is more than any contestant uses at once, so that none of them dials within a measurement.
const connections = 64

func newTransport() *http.Transport {
	return &http.Transport{MaxIdleConns: connections, MaxIdleConnsPerHost: connections, IdleConnTimeout: time.Minute}
}

// heldBody keeps request bodies readable until net/http has let go of them. smithy-go 1.28 closes a body as soon as there is a response, and a closed one
// answers the transport's last look at it with an error, upon which that closes the connection under the response: "use of closed network connection". It takes a
// server that answers within microseconds, as this one does, and no real one.
type heldBody struct{ transport http.RoundTripper }

func (h heldBody) Do(request *http.Request) (*http.Response, error) {
	if request.Body == nil {
		return h.transport.RoundTrip(request)
	}
	body, err := io.ReadAll(request.Body)
	if err != nil {
		return nil, err
	}
	held := *request
	held.Body = io.NopCloser(bytes.NewReader(body))
	return h.transport.RoundTrip(&held)
}

// SetLatency makes each answer take that long.
func (p *Process) SetLatency(ctx context.Context, latency time.Duration) error {
	return p.call(ctx, "latency?of="+url.QueryEscape(latency.String()), nil)
}

// Counts gives what was counted since the last call.
func (p *Process) Counts(ctx context.Context) (Counts, error) {
	var counts Counts
	err := p.call(ctx, "counts", &counts)
	return counts, err
}

func (p *Process) call(ctx context.Context, path string, into any) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, p.URL+"/_stub/"+path, http.NoBody)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close() //nolint:errcheck // read to its end
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return err
	}
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("the stub's %s: %s: %s", path, response.Status, body)
	}
	if into == nil {
		return nil
	}
	return json.Unmarshal(body, into)
}
