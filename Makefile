# heatsink: every command of the project. `make` lists them. Works with GNU make 3.81 (macOS) and newer, with -j too.
# All tools are pinned and live in this checkout (.bin, .venv, node_modules); a stamp beside each keeps warm runs fast.

LOCAL_PORT ?= 4566
$(if $(filter 1,$(words $(LOCAL_PORT))),,$(error LOCAL_PORT must be a port number))
STAGE      ?= dev
AUTH       ?= iam
CDK_ARGS   ?=
PYTHON     ?= python3
FUZZTIME   ?= 30s
SOAK       ?= 5m

GOLANGCI_LINT_VERSION := v2.15.0
GOTESTSUM_VERSION     := v1.13.0

# Each module builds alone, as it does for those who import it: go.work is for editors, and would hide a missing require.
export GOWORK := off
MODULES := . infra bench

# Steps that may run side by side do so, also when the caller did not say -j.
parallel = $(MAKE) --no-print-directory $(if $(findstring jobserver,$(MAKEFLAGS)),,-j3)

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DELETE_ON_ERROR:
.SUFFIXES:
MAKEFLAGS += --no-builtin-rules
.DEFAULT_GOAL := help

# For the CDK CLI and the CDK's own node process: nothing phones home, and Node 20 works, though its time is over (README).
export CDK_DISABLE_VERSION_CHECK := 1
export CDK_DISABLE_CLI_TELEMETRY := true
export NODE_NO_WARNINGS := 1
export JSII_SILENCE_WARNING_END_OF_LIFE_NODE_VERSION := 20

CLOUD := .venv/bin/python local/cloud
CDK   := node_modules/.bin/cdk
LINT  := "$(CURDIR)/.bin/golangci-lint"

# CDK context keys, read by infra: stage=dev|prod, auth=iam|jwt|none (with jwtIssuer, jwtAudience). local/cloud adds local=true (functions
# from dist/local, for this machine's architecture) and localEndpoint=http://127.0.0.1:<port> (for the output LocalUrl).
CDK_CONTEXT := -c stage=$(STAGE) -c auth=$(AUTH)

.PHONY: help
help: ## list these targets
	@awk 'BEGIN {FS = ":.*## "; print "heatsink: make <target>"} /^[a-z][a-z-]*:.*## / {printf "  %-10s %s\n", $$1, $$2} /^##@ / {print "\n" substr($$0, 5)}' $(firstword $(MAKEFILE_LIST))
	@printf '\nLOCAL_PORT=%s picks the local cloud'\''s port; each checkout and port has a cloud of its own.\n' '$(LOCAL_PORT)'

##@ The local cloud (no AWS account needed)

.PHONY: demo up down invoke
demo: up ## start everything and take a short tour on real requests; leaves the cloud up
	@$(CLOUD) env $(LOCAL_PORT) .bin/heatsink demo --outputs .local/$(LOCAL_PORT)/outputs.json
	@echo 'The cloud stays up. Try it yourself: `. .local/env`, then the requests of README.md. Stop it: make down$(if $(filter 4566,$(LOCAL_PORT)),, LOCAL_PORT=$(LOCAL_PORT))'

# A change that CloudFormation cannot make in one update would fail half-way through a deploy, or deploy locally and not on AWS.
catalog-check = found=$$($(1) .bin/heatsink check --deployed) || { printf '%s\n' "$$found" >&2; exit 1; }

up: tools-cloud build ## start the local cloud and deploy to it, or redeploy what changed
	@$(CLOUD) start $(LOCAL_PORT)
	@$(call catalog-check,$(CLOUD) env $(LOCAL_PORT))
	@$(CLOUD) deploy $(LOCAL_PORT)
	@$(CLOUD) publish $(LOCAL_PORT)

# Needs no .venv: a cloud must be stoppable also when its installation is gone.
down: ## stop the local cloud and forget all that it held
	@$(firstword $(wildcard .venv/bin/python) $(PYTHON)) local/cloud stop $(LOCAL_PORT)

invoke: .venv/.stamp ## one invocation of a deployed function: FN=indexer EVENT=events/stream-insert.json
	@if [ -z '$(FN)' ] || [ -z '$(EVENT)' ]; then echo 'usage: make invoke FN=<folder in functions/> EVENT=<file>, for example FN=api EVENT=events/api-index-items.json' >&2; exit 2; fi
	@$(CLOUD) invoke $(LOCAL_PORT) '$(FN)' '$(EVENT)'

