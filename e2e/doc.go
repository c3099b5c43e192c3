// Package e2e tests a deployment as its users meet it: the real stacks on the local cloud, writes to the real tables, the real stream, the real function binaries, the real
// HTTP API. `make test` deploys and then runs it; HEATSINK_E2E_OUTPUTS names the outputs file of that deploy. Each test has a partition of its own, so that they run
// beside each other, and again on the same deployment.
package e2e
