package deployment_test

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"

	"github.com/heatsink-dev/heatsink/cmd/heatsink/deployment"
)

func load(t *testing.T, text string) (*deployment.Deployment, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "outputs.json")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return deployment.Load(path)
}

func TestOutputsAreFoundInAnyStackAndMissingOnesNamed(t *testing.T) {
	t.Parallel()
	d, err := load(t, `{"HeatsinkData":{"UserTableName":"Data-User-1","FailureBucketName":"failures"},"HeatsinkApi":{"Url":"https://api","ApiFunctionName":"f"}}`)
	if err != nil {
		t.Fatal(err)
	}
	for name, get := range map[string]func() (string, error){
		"Data-User-1": func() (string, error) { return d.Table("User") },
		"f":           func() (string, error) { return d.Function("api") },
		"https://api": d.URL,
	} {
		if got, err := get(); got != name || err != nil {
			t.Errorf("%q, %v; want %q", got, err, name)
		}
	}
	if got, ok := d.Environment("HEATSINK_TABLE_USER"); !ok || got != "Data-User-1" {
		t.Errorf("%q, %t", got, ok)
	}
	if got, ok := d.Environment("HEATSINK_FAILURE_BUCKET"); !ok || got != "failures" {
		t.Errorf("%q, %t", got, ok)
	}
	for _, name := range []string{"HEATSINK_TABLE_CLAIM", "PATH", ""} {
		if got, ok := d.Environment(name); ok {
			t.Errorf("%s is %q", name, got)
		}
	}
	if _, err := d.Table("Claim"); err == nil || !strings.Contains(err.Error(), "ClaimTableName") {
		t.Errorf("error %v", err)
	}
}

func TestTheLocalURLComesFirst(t *testing.T) {
	t.Parallel()
	d, err := load(t, `{"HeatsinkApi":{"Url":"https://api","LocalUrl":"http://127.0.0.1:1/x"}}`)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := d.URL(); got != "http://127.0.0.1:1/x" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
}

func TestWhatIsNoOutputsFileIsRefused(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "[]", "null", `{"a":"b"}`, `{"a":{"b":5}}`, "{} {}"} {
		_, err := load(t, text)
		if _, ok := errors.AsType[*deployment.FileError](err); !ok || !strings.Contains(err.Error(), "no outputs file") || strings.ContainsAny(err.Error(), "\n") || strings.Contains(err.Error(), "Go ") {
			t.Errorf("%q: %v", text, err)
		}
	}
	if _, err := deployment.Load(filepath.Join(t.TempDir(), "none")); err == nil {
		t.Error("a file that is not there was read")
	}
}

func TestTheClientSignsAndSendsWhatItIsGiven(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if !strings.Contains(r.Header.Get("Authorization"), "/eu-central-1/execute-api/aws4_request") {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		w.Header().Set("X-Key", r.Header.Get("Idempotency-Key"))
		w.WriteHeader(http.StatusTeapot)
		_, _ = io.WriteString(w, `{"code":"`+r.Method+" "+r.URL.Path+" "+r.URL.Query().Get("a")+" "+r.Header.Get("Content-Type")+string(body)+`"}`)
	}))
	defer server.Close()
	client := &deployment.Client{
		Base: server.URL + "/", HTTP: server.Client(),
		Config: aws.Config{Region: "eu-central-1", Credentials: credentials.NewStaticCredentialsProvider("a", "b", "")},
	}
	answer, err := client.Get(t.Context(), "/v1/x", url.Values{"a": {"b c&d"}})
	if err != nil || answer.Status != http.StatusTeapot || answer.Code() != "GET /v1/x b c&d " {
		t.Errorf("%+v, %v", answer, err)
	}
	answer, err = client.Do(t.Context(), http.MethodPost, "/v1/x", "", []byte("7"), "Idempotency-Key", "k")
	if err != nil || answer.Code() != "POST /v1/x  application/json7" || answer.Header.Get("X-Key") != "k" {
		t.Errorf("%+v, %v", answer, err)
	}
	var number int
	if err := answer.Decode(&number); err == nil {
		t.Error("an object was decoded into a number")
	}
	if answer, err := (&deployment.Client{Base: server.URL}).Get(t.Context(), "/", nil); err != nil || answer.Status != http.StatusForbidden || answer.Code() != "" {
		t.Errorf("unsigned: %+v, %v", answer, err)
	}
}
