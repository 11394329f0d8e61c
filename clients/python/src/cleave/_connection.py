"""How the synchronous and the asynchronous client reach a server: addresses, credentials, and when a call is repeated.

Only :func:`is_listening` and :class:`BaseClient` touch the network.
"""

from __future__ import annotations

import ipaddress
import os
import random
import socket
import threading
import time
from dataclasses import dataclass, field
from typing import Any, Callable, ClassVar, Dict, Generic, List, Optional, Sequence, Tuple, Type, TypeVar, Union

import grpc

from cleave import v1
from cleave.errors import CleaveError, Failure, client_error, invalid
from cleave.rpc import status_pb2

DEFAULT_PORT = 7400

# The largest message in either direction.
MAX_MESSAGE_BYTES = 64 << 20

CHANNEL_OPTIONS: List[Tuple[str, Any]] = [
    ("grpc.max_receive_message_length", MAX_MESSAGE_BYTES),
    ("grpc.max_send_message_length", MAX_MESSAGE_BYTES),
    # A watch may be silent for a long time; pings detect whether the server is still there.
    # The answer to a ping waits behind the data of an upload, so that a busy server needs some time.
    ("grpc.keepalive_time_ms", 10_000),
    ("grpc.keepalive_timeout_ms", 20_000),
    ("grpc.http2.max_pings_without_data", 0),
    # Attempts pace the calls; the channel must not wait longer.
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.max_reconnect_backoff_ms", 1_000),
    # A channel must not reuse the broken connection of another.
    ("grpc.use_local_subchannel_pool", 1),
    ("grpc.enable_http_proxy", 0),
]

Request = TypeVar("Request")
Response = TypeVar("Response")


@dataclass(frozen=True)
class Method(Generic[Request, Response]):
    """A method of the API with its messages."""

    path: str
    request: Type[Request]
    response: Type[Response]

    def serialize(self, request: Request) -> bytes:
        return request.SerializeToString()  # type: ignore[attr-defined, no-any-return]

    def parse(self, content: bytes) -> Response:
        return self.response.FromString(content)  # type: ignore[attr-defined, no-any-return]


def _method(service: str, name: str) -> Any:
    return Method(f"/cleave.v1.{service}/{name}", getattr(v1, name + "Request"), getattr(v1, name + "Response"))


CREATE_DATASET: Method[bytes, v1.CreateDatasetResponse] = _method("DatasetService", "CreateDataset")
GET_UPLOAD: Method[v1.GetUploadRequest, v1.GetUploadResponse] = _method("DatasetService", "GetUpload")
GET_DATASET: Method[v1.GetDatasetRequest, v1.GetDatasetResponse] = _method("DatasetService", "GetDataset")
LIST_DATASETS: Method[v1.ListDatasetsRequest, v1.ListDatasetsResponse] = _method("DatasetService", "ListDatasets")
DELETE_DATASET: Method[v1.DeleteDatasetRequest, v1.DeleteDatasetResponse] = _method("DatasetService", "DeleteDataset")

CREATE_TABLE: Method[bytes, v1.CreateTableResponse] = _method("TableService", "CreateTable")
IMPORT_TABLE: Method[v1.ImportTableRequest, v1.ImportTableResponse] = _method("TableService", "ImportTable")
GET_TABLE: Method[v1.GetTableRequest, v1.GetTableResponse] = _method("TableService", "GetTable")
GET_TABLE_ROWS: Method[v1.GetTableRowsRequest, v1.GetTableRowsResponse] = _method("TableService", "GetTableRows")
LIST_TABLES: Method[v1.ListTablesRequest, v1.ListTablesResponse] = _method("TableService", "ListTables")
DELETE_TABLE: Method[v1.DeleteTableRequest, v1.DeleteTableResponse] = _method("TableService", "DeleteTable")

