package partition

// The corrected bill as the walk from the story's total computes it, to be compared with [Workload.Bill].
func (w Workload) AmountWithoutFlaws(prices Prices) Money { return w.amount(flaws{}, prices) }
