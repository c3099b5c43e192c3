// Package docs_test holds the README and docs/ to what the code says.
package docs_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", path))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

var link = regexp.MustCompile(`\[([^\]]+)\]\(([^)#]+)[^)]*\)`)

// Every guarantee is linked to the test that proves it, so a test that is renamed or moved must take its guarantee along.
func TestEveryLinkLeadsToWhatItNames(t *testing.T) {
	t.Parallel()
	for _, page := range []string{"README.md", "docs/design.md", "events/README.md"} {
		for _, found := range link.FindAllStringSubmatch(read(t, page), -1) {
			name, target := found[1], found[2]
			if strings.HasPrefix(target, "http") {
				continue
			}
			target = filepath.Join(filepath.Dir(page), target)
			if strings.HasPrefix(name, "Test") {
				if !strings.Contains(read(t, target), "func "+name+"(") {
					t.Errorf("%s: %s has no %s", page, target, name)
				}
				continue
			}
			if _, err := os.Stat(filepath.Join("..", target)); err != nil {
				t.Errorf("%s: %v", page, err)
			}
		}
	}
}

func TestEveryMakeTargetOfTheReadmeExists(t *testing.T) {
	t.Parallel()
	makefile := read(t, "Makefile")
	for _, found := range regexp.MustCompile("(?:`|\n)make ([a-z]+)").FindAllStringSubmatch(read(t, "README.md"), -1) {
		if !regexp.MustCompile(`(?m)^[a-z -]*\b` + found[1] + `\b[^=\n]*:`).MatchString(makefile) {
			t.Errorf("README.md speaks of make %s, which the Makefile does not have", found[1])
		}
	}
}

func TestEverySampleThatIsNamedExists(t *testing.T) {
	t.Parallel()
	seen := 0
	for page, named := range map[string]*regexp.Regexp{
		"Makefile": inEvents, "README.md": inEvents, "CHANGELOG.md": inEvents, "docs/design.md": inEvents, "local/cloud": inEvents,
		"events/README.md": regexp.MustCompile("(?:`|events/)([a-z0-9-]+\\.json)"),
	} {
		for _, found := range named.FindAllStringSubmatch(read(t, page), -1) {
			seen++
			if _, err := os.Stat(filepath.Join("..", "events", found[1])); err != nil {
				t.Errorf("%s: %v", page, err)
			}
		}
	}
	samples, err := filepath.Glob("../events/*.json")
	if err != nil || seen < len(samples) {
		t.Errorf("%d names for %d samples, %v", seen, len(samples), err)
	}
}

var inEvents = regexp.MustCompile(`\bevents/([A-Za-z0-9_.-]+\.json)`)

// An empty port, as LOCAL_PORT= make up gives it, would shift the arguments of local/cloud.
func TestMakeRefusesAnEmptyPortInOneLine(t *testing.T) {
	t.Parallel()
	for _, port := range []string{"", " ", "4566 4567"} {
		command := exec.CommandContext(t.Context(), "make", "--no-print-directory", "-C", "..", "-n", "up", "LOCAL_PORT="+port) //nolint:gosec // a fixed list
		command.Env = []string{"PATH=" + os.Getenv("PATH")}                                                                     // not what a make around this test has set
		said, err := command.CombinedOutput()
		if text := string(said); err == nil || strings.Count(text, "\n") != 1 || !strings.Contains(text, "LOCAL_PORT must be a port number") {
			t.Errorf("%q: %v: %s", port, err, said)
		}
	}
}

// The definition in the README is the shipped one.
func TestTheReadmesDefinitionIsTheCatalogs(t *testing.T) {
	t.Parallel()
	_, rest, _ := strings.Cut(read(t, "README.md"), "```go\n")
	snippet, _, ok := strings.Cut(rest, "```")
	if !ok {
		t.Fatal("README.md has no Go snippet")
	}
	flat := func(text string) string { return strings.Join(strings.Fields(text), " ") }
	catalog := flat(read(t, "pkg/catalog/catalog.go"))
	// Readers may have been switched; the README shows the shipped state.
	catalog = strings.Replace(catalog, "Type: schema.GSI,", "Type: schema.Table,", 1)
	if !strings.Contains(catalog, flat(snippet)) {
		t.Errorf("pkg/catalog/catalog.go does not hold this definition of README.md:\n%s", snippet)
	}
}
