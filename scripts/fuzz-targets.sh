#!/usr/bin/env bash
# Lists the fuzz targets: a package and a function in each line.
set -euo pipefail
cd "$(dirname "$0")/.."
grep -rhoE --include='*_test.go' '^func Fuzz[A-Za-z0-9_]*' internal test --with-filename |
	sed -E 's#^(.*)/[^/]*:func (.*)$#./\1 \2#' | sort -u