PLAN_JOB: Method[v1.PlanJobRequest, v1.PlanJobResponse] = _method("JobService", "PlanJob")
CREATE_JOB: Method[v1.CreateJobRequest, v1.CreateJobResponse] = _method("JobService", "CreateJob")
GET_JOB: Method[v1.GetJobRequest, v1.GetJobResponse] = _method("JobService", "GetJob")
LIST_JOBS: Method[v1.ListJobsRequest, v1.ListJobsResponse] = _method("JobService", "ListJobs")
CANCEL_JOB: Method[v1.CancelJobRequest, v1.CancelJobResponse] = _method("JobService", "CancelJob")
DELETE_JOB: Method[v1.DeleteJobRequest, v1.DeleteJobResponse] = _method("JobService", "DeleteJob")
WATCH_JOB: Method[v1.WatchJobRequest, v1.WatchJobResponse] = _method("JobService", "WatchJob")
GET_RESULT: Method[v1.GetResultRequest, v1.GetResultResponse] = _method("JobService", "GetResult")
GET_LABELS: Method[v1.GetLabelsRequest, v1.GetLabelsResponse] = _method("JobService", "GetLabels")
GET_ROW_SCORES: Method[v1.GetRowScoresRequest, v1.GetRowScoresResponse] = _method("JobService", "GetRowScores")
GET_MODEL: Method[v1.GetModelRequest, v1.GetModelResponse] = _method("JobService", "GetModel")
GET_EMBEDDING: Method[v1.GetEmbeddingRequest, v1.GetEmbeddingResponse] = _method("JobService", "GetEmbedding")
GET_NEIGHBOR_GRAPH: Method[v1.GetNeighborGraphRequest, v1.GetNeighborGraphResponse] = _method("JobService", "GetNeighborGraph")
PREDICT_JOB: Method[v1.PredictJobRequest, v1.PredictJobResponse] = _method("JobService", "PredictJob")
EVALUATE_JOB: Method[v1.EvaluateJobRequest, v1.EvaluateJobResponse] = _method("JobService", "EvaluateJob")

LIST_WORKERS: Method[v1.ListWorkersRequest, v1.ListWorkersResponse] = _method("ClusterService", "ListWorkers")
DRAIN_WORKER: Method[v1.DrainWorkerRequest, v1.DrainWorkerResponse] = _method("ClusterService", "DrainWorker")
GET_LIMITS: Method[v1.GetLimitsRequest, v1.GetLimitsResponse] = _method("ClusterService", "GetLimits")
BACKUP: Method[v1.BackupRequest, v1.BackupResponse] = _method("ClusterService", "Backup")


def parse_addresses(text: str) -> List[str]:
    """Returns the addresses in a comma-separated list, each with a port."""
    addresses = []
    for part in text.split(","):
        part = part.strip()
        host = part.strip("[]")
        if _parse_ip(host) is not None or part and ":" not in part and "/" not in part:
            part = f"[{host}]:{DEFAULT_PORT}" if ":" in host else f"{host}:{DEFAULT_PORT}"
        if part:
            addresses.append(part)
    if not addresses:
        raise invalid("NO_COORDINATOR", "no server; give its address as HOST:PORT, or set CLEAVE_SERVER")
    return addresses


def is_loopback(address: str) -> bool:
    """Reports whether connections to an address stay on this machine."""
    if address.startswith(("unix:", "unix-abstract:")):
        return True
    host = split_address(address)[0]
    ip = _parse_ip(host)
    return host in ("", "localhost") or ip is not None and (ip.is_loopback or ip.is_unspecified)


def _parse_ip(host: str) -> Union[ipaddress.IPv4Address, ipaddress.IPv6Address, None]:
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None


def split_address(address: str) -> Tuple[str, int]:
    """Splits HOST:PORT."""
    host, colon, port = address.rpartition(":")
    if not colon or not port.isdigit():
        host, port = address, str(DEFAULT_PORT)
    return host.strip("[]"), int(port)


