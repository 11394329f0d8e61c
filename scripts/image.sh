#!/usr/bin/env bash
# Builds the images of coordinator, worker and cleave, without a daemon and without root's storage:
#
#   image.sh [DIR]     into DIR (bin/images): NAME, a folder in the OCI image layout with one image for each platform,
#                      NAME.ARCHITECTURE.cdx.json, its bill of materials, and digests.txt
#   image.sh missing   prints the Debian packages that are missing, and builds nothing
#
# The same commit gives the same digests on every machine and in every folder. Variables: VERSION, COMMIT and EPOCH (by
# default those of git), PROGRAMS, ARCHITECTURES, REBUILD=1 to use nothing that was compiled before, and
# PUSH=REGISTRY/PATH, where the images are pushed to.
set -euo pipefail
cd "$(dirname "$0")/.."

missing() {
    local program package
    while read -r program package; do
        command -v "$program" >/dev/null || printf '%s ' "$package"
    done <<'END'
buildah buildah
jq jq
END
}
if [ "${1:-}" = missing ]; then
    missing
    exit
fi
if [ -n "$(missing)" ]; then
    echo "make image needs: apt-get install $(missing)" >&2
    exit 1
fi

out=$(realpath -m "${1:-bin/images}")
version=${VERSION:-$(git describe --tags --always --dirty)}
commit=${COMMIT:-$(git rev-parse HEAD)}
epoch=${EPOCH:-$(git log -1 --format=%ct)}
programs=${PROGRAMS:-coordinator worker cleave}
architectures=${ARCHITECTURES:-amd64 arm64}

# No user of the host has this number, and it is the one that other images without a root user have.
user=65532

work=$(mktemp -d)
buildah=(buildah --root "$work/storage" --runroot "$work/run" --storage-driver vfs)
cleanup() {
    "${buildah[@]}" rm --all >/dev/null 2>&1 || true
    rm -rf "$work"
}
trap cleanup EXIT

# What would differ from one machine to the next is turned off: folders, build IDs, the state of the repository, other
# flags.
export GOFLAGS=-trimpath CGO_ENABLED=0 GOOS=linux GOAMD64=v1 GOARM64=v8.0
shell=github.com/cleave-project/cleave/internal/cli/shell
build() { # build ARCHITECTURE PROGRAM FILE
    GOARCH=$1 go build ${REBUILD:+-a} -buildvcs=false -tags disable_grpc_modules \
        -ldflags "-s -w -buildid= -X $shell.version=$version -X $shell.commit=$commit" -o "$3" "./cmd/$2"
}
host() { env -u GOOS "$@"; }

description() {
    case $1 in
    coordinator) echo 'Serves the Cleave API, keeps jobs and data, and places work on workers' ;;
    worker) echo 'Computes for a Cleave coordinator' ;;
    cleave) echo 'The Cleave command line' ;;
    esac
}

# The folders that belong to the user; their parents belong to root.
mkdir -p "$out" "$work/own/tmp" "$work/own/var/lib/cleave" "$work/common/etc/ssl/certs" "$work/common/var/lib"
host go run -C tools/image ./roots >"$work/common/etc/ssl/certs/ca-certificates.crt"
: >"$out/digests.txt"
for program in $programs; do
    rm -rf "${out:?}/$program"
    for architecture in $architectures; do
        layer=$work/$program/$architecture
        mkdir -p "$layer/usr/bin" "$layer/usr/share/sbom"
        build "$architecture" "$program" "$layer/usr/bin/$program"
        bill=$out/$program.$architecture.cdx.json
        host go tool -modfile=tools/image/go.mod cyclonedx-gomod bin \
            -json -noserial -notimestamp -std -version "$version" \
            -output "$bill" "$layer/usr/bin/$program" 2>/dev/null
        cp "$bill" "$layer/usr/share/sbom/$program.cdx.json"
        chmod -R u=rwX,go=rX "$layer" "$work/common" "$work/own"
        chmod 1777 "$work/own/tmp" # podman gives a tmpfs that is mounted there this mode, and root as its owner

        container=$("${buildah[@]}" from --arch "$architecture" --os linux scratch)
        "${buildah[@]}" copy --quiet --chown "$user:$user" "$container" "$work/own" / >/dev/null
        "${buildah[@]}" copy --quiet --chown 0:0 "$container" "$work/common" / >/dev/null
        "${buildah[@]}" copy --quiet --chown 0:0 "$container" "$layer" / >/dev/null
        "${buildah[@]}" config --arch "$architecture" --os linux --user "$user:$user" --workingdir / \
            --entrypoint "[\"/usr/bin/$program\"]" --env PATH=/usr/bin --created-by "make image" --hostname '' \
            --label org.opencontainers.image.title="cleave $program" \
            --label org.opencontainers.image.description="$(description "$program")" \
            --label org.opencontainers.image.version="$version" \
            --label org.opencontainers.image.revision="$commit" \
            --label org.opencontainers.image.created="$(date -u -d "@$epoch" +%Y-%m-%dT%H:%M:%SZ)" \
            --label org.opencontainers.image.source=https://github.com/cleave-project/cleave \
            --label org.opencontainers.image.licenses=Apache-2.0 "$container"
        [ "$program" != coordinator ] || "${buildah[@]}" config --port 7400 "$container"
        "${buildah[@]}" commit --quiet --rm --format oci --timestamp "$epoch" --identity-label=false \
            "$container" "localhost/$program:$architecture" >/dev/null
        "${buildah[@]}" manifest create "localhost/$program" >/dev/null 2>&1 || true
        "${buildah[@]}" manifest add "localhost/$program" "localhost/$program:$architecture" >/dev/null
    done
    "${buildah[@]}" manifest push --quiet --all "localhost/$program" "oci:$out/$program:$version" >/dev/null
    if [ -n "${PUSH:-}" ]; then
        "${buildah[@]}" manifest push --quiet --all "localhost/$program" "docker://$PUSH/$program:$version"
    fi
    jq -r --arg name "$program" '.manifests[0].digest + " " + $name' "$out/$program/index.json" >>"$out/digests.txt"
done

# Sizes as a registry stores them, and as a machine unpacks them.
for program in $programs; do
    blobs=$out/$program/blobs/sha256
    index=$(jq -r '.manifests[0].digest | ltrimstr("sha256:")' "$out/$program/index.json")
    for manifest in $(jq -r '.manifests[].digest | ltrimstr("sha256:")' "$blobs/$index"); do
        compressed=$(jq '[.config.size, .layers[].size] | add' "$blobs/$manifest")
        unpacked=0
        for layer in $(jq -r '.layers[].digest | ltrimstr("sha256:")' "$blobs/$manifest"); do
            unpacked=$((unpacked + $(gzip -dc "$blobs/$layer" | wc -c)))
        done
        architecture=$(jq -r .architecture "$blobs/$(jq -r '.config.digest | ltrimstr("sha256:")' "$blobs/$manifest")")
        printf '%-12s %-6s %5.1f MB compressed, %5.1f MB unpacked\n' "$program" "$architecture" \
            "$((compressed / 100000))e-1" "$((unpacked / 100000))e-1"
    done
done
cat "$out/digests.txt"
