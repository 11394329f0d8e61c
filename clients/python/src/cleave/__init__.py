"""Cleave clusters data under supervision.

:class:`Cleave` is an estimator of scikit-learn; :class:`Client` and :class:`cleave.aio.Client` call a server directly. The
messages of the API are in :mod:`cleave.v1`.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

# gRPC reads it when it is imported. Without it, a process forked from one that has used gRPC hangs at its first call.
os.environ.setdefault("GRPC_ENABLE_FORK_SUPPORT", "1")

from cleave._version import __version__
from cleave.client import Client
from cleave.errors import (
    AccessError,
    CanceledError,
    CleaveError,
    CleaveWarning,
    HandshakeError,
    InvalidInputError,
    LimitError,
    NotCleaveError,
    NotFoundError,
    PreconditionError,
    TimeLimitError,
    UnavailableError,
    VersionError,
)

if TYPE_CHECKING:
    from cleave.estimator import Cleave
    from cleave.report import Report

__all__ = [
    "AccessError",
    "CanceledError",
    "Cleave",
    "CleaveError",
    "CleaveWarning",
    "HandshakeError",
    "Client",
    "InvalidInputError",
    "LimitError",
    "NotCleaveError",
    "NotFoundError",
    "PreconditionError",
    "Report",
    "TimeLimitError",
    "UnavailableError",
    "VersionError",
    "__version__",
]


def __getattr__(name: str) -> Any:
    """Imports the estimator when it is first used: scikit-learn takes a second, and a client does not need it."""
    if name == "Cleave":
        from cleave.estimator import Cleave

        return Cleave
    if name == "Report":
        from cleave.report import Report

        return Report
    raise AttributeError(f"module 'cleave' has no attribute {name!r}")