##@ AWS

.PHONY: synth deploy
synth: node_modules/.stamp build-arm64 ## write the templates to cdk.out: STAGE=dev|prod AUTH=iam|jwt|none CDK_ARGS=
	@$(CDK) synth --quiet $(CDK_CONTEXT) $(CDK_ARGS)

# With AWS_ENDPOINT_URL at this machine (after `. .local/env`) it deploys there, so functions must be of this machine's kind.
LOCAL_TARGET := $(filter http://127.0.0.1% http://localhost%,$(AWS_ENDPOINT_URL))
deploy: .bin/heatsink node_modules/.stamp $(if $(LOCAL_TARGET),build,build-arm64) ## deploy to the AWS account of the environment: STAGE= AUTH= CDK_ARGS=
	@$(if $(LOCAL_TARGET),echo "AWS_ENDPOINT_URL is set: this deploys to $(LOCAL_TARGET) and not to AWS",:)
	@$(call catalog-check,)
	@$(CDK) deploy --all --outputs-file cdk.out/outputs.json $(CDK_CONTEXT) $(if $(LOCAL_TARGET),-c local=true -c localEndpoint=$(LOCAL_TARGET)) $(CDK_ARGS)

##@ Build and check

.PHONY: build build-arm64 check test lint vet compile fmt
# A binary depends on every file of the library: coarse, but its time is right, and Go's own cache makes the rest cheap.
# Folders are listed too, for a deleted file leaves its trace only there.
library   := go.mod go.sum $(shell find pkg ! -path '*/testdata*' ! -name '*_test.go' 2>/dev/null)
functions := $(patsubst functions/%/main.go,%,$(wildcard functions/*/main.go))
# Reproducible: no paths, no version control state, no build id. An unchanged function keeps its bytes, so CDK leaves it alone.
go-build  := CGO_ENABLED=0 go build -trimpath -buildvcs=false -ldflags '-s -w -buildid='

build: $(functions:%=dist/local/%/bootstrap) .bin/heatsink ## build the functions for this machine, and .bin/heatsink
build-arm64: $(functions:%=dist/arm64/%/bootstrap)

# dist/local is for this machine, where the local cloud starts functions as plain processes; dist/arm64 is for AWS.
define function-rules
dist/local/$(1)/bootstrap: $$(library) $$(shell find functions/$(1) ! -name '*_test.go')
	@echo "build $$@"
	@$$(go-build) -tags lambda.norpc -o $$@ ./functions/$(1)
dist/arm64/$(1)/bootstrap: $$(library) $$(shell find functions/$(1) ! -name '*_test.go')
	@echo "build $$@"
	@GOOS=linux GOARCH=arm64 $$(go-build) -tags lambda.norpc -o $$@ ./functions/$(1)
endef
$(foreach name,$(functions),$(eval $(call function-rules,$(name))))

.bin/heatsink: $(library) $(shell find cmd/heatsink ! -name '*_test.go' 2>/dev/null)
	@echo "build $@"
	@$(go-build) -o $@ ./cmd/heatsink

check: .bin/heatsink ## is the catalog sound, and can it be deployed over what is deployed?
	@.bin/heatsink check --deployed

# `exec` ends the cloud with the command that it runs, also on failure or ctrl-C.
test: ## all tests, lint and template checks, on a local cloud of its own
	@+$(parallel) tools build
	@+$(CLOUD) exec $(parallel) test-beside-cloud

# The formatters count as linters here, so this is the formatting check as well.
lint: .bin/.golangci-lint-$(GOLANGCI_LINT_VERSION) ## golangci-lint on every module: .golangci.yml
	@status=0; for module in $(MODULES); do \
	  echo "lint $$module"; (cd $$module && $(LINT) run --allow-parallel-runners ./...) || status=1; done; exit $$status

vet:
	@status=0; for module in $(MODULES); do echo "vet $$module"; go vet -C $$module ./... || status=1; done; exit $$status

compile:
	@status=0; for module in $(MODULES); do echo "compile $$module"; go build -C $$module ./... || status=1; done; exit $$status

fmt: .bin/.golangci-lint-$(GOLANGCI_LINT_VERSION) ## format all Go code: gofumpt, gci
	@status=0; for module in $(MODULES); do (cd $$module && $(LINT) fmt ./...) || status=1; done; exit $$status

# One gotestsum run over all modules, so that its summary of everything comes last. infra is tested without the race detector: its
# tests build templates one after another, and the CDK's large packages would be compiled a second time for nothing.
.PHONY: test-beside-cloud test-deploy
test-beside-cloud: lint vet compile test-deploy
	@.bin/gotestsum --format pkgname --format-hide-empty-pkg --raw-command -- bash -c 'status=0; \
	  go test -json -count=1 -timeout 15m -race ./... || status=1; \
	  go test -C bench -json -count=1 -timeout 15m -race ./... || status=1; \
	  go test -C infra -json -count=1 -timeout 15m ./... || status=1; \
	  exit $$status'

test-deploy:
	@$(CLOUD) deploy "$$HEATSINK_TEST_CLOUD"

##@ Longer runs

.PHONY: bench fuzz soak soak-beside-cloud
bench: .venv/.stamp ## benchmarks, with peers, as a table of ratios; also bench/results.json
	@$(CLOUD) exec go run -C bench .

fuzz: ## a million mutated cursors, then every fuzz target in turn, FUZZTIME=30s each
	@go test -count=1 -v -run '^TestMutatedTokensAreRefused$$' ./pkg/cursor -mutations 1000000
	@list=$$(go test -list '^Fuzz' ./...) && \
	targets=$$(awk '/^Fuzz/ {names = names " " $$1} /^ok/ {n = split(names, f, " "); for (i = 1; i <= n; i++) print $$2, f[i]; names = ""}' <<<"$$list") && \
	[ -n "$$targets" ] && while read -r package name; do \
	  echo "fuzz $$package $$name"; go test -run '^$$' -fuzz "^$$name\$$" -fuzztime $(FUZZTIME) "$$package" </dev/null || exit 1; done <<<"$$targets"

soak: tools build ## the long form of the TestSoak tests, SOAK=5m each, with faults, on a local cloud of its own
	@+HEATSINK_SOAK=$(SOAK) $(CLOUD) exec $(parallel) soak-beside-cloud

soak-beside-cloud: test-deploy
	@.bin/gotestsum --format testname -- -count=1 -timeout 0 -race -run '^TestSoak' ./...

##@ Tools and tidying

.PHONY: tools tools-cloud clean distclean
tools: tools-cloud .bin/.golangci-lint-$(GOLANGCI_LINT_VERSION) .bin/.gotestsum-$(GOTESTSUM_VERSION) ## install the pinned tools into this checkout
tools-cloud: .venv/.stamp node_modules/.stamp

.venv/.stamp: local/requirements.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))' || { echo 'needs Python 3.10 or newer; name one with PYTHON=' >&2; exit 1; }
	@$(PYTHON) -c 'import venv, ensurepip' || { echo 'needs Python with venv (Debian, Ubuntu: apt install python3-venv)' >&2; exit 1; }
	@echo 'install the local cloud into .venv'
	@$(PYTHON) -m venv --clear .venv
	@.venv/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r local/requirements.txt
	@touch $@

node_modules/.stamp: package.json package-lock.json
	@node -e 'process.exit(parseInt(process.versions.node) >= 20 ? 0 : 1)' || { echo 'needs Node 20 or newer' >&2; exit 1; }
	@echo 'install the CDK CLI into node_modules'
	@npm ci --silent --no-audit --no-fund
	@touch $@

.bin/.golangci-lint-$(GOLANGCI_LINT_VERSION):
	@echo 'build golangci-lint $(GOLANGCI_LINT_VERSION) into .bin (minutes, once)'
	@GOBIN="$(CURDIR)/.bin" go install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(GOLANGCI_LINT_VERSION)
	@touch $@

.bin/.gotestsum-$(GOTESTSUM_VERSION):
	@echo 'build gotestsum $(GOTESTSUM_VERSION) into .bin'
	@GOBIN="$(CURDIR)/.bin" go install gotest.tools/gotestsum@$(GOTESTSUM_VERSION)
	@touch $@

clean: down ## stop the local cloud and remove what was built, but not the tools
	@rm -rf dist cdk.out .bin/heatsink .bin/infra bench/results.json

distclean: clean ## clean, and remove the tools as well
	@rm -rf .bin .venv node_modules .local
