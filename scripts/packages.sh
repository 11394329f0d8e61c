#!/usr/bin/env bash
# Builds the Debian packages cleave, cleave-coordinator and cleave-worker into a folder, for each architecture.
# The same commit gives the same bytes: all times are that of the commit.
#
#   scripts/packages.sh OUT [ARCHITECTURE...]
set -euo pipefail

out=$(mkdir -p "${1:-dist}" && cd "${1:-dist}" && pwd)
cd "$(dirname "$0")/.."
shift || true
architectures=("$@")
[ $# -gt 0 ] || architectures=(amd64 arm64)

described=$(git describe --tags --always --dirty)
case $described in
v[0-9]*) VERSION=$(tr - + <<<"${described#v}") ;;
# before the first release
*) VERSION=0~$(git log -1 --format=%cd --date=format:%Y%m%d%H%M%S).$(tr - + <<<"$described") ;;
esac
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
BINARIES=$(mktemp -d)
trap 'rm -rf "$BINARIES"' EXIT
export VERSION SOURCE_DATE_EPOCH BINARIES

go build -C tools/packages -o "$BINARIES/nfpm" github.com/goreleaser/nfpm/v2/cmd/nfpm
shell=github.com/cleave-project/cleave/internal/cli/shell
rm -f "$out"/cleave_*.deb "$out"/cleave-coordinator_*.deb "$out"/cleave-worker_*.deb
for ARCH in "${architectures[@]}"; do
    export ARCH
    CGO_ENABLED=0 GOOS=linux GOARCH=$ARCH go build -trimpath -buildvcs=false -tags disable_grpc_modules \
        -ldflags "-s -w -buildid= -X $shell.version=$described -X $shell.commit=$(git rev-parse HEAD)" \
        -o "$BINARIES/" ./cmd/...
    for package in cleave cleave-coordinator cleave-worker; do
        "$BINARIES/nfpm" package --config "deploy/packages/$package.yaml" --packager deb --target "$out/"
    done
done
