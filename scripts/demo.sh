#!/usr/bin/env bash
# One coordinator and three workers on the loopback interface: two circles with a linear and a gaussian
# kernel, then a larger job twice, once undisturbed and once while a worker is killed. It stops
# everything that it starts; its files stay in demo-out/.
set -euo pipefail
cd "$(dirname "$0")/.."

out=demo-out
points=${DEMO_POINTS:-20000}
rm -rf "$out"
mkdir -p "$out/logs"

declare -A process=()
stop_all() {
	trap - EXIT INT TERM
	for pid in "${process[@]}"; do kill -CONT "$pid" 2>/dev/null || true; kill "$pid" 2>/dev/null || true; done
	for pid in "${process[@]}"; do wait "$pid" 2>/dev/null || true; done
	rm -rf "$out/state"
}
trap stop_all EXIT
trap 'exit 130' INT TERM

heading() { printf '\n\033[1m%s\033[0m\n' "$*"; }
field() { sed -n "s/^  *\"$2\": \(.*[^,]\),*$/\1/p" "$1" | head -n 1; }

start_worker() {
	bin/worker --coordinator "$server" --name "$1" --threads 1 >"$out/logs/$1.log" 2>&1 &
	process[$1]=$!
}

await() { # await WHAT COMMAND...: until the command succeeds, for 30 s at most
	local what=$1
	shift
	for _ in $(seq 300); do
		if "$@"; then return; fi
		sleep 0.1
	done
	echo "demo: $what did not happen within 30 s; see $out/logs" >&2
	exit 1
}
listening() { server=$(sed -n 's/^listening on //p' "$out/logs/coordinator.address"); [ -n "$server" ]; }
workers_are() { [ "$(bin/cleave workers --server "$server" | grep -c READY)" -eq "$1" ]; }

heading "Starting a coordinator and three workers"
bin/coordinator --listen 127.0.0.1:0 --data-dir "$out/state" >"$out/logs/coordinator.address" 2>"$out/logs/coordinator.log" &
process[coordinator]=$!
await "the coordinator's start" listening
for name in ada grace kurt; do start_worker "$name"; done
await "the workers' arrival" workers_are 3
bin/cleave workers --server "$server"

heading "Two circles by k-means: no line separates them"
bin/cleave generate two-circles --n 200 --constraints 50 --seed 1 --out "$out/circles"
bin/cleave run --server "$server" --data "$out/circles/data.csv" --k 2 --algorithm kmeans \
	--truth "$out/circles/truth.csv" --out "$out/circles-kmeans"

heading "Two circles and 50 constraints, no algorithm named"
bin/cleave run --server "$server" --data "$out/circles/data.csv" --k 2 \
	--constraints "$out/circles/constraints.csv" --truth "$out/circles/truth.csv" --out "$out/circles-constrained"

heading "$points points in 16 dimensions, undisturbed"
bin/cleave generate gaussians --n "$points" --d 16 --k 20 --noise 5 --seed 1 --out "$out/large"
large=(--data "$out/large/data.csv" --k 20 --algorithm kernel-kmeans --init random --restarts 1)
bin/cleave run --server "$server" "${large[@]}" --truth "$out/large/truth.csv" --out "$out/undisturbed"

heading "The same again, killing a worker after the first iteration"
job=$(bin/cleave submit --server "$server" "${large[@]}")
killed=
while read -r line; do
	echo "$line"
	if [ -z "$killed" ] && [[ $line == "iteration "* ]]; then
		kill -KILL "${process[grace]}"
		wait "${process[grace]}" 2>/dev/null || true
		unset "process[grace]"
		killed=yes
		echo "--- worker grace is killed (SIGKILL); its tiles go to the others ---"
	fi
done < <(bin/cleave watch --server "$server" "$job" 2>&1)
bin/cleave result --server "$server" "$job" --data "$out/large/data.csv" --truth "$out/large/truth.csv" --out "$out/disturbed"

heading "What it shows"
printf 'NMI   two circles, k-means         %s\n' "$(field "$out/circles-kmeans/result.json" nmi)"
printf 'NMI   two circles, constrained     %s\n' "$(field "$out/circles-constrained/result.json" nmi)"
printf 'NMI   %s points                  %s\n' "$points" "$(field "$out/undisturbed/result.json" nmi)"
if [ -n "$killed" ] && cmp -s "$out/undisturbed/labels.csv" "$out/disturbed/labels.csv" &&
	[ "$(field "$out/undisturbed/result.json" objective)" = "$(field "$out/disturbed/result.json" objective)" ]; then
	echo "With and without the kill: identical labels.csv, identical objective $(field "$out/disturbed/result.json" objective)"
else
	echo "demo: the disturbed run differs from the undisturbed one" >&2
	exit 1
fi
echo "Pictures:"
for run in circles-kmeans circles-constrained undisturbed disturbed; do
	echo "  $out/$run/clusters.svg  $out/$run/objective.svg"
done
