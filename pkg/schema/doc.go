// Package schema holds the words that describe tables and indexes, and the rules that a description must keep.
//
// A team writes [TableDefinition] and [IndexDefinition] literals in package catalog. [Compile] checks all of them at once and
// returns a [Catalog]: the same facts with every name resolved, which infra, functions and library packages read. Nothing else in
// heatsink interprets a definition, so a name or a type cannot mean two things.
//
// Guarantees: a compiled catalog is complete and consistent (every key attribute is declared and typed, every index has a form that
// readers can use, every tombstone outlives the stream), and it is immutable and safe for concurrent use. Each error names the table, the index and
// the field.
//
// It does not know any deployed resource: whether a table of that name exists is infra's and the functions' business.
package schema
