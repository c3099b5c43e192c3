// Package deployment finds what a deploy has made, from the CDK's outputs file, and calls its HTTP API. It is for programs beside the application: the command line's
// tour and the end-to-end tests.
package deployment

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"

	"github.com/heatsink-dev/heatsink/pkg/catalog"
	"github.com/heatsink-dev/heatsink/pkg/schema"
)

// Deployment is what the stacks of one deploy have put out. It is immutable.
type Deployment struct {
	// Catalog that was deployed.
	Catalog *schema.Catalog

	path    string
	outputs map[string]map[string]string
}

// FileError is a file that cannot be taken for outputs: the caller named the wrong one.
type FileError struct{ text string }

// Error names the file.
func (e *FileError) Error() string { return e.text }

// Load reads an outputs file, as `cdk deploy --outputs-file` writes it: stacks, each with its outputs by name. A file that is anything else is a [*FileError].
func Load(path string) (*Deployment, error) {
	text, err := os.ReadFile(path) //nolint:gosec // the operator names the file
	if err != nil {
		return nil, &FileError{err.Error()}
	}
	d := &Deployment{path: path}
	if err := json.Unmarshal(text, &d.outputs); err != nil || d.outputs == nil {
		return nil, &FileError{path + " is no outputs file of the CDK: it must be a JSON object of stacks, each with its outputs by name"}
	}
	if d.Catalog, err = catalog.Load(); err != nil {
		return nil, err
	}
	return d, nil
}

// Output is the value of an output, in whatever stack it stands.
func (d *Deployment) Output(name string) (string, error) {
	for _, stack := range slices.Sorted(maps.Keys(d.outputs)) {
		if value := d.outputs[stack][name]; value != "" {
			return value, nil
		}
	}
	return "", fmt.Errorf("outputs: %s has no %s: deploy all stacks, then try again", d.path, name)
}

// Table is the deployed name of a table or index table.
func (d *Deployment) Table(logical string) (string, error) {
	return d.Output(schema.TableOutput(logical))
}

// Function is the deployed name of a function.
func (d *Deployment) Function(name string) (string, error) {
	return d.Output(schema.FunctionOutput(name))
}

// URL is where the HTTP API answers: the local cloud's own address where there is one, which needs no DNS.
func (d *Deployment) URL() (string, error) {
	if local, err := d.Output(schema.OutputLocalURL); err == nil {
		return local, nil
	}
	return d.Output(schema.OutputURL)
}

// Environment looks up a function's variable among the outputs, as os.LookupEnv does in the function: tables, the failure bucket, the cursor secret.
func (d *Deployment) Environment(name string) (string, bool) {
	outputs := map[string]string{schema.EnvFailureBucket: schema.OutputFailureBucket, schema.EnvCursorSecret: schema.OutputCursorSecret}
	for _, table := range d.Catalog.Tables() {
		outputs[schema.TableEnv(table.Name)] = schema.TableOutput(table.Name)
		for _, index := range table.StreamIndexes() {
			outputs[schema.TableEnv(index.TableName())] = schema.TableOutput(index.TableName())
		}
	}
	value, err := d.Output(outputs[name])
	return value, err == nil
}