@dataclass(frozen=True)
class Credentials:
    """How connections are encrypted and how the caller proves who it is."""

    token: str = field(default="", repr=False)
    ca_file: str = ""
    cert_file: str = ""
    key_file: str = ""
    server_name: str = ""
    insecure: bool = False

    @classmethod
    def of(
        cls,
        token: Optional[str],
        tls: Optional[str],
        ca_file: Optional[str],
        cert_file: Optional[str],
        key_file: Optional[str],
        server_name: Optional[str],
        insecure: bool,
    ) -> Credentials:
        """Fills in the files of the folder tls, as ``cleave certs`` writes it, and the token of the environment."""
        if tls:
            if not os.path.isdir(tls):
                raise invalid("BAD_CERTIFICATE_FILES", f"there is no folder {tls}; make one with: cleave certs init")
            ca_file = ca_file or os.path.join(tls, "ca.pem")
            own = os.path.join(tls, "cert.pem")
            if not cert_file and not key_file and os.path.exists(own):
                cert_file, key_file = own, os.path.join(tls, "key.pem")
        if bool(cert_file) != bool(key_file):
            raise invalid("BAD_CERTIFICATE_FILES", "cert_file and key_file belong together; give both")
        token = (os.environ.get("CLEAVE_TOKEN", "") if token is None else token).strip()
        if any(c <= " " or c >= "\x7f" for c in token):
            raise invalid("BAD_TOKEN", "the token has spaces or control characters; give the token and nothing else")
        return cls(token, ca_file or "", cert_file or "", key_file or "", server_name or "", insecure)

    @property
    def encrypted(self) -> bool:
        return bool(self.ca_file or self.cert_file)

    def check(self, address: str) -> None:
        """Rejects a connection that others could read."""
        if self.encrypted and self.insecure:
            raise invalid("INSECURE_WITH_CERTIFICATES", "insecure and certificates contradict each other; give one of them")
        if self.encrypted or is_loopback(address):
            return
        if not self.insecure:
            raise invalid(
                "NO_ENCRYPTION",
                f"{address} is another machine, and there are no certificates to encrypt the connection with; "
                "give tls=DIR or ca_file=FILE (cleave certs init makes them), or insecure=True to connect without encryption",
            )
        if self.token:
            raise invalid(
                "TOKEN_WITHOUT_ENCRYPTION",
                f"a token would be sent to {address} without encryption, for anyone on the network path to use; give tls=DIR or ca_file=FILE",
            )

    def channel_credentials(self) -> Any:
        """Returns the credentials of a channel, or None for an unencrypted one."""
        if not self.encrypted:
            return None
        return grpc.ssl_channel_credentials(_read(self.ca_file), _read(self.key_file), _read(self.cert_file))

    def options(self) -> List[Tuple[str, Any]]:
        own = [("grpc.ssl_target_name_override", self.server_name)] if self.server_name else []
        return CHANNEL_OPTIONS + own

    def metadata(self) -> Optional[Sequence[Tuple[str, str]]]:
        return [("authorization", "Bearer " + self.token)] if self.token else None


def _read(path: str) -> Optional[bytes]:
    if not path or path == "system":
        return None
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError as error:
        raise invalid("BAD_CERTIFICATE_FILES", f"{path} cannot be read: {error.strerror}") from error


class Route:
    """The servers of a client, and which of them to call: the one that leads.

    check rejects a leader that the client may not connect to: a standby may name any address.
    """

    def __init__(self, addresses: List[str], check: Callable[[str], None]) -> None:
        self.addresses = addresses
        self._check = check
        self.current = addresses[0]
        self.answered = False  # whether a server has responded, even with an error

    def failed(self, address: str, failure: Failure) -> None:
        """Moves on from a server that did not answer or does not lead. Raises the error of check if there is no other server."""
        if failure.code != "UNAVAILABLE" or failure.reason:
            self.answered = True
        if self.current != address or failure.code != "UNAVAILABLE" or failure.retry_after is not None:
            return  # another call has moved on already, or the server answered
        hint = failure.metadata.get("leader", "") if failure.reason == "NOT_LEADER" else ""
        if hint and hint != address:
            try:
                self._check(hint)
            except CleaveError:
                if self.addresses == [address]:
                    raise
            else:
                self.current = hint
                return
        at = self.addresses.index(address) if address in self.addresses else -1
        self.current = self.addresses[(at + 1) % len(self.addresses)]


