# `make` alone lists the targets, from the comments that begin with ##. Building and testing need Go, make, git and the
# Go module proxy. Some targets need more, and say so in their comments or when it is missing: Python or npm for the
# clients, Snakemake for the examples, root for machines, containers and network namespaces.

SHELL       := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

# Tools that would crowd go.mod have modules of their own, with their versions pinned: one for those that build and
# check. The programs that measure and generate are the module tools.
TOOL := go tool -modfile=tools/build/go.mod
BUF  := $(TOOL) buf

# The packages with generated SIMD code. Their generators, tools/asm/<last part>, are a module of their own.
SIMD_PACKAGES := kernel numeric/neighbor numeric/eigen numeric/vector

# Documents with tables of the catalog.
CATALOG_DOCS := docs/README.md docs/guide/algorithms.md docs/ALGORITHMS.md docs/OPTIONS.md \
	$(wildcard docs/reference/*.md)

VERSION = $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
COMMIT = $(shell git rev-parse HEAD 2>/dev/null || echo unknown)
# The driver of gs:// brings a second protocol, gRPC with its xDS, which it does not use: without it, the programs link
# 982 packages instead of 1,127. A program built without the tag does the same.
BUILD_TAGS = disable_grpc_modules
# Programs, tests and linters are compiled in the same way, so that each finds in the cache what another left there.
export CGO_ENABLED := 0
export GOFLAGS := $(GOFLAGS) -trimpath -tags=$(BUILD_TAGS)
SHELL_PACKAGE = github.com/cleave-project/cleave/internal/cli/shell
LDFLAGS = -X $(SHELL_PACKAGE).version=$(VERSION) -X $(SHELL_PACKAGE).commit=$(COMMIT)

PACKAGES ?= ./client/... ./internal/... ./test/...
BENCH    ?= .
FUZZTIME ?= 10s
DATA     ?=

## List the targets
.PHONY: help
help:
	@awk '/^## / {about = about " " substr($$0, 4)} \
		/^\.PHONY: / {if (about) printf "  make %-19s%s\n", $$2, about; about = ""}' $(MAKEFILE_LIST)

## Build cleave, coordinator and worker into bin/
.PHONY: build
build:
	go build -ldflags '$(LDFLAGS)' -o bin/ ./cmd/...

## Run the tests, a part of every large one
.PHONY: test
test:
	go test -timeout 30m ./...

## Check the repository itself: generated code, the API, documents and their examples, tools, dashboard, chart, units
.PHONY: check
check: check-generated check-api
	go test -C tools -timeout 30m ./...
	go test -C tools/packages ./...
	go test -C test/deploy ./chart ./machines

# The tag changes package testscale alone; programs that tests start are compiled without it.
LONG = -tags=$(BUILD_TAGS),long -timeout 3h

## Run all cases of the large tests, and of the examples in the documents (PACKAGES=./internal/fleet/..., TESTS=regexp
## for some)
.PHONY: test-long
test-long:
	go test $(LONG) $(if $(TESTS),-run '$(TESTS)') $(PACKAGES)
	$(if $(TESTS)$(filter-out file,$(origin PACKAGES)),,go test -C tools $(LONG) ./...)

# It belongs into .ci/run as soon as a version is tagged and release.txt has its commit; until then its tests are
# skipped.
## Run the programs of the last release together with these, and on its state
.PHONY: test-upgrade
test-upgrade:
	go test -count=1 $(LONG) -run 'TestReleasesWorkTogether|UpgradedDuringAJob|TestReleasesImportTogether' \
		./test/clustertest

## Run the tests under the race detector (PACKAGES=./internal/worker/... for some)
.PHONY: test-race
test-race:
	CGO_ENABLED=1 go test -race -timeout 30m $(PACKAGES)

## Open reports in Chromium, and read them (SCREENSHOTS=folder for pictures of them)
.PHONY: test-browser
test-browser: build
	@command -v chromium >/dev/null || command -v google-chrome >/dev/null || \
		{ echo 'make test-browser needs Chromium: apt-get install chromium'; exit 1; }
	CLEAVE='$(CURDIR)/bin/cleave' SCREENSHOTS='$(if $(SCREENSHOTS),$(abspath $(SCREENSHOTS)))' \
		go test -C tools/browser -count=1 ./...

## Run the steps of examples/ in GNU Make, Snakemake and Temporal's test environment, and check the others by their
## schemas
.PHONY: test-examples
test-examples:
	@command -v snakemake >/dev/null || \
		{ echo 'make test-examples needs Snakemake: apt-get install snakemake'; exit 1; }
	go test -C examples -count=1 ./...

## Test the clients in other languages
.PHONY: test-clients
test-clients: test-python test-typescript test-languages

## Run the examples of other languages whose tools are installed (LANGUAGES='ruby rust' for some)
.PHONY: test-languages
test-languages: build
	examples/languages/run.sh $(LANGUAGES)

## Test the TypeScript client in Node and, if it is installed, in Chromium (TESTS='errors cluster' for some)
.PHONY: test-typescript
test-typescript: build clients/typescript/node_modules check-typescript
	cd clients/typescript && npm run --silent build && npm run --silent check && CLEAVE_BIN='$(CURDIR)/bin' \
		node --test $(patsubst %,test/%.test.js,$(or $(TESTS),contract cluster errors package browser))

clients/typescript/node_modules: clients/typescript/package-lock.json
	@command -v npm >/dev/null || \
		{ echo 'the TypeScript client needs Node 20 or later, and npm: apt-get install nodejs npm'; exit 1; }
	cd clients/typescript && npm ci --no-audit --no-fund
	@touch $@

## Test clients/python with Debian's Python (SHORT=1 for a part of it)
.PHONY: test-python
test-python: build
	scripts/test-python.sh $(if $(SHORT),short)

## Build the wheels of clients/python, with the program for each platform (PLATFORMS=linux/amd64 for one)
.PHONY: wheels
wheels:
	scripts/python-wheels.py $(PLATFORMS)

## Build Debian packages of cleave, cleave-coordinator and cleave-worker into dist/ (ARCHITECTURES='amd64 arm64')
.PHONY: packages
packages:
	scripts/packages.sh dist $(ARCHITECTURES)

## Start a cluster on three machines with systemd, from packages, in network namespaces, and time it (needs root,
## debootstrap and systemd-container)
.PHONY: test-machines
test-machines:
	go test -C tools/packages ./...
	scripts/test-machines.sh

## Run deploy/slurm/cleave.sbatch in a Slurm of three nodes on this machine; lose a node, reach the time limit (needs
## root, slurm-wlm and munge)
.PHONY: test-slurm
test-slurm:
	scripts/test-slurm.sh

## Compare with the machine's limits and with peers, and write docs/benchmarks.md (DATA=folder; STAGES=a,b only their
## sections; QUICK=1 writes nothing)
.PHONY: bench
bench: measure
	bin/measure bench $(MEASURE_ARGS) $(if $(ROUNDS),-rounds '$(ROUNDS)') \
		$(if $(QUICK),-quick,-out docs/benchmarks.md)

# The harness of bench, load, experiments and answers. It needs neither Go nor, without peers, Python.
.PHONY: measure
measure: build
	go build -C tools -o ../bin/measure ./measure/cmd

MEASURE_ARGS = -version '$(VERSION)' -data '$(DATA)' \
	$(if $(STAGES)$(STUDIES)$(SUITE),-parts '$(STAGES)$(STUDIES)$(SUITE)')

## Measure how many clients one coordinator serves, and write it into docs/reliability.md
## (STAGES=watches,calls,http,submits,store; LOAD_ARGS=-plain without TLS)
.PHONY: load
load: measure
	bin/measure load $(MEASURE_ARGS) $(if $(STAGES),,-fill docs/reliability.md) $(LOAD_ARGS)

QUICK_LINKS = -workers 2 -rounds 1 -speeds unshaped,1gbit -kernel-rows 3000 -rows 20000 -dataset-bytes 50000000

# The namespaces are those of one process tree: the kernel removes them with the last process, however it ends.
## Measure iterations and transfers over links of 1 and 10 Gbit/s, in network namespaces, and write them into
## docs/scale.md (needs root; STAGES=iterations,distribution; LINKS_ARGS='-tls -worker-flags "..."'; QUICK=1 writes
## nothing)
.PHONY: links
links: measure
	unshare --net --mount --pid --fork --kill-child --mount-proc bin/measure links $(MEASURE_ARGS) \
		$(if $(QUICK),$(QUICK_LINKS),-fill docs/scale.md) $(LINKS_ARGS)

LARGE_ROWS = 100000,1000000,10000000,100000000

## Run a coordinator with up to 10,000 simulated workers, and write what an iteration takes into docs/scale.md
## (STAGES=neighbors,landmarks,full-matrix; LARGE=1 up to 10^8 rows; SIMULATE_ARGS='-gigabits 10'; QUICK=1 writes
## nothing)
.PHONY: simulate
simulate: measure
	bin/measure simulate $(MEASURE_ARGS) $(if $(LARGE),-rows $(LARGE_ROWS)) \
		$(if $(QUICK),-quick,-fill docs/scale.md) $(SIMULATE_ARGS)

## Repeat the papers' experiments and write docs/experiments.md (DATA=folder; STUDIES=a,b only those; RUNS=n)
.PHONY: experiments
experiments: measure
	bin/measure experiments $(MEASURE_ARGS) $(if $(RUNS),-runs '$(RUNS)') -out docs/experiments.md

# The answers are kept in answers-out/, and what is there is not asked again: remove it to begin anew.
## Ask what cleave answers by its defaults, and peers, and write docs/answers.md
## (SUITE=tables|labels|range|constraints, DATA=folder; SETS=regexp, METHODS=a,b, LARGE=1, NOISE=0.1, SEEDS=n, JOBS=n)
.PHONY: answers
answers: measure
	bin/measure answers $(MEASURE_ARGS) -threads 1 \
		$(if $(SETS),-sets '$(SETS)') $(if $(METHODS),-methods '$(METHODS)') $(if $(LARGE),-large) \
		$(if $(NOISE),-noise '$(NOISE)') $(if $(SEEDS),-seeds '$(SEEDS)') $(if $(JOBS),-jobs '$(JOBS)') \
		-out docs/answers.md -fill docs/CHOOSING.md

## Fetch real tables for make answers SUITE=tables|range into the folder DATA
.PHONY: answers-data
answers-data:
	sh tools/answers/fetch.sh '$(DATA)'

## Install the peers of make bench from Debian's packages
.PHONY: bench-peers
bench-peers:
	apt-get install -y python3-numpy python3-sklearn libopenblas0-pthread

## Run the Go benchmarks (BENCH=regexp, PACKAGES=)
.PHONY: bench-go
bench-go:
	go test -run '^$$' -bench '$(BENCH)' -benchmem $(PACKAGES)

## Measure how long it takes from kill -9 of the leader to the next iteration (RUNS=20)
.PHONY: failover
failover:
	go test ./test/clustertest -run '^$$' -bench Failover -benchtime '$(or $(RUNS),20)x' -timeout 30m -v

## Run every fuzz target for a short while (FUZZTIME=10s)
.PHONY: fuzz
fuzz:
	@scripts/fuzz-targets.sh \
	| while read -r package target; do \
		echo "== $$package $$target"; \
		go test "$$package" -run '^$$' -fuzz "^$$target\$$" -fuzztime '$(FUZZTIME)'; \
	done

## Build the fuzz targets as binaries for a machine without Go, with a script that runs them (OUT=fuzz-out,
## FUZZTIME=2m)
.PHONY: fuzz-binaries
fuzz-binaries:
	scripts/fuzz-binaries.sh '$(or $(OUT),fuzz-out)' '$(FUZZTIME)'

# Ctrl-C ends it after the fault that is being struck. Faults that are chosen do not change the document.
## Strike every fault again and again, and write soak.md and its table into docs/reliability.md (SOAK=2h for a time or
## RUNS=20 each; SOAK_TLS=1; FAULTS=regexp, SEED=n)
.PHONY: soak
soak:
	go test -c -o bin/soak.test ./test/clustertest
	cd test/clustertest && SOAK='$(SOAK)' RUNS='$(or $(RUNS),$(if $(SOAK)$(SEED),,20))' SEED='$(SEED)' \
		FAULTS='$(FAULTS)' SOAK_TLS='$(SOAK_TLS)' SOAK_OUT='$(CURDIR)/soak.md' \
		'$(CURDIR)/bin/soak.test' -test.run '^TestSoak$$' -test.timeout 0 -test.v > '$(CURDIR)/soak.log' \
		|| { grep -E -- '--- FAIL|_test.go' '$(CURDIR)/soak.log'; cat '$(CURDIR)/soak.md'; exit 1; }
	$(if $(FAULTS)$(SEED),,sed -i -e '/<!-- soak -->/,/<!-- end of soak -->/{//!d}' -e '/<!-- soak -->/r soak.md' \
		docs/reliability.md)
	cat soak.md

## Check the Go code, go.mod and the protos
.PHONY: lint
lint: lint-go lint-modules lint-proto

.PHONY: lint-go
lint-go:
	@unformatted=$$(gofmt -l -s client cmd examples internal test tools); \
	if [ -n "$$unformatted" ]; then \
		echo "not gofmt'ed (run: gofmt -s -w FILE):"; echo "$$unformatted"; exit 1; \
	fi
	go vet ./...
	go vet -C tools ./...
	$(TOOL) golangci-lint run ./...
	cd tools && go tool -modfile=build/go.mod golangci-lint run ./...

.PHONY: lint-modules
lint-modules:
	go mod tidy -diff
	go mod tidy -C tools -diff

.PHONY: lint-proto
lint-proto:
	$(BUF) lint
	$(BUF) format --diff --exit-code

## Format the Go code and the protos in place
.PHONY: format
format:
	gofmt -s -w client cmd examples internal test tools
	$(BUF) format --write

OPENAPI := internal/coordinator/httpapi/openapi.json
DASHBOARD := deploy/grafana/cleave.json

## Generate gen/ and the OpenAPI document from proto/, the SIMD code from tools/asm, the documents' tables from the
## catalog and the dashboard
.PHONY: generate
generate: generate-tables
	go run -C tools ./dashboard ../$(DASHBOARD)
	$(BUF) generate
	image=$$(mktemp --suffix .binpb); trap 'rm -f "$$image"' EXIT; \
	$(BUF) build --output "$$image"; \
	go run -C tools ./openapi -image "$$image" -out ../$(OPENAPI)
	for package in $(SIMD_PACKAGES); do \
		go run -C tools/asm "./$${package##*/}" -pkg "$${package##*/}" \
			-out "../../internal/$$package/simd_amd64.s" -stubs "../../internal/$$package/simd_stubs_amd64.go"; \
	done

## Generate everything that depends on proto/, also for the clients in Python and TypeScript (needs
## Debian's protoc and npm)
.PHONY: generate-all
generate-all: generate generate-python generate-typescript

## Generate the messages of clients/python from proto/, with Debian's protoc, and its synchronous client from the other
.PHONY: generate-python
generate-python:
	scripts/python-proto.sh
	scripts/python-client.py

## Generate the messages of the TypeScript client from proto/
.PHONY: generate-typescript
generate-typescript: clients/typescript/node_modules
	$(BUF) generate --template clients/typescript/buf.gen.yaml

.PHONY: check-typescript
check-typescript: clients/typescript/node_modules
	@fresh=$$(mktemp -d); trap 'rm -rf "$$fresh"' EXIT; \
	$(BUF) generate --template clients/typescript/buf.gen.yaml --output "$$fresh"; \
	diff -r --brief clients/typescript/src/gen "$$fresh/clients/typescript/src/gen" || \
		{ echo "clients/typescript/src/gen is stale: run make generate-typescript"; exit 1; }

.PHONY: generate-tables
generate-tables:
	go run -C tools ./tables $(addprefix ../,$(CATALOG_DOCS))

## Fail when the protos are not compatible with the API as it was accepted last
.PHONY: check-api
check-api:
	$(BUF) breaking --against proto/accepted.binpb

## Accept compatible changes of the protos as part of the API from now on
.PHONY: accept-api
accept-api: check-api
	$(BUF) build --exclude-source-info --output proto/accepted.binpb

## Fail when something is not what its source generates
.PHONY: check-generated
check-generated:
	go run -C tools ./tables -check $(addprefix ../,$(CATALOG_DOCS))
	go run -C tools ./dashboard -check ../$(DASHBOARD)
	@fresh=$$(mktemp -d); trap 'rm -rf "$$fresh"' EXIT; \
	$(BUF) generate --output "$$fresh"; \
	diff -r --brief gen "$$fresh/gen" || { echo "gen/ is stale: run make generate"; exit 1; }; \
	$(BUF) build --output "$$fresh/image.binpb"; \
	go run -C tools ./openapi -image "$$fresh/image.binpb" -out "$$fresh/openapi.json"; \
	diff --brief $(OPENAPI) "$$fresh/openapi.json" || \
		{ echo "$(OPENAPI) is stale: run make generate"; exit 1; }; \
	for package in $(SIMD_PACKAGES); do \
		go run -C tools/asm "./$${package##*/}" -pkg "$${package##*/}" \
			-out "$$fresh/simd_amd64.s" -stubs "$$fresh/simd_stubs_amd64.go"; \
		for file in simd_amd64.s simd_stubs_amd64.go; do \
			diff --ignore-matching-lines='^// Code generated by command' \
				"internal/$$package/$$file" "$$fresh/$$file" || \
				{ echo "internal/$$package/$$file is stale: run make generate"; exit 1; }; \
		done; \
	done

## Build the images of coordinator, worker and cleave for amd64 and arm64 into bin/images (PUSH=REGISTRY/PATH pushes
## them)
.PHONY: image
image:
	VERSION='$(VERSION)' COMMIT='$(COMMIT)' PUSH='$(PUSH)' scripts/image.sh bin/images

## Render deploy/kubernetes from the chart
.PHONY: generate-manifests
generate-manifests:
	go run -C test/deploy ./manifests

## Render the chart with Helm's engine, and check what it renders by the types of Kubernetes
.PHONY: test-chart
test-chart:
	go test -C test/deploy ./chart

## Check the images, and run the chart's pods as containers with podman: a job runs while workers and coordinators are
## killed and rolled (needs root)
.PHONY: test-deploy
test-deploy: deploy-needs build image test-chart
	go test -C test/deploy -count=1 -p 1 -timeout 30m -v ./images ./containers

# Everything is checked before anything is built, so that no test is left out.
DEPLOY_PROGRAMS = buildah:buildah jq:jq podman:podman podman-compose:podman-compose runc:runc catatonit:catatonit \
	netavark:netavark aardvark-dns:aardvark-dns iptables:iptables qemu-aarch64:qemu-user

.PHONY: deploy-needs
deploy-needs:
	@[ "$$(id -u)" = 0 ] || { echo 'make test-deploy needs root, which runs the containers'; exit 1; }
	@missing=; for program in $(DEPLOY_PROGRAMS); do \
		PATH="$$PATH:/usr/lib/podman" command -v "$${program%:*}" >/dev/null || missing="$$missing $${program#*:}"; \
	done; [ -z "$$missing" ] || { echo "make test-deploy needs: apt-get install$$missing"; exit 1; }

# The parts of Kubernetes take a quarter of an hour to build, once: they stay in this folder.
KUBERNETES_BIN ?= $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/cleave/kubernetes

## Apply the manifests to a real API server, and roll, evict and drain their pods on simulated nodes
.PHONY: test-deploy-api
test-deploy-api: $(KUBERNETES_BIN)/kube-apiserver
	KUBERNETES_BIN='$(KUBERNETES_BIN)' go test -C test/deploy -count=1 -timeout 30m -v ./apiserver

$(KUBERNETES_BIN)/kube-apiserver: tools/kubernetes/go.mod
	mkdir -p '$(KUBERNETES_BIN)'
	go build -C tools/kubernetes -o '$(KUBERNETES_BIN)/etcd' go.etcd.io/etcd/server/v3
	go build -C tools/kubernetes -o '$(KUBERNETES_BIN)/' $(addprefix k8s.io/kubernetes/cmd/,\
		kube-apiserver kube-controller-manager kube-scheduler kubectl)
	touch '$@'

## Show a coordinator and three workers at work, one of them killed
.PHONY: demo
demo: build
	scripts/demo.sh

## Remove what the other targets made
.PHONY: clean
clean:
	rm -rf bin dist demo-out clients/typescript/node_modules clients/typescript/dist
