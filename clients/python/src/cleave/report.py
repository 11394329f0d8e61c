"""The report of a job: the page and the pictures that ``cleave result`` writes."""

from __future__ import annotations

import base64
import csv
import html
import itertools
import os
import pathlib
import subprocess
import tempfile
from typing import Any, Dict, List, Optional, Union

import numpy as np

from cleave import embedded
from cleave._connection import Credentials
from cleave._upload import Graph, KernelMatrix, Points, SparsePoints, Table, Upload
from cleave.errors import CleaveError

__all__ = ["Report"]


class Report:
    """What a job found, for people. Notebooks show its page; ``print`` shows the summary of the command line.

    Attributes:
        summary: The summary as text: the method, why it was chosen, and the sizes of the clusters.
        html: A page with the answer, its pictures, and what distinguishes the clusters. It needs no network.
        picture: The picture of the clusters as SVG, or "" if there is none.
    """

    def __init__(self, summary: str, page: str, picture: str) -> None:
        self.summary = summary
        self.html = page
        self.picture = picture

    def save(self, path: Union[str, "os.PathLike[str]"]) -> None:
        """Writes the page to a file."""
        pathlib.Path(path).write_text(self.html, encoding="utf-8")

    def __str__(self) -> str:
        return self.summary

    def __repr__(self) -> str:
        return f"<Report: {self.summary.splitlines()[0] if self.summary else 'empty'}>"

    def _repr_html_(self) -> str:
        # A frame of its own keeps the styles and the names of the page apart from those of the notebook.
        return f'<iframe srcdoc="{html.escape(self.html)}" style="width: 100%; height: 800px; border: 0"></iframe>'

    def picture_html(self) -> str:
        """Returns the picture and the summary, for the output of a cell."""
        image = ""
        if self.picture:
            encoded = base64.b64encode(self.picture.encode()).decode()
            image = f'<img src="data:image/svg+xml;base64,{encoded}" alt="the clusters" style="max-width: 40em">'
        return f"<div>{image}<pre>{html.escape(self.summary)}</pre></div>"


def make_report(address: str, credentials: Credentials, job_id: str, data: Optional[Upload]) -> Report:
    """Has the ``cleave`` program fetch the result of a job and write its page, with the data that the job clustered."""
    with tempfile.TemporaryDirectory(prefix="cleave-") as folder:
        out = os.path.join(folder, "result")
        command = [embedded.binary(), "result", job_id, "--server", address, "--out", out]
        command += _data_flags(data, folder) + _access_flags(credentials)
        environment: Dict[str, str] = {**os.environ, "CLEAVE_TOKEN": credentials.token, "COLUMNS": "100"}
        done = subprocess.run(command, env=environment, capture_output=True, text=True, encoding="utf-8", errors="replace")
        if done.returncode != 0:
            raise CleaveError(f"the report of job {job_id} could not be made: {done.stderr.strip()}", reason="NO_REPORT", job_id=job_id)
        result = pathlib.Path(out)
        picture = result / "clusters.svg"
        # The last lines name the files, which are gone when this returns.
        lines = itertools.takewhile(lambda line: not line.startswith("files "), done.stdout.splitlines())
        return Report(
            "\n".join(lines),
            (result / "report.html").read_text(encoding="utf-8"),
            picture.read_text(encoding="utf-8") if picture.exists() else "",
        )


def _access_flags(credentials: Credentials) -> List[str]:
    flags: List[str] = []
    for flag, value in (
        ("--tls-ca", credentials.ca_file),
        ("--tls-cert", credentials.cert_file),
        ("--tls-key", credentials.key_file),
        ("--tls-server-name", credentials.server_name),
    ):
        if value:
            flags += [flag, value]
    return flags + ["--insecure"] * credentials.insecure


def _data_flags(data: Optional[Upload], folder: str) -> List[str]:
    """Writes data to a file of the folder, and returns the flags that name it."""
    if isinstance(data, Table):
        path = os.path.join(folder, "data.csv")
        _write_csv(data, path)
        return ["--data", path]
    if isinstance(data, (SparsePoints, Graph)):
        from scipy import sparse

        path = os.path.join(folder, "data.npz")
        sparse.save_npz(path, data.matrix)
        return ["--graph" if isinstance(data, Graph) else "--data", path]
    if isinstance(data, Points):
        path = os.path.join(folder, "data.npy")
        np.save(path, np.asarray(data.values, dtype=np.float64))
        return ["--kernel-matrix" if isinstance(data, KernelMatrix) else "--data", path]
    return []


def _write_csv(table: Table, path: str) -> None:
    def cells(column: Any) -> List[str]:
        texts = column.values if column.kind == "texts" else [repr(value) for value in column.values.tolist()]
        if column.empty is None:
            return list(texts)
        return ["" if empty else text for text, empty in zip(texts, column.empty)]

    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow([column.name for column in table.table_columns])
        writer.writerows(zip(*(cells(column) for column in table.table_columns)))
