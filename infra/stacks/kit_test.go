package stacks_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/aws/jsii-runtime-go"

	"github.com/heatsink-dev/heatsink/infra/stacks"
	"github.com/heatsink-dev/heatsink/pkg/catalog"
	"github.com/heatsink-dev/heatsink/pkg/schema"
)

// Synthesis talks to a JavaScript process and takes seconds, so each variant is synthesized once, and one after the other.
var (
	synthesis sync.Mutex
	scratch   string // removed when the tests end
)

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	folder, err := os.MkdirTemp("", "heatsink-infra-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	scratch = folder
	defer func() { _ = os.RemoveAll(folder) }()
	defer jsii.Close()
	return m.Run()
}

// everything is each function; core is what an application cannot do without.
var (
	everything = []string{"indexer", "api", "redrive", "nickname", "events", "ingest"}
	core       = []string{"indexer", "api"}
)

// variant is an application that is synthesized on its first use and shared by all tests, which must not change it.
type variant struct {
	name      string
	context   map[string]string
	functions []string
	tables    func() (*schema.Catalog, error)

	once     sync.Once
	assembly *assembly
	err      error
}

var (
	own   = &variant{name: "own", context: map[string]string{}, functions: everything, tables: catalog.Load}
	dev   = &variant{name: "dev", context: map[string]string{}, functions: everything, tables: shippedCatalog}
	prod  = &variant{name: "prod", context: map[string]string{"stage": "prod"}, functions: everything, tables: shippedCatalog}
	token = &variant{name: "token", functions: core, tables: shippedCatalog, context: map[string]string{
		"stage": "prod", "auth": "jwt", "jwtIssuer": "https://issuer.example/", "jwtAudience": "web, app",
	}}
	local = &variant{name: "local", functions: everything, tables: shippedCatalog, context: map[string]string{
		"local": "true", "auth": "none", "localEndpoint": "http://127.0.0.1:4566/",
	}}
	other = &variant{name: "other", functions: core, context: map[string]string{}, tables: otherCatalog}
)

var variants = []*variant{own, dev, prod, token, local, other}

// assembly is what a synthesis wrote.
type assembly struct {
	folder    string
	templates map[string]template // by stack
}

// template is one CloudFormation template as JSON, with references written out by [plain].
type template map[string]any

// get synthesizes once.
func (v *variant) get(t testing.TB) *assembly {
	t.Helper()
	v.once.Do(func() { v.assembly, v.err = v.synthesize() })
	if v.err != nil {
		t.Fatalf("variant %s: %v", v.name, v.err)
	}
	return v.assembly
}

func (v *variant) synthesize() (*assembly, error) {
	synthesis.Lock()
	defer synthesis.Unlock()
	root := filepath.Join(scratch, v.name)
	architecture := "arm64"
	if v.context["local"] == "true" {
		architecture = "local"
	}
	for _, name := range v.functions {
		if err := writeFunction(root, architecture, name); err != nil {
			return nil, err
		}
	}
	options, err := stacks.ReadOptions(v.context, root)
	if err != nil {
		return nil, err
	}
	tables, err := v.tables()
	if err != nil {
		return nil, err
	}
	folder := filepath.Join(root, "cdk.out")
	app := stacks.NewApp(folder)
	if _, err := stacks.New(app, tables, options); err != nil {
		return nil, err
	}
	app.Synth(nil)
	return readAssembly(folder)
}

// writeFunction makes what ReadOptions looks for: a function's folder and its build.
func writeFunction(root, architecture, name string) error {
	for _, file := range []string{filepath.Join("functions", name, "main.go"), filepath.Join("dist", architecture, name, "bootstrap")} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(root, file)), 0o700); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(root, file), []byte(name), 0o600); err != nil {
			return err
		}
	}
	return nil
}

func readAssembly(folder string) (*assembly, error) {
	a := &assembly{folder: folder, templates: map[string]template{}}
	files, err := filepath.Glob(filepath.Join(folder, "*.template.json"))
	if err != nil {
		return nil, err
	}
	raw := map[string]map[string]any{}
	for _, file := range files {
		var parsed map[string]any
		if err := readJSON(file, &parsed); err != nil {
			return nil, err
		}
		raw[strings.TrimSuffix(filepath.Base(file), ".template.json")] = parsed
	}
	for stack, parsed := range raw {
		a.templates[stack] = (&resolver{raw: raw, stack: stack}).plain(parsed).(map[string]any)
	}
	return a, nil
}

func readJSON(file string, into any) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, into)
}

func outputsOf(parsed map[string]any) map[string]map[string]any {
	outputs := map[string]map[string]any{}
	list, _ := parsed["Outputs"].(map[string]any)
	for name, output := range list {
		outputs[name] = output.(map[string]any)
	}
	return outputs
}

// stack is a copy of a stack's template, which the caller may change.
func (a *assembly) stack(t testing.TB, name string) template {
	t.Helper()
	found, ok := a.templates[name]
	if !ok {
		t.Fatalf("no stack %s among %v", name, slices.Sorted(maps.Keys(a.templates)))
	}
	return clone(map[string]any(found)).(map[string]any)
}

func clone(value any) any {
	switch value := value.(type) {
	case []any:
		list := make([]any, len(value))
		for n, element := range value {
			list[n] = clone(element)
		}
		return list
	case map[string]any:
		object := map[string]any{}
		for name, member := range value {
			object[name] = clone(member)
		}
		return object
	default:
		return value
	}
}

// resources of a type, by logical id. The empty type is every resource.
func (t template) resources(kind string) map[string]map[string]any {
	found := map[string]map[string]any{}
	all, _ := t["Resources"].(map[string]any)
	for id, resource := range all {
		if r := resource.(map[string]any); kind == "" || r["Type"] == kind {
			found[id] = r
		}
	}
	return found
}

// at follows a path of names and list positions such as Properties.Tags.0; ok is false where it ends early.
func at(value any, path string) (found any, ok bool) {
	for step := range strings.SplitSeq(path, ".") {
		switch container := value.(type) {
		case map[string]any:
			if value, ok = container[step]; !ok {
				return nil, false
			}
		case []any:
			var n int
			if _, err := fmt.Sscan(step, &n); err != nil || n >= len(container) {
				return nil, false
			}
			value = container[n]
		default:
			return nil, false
		}
	}
	return value, true
}

// remove takes away what stands at the path.
func remove(root map[string]any, path string) {
	parent, last := any(root), path
	if cut := strings.LastIndex(path, "."); cut >= 0 {
		parent, _ = at(root, path[:cut])
		last = path[cut+1:]
	}
	switch container := parent.(type) {
	case map[string]any:
		delete(container, last)
	case []any:
		var n int
		if _, err := fmt.Sscan(last, &n); err == nil && n < len(container) {
			container[n] = nil
		}
	}
}

func text(value any) string {
	encoded, err := json.Marshal(value)
	if err != nil {
		return fmt.Sprint(value)
	}
	return string(encoded)
}
