# Every target works on a fresh clone with Go alone; see README.md.
GO      ?= go
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)
PKG     := github.com/prometheus/common/version
LDFLAGS := -X $(PKG).Version=$(VERSION) -X $(PKG).Revision=$(shell git rev-parse --short HEAD 2>/dev/null || echo unknown)
FUZZTIME ?= 60s

.PHONY: build run test race lint generate fuzz bench seen e2e published-table

build:
	$(GO) build -ldflags '$(LDFLAGS)' -o kvshadow ./cmd/kvshadow

# Starts the exporter on embedded captures of real routers, at
# http://localhost:9871.
run: build
	./kvshadow serve --demo

test:
	$(GO) test ./...

race:
	$(GO) test -race ./...

lint:
	@unformatted=$$(gofmt -l .); [ -z "$$unformatted" ] || { echo "not formatted: $$unformatted"; exit 1; }
	$(GO) vet ./...
	$(GO) mod tidy -diff
	$(GO) run honnef.co/go/tools/cmd/staticcheck@v0.8.2 ./...

# Writes all that is generated from definitions: metrics reference, dashboards,
# rules and their tests. CI fails if anything differs from what is committed.
generate: build
	$(GO) test ./catalog ./dashboards ./alerts -update
	./kvshadow catalog generate --dir docs

# Runs every fuzz target of the module for FUZZTIME.
fuzz:
	checks/fuzz.sh $(FUZZTIME)

# Times scoring and decoding, and a Python script on the same log beside them.
bench:
	$(GO) test -run '^$$' -bench . ./bench

# A real Prometheus, and a VictoriaMetrics where it installs, scrape the demo and
# captured router pages, load the rules, and answer every query of the panels.
seen: build
	dashboards/queries.py 10s | alerts/seen.sh - dashboards/empty-in-demo.promql

# Dynamo's real router and mock workers, with kvshadow beside them: e2e/README.md.
e2e:
	e2e/run.sh

# Prints the published comparison of routing weights beside our own.
published-table: build
	testdata/simulation/published.sh ./kvshadow
