package buffer

import "context"

// Gate is the bound of writes, for its test.
type Gate struct{ gate *gate }

func NewGate(most int) Gate                           { return Gate{newGate(most)} }
func (g Gate) Enter(ctx context.Context) (int, error) { return g.gate.enter(ctx) }
func (g Gate) Leave(epoch int, throttled bool)        { g.gate.leave(epoch, throttled) }

// ParsePosition reads a cursor's payload, for its fuzz test.
var ParsePosition = parsePosition
