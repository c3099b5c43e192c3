package edge

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/heatsink-dev/heatsink/pkg/schema"
)

// Environment reads a function's configuration and collects what is wrong with it, so that one start tells everything that is missing.
type Environment struct {
	lookup func(string) (string, bool)
	faults []error
}

// NewEnvironment reads through lookup, which is os.LookupEnv in a function.
func NewEnvironment(lookup func(string) (string, bool)) *Environment {
	return &Environment{lookup: lookup}
}

// Text is a variable that must be set and not empty.
func (e *Environment) Text(name string) string {
	value, _ := e.lookup(name)
	if value == "" {
		e.faults = append(e.faults, fmt.Errorf("environment variable %s is missing: infra sets it on the function", name))
	}
	return value
}

// TextOr is a variable that may be left out or empty.
func (e *Environment) TextOr(name, fallback string) string {
	if value, _ := e.lookup(name); value != "" {
		return value
	}
	return fallback
}

// Bool is a variable that must be "true" or "false".
func (e *Environment) Bool(name string) bool {
	text := e.Text(name)
	if text == "" {
		return false
	}
	value, err := strconv.ParseBool(text)
	if err != nil || text != strconv.FormatBool(value) {
		e.faults = append(e.faults, fmt.Errorf("environment variable %s must be true or false, is %q", name, text))
	}
	return value
}

// Table is the deployed name of a table or index table; logical is its name in the catalog.
func (e *Environment) Table(logical string) string { return e.Text(schema.TableEnv(logical)) }

// Err joins everything that was missing or malformed in the reads so far; nil if nothing was.
func (e *Environment) Err() error { return errors.Join(e.faults...) }
