package stacks_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/heatsink-dev/heatsink/infra/stacks"
)

// repository makes a folder with the functions and their builds.
func repository(t *testing.T, architecture string, functions ...string) string {
	t.Helper()
	root := t.TempDir()
	for _, name := range functions {
		if err := writeFunction(root, architecture, name); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func TestOptionsOfTheContext(t *testing.T) {
	t.Parallel()
	root := repository(t, "arm64", everything...)
	got, err := stacks.ReadOptions(map[string]string{}, root)
	if err != nil {
		t.Fatal(err)
	}
	if got.Stage != stacks.Dev || got.Auth != stacks.IAM || got.Local || got.Dist != filepath.Join(root, "dist", "arm64") || len(got.Functions) != len(everything) {
		t.Errorf("without context: %+v", got)
	}
	got, err = stacks.ReadOptions(map[string]string{"stage": "prod", "auth": "jwt", "jwtIssuer": "https://issuer.example", "jwtAudience": "web,, app "}, root)
	if err != nil {
		t.Fatal(err)
	}
	if got.Stage != stacks.Prod || got.Auth != stacks.JWT || fmt.Sprint(got.JWTAudience) != "[web app]" {
		t.Errorf("with jwt: %+v", got)
	}
	here := repository(t, "local", core...)
	got, err = stacks.ReadOptions(map[string]string{"local": "true", "localEndpoint": "http://127.0.0.1:4566/", "auth": "none"}, here)
	if err != nil {
		t.Fatal(err)
	}
	if !got.Local || got.LocalEndpoint != "http://127.0.0.1:4566" || got.Dist != filepath.Join(here, "dist", "local") || got.Has("redrive") {
		t.Errorf("local: %+v", got)
	}
	if got, err = stacks.ReadOptions(map[string]string{"dist": filepath.Join(here, "dist", "local")}, here); err != nil || got.Dist != filepath.Join(here, "dist", "local") {
		t.Errorf("with dist: %+v, %v", got, err)
	}
}

// One line, which names the key and what it takes.
func TestOptionsRefused(t *testing.T) {
	t.Parallel()
	root := repository(t, "arm64", everything...)
	for name, test := range map[string]struct {
		context map[string]string
		want    string
	}{
		"an unknown stage":                   {map[string]string{"stage": "staging"}, `context stage must be dev or prod, is "staging"`},
		"a stage in capitals":                {map[string]string{"stage": "PROD"}, `context stage must be dev or prod, is "PROD"`},
		"an unknown authorization":           {map[string]string{"auth": "apikey"}, `context auth must be iam, jwt or none, is "apikey"`},
		"prod without authorization":         {map[string]string{"stage": "prod", "auth": "none"}, "context auth=none is refused for stage=prod"},
		"jwt without an issuer":              {map[string]string{"auth": "jwt", "jwtAudience": "web"}, "needs jwtIssuer, an https address"},
		"jwt with an issuer over http":       {map[string]string{"auth": "jwt", "jwtIssuer": "http://issuer.example", "jwtAudience": "web"}, "needs jwtIssuer, an https address"},
		"jwt without an audience":            {map[string]string{"auth": "jwt", "jwtIssuer": "https://issuer.example"}, "needs jwtAudience"},
		"jwt with an empty audience":         {map[string]string{"auth": "jwt", "jwtIssuer": "https://issuer.example", "jwtAudience": " , "}, "needs jwtAudience"},
		"an issuer without jwt":              {map[string]string{"jwtIssuer": "https://issuer.example"}, "go with auth=jwt alone"},
		"local that is neither":              {map[string]string{"local": "yes"}, `context local must be true or false, is "yes"`},
		"prod on the local cloud":            {map[string]string{"local": "true", "stage": "prod"}, "takes stage=dev alone"},
		"local without its address":          {map[string]string{"local": "true"}, "context localEndpoint must be the local cloud's address"},
		"a local address that has a path":    {map[string]string{"local": "true", "localEndpoint": "http://127.0.0.1:1/x"}, "context localEndpoint must be"},
		"a local address without local":      {map[string]string{"localEndpoint": "http://127.0.0.1:1"}, "context localEndpoint goes with local=true alone"},
		"functions built for another target": {map[string]string{"local": "true", "localEndpoint": "http://127.0.0.1:1"}, "bootstrap does not exist: build the functions first"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := stacks.ReadOptions(test.context, root)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Fatalf("error is %v, want one with %q", err, test.want)
			}
			if strings.Contains(err.Error(), "\n") {
				t.Errorf("more than a line: %q", err)
			}
		})
	}
}

func TestAFunctionThatIsNotBuiltIsNamed(t *testing.T) {
	t.Parallel()
	root := repository(t, "arm64", everything...)
	missing := filepath.Join(root, "dist", "arm64", "redrive", "bootstrap")
	if err := os.Remove(missing); err != nil {
		t.Fatal(err)
	}
	_, err := stacks.ReadOptions(map[string]string{}, root)
	if err == nil || !strings.HasPrefix(err.Error(), missing+" does not exist: build the functions first") {
		t.Errorf("error is %v", err)
	}
}

func TestARequiredFunctionMustBeThere(t *testing.T) {
	t.Parallel()
	root := repository(t, "arm64", "indexer", "redrive")
	_, err := stacks.ReadOptions(map[string]string{}, root)
	if err == nil || !strings.HasPrefix(err.Error(), "functions/api/main.go does not exist below "+root) {
		t.Errorf("error is %v", err)
	}
}

func TestAFunctionWithoutItsTableIsNamed(t *testing.T) {
	t.Parallel()
	synthesis.Lock()
	defer synthesis.Unlock()
	for _, missing := range [][2]string{{"nickname", "Claim"}, {"events", "Event"}, {"ingest", "Event"}} {
		options, err := stacks.ReadOptions(map[string]string{}, repository(t, "arm64", "indexer", "api", missing[0]))
		if err != nil {
			t.Fatal(err)
		}
		tables, err := otherCatalog()
		if err != nil {
			t.Fatal(err)
		}
		_, err = stacks.New(stacks.NewApp(t.TempDir()), tables, options)
		if want := "functions/" + missing[0] + " needs table " + missing[1] + ", which pkg/catalog lacks"; err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("error is %v, want %q", err, want)
		}
	}
}

func ExampleReadOptions() {
	_, err := stacks.ReadOptions(map[string]string{"stage": "prod", "auth": "none"}, ".")
	fmt.Println(err)
	// Output: context auth=none is refused for stage=prod: use iam or jwt
}
