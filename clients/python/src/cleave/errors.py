"""The exceptions of this package.

Every error that Cleave reports is a :class:`CleaveError`: a sentence that says what is wrong and what to do, a stable ``reason``
for programs, and the ``field`` of the request that is at fault, if there is one.
"""

from __future__ import annotations

from typing import Any, Dict, Mapping, Optional, Tuple, Type

import grpc

from cleave.rpc import status_pb2

__all__ = [
    "AccessError",
    "CanceledError",
    "CleaveError",
    "CleaveWarning",
    "HandshakeError",
    "InvalidInputError",
    "LimitError",
    "NotCleaveError",
    "NotFoundError",
    "PreconditionError",
    "TimeLimitError",
    "UnavailableError",
    "VersionError",
]


class CleaveWarning(UserWarning):
    """A notice about the data or the answer, such as how a column was read."""


class CleaveError(Exception):
    """An error that Cleave reports.

    Attributes:
        message: What is wrong, where, and what to do about it.
        reason: A stable identifier in UPPER_SNAKE_CASE, or "" if the error has none.
        field: The field of the request that is at fault, such as "spec.k", or "".
        metadata: Further details, such as identifiers; the keys depend on the reason.
        code: The name of the gRPC status, such as "INVALID_ARGUMENT", or "" for an error of this process.
        job_id: The job that failed, or "".
        retry_after: The seconds after which the server asks to try again, or None.
    """

    def __init__(
        self,
        message: str,
        *,
        reason: str = "",
        field: str = "",
        metadata: Optional[Mapping[str, str]] = None,
        code: str = "",
        job_id: str = "",
        retry_after: Optional[float] = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.reason = reason
        self.field = field
        self.metadata: Dict[str, str] = dict(metadata or {})
        self.code = code
        self.job_id = job_id
        self.retry_after = retry_after

    def reword(self, message: str) -> None:
        """Replaces the message."""
        self.message = message
        self.args = (message,)

    @property
    def temporary(self) -> bool:
        """Whether the same call may succeed later."""
        return self.code == "UNAVAILABLE" or self.retry_after is not None


class InvalidInputError(CleaveError, ValueError):
    """The data, the supervision or a parameter is wrong."""


class NotFoundError(CleaveError, LookupError):
    """There is no such job, data set or table, or the caller may not see it."""


class PreconditionError(CleaveError):
    """The call does not fit the state of what it names: a job has not ended, or has no such result."""


class AccessError(CleaveError):
    """The server does not know the caller, or the caller may not do this."""


class LimitError(CleaveError):
    """A limit of the server is exceeded, or the job does not fit into the memory of the workers."""


class CanceledError(CleaveError):
    """The job was canceled."""


class TimeLimitError(CleaveError, TimeoutError):
    """The job reached its time limit before it had labels."""


class UnavailableError(CleaveError):
    """The server does not answer, or cannot handle the call now."""


class HandshakeError(CleaveError):
    """The server or the client does not accept the certificate of the other, or has no TLS."""


class VersionError(CleaveError):
    """The server is a Cleave server of another API version."""


class NotCleaveError(CleaveError):
    """Something other than Cleave answers at the address."""


_CLASSES: Dict[str, Type[CleaveError]] = {
    "INVALID_ARGUMENT": InvalidInputError,
    "OUT_OF_RANGE": InvalidInputError,
    "ALREADY_EXISTS": InvalidInputError,
    "NOT_FOUND": NotFoundError,
    "FAILED_PRECONDITION": PreconditionError,
    "UNAUTHENTICATED": AccessError,
    "PERMISSION_DENIED": AccessError,
    "RESOURCE_EXHAUSTED": LimitError,
    "CANCELLED": CanceledError,
    "DEADLINE_EXCEEDED": TimeLimitError,
    "UNAVAILABLE": UnavailableError,
}

# The errors that this package finds itself, with their classes and codes. docs/CLIENT-CONTRACT.md says what they mean.
_CLIENT_ERRORS: Dict[str, Tuple[Type[CleaveError], str]] = {
    "NOT_REACHABLE": (UnavailableError, "UNAVAILABLE"),
    "HANDSHAKE_FAILED": (HandshakeError, "FAILED_PRECONDITION"),
    "NOT_CLEAVE": (NotCleaveError, "FAILED_PRECONDITION"),
    "OTHER_API_VERSION": (VersionError, "FAILED_PRECONDITION"),
    "WATCH_LOST": (UnavailableError, "UNAVAILABLE"),
    "JOB_FAILED": (CleaveError, "INTERNAL"),
    "JOB_CANCELLED": (CanceledError, "CANCELLED"),
    "TIME_LIMIT": (TimeLimitError, "DEADLINE_EXCEEDED"),
    "BAD_ANSWER": (CleaveError, "INTERNAL"),
    "UPLOAD_DAMAGED": (CleaveError, "DATA_LOSS"),
}

_CODE_NAMES = {code.value[0]: code.name for code in grpc.StatusCode}

# The domain of the ErrorInfo of every error that Cleave itself reports.
_DOMAIN = "cleave"


class Failure:
    """What a failed call says: the status and its details."""

    def __init__(self, error: Any) -> None:
        self.code: str = error.code().name
        self.message: str = error.details() or ""
        self.reason = ""
        self.field = ""
        self.metadata: Dict[str, str] = {}
        self.retry_after: Optional[float] = None
        for key, value in error.trailing_metadata() or ():
            if key == "grpc-status-details-bin":
                self._read_details(value)

    def _read_details(self, content: bytes) -> None:
        status = status_pb2.Status()
        try:
            status.ParseFromString(content)
            for detail in status.details:
                name = detail.type_url.rpartition("/")[2]
                if name == "google.rpc.ErrorInfo":
                    info = status_pb2.ErrorInfo.FromString(detail.value)
                    if info.domain == _DOMAIN:
                        self.reason, self.metadata = info.reason, dict(info.metadata)
                elif name == "google.rpc.BadRequest":
                    violations = status_pb2.BadRequest.FromString(detail.value).field_violations
                    if violations:
                        self.field = violations[0].field
                elif name == "google.rpc.RetryInfo":
                    self.retry_after = status_pb2.RetryInfo.FromString(detail.value).retry_delay.ToTimedelta().total_seconds()
        except Exception:  # protobuf raises DecodeError, which its implementations define differently
            return  # details are of another kind of server; the status is all there is

    def error(self) -> CleaveError:
        """Returns the exception for the failure."""
        return _CLASSES.get(self.code, CleaveError)(
            self.message,
            reason=self.reason,
            field=self.field,
            metadata=self.metadata,
            code=self.code,
            retry_after=self.retry_after,
        )


class Broken(grpc.RpcError):  # type: ignore[misc]
    """The error of a stream that broke without one, as if the server were unavailable."""

    def code(self) -> Any:
        return grpc.StatusCode.UNAVAILABLE

    def details(self) -> str:
        return str(self)

    def trailing_metadata(self) -> Tuple[()]:
        return ()


def client_error(reason: str, message: str, *, job_id: str = "", retry_after: Optional[float] = None) -> CleaveError:
    """Returns the exception for what this package finds itself."""
    kind, code = _CLIENT_ERRORS[reason]
    return kind(message, reason=reason, code=code, job_id=job_id, retry_after=retry_after)


def job_error(job_id: str, error: Any) -> CleaveError:
    """Returns the exception for the v1.Error of a failed job."""
    if not error.code:
        return client_error("JOB_FAILED", f"job {job_id} failed", job_id=job_id)
    code = _CODE_NAMES.get(error.code, "INTERNAL")
    if code == "UNAVAILABLE":
        code = "INTERNAL"  # the same request_id returns the same failure, so calling again does not help
    return _CLASSES.get(code, CleaveError)(
        error.message,
        reason=error.reason,
        field=error.field,
        metadata=error.metadata,
        code=code,
        job_id=job_id,
    )


def invalid(reason: str, message: str, field: str = "") -> InvalidInputError:
    """Returns the exception for input that is rejected before it is sent."""
    return InvalidInputError(message, reason=reason, field=field, code="INVALID_ARGUMENT")
