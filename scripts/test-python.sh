#!/usr/bin/env bash
# Tests clients/python with Debian's Python and the programs in bin/:
#
#   test-python.sh          all tests, and the types
#   test-python.sh short    without tests that take several seconds
#   test-python.sh missing  prints the Debian packages that are missing, and tests nothing
set -euo pipefail
cd "$(dirname "$0")/.."
python=${PYTHON:-/usr/bin/python3}

missing() {
    local module package
    while read -r module package; do
        "$python" -c "import importlib.util, sys; sys.exit(importlib.util.find_spec('$module') is None)" 2>/dev/null ||
            printf '%s ' "$package"
    done <<'END'
grpc python3-grpcio
google.protobuf python3-protobuf
numpy python3-numpy
pandas python3-pandas
sklearn python3-sklearn
pytest python3-pytest
pytest_asyncio python3-pytest-asyncio
mypy mypy
nbconvert jupyter-nbconvert
ipykernel python3-ipykernel
ensurepip python3-venv
END
    command -v protoc >/dev/null || printf '%s ' protobuf-compiler
    # protoc merely recommends the package with the files of google/protobuf, which our protos import.
    [ -e /usr/include/google/protobuf/duration.proto ] || printf '%s ' libprotobuf-dev
}

absent=$(missing)
if [ "${1:-}" = missing ]; then
    echo "$absent"
    exit
fi
if [ -n "$absent" ]; then
    echo "test-python.sh needs Debian's packages: apt-get install $absent" >&2
    exit 1
fi

export CLEAVE_BINARY=${CLEAVE_BINARY:-$PWD/bin/cleave} PYTHONDONTWRITEBYTECODE=1
cd clients/python
export PYTHONPATH=$PWD/src # pytest reads its filters of warnings before its own list of paths
"$python" -m mypy --cache-dir=/dev/null
if [ "${1:-}" = short ]; then
    exec "$python" -m pytest -q -m 'not long'
fi
exec "$python" -m pytest -q
