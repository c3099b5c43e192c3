package stacks

// CheckWithNag lets a test show that the rules run.
var CheckWithNag = checkWithNag
