from __future__ import annotations

import os
from typing import Iterator

import numpy as np
import pytest
from programs import Process, program

os.environ["CLEAVE_BINARY"] = program("cleave")
for name in ("CLEAVE_SERVER", "CLEAVE_TOKEN"):
    os.environ.pop(name, None)


@pytest.fixture(scope="session")
def server() -> Iterator[str]:
    """The address of a server without credentials."""
    process = Process("cleave", "serve", "--listen", "127.0.0.1:0")
    yield process.listening()
    process.stop()


@pytest.fixture(scope="session")
def blobs() -> "tuple[np.ndarray, np.ndarray]":
    """Three groups of 40 points that overlap a little, in 4 columns, and their classes."""
    generator = np.random.default_rng(7)
    centers = np.array([[0, 0, 0, 0], [4, 4, 0, 1], [0, 5, 4, -2]])
    truth = np.repeat([0, 1, 2], 40)
    points = centers[truth] + generator.standard_normal((120, 4))
    order = generator.permutation(120)
    return points[order], truth[order]


@pytest.fixture(scope="session")
def pairs(blobs: "tuple[np.ndarray, np.ndarray]") -> "tuple[list, list]":
    """60 pairs of rows that belong together, and those that belong apart."""
    truth = blobs[1]
    generator = np.random.default_rng(8)
    drawn = [tuple(generator.choice(120, 2, replace=False).tolist()) for _ in range(120)]
    return [p for p in drawn if truth[p[0]] == truth[p[1]]], [p for p in drawn if truth[p[0]] != truth[p[1]]]
