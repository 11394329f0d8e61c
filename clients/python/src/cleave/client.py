"""A synchronous client of a Cleave server."""

from __future__ import annotations

import contextlib
import errno
import itertools
import os
import tempfile
import threading
import time
import uuid
from datetime import timedelta
from types import TracebackType
from typing import Any, BinaryIO, Callable, Dict, Iterator, List, Optional, Sequence, Tuple, Type, TypeVar

import grpc
import numpy as np

from cleave import _connection as api
from cleave import v1
from cleave._connection import Attempts, Credentials, Method, Request, Response, Route
from cleave._frames import table_of
from cleave._upload import Graph, KernelMatrix, Table, Upload, points_of
from cleave.errors import CanceledError, CleaveError, Failure, NotFoundError, TimeLimitError, job_error
from cleave.results import (
    Embedding,
    EmbeddingReader,
    GraphReader,
    Labels,
    LabelsReader,
    Model,
    ModelReader,
    Prediction,
    PredictionReader,
    RowScores,
    RowScoresReader,
)

__all__ = ["Client"]

Item = TypeVar("Item")
ENDED = (v1.JOB_STATE_SUCCEEDED, v1.JOB_STATE_FAILED, v1.JOB_STATE_CANCELLED)
MAX_PAGE = 1000
# Seconds before a watch that the server ended early is repeated.
WATCH_PAUSE = 0.2


