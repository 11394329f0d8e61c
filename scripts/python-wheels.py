#!/usr/bin/env python3
"""Builds the wheels of clients/python, one for each platform, each with the cleave program for it.

It needs Go and Python 3.11, and no network beyond the Go modules: `scripts/python-wheels.py [--out DIR] [PLATFORM ...]`.
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import os
import pathlib
import subprocess
import sys
import tempfile
import tomllib
import zipfile

REPOSITORY = pathlib.Path(__file__).resolve().parents[1]
PACKAGE = REPOSITORY / "clients" / "python"
SHELL = "github.com/cleave-project/cleave/internal/cli/shell"

# The program is static, so that one for Linux runs with any C library. Go supports macOS 12 and later.
PLATFORMS = {
    "linux/amd64": ["manylinux_2_17_x86_64", "musllinux_1_1_x86_64"],
    "linux/arm64": ["manylinux_2_17_aarch64", "musllinux_1_1_aarch64"],
    "darwin/amd64": ["macosx_12_0_x86_64"],
    "darwin/arm64": ["macosx_12_0_arm64"],
    "windows/amd64": ["win_amd64"],
}


def git(*arguments: str, default: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=REPOSITORY, capture_output=True, text=True)
    return done.stdout.strip() or default


def build_program(platform: str, path: pathlib.Path) -> None:
    system, processor = platform.split("/")
    version = git("describe", "--tags", "--always", "--dirty", default="dev")
    commit = git("rev-parse", "HEAD", default="unknown")
    flags = f"-s -w -X {SHELL}.version={version} -X {SHELL}.commit={commit}"
    subprocess.run(
        ["go", "build", "-trimpath", "-tags", "disable_grpc_modules", "-ldflags", flags, "-o", str(path), "./cmd/cleave"],
        cwd=REPOSITORY,
        env={**os.environ, "CGO_ENABLED": "0", "GOOS": system, "GOARCH": processor},
        check=True,
    )


def metadata(project: dict, version: str) -> str:
    lines = ["Metadata-Version: 2.1", f"Name: {project['name']}", f"Version: {version}", f"Summary: {project['description']}"]
    lines += [f"License: {project['license']['text']}", f"Requires-Python: {project['requires-python']}"]
    lines += [f"Classifier: {classifier}" for classifier in project["classifiers"]]
    lines += [f"Requires-Dist: {requirement}" for requirement in project["dependencies"]]
    for extra, requirements in project["optional-dependencies"].items():
        lines.append(f"Provides-Extra: {extra}")
        lines += [f"Requires-Dist: {requirement} ; extra == '{extra}'" for requirement in requirements]
    lines += ["Description-Content-Type: text/markdown", "", (PACKAGE / project["readme"]).read_text(encoding="utf-8")]
    return "\n".join(lines)


class Wheel:
    """A wheel being written: a zip file whose last entry lists the hashes of the others."""

    def __init__(self, path: pathlib.Path) -> None:
        self._zip = zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED)
        self._record: list[str] = []

    def add(self, name: str, content: bytes, executable: bool = False) -> None:
        entry = zipfile.ZipInfo(name, (2020, 1, 1, 0, 0, 0))  # the same content gives the same file
        entry.compress_type = zipfile.ZIP_DEFLATED
        entry.external_attr = (0o100755 if executable else 0o100644) << 16
        self._zip.writestr(entry, content)
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        self._record.append(f"{name},sha256={digest},{len(content)}")

    def close(self, record: str) -> None:
        self._zip.writestr(zipfile.ZipInfo(record, (2020, 1, 1, 0, 0, 0)), "\n".join([*self._record, f"{record},,", ""]))
        self._zip.close()


def build_wheel(platform: str, out: pathlib.Path) -> pathlib.Path:
    project = tomllib.loads((PACKAGE / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    source = PACKAGE / "src" / "cleave"
    versions: dict[str, str] = {}
    exec((source / "_version.py").read_text(encoding="utf-8"), versions)
    version, tags = versions["__version__"], PLATFORMS[platform]
    path = out / f"cleave-{version}-py3-none-{'.'.join(tags)}.whl"
    with tempfile.TemporaryDirectory() as folder:
        program = pathlib.Path(folder) / "cleave"
        build_program(platform, program)
        wheel = Wheel(path)
        for file in sorted(source.rglob("*")):
            if file.suffix in (".py", ".pyi") or file.name == "py.typed":
                wheel.add(f"cleave/{file.relative_to(source).as_posix()}", file.read_bytes())
        name = "cleave.exe" if platform.startswith("windows/") else "cleave"
        wheel.add(f"cleave/bin/{name}", program.read_bytes(), executable=True)
    info = f"cleave-{version}.dist-info"
    wheel.add(f"{info}/METADATA", metadata(project, version).encode())
    wheel.add(f"{info}/LICENSE", (REPOSITORY / "LICENSE").read_bytes())
    about = ["Wheel-Version: 1.0", "Generator: scripts/python-wheels.py", "Root-Is-Purelib: false", *(f"Tag: py3-none-{tag}" for tag in tags), ""]
    wheel.add(f"{info}/WHEEL", "\n".join(about).encode())
    wheel.close(f"{info}/RECORD")
    return path


def main() -> None:
    parser = argparse.ArgumentParser(description="Build the wheels of the Python package.")
    parser.add_argument("--out", type=pathlib.Path, default=PACKAGE / "dist", help="folder of the wheels")
    parser.add_argument("platforms", nargs="*", metavar="PLATFORM", help="such as linux/amd64; all by default")
    arguments = parser.parse_args()
    unknown = set(arguments.platforms) - set(PLATFORMS)
    if unknown:
        sys.exit(f"unknown platform {sorted(unknown)[0]}; use some of {', '.join(PLATFORMS)}")
    arguments.out.mkdir(parents=True, exist_ok=True)
    for platform in arguments.platforms or PLATFORMS:
        path = build_wheel(platform, arguments.out)
        print(f"{path}  {path.stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
