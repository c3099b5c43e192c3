package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/heatsink-dev/heatsink/pkg/schema"
)

const (
	bareHandler = "bare aws-lambda-go handler"
	startsOf    = 2 // starts of each program in a round
	startWithin = 30 * time.Second
	nextPath    = "/2018-06-01/runtime/invocation/next"
)

// program is a built function.
type program struct {
	name  string
	path  string
	bytes float64
}

// coldStarts starts the real bootstrap binaries against a stub of Lambda's runtime API, until they ask for their first event, beside a handler that does nothing.
// All are built in the way that the Makefile builds functions. The indexer's one DescribeTable request goes to the stub.
func coldStarts(ctx context.Context, w *world, r *report) error {
	folder, err := os.MkdirTemp("", "heatsink-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder) //nolint:errcheck // a temporary folder
	root, err := moduleRoot(ctx)
	if err != nil {
		return err
	}
	bare, err := build(ctx, folder, "bare", ".", "./bare")
	if err != nil {
		return err
	}
	for _, name := range []string{"indexer", "api"} {
		ours, err := build(ctx, folder, name, root, "./functions/"+name)
		if err != nil {
			return err
		}
		if err := compareStarts(ctx, w, r, ours, bare); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		const megabyte = 1 << 20
		r.add("binary of "+name, "MB", ours.bytes/megabyte, bareHandler, bare.bytes/megabyte, none)
	}
	return nil
}

func compareStarts(ctx context.Context, w *world, r *report, ours, bare *program) error {
	api, err := newRuntimeAPI()
	if err != nil {
		return err
	}
	defer api.close()
	environment := w.environment(api.address)
	times := make([][]time.Duration, 2)
	for round := range startsOf*w.rounds + 1 {
		for turn := range 2 {
			n := (turn + round) % 2
			took, err := api.start(ctx, []*program{ours, bare}[n], environment)
			if err != nil {
				return err
			}
			if round > 0 {
				times[n] = append(times[n], took)
			}
		}
	}
	r.add("cold start of "+ours.name, "ms to the first poll", milliseconds(median(times[0])), bareHandler, milliseconds(median(times[1])), none)
	return nil
}

// moduleRoot is where the functions are.
func moduleRoot(ctx context.Context) (string, error) {
	out, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", "github.com/heatsink-dev/heatsink").Output()
	if err != nil {
		return "", fmt.Errorf("find the module: %w", err)
	}
	return strings.TrimSpace(string(out)), nil
}

// build makes a bootstrap as the Makefile does.
func build(ctx context.Context, folder, name, module, path string) (*program, error) {
	p := &program{name: name, path: filepath.Join(folder, name)}
	command := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=false", "-ldflags", "-s -w -buildid=", "-tags", "lambda.norpc", "-o", p.path, path) //nolint:gosec // ours
	command.Dir = module
	command.Env = append(command.Environ(), "CGO_ENABLED=0")
	if out, err := command.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("build %s: %w\n%s", path, err, out)
	}
	info, err := os.Stat(p.path)
	if err != nil {
		return nil, err
	}
	p.bytes = float64(info.Size())
	return p, nil
}

// environment is that of a deployed function, as far as it matters for starting.
func (w *world) environment(runtimeAPI string) []string {
	variables := map[string]string{
		"PATH": os.Getenv("PATH"), "HOME": os.Getenv("HOME"),
		"AWS_LAMBDA_RUNTIME_API": runtimeAPI, "AWS_LAMBDA_FUNCTION_NAME": "bench", "AWS_LAMBDA_FUNCTION_VERSION": "$LATEST", "AWS_LAMBDA_FUNCTION_MEMORY_SIZE": "512",
		"_HANDLER": "bootstrap", "AWS_REGION": "us-east-1", "AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test", "AWS_SESSION_TOKEN": "test",
		"AWS_ENDPOINT_URL":      w.stub.URL,
		schema.EnvFailureBucket: "failures", schema.EnvUploadBucket: "uploads", schema.EnvCursorSecret: "secret", schema.EnvPartialBatch: "true",
		schema.EnvMetricsNamespace: "Heatsink", schema.EnvStage: "dev",
	}
	for _, table := range w.catalog.Tables() {
		variables[schema.TableEnv(table.Name)] = table.Name
		for _, index := range table.StreamIndexes() {
			variables[schema.TableEnv(index.TableName())] = index.TableName()
		}
	}
	var environment []string
	for name, value := range variables {
		environment = append(environment, name+"="+value)
	}
	return environment
}

// runtimeAPI is Lambda's, as far as a function needs it to wait for its first event, which never comes
// (https://docs.aws.amazon.com/lambda/latest/dg/runtimes-api.html).
type runtimeAPI struct {
	address string
	server  *http.Server
	polled  chan time.Time
}

func newRuntimeAPI() (*runtimeAPI, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	api := &runtimeAPI{address: listener.Addr().String(), polled: make(chan time.Time, 1)}
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+nextPath, func(_ http.ResponseWriter, r *http.Request) {
		api.polled <- time.Now()
		<-r.Context().Done() // until the function is ended
	})
	api.server = &http.Server{Handler: mux, ReadHeaderTimeout: time.Minute}
	go func() { _ = api.server.Serve(listener) }()
	return api, nil
}

func (api *runtimeAPI) close() { _ = api.server.Close() }

// start runs a program until its first poll and ends it.
func (api *runtimeAPI) start(ctx context.Context, p *program, environment []string) (time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, startWithin)
	defer cancel()
	var output bytes.Buffer
	command := exec.CommandContext(ctx, p.path) //nolint:gosec // built above
	command.Env, command.Stdout, command.Stderr = environment, &output, &output
	began := time.Now()
	if err := command.Start(); err != nil {
		return 0, err
	}
	ended := make(chan error, 1)
	go func() { ended <- command.Wait() }()
	select {
	case at := <-api.polled:
		cancel()
		<-ended //nolint:errcheck // ended by us, which is an error of its
		return at.Sub(began), nil
	case err := <-ended:
		return 0, errors.Join(fmt.Errorf("%s ended before its first poll: %s", p.name, output.String()), err)
	}
}
