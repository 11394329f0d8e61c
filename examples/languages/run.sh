#!/usr/bin/env bash
# Runs the examples of all languages whose tools are installed, and compares their labels with those of the command line.
#
#   examples/languages/run.sh [LANGUAGE...]
#
# It needs bin/cleave; make build makes it. CLEAVE_BIN names another folder.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
cleave=${CLEAVE_BIN:-$root/bin}/cleave
[ -x "$cleave" ] || { echo "there is no program $cleave; run make build"; exit 1; }

work=$(mktemp -d)
"$cleave" serve --listen 127.0.0.1:0 >"$work/address" 2>"$work/log" &
server=$!
trap 'kill "$server" 2>/dev/null || true; wait "$server" 2>/dev/null || true; rm -rf "$work"' EXIT
until grep -q '^listening on' "$work/address"; do
	kill -0 "$server" 2>/dev/null || { cat "$work/log"; exit 1; }
	sleep 0.1
done
address=$(sed -n 's/^listening on //p' "$work/address")

"$cleave" generate two-moons --n 200 --noise 0.1 --seed 3 --out "$work/moons" >/dev/null
data=$work/moons/data.csv
printf 'i,j,kind\n0,1,cannot\n' >"$work/pairs.csv"
"$cleave" run --data "$data" --k 2 --constraints "$work/pairs.csv" --out "$work/expected" --quiet >/dev/null 2>&1
tail -n +2 "$work/expected/labels.csv" | cut -d, -f2 >"$work/expected.txt"

# generate LANGUAGE writes the messages and, with the plugin of gRPC for the language, the services to a folder.
protos() { (cd "$root/proto" && find cleave/v1 google/api -name '*.proto'); }
generate() { mkdir -p "$work/$1" && protos | xargs protoc -I "$root/proto" --"$1"_out="$work/$1" --grpc_out="$work/$1" --plugin=protoc-gen-grpc="$(command -v "grpc_$1_plugin")"; }

# Each language has two functions: what it lacks, and the run, which prints the labels.
lacks_ruby() { has ruby protoc grpc_ruby_plugin && ruby -e 'require "grpc"' 2>/dev/null || echo 'apt-get install ruby-grpc protobuf-compiler-grpc'; }
run_ruby() { generate ruby && ruby -I "$work/ruby" "$here/ruby/cluster.rb" "$address" "$data"; }

lacks_cpp() { has g++ protoc grpc_cpp_plugin pkg-config && pkg-config --exists grpc++ || echo 'apt-get install g++ pkg-config libgrpc++-dev protobuf-compiler-grpc'; }
run_cpp() {
	generate cpp
	# Of the services, only these two are used. Compiling takes a minute or two on two cores.
	{ find "$work/cpp" -name '*.pb.cc' ! -name '*.grpc.pb.cc' ! -name 'cluster.pb.cc'; ls "$work"/cpp/cleave/v1/{dataset,job_service}.grpc.pb.cc "$here/cpp/cluster.cc"; } |
		xargs -P "$(nproc)" -I{} sh -c 'g++ -std=c++17 -I "$1" -c "$2" -o "$1/$(basename "$2").o"' sh "$work/cpp" {}
	# shellcheck disable=SC2046 # flags are words
	g++ "$work"/cpp/*.o -o "$work/cpp/cluster" $(pkg-config --libs grpc++ protobuf)
	"$work/cpp/cluster" "$address" "$data"
}

lacks_java() { has javac protoc grpc_java_plugin && [ -e /usr/share/java/grpc-netty.jar ] && [ -e /usr/share/java/netty-all.jar ] ||
	echo 'apt-get install default-jdk-headless libgrpc-java libnetty-java protobuf-compiler-grpc-java-plugin'; }
run_java() {
	generate java
	javac -nowarn -proc:none -cp '/usr/share/java/*' -d "$work/java/classes" $(find "$work/java" -name '*.java') "$here/java/Cluster.java" 2>"$work/java/log" || { cat "$work/java/log"; return 1; }
	java -cp "$work/java/classes:/usr/share/java/*" Cluster "$address" "$data"
}

lacks_rust() { has rustc || echo 'apt-get install rustc'; }
run_rust() { mkdir -p "$work/rust" && rustc --edition 2021 -o "$work/rust/cluster" "$here/rust/cluster.rs" && "$work/rust/cluster" "$address" "$data"; }

lacks_csharp() { has mcs mono || echo 'apt-get install mono-mcs mono-runtime libmono-system-net-http4.0-cil'; }
run_csharp() { mkdir -p "$work/csharp" && mcs -r:System.Net.Http.dll -out:"$work/csharp/cluster.exe" "$here/csharp/Cluster.cs" && mono "$work/csharp/cluster.exe" "$address" "$data"; }

lacks_r() { has Rscript && Rscript -e 'library(curl); library(jsonlite)' >/dev/null 2>&1 || echo 'apt-get install r-base-core r-cran-curl r-cran-jsonlite'; }
run_r() { Rscript "$here/r/cluster.R" "$address" "$data"; }

has() { for tool in "$@"; do command -v "$tool" >/dev/null || return 1; done; }

failed=0
for language in ${*:-java cpp ruby rust csharp r}; do
	missing=$("lacks_$language")
	if [ -n "$missing" ]; then
		echo "$language: left out; it needs: $missing"
	elif ! (set -e; "run_$language") >"$work/labels.txt" 2>"$work/error.txt"; then
		echo "$language: failed"
		tail -n 20 "$work/labels.txt" "$work/error.txt"
		failed=1
	elif cmp -s "$work/labels.txt" "$work/expected.txt"; then
		echo "$language: the labels are those of the command line ($(wc -l <"$work/labels.txt") rows)"
	else
		echo "$language: the labels differ from those of the command line"
		failed=1
	fi
done
exit "$failed"
