#!/usr/bin/env bash
# One coordinator and three workers on the loopback interface: two moons without and with constraints, then a larger job
# twice, once undisturbed and once while a worker is killed. It stops everything that it starts; its files stay in
# demo-out/.
set -euo pipefail
cd "$(dirname "$0")/.."

bin=bin
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
	"$bin/worker" --coordinator "$server" --name "$1" --threads 1 >"$out/logs/$1.log" 2>&1 &
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
workers_are() { [ "$("$bin/cleave" workers --server "$server" | grep -c READY)" -eq "$1" ]; }

heading "Starting a coordinator and three workers"
"$bin/coordinator" --listen 127.0.0.1:0 --store memory --data-dir "$out/state" \
	>"$out/logs/coordinator.address" 2>"$out/logs/coordinator.log" &
process[coordinator]=$!
await "the coordinator's start" listening
for name in ada grace kurt; do start_worker "$name"; done
await "the workers' arrival" workers_are 3
"$bin/cleave" workers --server "$server"

heading "Two moons that touch, and nothing known about them"
"$bin/cleave" generate two-moons --n 400 --noise 0.16 --constraints 150 --seed 1 --out "$out/moons"
moons=(--server "$server" --data "$out/moons/data.csv" --k 2 --truth "$out/moons/truth.csv" --seed 1 --quiet)
"$bin/cleave" run "${moons[@]}" --name "Two moons without constraints" --out "$out/moons-alone"
echo "adjusted Rand index $(field "$out/moons-alone/result.json" ari) (1 would be right):" \
	"distances alone do not tell where one moon ends"

heading "The same with 150 pairs of points that are known to belong together or apart"
"$bin/cleave" run "${moons[@]}" --name "Two moons with 150 constraints" \
	--constraints "$out/moons/constraints.csv" --out "$out/moons-constrained"
"$bin/cleave" explain "$out/moons-constrained"

heading "$points points in 16 dimensions, undisturbed"
"$bin/cleave" generate gaussians --n "$points" --d 16 --k 20 --noise 5 --seed 1 --out "$out/large"
large=(--data "$out/large/data.csv" --k 20 --algorithm kernel-kmeans --init random --restarts 1)
"$bin/cleave" run --server "$server" "${large[@]}" --truth "$out/large/truth.csv" --out "$out/undisturbed"

heading "The same again, killing a worker after the first iteration"
job=$("$bin/cleave" submit --server "$server" "${large[@]}")
killed=
while read -r line; do
	echo "$line"
	if [ -z "$killed" ] && [[ $line == "iteration "* ]]; then
		kill -KILL "${process[grace]}"
		wait "${process[grace]}" 2>/dev/null || true
		unset "process[grace]"
		killed=yes
		echo "--- worker grace is killed (SIGKILL) ---"
		echo "    The coordinator notices at once: the connection is closed. Of the three workers' shares only grace's"
		echo "    is lost; ada and kurt build those tiles again from the data and the current labels, and the"
		echo "    iteration that was under way is repeated for them. Nothing else starts over."
	fi
done < <("$bin/cleave" watch --server "$server" "$job" 2>&1)
"$bin/cleave" result --server "$server" "$job" --data "$out/large/data.csv" --truth "$out/large/truth.csv" \
	--out "$out/disturbed"

heading "What it shows"
printf 'ARI   two moons, nothing known      %.2f\n' "$(field "$out/moons-alone/result.json" ari)"
printf 'ARI   two moons, 150 constraints    %.2f\n' "$(field "$out/moons-constrained/result.json" ari)"
printf 'NMI   %-6s points, worker killed  %.2f\n' "$points" "$(field "$out/disturbed/result.json" nmi)"
if [ -n "$killed" ] && cmp -s "$out/undisturbed/labels.csv" "$out/disturbed/labels.csv" &&
	[ "$(field "$out/undisturbed/result.json" objective)" = "$(field "$out/disturbed/result.json" objective)" ]; then
	echo "With and without the kill: identical labels.csv," \
		"identical objective $(field "$out/disturbed/result.json" objective)"
else
	echo "demo: the disturbed run differs from the undisturbed one" >&2
	exit 1
fi
echo "Both answers as pictures: $out/moons-alone/clusters.svg and $out/moons-constrained/clusters.svg"

# What to look at: the report, if there is one, on a screen, if there is one.
show=$out/moons-constrained/report.html
[ -e "$show" ] || show=$out/moons-constrained/clusters.svg
opener=
case $(uname) in
Darwin) opener=open ;;
*) if [ -n "${DISPLAY:-}${WAYLAND_DISPLAY:-}" ]; then opener=xdg-open; fi ;;
esac
if [ -n "$opener" ] && [ -z "${CI:-}" ] && command -v "$opener" >/dev/null; then
	echo "Opening $show"
	"$opener" "$show" >/dev/null 2>&1 || true
else
	echo "Open in a browser: $PWD/$show"
fi
