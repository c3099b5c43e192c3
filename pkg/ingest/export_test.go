package ingest

// Decoded is what an upload's bytes become.
var Decoded = decoded