class Client:
    """A client of a Cleave server. It may be used by several threads and survives a fork.

    Calls are repeated while the server restarts, another one takes over, or it asks to come back later. Downloads, uploads and
    watches continue where they broke off.

    Args:
        address: ``HOST:PORT``, or a comma-separated list of several servers of which one leads; the default is ``$CLEAVE_SERVER``.
        token: A token that ``cleave token create`` printed; the default is ``$CLEAVE_TOKEN``.
        tls: A folder with ca.pem and perhaps cert.pem and key.pem, as ``cleave certs`` writes it.
        ca_file: The CA certificates that must have signed the server's certificate, or "system".
        cert_file: The client's certificate, with its key in key_file.
        key_file: The key of cert_file.
        server_name: The name that the server's certificate must have, if it is not the host of the address.
        insecure: Connect to other machines without encryption: anyone on the network path can read and change everything.
    """

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
        self._route = Route(api.parse_addresses(os.environ.get("CLEAVE_SERVER", "") if address is None else address))
        self.credentials = Credentials.of(token, tls, ca_file, cert_file, key_file, server_name, insecure)
        for one in self._route.addresses:
            self.credentials.check(one)
        self._channels: Dict[Tuple[int, str], Any] = {}  # by process and address: a channel does not survive a fork
        self._lock = threading.Lock()

    def __enter__(self) -> Client:
        return self

    def __exit__(self, kind: Optional[Type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Client({self.address!r})"

    @property
    def address(self) -> str:
        """The addresses of the servers, separated by commas."""
        return ",".join(self._route.addresses)

    def close(self) -> None:
        """Closes the connections. The client may be used again, with new ones."""
        with self._lock:
            channels, self._channels = self._channels, {}
        for (process, _), channel in channels.items():
            if process == os.getpid():
                channel.close()

    # Calls.

    def _channel(self, address: str) -> Any:
        key = os.getpid(), address
        with self._lock:
            if key not in self._channels:
                self.credentials.check(address)  # a standby may name any leader
                secured, options = self.credentials.channel_credentials(), self.credentials.options()
                self._channels[key] = (
                    grpc.insecure_channel(address, options) if secured is None else grpc.secure_channel(address, secured, options)
                )
            return self._channels[key]

    def _attempt(self, call: Callable[[Any], Item]) -> Item:
        """Makes a call, with the channel of the server that leads, until it succeeds or should not be repeated."""
        attempts = Attempts(self._route)
        while True:
            address = self._route.current
            try:
                value = call(self._channel(address))
                self._route.answered = True
                return value
            except grpc.RpcError as error:
                failure = Failure(error)
            self._wait(attempts, failure, address)

    def _wait(self, attempts: Attempts, failure: Failure, address: str) -> None:
        """Waits before the next attempt, or raises the error if there should be none."""
        pause = attempts.pause(failure, address)
        if pause is None:
            raise self._explain(failure, address)
        time.sleep(pause)

    def _explain(self, failure: Failure, address: str) -> CleaveError:
        if not api.needs_diagnosis(failure):
            return failure.error()
        services = None
        try:
            invoke = self._channel(address).unary_unary(api.HEALTH_LIST, request_serializer=None, response_deserializer=None)
            services = api.service_names(invoke(b"", timeout=5, metadata=self.credentials.metadata()))
        except grpc.RpcError:
            pass
        return api.diagnose(failure, address, self.credentials, services, services is None and api.is_listening(address))

    def _call(self, method: Method[Request, Response], request: Request) -> Response:
        def call(channel: Any) -> Response:
            invoke = channel.unary_unary(method.path, method.serialize, method.parse)
            return invoke(request, metadata=self.credentials.metadata())  # type: ignore[no-any-return]

        return self._attempt(call)

    def _stream(self, method: Method[Request, Response], request: Callable[[], Request]) -> Iterator[Response]:
        """Yields the responses of a streaming call. It asks for the request again if the stream breaks."""
        attempts = Attempts(self._route)
        while True:
            address = self._route.current
            call: Any = None
            try:
                invoke = self._channel(address).unary_stream(method.path, method.serialize, method.parse)
                call = invoke(request(), metadata=self.credentials.metadata())
                for response in call:
                    self._route.answered = True
                    attempts.reached()
                    yield response
                return
            except grpc.RpcError as error:
                failure = Failure(error)
            finally:
                if call is not None:
                    call.cancel()
            self._wait(attempts, failure, address)

    def _read(self, method: Method[Any, Any], reader: Any) -> Any:
        for part in self._stream(method, reader.request):
            reader.add(part)
        return reader.value()

    def _send(self, method: Method[bytes, Response], data: Upload, name: str) -> Response:
        """Uploads data. If the upload breaks off, it continues with the first part that has not arrived."""
        attempts, upload_id = Attempts(self._route), uuid.uuid4().hex
        first, again = 0, False
        broken: List[Exception] = []
        while True:
            address = self._route.current
            call: Any = None
            try:
                channel = self._channel(address)
                if again:
                    arrived = self._arrived(channel, upload_id)
                    if arrived > first:
                        attempts.reached()
                    first = arrived
                again = True
                parts = itertools.chain([data.header(name, upload_id, first)], data.parts(first))
                invoke = channel.stream_unary(method.path, None, method.parse)
                call = invoke.future(_keep_error(parts, broken), metadata=self.credentials.metadata())
                return call.result()  # type: ignore[no-any-return]
            except grpc.RpcError as error:
                if broken:
                    raise broken[0] from None
                failure = Failure(error)
            finally:
                if call is not None:
                    call.cancel()
            self._wait(attempts, failure, address)

    def _arrived(self, channel: Any, upload_id: str) -> int:
        """Returns how many parts of an upload have arrived, 0 if the server does not know it."""
        method = api.GET_UPLOAD
        try:
            invoke = channel.unary_unary(method.path, method.serialize, method.parse)
            return invoke(v1.GetUploadRequest(upload_id=upload_id), metadata=self.credentials.metadata()).parts  # type: ignore[no-any-return]
        except grpc.RpcError as error:
            if Failure(error).code == "NOT_FOUND":
                return 0
            raise

    def _pages(self, method: Method[Any, Any], request: Any, field: str, limit: Optional[int]) -> Iterator[Any]:
        request.page_size = MAX_PAGE if limit is None else max(1, min(limit, MAX_PAGE))
        left = limit
        while left is None or left > 0:
            page = self._call(method, request)
            items = getattr(page, field)
            yield from items if left is None else items[:left]
            left = None if left is None else left - len(items)
            request.page_token = page.next_page_token
            if not request.page_token:
                return

    # Data.

    def upload(self, data: Upload, name: str = "") -> v1.Dataset:
        """Uploads points, a graph or a kernel matrix, unless the server has the same data already."""
        known = data.id()
        if known:
            try:
                return self.get_dataset(known)
            except NotFoundError:
                pass
        stored = self._send(api.CREATE_DATASET, data, name).dataset
        if known and stored.dataset_id != known:
            raise CleaveError(
                f"the data set arrived as {stored.dataset_id}, but it is {known}: the upload was damaged", reason="DAMAGED_UPLOAD"
            )
        return stored

    def upload_points(self, points: Any, name: str = "") -> v1.Dataset:
        """Uploads an array with a row for each point, or a sparse matrix of SciPy. A memory-mapped array is read in parts."""
        return self.upload(points_of(points), name)

    def upload_graph(self, adjacency: Any, name: str = "") -> v1.Dataset:
        """Uploads a graph, given its symmetric adjacency matrix, sparse or dense."""
        return self.upload(Graph(adjacency), name)

    def upload_kernel_matrix(self, matrix: Any, name: str = "") -> v1.Dataset:
        """Uploads a symmetric kernel matrix."""
        return self.upload(KernelMatrix(matrix), name)

    def upload_table(self, table: Any, name: str = "") -> v1.Table:
        """Uploads a table: a pandas frame, or a dict of columns."""
        return self._send(api.CREATE_TABLE, table if isinstance(table, Table) else table_of(table), name).table

    def import_table(
        self,
        uris: Sequence[str],
        name: str = "",
        *,
        reading: Optional[v1.TableReading] = None,
        request_id: str = "",
        progress: Optional[Callable[[v1.ImportProgress], None]] = None,
    ) -> v1.ImportedTable:
        """Makes a table of objects in an object store, such as ["s3://bucket/prefix/*.parquet"], which the workers read.

        The table has the ID that an upload of the same files would give it, and lists the versions of the objects. If the connection
        breaks, the import is repeated with the same versions. progress is called about once a second.
        """
        request = import_request(uris, name, reading, request_id)
        for response in self._stream(api.IMPORT_TABLE, lambda: request):
            if response.HasField("imported"):
                return response.imported
            if progress is not None:
                progress(response.progress)
        raise CleaveError("the import ended without a table")

    def get_dataset(self, dataset_id: str) -> v1.Dataset:
        """Returns the metadata of a data set."""
        return self._call(api.GET_DATASET, v1.GetDatasetRequest(dataset_id=dataset_id)).dataset

    def list_datasets(self, limit: Optional[int] = None) -> Iterator[v1.Dataset]:
        """Yields the data sets that the caller may see."""
        return self._pages(api.LIST_DATASETS, v1.ListDatasetsRequest(), "datasets", limit)

    def delete_dataset(self, dataset_id: str) -> None:
        """Deletes a data set. Deleting one that does not exist is not an error."""
        self._call(api.DELETE_DATASET, v1.DeleteDatasetRequest(dataset_id=dataset_id))

    def get_table(self, table_id: str) -> v1.Table:
        """Returns the metadata of a table."""
        return self._call(api.GET_TABLE, v1.GetTableRequest(table_id=table_id)).table

    def get_table_rows(self, table_id: str, max_rows: int = 0) -> v1.TableRows:
        """Returns the rows of a table, or max_rows evenly spaced ones."""
        parts: List[v1.TableRows] = []

        def request() -> v1.GetTableRowsRequest:
            parts.clear()  # a stream that breaks starts over
            return v1.GetTableRowsRequest(table_id=table_id, max_rows=max_rows)

        for part in self._stream(api.GET_TABLE_ROWS, request):
            parts.append(part.rows)
        return join_rows(parts)

    def list_tables(self, limit: Optional[int] = None) -> Iterator[v1.Table]:
        """Yields the tables that the caller may see."""
        return self._pages(api.LIST_TABLES, v1.ListTablesRequest(), "tables", limit)

    def delete_table(self, table_id: str) -> None:
        """Deletes a table. Deleting one that does not exist is not an error."""
        self._call(api.DELETE_TABLE, v1.DeleteTableRequest(table_id=table_id))

    # Jobs.

    def plan_job(self, spec: v1.JobSpec) -> v1.PlanJobResponse:
        """Returns how a job would be distributed over the workers, without running it."""
        return self._call(api.PLAN_JOB, v1.PlanJobRequest(spec=spec))

    def create_job(
        self,
        spec: v1.JobSpec,
        *,
        request_id: Optional[str] = None,
        name: str = "",
        time_limit: Optional[float] = None,
        scheduling: Optional[v1.Scheduling] = None,
    ) -> v1.Job:
        """Queues a job, and returns once it is durable.

        The same request_id, any text of up to 200 bytes, with the same spec returns the job that exists. Without one, the call
        gets a random one, so that its own repetitions create a single job. time_limit is in seconds.
        """
        return self._call(api.CREATE_JOB, create_request(spec, request_id, name, time_limit, scheduling)).job

    def get_job(self, job_id: str) -> v1.GetJobResponse:
        """Returns the state and the spec of a job."""
        return self._call(api.GET_JOB, v1.GetJobRequest(job_id=job_id))

    def list_jobs(self, limit: Optional[int] = None, **filters: Any) -> Iterator[v1.Job]:
        """Yields jobs. The filters are fields of v1.ListJobsRequest, such as states=[v1.JOB_STATE_RUNNING]."""
        return self._pages(api.LIST_JOBS, v1.ListJobsRequest(**filters), "jobs", limit)

    def cancel_job(self, job_id: str) -> v1.Job:
        """Asks a job to stop, and returns without waiting until it has stopped."""
        return self._call(api.CANCEL_JOB, v1.CancelJobRequest(job_id=job_id)).job

    def delete_job(self, job_id: str) -> None:
        """Deletes a job that has ended, with its results. Deleting one that does not exist is not an error."""
        self._call(api.DELETE_JOB, v1.DeleteJobRequest(job_id=job_id))

    def watch(self, job_id: str, after: int = 0) -> Iterator[v1.WatchJobResponse]:
        """Yields the events of a job with sequence numbers above after, and its progress between them, until it ends.

        If the connection breaks, the watch continues after the last event: every event comes exactly once.
        """
        last = after

        def request() -> v1.WatchJobRequest:
            return v1.WatchJobRequest(job_id=job_id, after_sequence=last)

        while True:
            for item in self._stream(api.WATCH_JOB, request):
                if item.HasField("event"):
                    last = item.event.sequence
                yield item
                if item.event.HasField("ended"):
                    return
            if self.get_job(job_id).job.state in ENDED:  # a watch that begins after the last event has none
                return
            time.sleep(WATCH_PAUSE)

    def wait(self, job_id: str, on_item: Optional[Callable[[v1.WatchJobResponse], None]] = None) -> v1.Job:
        """Waits until a job ends, and returns it. Raises an error if the job failed or was canceled.

        A job that its time limit ended is returned if it has labels. on_item is called with every event and progress
        report.
        """
        for item in self.watch(job_id):
            if on_item is not None:
                on_item(item)
        job = self.get_job(job_id).job
        if job.state == v1.JOB_STATE_CANCELLED and job.stop_reason == v1.STOP_REASON_TIME_LIMIT and self.get_result(job_id).rows:
            return job
        check_ended(job)
        return job

    # Results.

    def get_result(self, job_id: str) -> v1.Result:
        """Returns the result of a job without its large parts."""
        return self._call(api.GET_RESULT, v1.GetResultRequest(job_id=job_id)).result

    def get_labels(self, job_id: str, k: int = 0) -> Labels:
        """Returns the cluster of every row; for a job with a range of k, those for one k."""
        return self._read(api.GET_LABELS, LabelsReader(job_id, k))  # type: ignore[no-any-return]

    def get_row_scores(self, job_id: str) -> RowScores:
        """Returns how close each row is to its cluster, and how certain its label is."""
        return self._read(api.GET_ROW_SCORES, RowScoresReader(job_id))  # type: ignore[no-any-return]

    def get_model(self, job_id: str) -> Model:
        """Returns the centroids of a job that has them."""
        return self._read(api.GET_MODEL, ModelReader(job_id))  # type: ignore[no-any-return]

    def get_embedding(self, job_id: str) -> Embedding:
        """Returns the coordinates that a job of the spectral family computed."""
        return self._read(api.GET_EMBEDDING, EmbeddingReader(job_id))  # type: ignore[no-any-return]

    def get_neighbor_graph(self, job_id: str) -> Any:
        """Returns the nearest-neighbor graph that a job clustered, as an adjacency matrix of SciPy."""
        return self._read(api.GET_NEIGHBOR_GRAPH, GraphReader(job_id))

    def predict(self, job_id: str, *, dataset_id: str = "", table_id: str = "") -> Prediction:
        """Assigns new points, uploaded as a data set or as a table, to the clusters of a job."""
        request = v1.PredictJobRequest(job_id=job_id, dataset_id=dataset_id, table_id=table_id)
        return self._read(api.PREDICT_JOB, PredictionReader(request))  # type: ignore[no-any-return]

    def evaluate(self, job_id: str, truth: Any) -> v1.Evaluation:
        """Scores the labels of a job against the true class of every row, an array of any type."""
        return self._call(api.EVALUATE_JOB, evaluate_request(job_id, truth)).evaluation

    # The cluster.

    def list_workers(self, limit: Optional[int] = None) -> Iterator[v1.Worker]:
        """Yields the attached workers."""
        return self._pages(api.LIST_WORKERS, v1.ListWorkersRequest(), "workers", limit)

    def drain_worker(self, worker_id: str) -> v1.Worker:
        """Moves the tiles of a worker to others."""
        return self._call(api.DRAIN_WORKER, v1.DrainWorkerRequest(worker_id=worker_id)).worker

    def get_limits(self) -> v1.GetLimitsResponse:
        """Returns the limits of the server, and how much of them is in use."""
        return self._call(api.GET_LIMITS, v1.GetLimitsRequest())

    def backup(self, path: str) -> None:
        """Copies everything that the server stores to a new file, which coordinator --restore restores.

        The file gets its name when it is complete. Only administrators may do this.
        """
        with new_file(path) as file:
            for part in self._stream(api.BACKUP, v1.BackupRequest):
                if part.total_bytes:  # the first part: of another attempt, if the stream broke
                    file.seek(0)
                    file.truncate()
                file.write(part.content)


def _keep_error(parts: Iterator[bytes], broken: List[Exception]) -> Iterator[bytes]:
    """Yields parts, and keeps their error, which gRPC does not pass on to the caller."""
    try:
        yield from parts
    except Exception as error:
        broken.append(error)
        raise


@contextlib.contextmanager
def new_file(path: str) -> Iterator[BinaryIO]:
    """Opens a file that gets its name when it is complete. It replaces no file, and leaves none after an error."""
    if os.path.lexists(path):
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), path)
    folder, name = os.path.split(os.path.abspath(path))
    descriptor, partial = tempfile.mkstemp(prefix=f".{name}-", dir=folder)  # only the owner may read it
    try:
        with open(descriptor, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        open(path, "xb").close()  # takes the name, because os.replace would replace a file that appeared meanwhile
        os.replace(partial, path)
    except BaseException:
        os.unlink(partial)
        raise


def create_request(
    spec: v1.JobSpec, request_id: Optional[str], name: str, time_limit: Optional[float], scheduling: Optional[v1.Scheduling]
) -> v1.CreateJobRequest:
    """Returns the request that creates a job."""
    request = v1.CreateJobRequest(spec=spec, request_id=request_id or uuid.uuid4().hex, display_name=name, scheduling=scheduling)
    if time_limit is not None:
        request.scheduling.time_limit.FromTimedelta(timedelta(seconds=time_limit))
    return request


def import_request(uris: Sequence[str], name: str, reading: Optional[v1.TableReading], request_id: str) -> v1.ImportTableRequest:
    """Returns the request of an import. It has an ID, so that it can be repeated."""
    if isinstance(uris, str):
        uris = [uris]
    return v1.ImportTableRequest(uris=uris, display_name=name, reading=reading, request_id=request_id or str(uuid.uuid4()))


def check_ended(job: v1.Job) -> None:
    """Raises an error unless a job, which has ended, succeeded."""
    if job.state == v1.JOB_STATE_FAILED:
        raise job_error(job.job_id, job.error)
    if job.state == v1.JOB_STATE_CANCELLED:
        if job.stop_reason == v1.STOP_REASON_TIME_LIMIT:
            raise TimeLimitError(f"job {job.job_id} was {job.status_message}", reason="TIME_LIMIT", job_id=job.job_id)
        raise CanceledError(f"job {job.job_id} was canceled", reason="CANCELED", job_id=job.job_id)


def evaluate_request(job_id: str, truth: Any) -> v1.EvaluateJobRequest:
    """Returns the request that scores labels."""
    numbers = np.unique(np.asarray(truth), return_inverse=True)[1]  # what the classes are called does not matter
    column = v1.Column(name="label", integers=v1.IntegerCells(values=numbers.tolist()))
    return v1.EvaluateJobRequest(job_id=job_id, truth=v1.TableInput(inline=v1.TableRows(columns=[column])))


def join_rows(parts: List[v1.TableRows]) -> v1.TableRows:
    """Joins the parts of a table."""
    whole = v1.TableRows()
    rows = 0
    for part in parts:
        count = 0
        for at, column in enumerate(part.columns):
            if at == len(whole.columns):
                whole.columns.add(name=column.name)
            into, kind = whole.columns[at], column.WhichOneof("cells")
            if kind is not None:
                cells = getattr(column, kind).values
                getattr(into, kind).SetInParent()
                getattr(into, kind).values.extend(cells)
                count = len(cells)
            into.empty_rows.extend(rows + row for row in column.empty_rows)
        rows += count
    return whole
