package partition_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/heatsink-dev/heatsink/pkg/partition"
)

func TestJSONCarriesWordsAndDecimalsInsteadOfFloats(t *testing.T) {
	t.Parallel()
	text, err := json.Marshal(struct {
		A partition.Severity
		B partition.Projection
		C partition.ReadHalves
		D partition.Money
		E []partition.Severity
	}{partition.Bad, partition.KeysOnly, 21, money(t, "0.030"), []partition.Severity{partition.Fine, partition.Warn, 0}})
	if want := `{"A":"problem","B":"KeysOnly","C":"10.5","D":"0.03","E":["fine","warning","unspecified"]}`; err != nil || string(text) != want {
		t.Errorf("%s, %v", text, err)
	}
	if got := partition.Projection(0).String(); got != "none" {
		t.Error(got)
	}
}

// Beside each line of the story stands its corrected one; a line that the story forgot has no amount of its.
func TestRowsPutTheStoryBesideTheCorrectedBill(t *testing.T) {
	t.Parallel()
	plan := storyPlan(t)
	for scenario := range plan.Corrected {
		rows, printed := plan.Rows(scenario), 0
		if len(rows) != len(plan.Corrected[scenario].Lines) {
			t.Errorf("%d: %d rows", scenario, len(rows))
		}
		for _, row := range rows {
			if row.Story != nil {
				printed++
			}
			if row.Then == nil || row.Now == nil || row.Rule == "" || (row.Story != nil) != (row.StoryRule != "") {
				t.Errorf("%d: %+v", scenario, row)
			}
			if forgotten := strings.Contains(row.Name, "completes") || strings.Contains(row.Name, "retries"); forgotten && row.Story != nil {
				t.Errorf("%d: the story has no %s", scenario, row.Name)
			}
		}
		if printed != len(plan.Story.Scenarios[scenario].Lines) {
			t.Errorf("%d: %d of the story's %d lines are shown", scenario, printed, len(plan.Story.Scenarios[scenario].Lines))
		}
	}
}

func TestUnknownPricesNameTheKnown(t *testing.T) {
	t.Parallel()
	list, err := partition.ShippedPrices()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := list.Find("mars"); err == nil || !strings.Contains(err.Error(), "us-east-1, before-2024-11") {
		t.Error(err)
	}
}
