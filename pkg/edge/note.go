package edge

import (
	"context"
	"log/slog"
)

// Note gathers what a handler adds to the summary of its request: facts about its work, never a value that a caller sent, nor a part of an item. It belongs to
// the request's goroutine.
type Note struct {
	route, category string
	attrs           []slog.Attr
	metrics         []Metric
	dimensions      Dimensions
}

// Log adds attributes to the log line.
func (n *Note) Log(attrs ...slog.Attr) { n.attrs = append(n.attrs, attrs...) }

// Count adds metrics of unit Count.
func (n *Note) Count(name string, value float64) {
	n.metrics = append(n.metrics, Metric{name, Count, value})
}

// Dimension sets a dimension of the request's metrics. Its value must come from the catalog, see [Dimensions].
func (n *Note) Dimension(name, value string) { n.dimensions[name] = value }

type noteKey struct{}

func withNote(ctx context.Context, note *Note) context.Context {
	return context.WithValue(ctx, noteKey{}, note)
}

// NoteOf is the note of the request in ctx. Outside of a [Router] it is one that nobody reads.
func NoteOf(ctx context.Context) *Note {
	if note, ok := ctx.Value(noteKey{}).(*Note); ok {
		return note
	}
	return &Note{dimensions: Dimensions{}}
}