_MAX_ROUNDS = 5  # how often all servers are tried
_ELECTION_TIMEOUT = 30.0  # the same in seconds, if one of them waits to lead
_RECONNECT_TIMEOUT = 60.0  # the same, if one has answered before: it is probably restarting
_MAX_REFUSALS = 6  # how often a call is repeated that the server refuses for now
_MAX_RESTARTS = 6  # how often a download begins again that breaks off each time
_FIRST_PAUSE = 0.1
_MAX_REFUSAL_PAUSE = 20.0


class Attempts:
    """Decides whether and when a call is repeated.

    Every method of the API may be repeated after UNAVAILABLE: jobs have a request id, data sets and tables are identified by
    their content, and canceling or deleting twice is not an error.
    """

    def __init__(self, route: Route, clock: Callable[[], float] = time.monotonic) -> None:
        self._route = route
        self._clock = clock
        self._asked: Any = None
        self._restarts = 0
        self.reached()
        self._heard = False

    def reached(self) -> None:
        """Begins anew, because the call has got something."""
        self._heard = True
        self._failing_since: Optional[float] = None
        self._tries = self._rounds = self._refusals = 0
        self._standby = False
        self._responded = True

    def asked(self, request: Request) -> Request:
        """Takes the request of a download, which it returns. One that is repeated as it was, after responses, begins again."""
        if request != self._asked:
            self._restarts = 0
        elif self._responded:
            self._restarts += 1
        self._asked, self._responded = request, False
        return request

    def pause(self, failure: Failure, address: str) -> Optional[float]:
        """Returns how many seconds to wait before the next attempt, or None if there should be none."""
        self._route.failed(address, failure)
        if self._restarts == _MAX_RESTARTS:
            return None
        if self._failing_since is None:
            self._failing_since = self._clock()
        if failure.retry_after is not None:
            if self._refusals == _MAX_REFUSALS:
                return None
            longest = min(max(failure.retry_after, _FIRST_PAUSE) * 2.0**self._refusals, _MAX_REFUSAL_PAUSE)
            self._refusals += 1
            return longest * random.uniform(1, 1.5)
        if failure.code != "UNAVAILABLE":
            return None
        not_leader = failure.reason == "NOT_LEADER"
        self._standby = self._standby or not_leader
        self._tries += 1
        count = len(self._route.addresses)
        if self._tries < count or not_leader and self._tries <= count:
            return 0.0  # at once, with another server
        self._tries = 0
        self._rounds += 1
        since = self._clock() - self._failing_since
        if self._heard:
            again = since <= _RECONNECT_TIMEOUT
        elif self._standby:
            again = since <= _ELECTION_TIMEOUT
        elif not self._route.answered or failure.reason:
            again = self._rounds < _MAX_ROUNDS
        else:
            again = since <= _RECONNECT_TIMEOUT
        longest = min(_FIRST_PAUSE * 2.0 ** (self._rounds - 1), 2.0)
        return longest * random.uniform(0.5, 1) if again else None


def is_listening(address: str) -> bool:
    """Reports whether something accepts connections at an address."""
    try:
        with socket.create_connection(split_address(address), timeout=2):
            return True
    except OSError:
        return False


