// Package catalog is this deployment's tables and indexes: catalog.go is the one file that a team edits.
//
// infra creates what it says, the functions serve what it says, and its test checks it. The words are package schema's.
package catalog
