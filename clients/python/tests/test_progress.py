"""The progress of a job."""

from __future__ import annotations

import os
import pty
import subprocess
import sys

import numpy as np
import pytest

from cleave import Cleave, v1
from cleave._progress import describe


def test_progress_is_shown_on_request(capsys):
    points = np.random.default_rng(0).normal(size=(400, 5))
    Cleave(5, algorithm="mpc-kmeans", verbose=False).fit(points)
    assert capsys.readouterr().err == ""
    Cleave(5, algorithm="mpc-kmeans", verbose="auto").fit(points)  # not a terminal
    assert capsys.readouterr().err == ""
    Cleave(5, algorithm="mpc-kmeans", verbose=True).fit(points)
    shown = capsys.readouterr().err
    assert "\rcleave: 0 s: " in shown and shown.endswith("\r"), "the line is shown, and removed at the end"


@pytest.mark.long
def test_progress_is_shown_in_a_terminal():
    """A long job in a terminal shows its progress without being asked."""
    script = (
        "import numpy as np; from cleave import Cleave\n"
        "Cleave(30, algorithm='mpc-kmeans', metric='full', n_init=1000, time_limit=4).fit(np.random.default_rng(0).normal(size=(3000, 20)))"
    )
    mine, terminal = pty.openpty()
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "PYTHONWARNINGS": "ignore"}
    process = subprocess.Popen([sys.executable, "-c", script], stdin=terminal, stdout=terminal, stderr=terminal, env=environment)
    os.close(terminal)
    shown = b""
    while True:
        try:
            content = os.read(mine, 1 << 16)
        except OSError:  # the other end is closed
            break
        if not content:
            break
        shown += content
    os.close(mine)
    process.wait()
    assert b"cleave: " in shown and b" s: " in shown, shown


def test_descriptions():
    progress = v1.Progress(phase=v1.PHASE_ITERATING, iteration=7, objective=1.25, moved=3)
    assert describe(progress) == "iterating; iteration 7, objective 1.25, 3 moved"
    progress = v1.Progress(phase=v1.PHASE_BUILDING, tiles=9, tiles_built=4, k=v1.KStarted(k=3, min=2, max=5))
    assert describe(progress) == "building; k = 3 of 2..5; 4 of 9 tiles"
    solver = v1.SolverStep(step=2, converged=1, wanted=3)
    assert describe(v1.Progress(message="waiting for a worker", solver=solver)) == "waiting for a worker; eigenvectors: step 2, 1 of 3 converged"
