#!/usr/bin/env bash
# Runs all cases of the tests that make test runs a part of, one test after the other. With a limit in seconds it
# starts no further test once that is over; a seed decides their order, so that every run covers another share.
# Usage: scripts/test-long.sh [LIMIT [SEED]]
set -euo pipefail
cd "$(dirname "$0")/.."
limit=${1:-0} seed=${2:-$RANDOM}
unset SEED # make exports it, and the soak, which is no part of this, would run with it
export CGO_ENABLED=0 GOFLAGS="${GOFLAGS-} -trimpath -tags=disable_grpc_modules,long" # as make test, but for the tag

programs=$(mktemp -d)
trap 'rm -rf "$programs"' EXIT

# tests prints the tests of every file that asks package testscale how much to run, each after the folder of its package.
# If the file has no tests but helpers, all tests of the package are printed.
tests() {
    git ls-files -z '*_test.go' | xargs -0 grep -l 'cleave/test/testscale"' |
        while read -r file; do
            if grep -q '^func Test' "$file"; then echo "$file"; else ls "$(dirname "$file")"/*_test.go; fi
        done | sort -u |
        while read -r file; do
            sed -nE "s|^func (Test[A-Z0-9][A-Za-z0-9_]*)\(t \*testing.*|$(dirname "$file") \1|p" "$file"
        done
}

printf 'order by seed %s\n' "$seed"
count=0
while read -r folder name; do
    if ((limit > 0 && SECONDS > limit)); then
        printf 'The limit of %d s is over after %d tests.\n' "$limit" "$count"
        exit 0
    fi
    program=$programs/${folder//\//_}.test
    [[ -e $program ]] || go test -C "$folder" -c -o "$program" .
    started=$SECONDS
    (cd "$folder" && "$program" -test.run "^$name\$" -test.timeout 20m >"$programs/output" 2>&1) || {
        cat "$programs/output"
        printf 'FAIL %s %s (seed %s)\n' "$folder" "$name" "$seed"
        exit 1
    }
    printf 'ok %s %s %d s\n' "$folder" "$name" $((SECONDS - started))
    count=$((count + 1))
done < <(tests | awk -v seed="$seed" 'BEGIN { srand(seed) } { print rand() "\t" $0 }' | sort -n | cut -f2-)
printf 'All %d tests passed.\n' "$count"
