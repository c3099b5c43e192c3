// Package buffer is the event buffer: events are stored as pending, read in order from all shards, and completed or retried.
package buffer