def diagnose(failure: Failure, address: str, credentials: Credentials, services: Optional[Sequence[str]], listening: bool) -> CleaveError:
    """Returns the exception for a call that no Cleave server of this API version answered.

    services are those of the health service at the address, or None if it did not answer. listening tells whether something
    accepts connections there.
    """
    if any(name.startswith("cleave.v1.") for name in services or ()):
        if failure.code == "UNIMPLEMENTED":
            return client_error("OTHER_API_VERSION", f"the server at {address} is older than this client: {failure.message}")
        return client_error("NOT_REACHABLE", f"the connection to the server at {address} broke: {failure.message}")
    others = sorted({name.rpartition(".")[0] for name in services or () if name.startswith("cleave.")})
    if others:
        return client_error(
            "OTHER_API_VERSION",
            f"the server at {address} has the API {' and '.join(others)}, and this client has cleave.v1; "
            "install the version of this package that belongs to the server",
        )
    if services is not None or failure.code == "UNIMPLEMENTED":
        return client_error("NOT_CLEAVE", f"a gRPC server answers at {address}, but it is not Cleave; check the address")
    if "handshake failed" in failure.message:
        return client_error(
            "HANDSHAKE_FAILED",
            f"the certificate of the server at {address} is not trusted, or it has none ({failure.message}); "
            "give the authority that signed it as tls=DIR or ca_file=FILE",
        )
    if listening:
        expected = "with TLS" if credentials.encrypted else "without TLS"
        return client_error(
            "NOT_CLEAVE",
            f"something listens at {address}, but it does not speak gRPC {expected}: it is not Cleave, or it is a server "
            f"{'without' if credentials.encrypted else 'with'} certificates ({failure.message})",
        )
    return client_error("NOT_REACHABLE", f"the server at {address} does not answer: {failure.message}")


def needs_diagnosis(failure: Failure) -> bool:
    """Reports whether a failure may mean that the address is wrong, or that the server is down."""
    return not failure.reason and failure.code in ("UNIMPLEMENTED", "UNAVAILABLE")


def service_names(content: bytes) -> List[str]:
    """Returns the names of the services in the response of the health service."""
    return list(status_pb2.HealthList.FromString(content).statuses)


class BaseClient:
    """The address, the credentials and the channels of a client."""

    _grpc: ClassVar[Any]  # the module that opens channels

    def __init__(
        self,
        address: Optional[str] = None,
        *,
        token: Optional[str] = None,
        tls: Optional[str] = None,
        ca_file: Optional[str] = None,
        cert_file: Optional[str] = None,
        key_file: Optional[str] = None,
        server_name: Optional[str] = None,
        insecure: bool = False,
    ) -> None:
        addresses = parse_addresses(os.environ.get("CLEAVE_SERVER", "") if address is None else address)
        self.credentials = Credentials.of(token, tls, ca_file, cert_file, key_file, server_name, insecure)
        for one in addresses:
            self.credentials.check(one)
        self._route = Route(addresses, self.credentials.check)
        self._channels: Dict[Tuple[int, str], Any] = {}  # by process and address: a channel does not survive a fork
        self._lock = threading.Lock()

    def __repr__(self) -> str:
        return f"Client({self.address!r})"

    @property
    def address(self) -> str:
        """The addresses of the servers, separated by commas."""
        return ",".join(self._route.addresses)

    def _channel(self, address: str) -> Any:
        key = os.getpid(), address
        with self._lock:
            if key not in self._channels:
                secured, options = self.credentials.channel_credentials(), self.credentials.options()
                self._channels[key] = (
                    self._grpc.insecure_channel(address, options) if secured is None else self._grpc.secure_channel(address, secured, options)
                )
            return self._channels[key]

    def _take_channels(self) -> List[Any]:
        """Returns the channels of this process, which the caller closes."""
        with self._lock:
            channels, self._channels = self._channels, {}
        return [channel for (process, _), channel in channels.items() if process == os.getpid()]

    # These return the response of a synchronous channel, and something to wait for of an asynchronous one.

    def _invoke(self, channel: Any, method: Method[Any, Any], request: Any) -> Any:
        return channel.unary_unary(method.path, method.serialize, method.parse)(request, metadata=self.credentials.metadata())

    def _open_stream(self, channel: Any, method: Method[Any, Any], request: Any) -> Any:
        return channel.unary_stream(method.path, method.serialize, method.parse)(request, metadata=self.credentials.metadata())

    def _list_services(self, channel: Any) -> Any:
        """Asks the health service, which answers everyone, for the services of the server."""
        invoke = channel.unary_unary("/grpc.health.v1.Health/List", None, service_names)
        return invoke(b"", timeout=5, metadata=self.credentials.metadata())
