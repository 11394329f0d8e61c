"""The package as a whole: generated code, the notebook, and the wheel."""

from __future__ import annotations

import filecmp
import json
import os
import pathlib
import platform
import subprocess
import sys

import pytest
from programs import REPOSITORY

PACKAGE = REPOSITORY / "clients" / "python"


def run(*command, **options):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, **options)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_generated_code_is_current(tmp_path):
    run(REPOSITORY / "scripts" / "python-proto.sh", tmp_path)
    for folder in ("v1", "rpc"):
        fresh = sorted(path.name for path in (tmp_path / "cleave" / folder).iterdir())
        committed = PACKAGE / "src" / "cleave" / folder
        assert fresh == sorted(path.name for path in committed.iterdir() if path.name != "__pycache__")
        _, different, _ = filecmp.cmpfiles(committed, tmp_path / "cleave" / folder, fresh, shallow=False)
        assert not different, "run make generate-python"


def test_the_synchronous_client_is_current(tmp_path):
    run(sys.executable, REPOSITORY / "scripts" / "python-client.py", tmp_path / "client.py")
    committed = PACKAGE / "src" / "cleave" / "client.py"
    assert (tmp_path / "client.py").read_text() == committed.read_text(), "change aio.py, and run make generate-python"


def test_http_annotations_are_left_out(tmp_path):
    """The script must generate the same from protos with HTTP annotations, which the package has no code for."""
    copy = tmp_path / "repository"
    run("cp", "-r", REPOSITORY / "proto", REPOSITORY / "scripts" / "python-proto.sh", tmp_path)
    (copy / "scripts").mkdir(parents=True)
    (tmp_path / "proto").rename(copy / "proto")
    (tmp_path / "python-proto.sh").rename(copy / "scripts" / "python-proto.sh")
    (copy / "clients" / "python").mkdir(parents=True)
    run("cp", "-r", PACKAGE / "proto", copy / "clients" / "python")
    service = copy / "proto" / "cleave" / "v1" / "cluster.proto"
    text = service.read_text()
    plain = "rpc GetLimits(GetLimitsRequest) returns (GetLimitsResponse);"
    if plain in text:
        annotated = plain[:-1] + ' {\n    option (google.api.http) = {\n      get: "/v1/limits"\n      additional_bindings {get: "/v1/l"}\n    };\n  }'
        text = text.replace(plain, annotated).replace("\nimport ", '\nimport "google/api/annotations.proto";\nimport ', 1)
        service.write_text(text)
    assert "google/api/annotations.proto" in text
    run(copy / "scripts" / "python-proto.sh", tmp_path / "out")
    assert filecmp.cmp(tmp_path / "out" / "cleave" / "v1" / "cluster_pb2.py", PACKAGE / "src" / "cleave" / "v1" / "cluster_pb2.py", shallow=False)


@pytest.mark.long
def test_the_notebook_goes_from_a_csv_file_to_a_picture(tmp_path):
    environment = {**os.environ, "PYTHONPATH": str(PACKAGE / "src"), "PATH": f"{pathlib.Path(sys.executable).parent}:{os.environ['PATH']}"}
    notebook = PACKAGE / "examples" / "customers.ipynb"
    run(sys.executable, "-m", "nbconvert", "--to", "notebook", "--execute", "--output-dir", tmp_path, notebook, env=environment)
    cells = json.loads((tmp_path / "customers.ipynb").read_text())["cells"]
    shown = [output["data"] for cell in cells for output in cell.get("outputs", ()) if "data" in output]
    pictures = ["".join(data["text/html"]) for data in shown if "image/svg+xml" in "".join(data.get("text/html", ""))]
    assert len(pictures) == 1 and "classifier fitted to the known rows" in pictures[0]

    source = "from cleave._progress import Progress\nprogress = Progress('auto')\nprogress.show('half done')"
    cell = {"cell_type": "code", "execution_count": None, "id": "a", "metadata": {}, "outputs": [], "source": source}
    (tmp_path / "progress.ipynb").write_text(json.dumps({"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}))
    run(sys.executable, "-m", "nbconvert", "--to", "notebook", "--execute", "--inplace", tmp_path / "progress.ipynb", env=environment)
    assert "half done" in (tmp_path / "progress.ipynb").read_text().partition('"outputs"')[2]


@pytest.mark.long
def test_the_wheel_needs_nothing_but_packages_of_debian(tmp_path):
    processor = {"x86_64": "amd64", "aarch64": "arm64"}[platform.machine()]
    run(sys.executable, REPOSITORY / "scripts" / "python-wheels.py", "--out", tmp_path, f"linux/{processor}")
    (wheel,) = tmp_path.glob("*.whl")
    run(sys.executable, "-m", "venv", "--system-site-packages", tmp_path / "venv")
    run(tmp_path / "venv" / "bin" / "pip", "install", "--no-index", wheel)
    script = "import cleave, numpy; print(cleave.__file__, *cleave.Cleave(2).fit(numpy.repeat([[0.0], [9.0]], 5, axis=0)).labels_)"
    environment = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "CLEAVE_BINARY")}
    found, *labels = run(tmp_path / "venv" / "bin" / "python", "-c", script, cwd=tmp_path, env=environment).split()
    assert found.startswith(str(tmp_path)) and len(set(labels[:5])) == len(set(labels[5:])) == 1 and labels[0] != labels[9]
