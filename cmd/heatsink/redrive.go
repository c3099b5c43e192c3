package main

type redriveCommand struct{}

// Run is written when package redrive is there.
func (redriveCommand) Run(console *console) error { return usage("not yet") }
