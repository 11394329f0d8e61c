#!/bin/sh
# What encryption costs a run: the same job, in turn on a cluster without certificates and on one with, each of a
# coordinator and two workers. Prints the seconds of processor time that all processes took, and the seconds on the
# clock.
#
#   scripts/tls-cost.sh [turns]
set -eu
cd "$(dirname "$0")/.."
turns=${1:-5}
out=$(mktemp -d)
pids=
trap 'kill $pids 2>/dev/null || true; wait; rm -rf "$out"' EXIT
go build -o "$out/" ./cmd/...
export CLEAVE_CONFIG_DIR="$out/config" CLEAVE_SERVER=
"$out/cleave" certs init --host localhost --dir "$out/certs" >/dev/null
"$out/cleave" generate gaussians --n 12000 --d 16 --k 12 --noise 6 --seed 1 --out "$out/data" >/dev/null

# start NAME COORDINATOR-FLAGS WORKER-FLAGS: sets address_NAME and pids_NAME
start() {
	"$out/coordinator" --listen 127.0.0.1:0 --data-dir "$out/$1" --memory 4GiB $2 >"$out/$1.address" 2>"$out/$1.log" &
	mine=$!
	until grep -q 'listening on' "$out/$1.address"; do sleep 0.1; done
	address=$(sed -n 's/^listening on //p' "$out/$1.address")
	for name in a b; do
		"$out/worker" --coordinator "$address" --name "$name" --threads 1 --memory 4GiB $3 2>>"$out/$1.log" &
		mine="$mine $!"
	done
	pids="$pids $mine"
	eval "address_$1=\$address pids_$1=\$mine"
}
start plain "" ""
start tls "--tls $out/certs/coordinator" "--tls $out/certs/worker"

# spent PIDS: processor time of processes so far, in hundredths of a second
spent() {
	for pid in $1; do cut -d' ' -f14,15 "/proc/$pid/stat"; done | awk '{ sum += $1 + $2 } END { print sum }'
}

# run NAME FLAGS
run() {
	eval "address=\$address_$1 processes=\$pids_$1"
	before=$(spent "$processes")
	began=$(date +%s.%N)
	"$out/cleave" run --server "$address" $2 --data "$out/data/data.csv" --k 12 \
		--algorithm kernel-kmeans --init random \
		--restarts 60 --seed 3 --quiet --out "$out/result-$1" >/dev/null
	echo "$1 $(spent "$processes") $before $(date +%s.%N) $began" |
		awk '{ printf "%-6s %7.2f s of processor time  %7.2f s\n", $1, ($2 - $3) / 100, $4 - $5 }'
}
for turn in $(seq "$turns"); do
	run plain ""
	run tls "--tls $out/certs/admin"
	cmp "$out/result-plain/labels.csv" "$out/result-tls/labels.csv"
done
