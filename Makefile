# Everything here needs Go, make and git, and the Go module proxy. `make` alone lists the targets.

SHELL       := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

# Tools that would crowd go.mod have a module of their own, with their versions pinned.
TOOL := go tool -modfile=tools/go.mod
BUF  := $(TOOL) buf

VERSION = $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)

PACKAGES ?= ./internal/...
BENCH    ?= .
FUZZTIME ?= 10s
DATA     ?=

.PHONY: help
help: ## List the targets
	@awk 'BEGIN {FS = ":.*## "} /^[a-z-]+:.*## / {printf "  make %-16s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: build
build: ## Build cleave, coordinator and worker into bin/
	CGO_ENABLED=0 go build -trimpath -ldflags '-s -w -X github.com/cleave-project/cleave/internal/cli/shell.version=$(VERSION)' -o bin/ ./cmd/...

.PHONY: test
test: ## Run all tests
	go test ./...

.PHONY: test-race
test-race: ## Run the tests under the race detector (PACKAGES=./internal/worker/... for some)
	CGO_ENABLED=1 go test -race -timeout 30m $(PACKAGES)

.PHONY: bench
bench: ## Run the benchmarks (BENCH=regexp, PACKAGES=; DATA=dir becomes CLEAVE_BENCH_DATA)
	CLEAVE_BENCH_DATA='$(DATA)' go test -run '^$$' -bench '$(BENCH)' -benchmem $(PACKAGES)

.PHONY: fuzz
fuzz: ## Run every fuzz target for a short while (FUZZTIME=10s)
	@grep -rhoE --include='*_test.go' '^func Fuzz[A-Za-z0-9_]*' internal --with-filename \
	| sed -E 's#^(.*)/[^/]*:func (.*)$$#./\1 \2#' | sort -u \
	| while read -r package target; do \
		echo "== $$package $$target"; \
		go test "$$package" -run '^$$' -fuzz "^$$target\$$" -fuzztime '$(FUZZTIME)'; \
	done

.PHONY: lint
lint: lint-go lint-modules lint-proto ## Check the Go code, go.mod and the protos

.PHONY: lint-go
lint-go:
	@unformatted=$$(gofmt -l -s $(wildcard cmd internal)); \
	if [ -n "$$unformatted" ]; then \
		echo "not gofmt'ed (run: gofmt -s -w FILE):"; echo "$$unformatted"; exit 1; \
	fi
	go vet ./...
	$(TOOL) golangci-lint run ./...

.PHONY: lint-modules
lint-modules:
	go mod tidy -diff

.PHONY: lint-proto
lint-proto:
	$(BUF) lint
	$(BUF) format --diff --exit-code

.PHONY: format
format: ## Format the Go code and the protos in place
	gofmt -s -w $(wildcard cmd internal)
	$(BUF) format --write

.PHONY: generate
generate: ## Generate gen/ from proto/
	$(BUF) generate

.PHONY: check-generated
check-generated: ## Fail when gen/ is not what proto/ generates
	@fresh=$$(mktemp -d); trap 'rm -rf "$$fresh"' EXIT; \
	$(BUF) generate --output "$$fresh"; \
	diff -r --brief gen "$$fresh/gen" || { echo "gen/ is stale: run make generate"; exit 1; }

.PHONY: demo
demo: build ## Show a coordinator and three workers at work, one of them killed
	./scripts/demo.sh

.PHONY: clean
clean: ## Remove what the other targets made
	rm -rf bin demo-out
