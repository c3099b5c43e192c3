package edge_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/heatsink-dev/heatsink/pkg/edge"
)

func lookup(variables map[string]string) func(string) (string, bool) {
	return func(name string) (string, bool) {
		value, ok := variables[name]
		return value, ok
	}
}

func ExampleEnvironment() {
	env := edge.NewEnvironment(lookup(map[string]string{"HEATSINK_TABLE_USER": "Data-User-1"}))
	fmt.Println(env.Table("User"), env.TextOr("HEATSINK_STAGE", "dev"))
	env.Table("UserManagedIndex")
	fmt.Println(env.Err())
	// Output:
	// Data-User-1 dev
	// environment variable HEATSINK_TABLE_USER_MANAGED_INDEX is missing: infra sets it on the function
}

func TestOneStartTellsEverythingThatIsMissing(t *testing.T) {
	t.Parallel()
	env := edge.NewEnvironment(lookup(map[string]string{"EMPTY": "", "WRONG": "yes", "TRUE": "true", "FALSE": "false", "SHORT": "1"}))
	env.Text("MISSING")
	env.Text("EMPTY")
	env.Bool("WRONG")
	env.Bool("SHORT")
	env.Bool("ABSENT")
	if !env.Bool("TRUE") || env.Bool("FALSE") || env.TextOr("EMPTY", "fallback") != "fallback" {
		t.Error("what is set was not read")
	}
	err := env.Err()
	if err == nil {
		t.Fatal("no error")
	}
	if lines := strings.Split(err.Error(), "\n"); len(lines) != 5 {
		t.Errorf("%d faults, want 5: %v", len(lines), err)
	}
	for _, name := range []string{"MISSING", "EMPTY", "WRONG", "SHORT", "ABSENT"} {
		if !strings.Contains(err.Error(), "environment variable "+name+" ") {
			t.Errorf("%s is not named: %v", name, err)
		}
	}
	if strings.Contains(err.Error(), "TRUE") || strings.Contains(err.Error(), "FALSE") {
		t.Errorf("what is right is named: %v", err)
	}
}

func TestACompleteEnvironmentHasNoError(t *testing.T) {
	t.Parallel()
	env := edge.NewEnvironment(lookup(map[string]string{"A": "a"}))
	if env.Text("A") != "a" || env.Err() != nil {
		t.Errorf("error %v", env.Err())
	}
}
