#!/usr/bin/env bash
# Builds every fuzz target as a test binary, for a machine without Go, and prints the commands that run them there.
#
#   scripts/fuzz-binaries.sh OUT [FUZZTIME]
#
# OUT gets one binary for each package with fuzz targets, instrumented for coverage, the packages' testdata, and run.sh,
# which runs all targets one after the other, or those whose names match its argument. Copy OUT to the other machine.
set -euo pipefail
cd "$(dirname "$0")/.."
out=${1:?usage: scripts/fuzz-binaries.sh OUT [FUZZTIME]}
fuzztime=${2:-2m}
mkdir -p "$out"
out=$(cd "$out" && pwd)

{
	echo '#!/usr/bin/env bash'
	echo '# Runs fuzz targets; an argument is a regular expression of their names.'
	echo '# Ends with the number of those that failed.'
	echo 'here=$(cd "$(dirname "$0")" && pwd); failed=0'
} >"$out/run.sh"

scripts/fuzz-targets.sh | while read -r package target; do
	name=$(echo "${package#./}" | tr / -)
	if [ ! -e "$out/$name/fuzz.test" ]; then
		mkdir -p "$out/$name"
		# Any target: -fuzz makes go test -c instrument the code.
		go test -c -fuzz "^$target\$" -o "$out/$name/fuzz.test" "$package" >&2
		if [ -d "$package/testdata" ]; then cp -r "$package/testdata" "$out/$name/"; fi
	fi
	command="./fuzz.test -test.run '^\$' -test.fuzz '^$target\$' -test.fuzztime $fuzztime -test.fuzzcachedir cache"
	echo "(cd $name && $command)"
	cat >>"$out/run.sh" <<-EOF
	if [[ $name/$target =~ \${1:-.} ]]; then
		echo '== $name $target'
		(cd "\$here/$name" && $command) || failed=\$((failed + 1))
	fi
	EOF
done
echo 'exit $failed' >>"$out/run.sh"
chmod +x "$out/run.sh"
echo "all of them: $out/run.sh"
