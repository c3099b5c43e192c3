package partition

// BillRow is one line of the story's bill beside the corrected ones. An amount that a bill doesn't have is nil.
type BillRow struct {
	Name string `json:"name"`
	// Story's amount, as printed; Then the corrected one at the story's prices; Now at the chosen ones.
	Story *Money `json:"story,omitempty"`
	Then  *Money `json:"correctedAtStoryPrices,omitempty"`
	Now   *Money `json:"corrected,omitempty"`
	// StoryRule and Rule say how they are computed.
	StoryRule string `json:"storyRule,omitempty"`
	Rule      string `json:"rule,omitempty"`
	Quantity  string `json:"quantity,omitempty"`
}

// renamed is what the corrected bill calls a line of the story's.
func renamed(story string) string {
	switch story {
	case "base writes":
		return "base writes: new events"
	case "reads":
		return "pending reads: the whole date"
	case "pending index, reads":
		return "pending index, queries"
	case "failed index, reads":
		return "failed index, queries"
	default:
		return story
	}
}

// Rows of one scenario, by its position in [Scenarios].
func (p Plan) Rows(scenario int) []BillRow {
	story := map[string]Line{}
	for _, line := range p.Story.Scenarios[scenario].Lines {
		story[renamed(line.Name)] = line
	}
	var rows []BillRow
	for i, line := range p.Corrected[scenario].Lines {
		then := p.CorrectedThen[scenario].Lines[i].Amount
		row := BillRow{Name: line.Name, Then: &then, Now: &line.Amount, Rule: line.Rule, Quantity: line.Quantity}
		if printed, ok := story[line.Name]; ok {
			row.Story, row.StoryRule = &printed.Amount, printed.Rule
		}
		rows = append(rows, row)
	}
	return rows
}

// ChosenScenario is the position of All + KeysOnly, the story's choice, in [Scenarios].
const ChosenScenario = 3
