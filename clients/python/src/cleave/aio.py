"""An asynchronous client of a Cleave server. It has the methods of :class:`cleave.Client`, as coroutines and asynchronous iterators."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import os
import uuid
from types import TracebackType
from typing import Any, AsyncGenerator, AsyncIterator, Awaitable, Callable, Dict, Iterator, List, Optional, Sequence, Type, TypeVar

import grpc
import grpc.aio

from cleave import _connection as api
from cleave import v1
from cleave._connection import Attempts, Credentials, Method, Request, Response, Route
from cleave._frames import table_of
from cleave._upload import Graph, KernelMatrix, Table, Upload, points_of
from cleave.client import (
    ENDED,
    MAX_PAGE,
    WATCH_PAUSE,
    check_ended,
    create_request,
    evaluate_request,
    import_request,
    join_rows,
    new_file,
)
from cleave.errors import CleaveError, Failure, NotFoundError
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


class Client:
    """An asynchronous client of a Cleave server, for one event loop. See :class:`cleave.Client` for the arguments.

    Canceling a task cancels its call, never a job: use cancel_job for that.
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
        self._channels: Dict[str, Any] = {}

    async def __aenter__(self) -> Client:
        return self

    async def __aexit__(self, kind: Optional[Type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]) -> None:
        await self.close()

    def __repr__(self) -> str:
        return f"Client({self.address!r})"

    @property
    def address(self) -> str:
        """The addresses of the servers, separated by commas."""
        return ",".join(self._route.addresses)

    async def close(self) -> None:
        """Closes the connections. The client may be used again, with new ones."""
        channels, self._channels = self._channels, {}
        for channel in channels.values():
            await channel.close()

    # Calls.

    def _channel(self, address: str) -> Any:
        if address not in self._channels:
            self.credentials.check(address)  # a standby may name any leader
            secured, options = self.credentials.channel_credentials(), self.credentials.options()
            self._channels[address] = (
                grpc.aio.insecure_channel(address, options) if secured is None else grpc.aio.secure_channel(address, secured, options)
            )
        return self._channels[address]

    async def _attempt(self, call: Callable[[Any], Awaitable[Item]]) -> Item:
        """Makes a call, with the channel of the server that leads, until it succeeds or should not be repeated."""
        attempts = Attempts(self._route)
        while True:
            address = self._route.current
            try:
                value = await call(self._channel(address))
                self._route.answered = True
                return value
            except grpc.RpcError as error:
                failure = Failure(error)
            await self._wait(attempts, failure, address)

    async def _wait(self, attempts: Attempts, failure: Failure, address: str) -> None:
        """Waits before the next attempt, or raises the error if there should be none."""
        pause = attempts.pause(failure, address)
        if pause is None:
            raise await self._explain(failure, address)
        await asyncio.sleep(pause)

    async def _explain(self, failure: Failure, address: str) -> CleaveError:
        if not api.needs_diagnosis(failure):
            return failure.error()
        services = None
        try:
            invoke = self._channel(address).unary_unary(api.HEALTH_LIST, request_serializer=None, response_deserializer=None)
            services = api.service_names(await invoke(b"", timeout=5, metadata=self.credentials.metadata()))
        except grpc.RpcError:
            pass
        listening = services is None and await asyncio.to_thread(api.is_listening, address)
        return api.diagnose(failure, address, self.credentials, services, listening)

    async def _call(self, method: Method[Request, Response], request: Request) -> Response:
        async def call(channel: Any) -> Response:
            invoke = channel.unary_unary(method.path, method.serialize, method.parse)
            return await invoke(request, metadata=self.credentials.metadata())  # type: ignore[no-any-return]

        return await self._attempt(call)

    async def _stream(self, method: Method[Request, Response], request: Callable[[], Request]) -> AsyncGenerator[Response, None]:
        """Yields the responses of a streaming call. It asks for the request again if the stream breaks."""
        attempts = Attempts(self._route)
        while True:
            address = self._route.current
            call: Any = None
            try:
                invoke = self._channel(address).unary_stream(method.path, method.serialize, method.parse)
                call = invoke(request(), metadata=self.credentials.metadata())
                async for response in call:
                    self._route.answered = True
                    attempts.reached()
                    yield response
                return
            except grpc.RpcError as error:
                failure = Failure(error)
            finally:
                if call is not None:
                    call.cancel()
            await self._wait(attempts, failure, address)

    async def _read(self, method: Method[Any, Any], reader: Any) -> Any:
        async with _closing(self._stream(method, reader.request)) as parts:
            async for part in parts:
                reader.add(part)
        return reader.value()

    async def _send(self, method: Method[bytes, Response], data: Upload, name: str) -> Response:
        """Uploads data. If the upload breaks off, it continues with the first part that has not arrived."""
        attempts, upload_id = Attempts(self._route), uuid.uuid4().hex
        first, again = 0, False
        broken: List[Exception] = []
        while True:
            address = self._route.current
            try:
                channel = self._channel(address)
                if again:
                    arrived = await self._arrived(channel, upload_id)
                    if arrived > first:
                        attempts.reached()
                    first = arrived
                again = True
                parts = itertools.chain([data.header(name, upload_id, first)], await asyncio.to_thread(data.parts, first))
                invoke = channel.stream_unary(method.path, None, method.parse)
                return await invoke(_in_thread(parts, broken), metadata=self.credentials.metadata())  # type: ignore[no-any-return]
            except asyncio.CancelledError:
                if broken:  # gRPC cancels a call whose parts cannot be made
                    raise broken[0] from None
                raise
            except grpc.RpcError as error:
                failure = Failure(error)
            await self._wait(attempts, failure, address)

    async def _arrived(self, channel: Any, upload_id: str) -> int:
        """Returns how many parts of an upload have arrived, 0 if the server does not know it."""
        method = api.GET_UPLOAD
        try:
            invoke = channel.unary_unary(method.path, method.serialize, method.parse)
            answer = await invoke(v1.GetUploadRequest(upload_id=upload_id), metadata=self.credentials.metadata())
            return int(answer.parts)
        except grpc.RpcError as error:
            if Failure(error).code == "NOT_FOUND":
                return 0
            raise

    async def _pages(self, method: Method[Any, Any], request: Any, field: str, limit: Optional[int]) -> AsyncIterator[Any]:
        request.page_size = MAX_PAGE if limit is None else max(1, min(limit, MAX_PAGE))
        left = limit
        while left is None or left > 0:
            page = await self._call(method, request)
            items = getattr(page, field)
            for item in items if left is None else items[:left]:
                yield item
            left = None if left is None else left - len(items)
            request.page_token = page.next_page_token
            if not request.page_token:
                return

    # Data.

    async def upload(self, data: Upload, name: str = "") -> v1.Dataset:
        """Uploads points, a graph or a kernel matrix, unless the server has the same data already."""
        known = await asyncio.to_thread(data.id)
        if known:
            try:
                return await self.get_dataset(known)
            except NotFoundError:
                pass
        stored = (await self._send(api.CREATE_DATASET, data, name)).dataset
        if known and stored.dataset_id != known:
            raise CleaveError(
                f"the data set arrived as {stored.dataset_id}, but it is {known}: the upload was damaged", reason="DAMAGED_UPLOAD"
            )
        return stored

    async def upload_points(self, points: Any, name: str = "") -> v1.Dataset:
        """Uploads an array with a row for each point, or a sparse matrix of SciPy. A memory-mapped array is read in parts."""
        return await self.upload(await asyncio.to_thread(points_of, points), name)

    async def upload_graph(self, adjacency: Any, name: str = "") -> v1.Dataset:
        """Uploads a graph, given its symmetric adjacency matrix, sparse or dense."""
        return await self.upload(await asyncio.to_thread(Graph, adjacency), name)

    async def upload_kernel_matrix(self, matrix: Any, name: str = "") -> v1.Dataset:
        """Uploads a symmetric kernel matrix."""
        return await self.upload(await asyncio.to_thread(KernelMatrix, matrix), name)

    async def upload_table(self, table: Any, name: str = "") -> v1.Table:
        """Uploads a table: a pandas frame, or a dict of columns."""
        data = table if isinstance(table, Table) else await asyncio.to_thread(table_of, table)
        return (await self._send(api.CREATE_TABLE, data, name)).table

    async def import_table(
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
        async with _closing(self._stream(api.IMPORT_TABLE, lambda: request)) as responses:
            async for response in responses:
                if response.HasField("imported"):
                    return response.imported
                if progress is not None:
                    progress(response.progress)
        raise CleaveError("the import ended without a table")

    async def get_dataset(self, dataset_id: str) -> v1.Dataset:
        """Returns the metadata of a data set."""
        return (await self._call(api.GET_DATASET, v1.GetDatasetRequest(dataset_id=dataset_id))).dataset

    async def list_datasets(self, limit: Optional[int] = None) -> AsyncIterator[v1.Dataset]:
        """Yields the data sets that the caller may see."""
        async for item in self._pages(api.LIST_DATASETS, v1.ListDatasetsRequest(), "datasets", limit):
            yield item

    async def delete_dataset(self, dataset_id: str) -> None:
        """Deletes a data set. Deleting one that does not exist is not an error."""
        await self._call(api.DELETE_DATASET, v1.DeleteDatasetRequest(dataset_id=dataset_id))

    async def get_table(self, table_id: str) -> v1.Table:
        """Returns the metadata of a table."""
        return (await self._call(api.GET_TABLE, v1.GetTableRequest(table_id=table_id))).table

    async def get_table_rows(self, table_id: str, max_rows: int = 0) -> v1.TableRows:
        """Returns the rows of a table, or max_rows evenly spaced ones."""
        parts: List[v1.TableRows] = []

        def request() -> v1.GetTableRowsRequest:
            parts.clear()  # a stream that breaks starts over
            return v1.GetTableRowsRequest(table_id=table_id, max_rows=max_rows)

        async for part in self._stream(api.GET_TABLE_ROWS, request):
            parts.append(part.rows)
        return join_rows(parts)

    async def list_tables(self, limit: Optional[int] = None) -> AsyncIterator[v1.Table]:
        """Yields the tables that the caller may see."""
        async for item in self._pages(api.LIST_TABLES, v1.ListTablesRequest(), "tables", limit):
            yield item

    async def delete_table(self, table_id: str) -> None:
        """Deletes a table. Deleting one that does not exist is not an error."""
        await self._call(api.DELETE_TABLE, v1.DeleteTableRequest(table_id=table_id))

    # Jobs.

    async def plan_job(self, spec: v1.JobSpec) -> v1.PlanJobResponse:
        """Returns how a job would be distributed over the workers, without running it."""
        return await self._call(api.PLAN_JOB, v1.PlanJobRequest(spec=spec))

    async def create_job(
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
        return (await self._call(api.CREATE_JOB, create_request(spec, request_id, name, time_limit, scheduling))).job

    async def get_job(self, job_id: str) -> v1.GetJobResponse:
        """Returns the state and the spec of a job."""
        return await self._call(api.GET_JOB, v1.GetJobRequest(job_id=job_id))

    async def list_jobs(self, limit: Optional[int] = None, **filters: Any) -> AsyncIterator[v1.Job]:
        """Yields jobs. The filters are fields of v1.ListJobsRequest, such as states=[v1.JOB_STATE_RUNNING]."""
        async for item in self._pages(api.LIST_JOBS, v1.ListJobsRequest(**filters), "jobs", limit):
            yield item

    async def cancel_job(self, job_id: str) -> v1.Job:
        """Asks a job to stop, and returns without waiting until it has stopped."""
        return (await self._call(api.CANCEL_JOB, v1.CancelJobRequest(job_id=job_id))).job

    async def delete_job(self, job_id: str) -> None:
        """Deletes a job that has ended, with its results. Deleting one that does not exist is not an error."""
        await self._call(api.DELETE_JOB, v1.DeleteJobRequest(job_id=job_id))

    async def watch(self, job_id: str, after: int = 0) -> AsyncGenerator[v1.WatchJobResponse, None]:
        """Yields the events of a job with sequence numbers above after, and its progress between them, until it ends.

        If the connection breaks, the watch continues after the last event: every event comes exactly once.
        """
        last = after

        def request() -> v1.WatchJobRequest:
            return v1.WatchJobRequest(job_id=job_id, after_sequence=last)

        while True:
            async with _closing(self._stream(api.WATCH_JOB, request)) as items:
                async for item in items:
                    if item.HasField("event"):
                        last = item.event.sequence
                    yield item
                    if item.event.HasField("ended"):
                        return
            if (await self.get_job(job_id)).job.state in ENDED:  # a watch that begins after the last event has none
                return
            await asyncio.sleep(WATCH_PAUSE)

    async def wait(self, job_id: str, on_item: Optional[Callable[[v1.WatchJobResponse], None]] = None) -> v1.Job:
        """Waits until a job ends, and returns it. Raises an error if the job failed or was canceled.

        A job that its time limit ended is returned if it has labels. on_item is called with every event and progress
        report.
        """
        async with _closing(self.watch(job_id)) as items:
            async for item in items:
                if on_item is not None:
                    on_item(item)
        job = (await self.get_job(job_id)).job
        if job.state == v1.JOB_STATE_CANCELLED and job.stop_reason == v1.STOP_REASON_TIME_LIMIT and (await self.get_result(job_id)).rows:
            return job
        check_ended(job)
        return job

    # Results.

    async def get_result(self, job_id: str) -> v1.Result:
        """Returns the result of a job without its large parts."""
        return (await self._call(api.GET_RESULT, v1.GetResultRequest(job_id=job_id))).result

    async def get_labels(self, job_id: str, k: int = 0) -> Labels:
        """Returns the cluster of every row; for a job with a range of k, those for one k."""
        return await self._read(api.GET_LABELS, LabelsReader(job_id, k))  # type: ignore[no-any-return]

    async def get_row_scores(self, job_id: str) -> RowScores:
        """Returns how close each row is to its cluster, and how certain its label is."""
        return await self._read(api.GET_ROW_SCORES, RowScoresReader(job_id))  # type: ignore[no-any-return]

    async def get_model(self, job_id: str) -> Model:
        """Returns the centroids of a job that has them."""
        return await self._read(api.GET_MODEL, ModelReader(job_id))  # type: ignore[no-any-return]

    async def get_embedding(self, job_id: str) -> Embedding:
        """Returns the coordinates that a job of the spectral family computed."""
        return await self._read(api.GET_EMBEDDING, EmbeddingReader(job_id))  # type: ignore[no-any-return]

    async def get_neighbor_graph(self, job_id: str) -> Any:
        """Returns the nearest-neighbor graph that a job clustered, as an adjacency matrix of SciPy."""
        return await self._read(api.GET_NEIGHBOR_GRAPH, GraphReader(job_id))

    async def predict(self, job_id: str, *, dataset_id: str = "", table_id: str = "") -> Prediction:
        """Assigns new points, uploaded as a data set or as a table, to the clusters of a job."""
        request = v1.PredictJobRequest(job_id=job_id, dataset_id=dataset_id, table_id=table_id)
        return await self._read(api.PREDICT_JOB, PredictionReader(request))  # type: ignore[no-any-return]

    async def evaluate(self, job_id: str, truth: Any) -> v1.Evaluation:
        """Scores the labels of a job against the true class of every row, an array of any type."""
        return (await self._call(api.EVALUATE_JOB, evaluate_request(job_id, truth))).evaluation

    # The cluster.

    async def list_workers(self, limit: Optional[int] = None) -> AsyncIterator[v1.Worker]:
        """Yields the attached workers."""
        async for item in self._pages(api.LIST_WORKERS, v1.ListWorkersRequest(), "workers", limit):
            yield item

    async def drain_worker(self, worker_id: str) -> v1.Worker:
        """Moves the tiles of a worker to others."""
        return (await self._call(api.DRAIN_WORKER, v1.DrainWorkerRequest(worker_id=worker_id))).worker

    async def get_limits(self) -> v1.GetLimitsResponse:
        """Returns the limits of the server, and how much of them is in use."""
        return await self._call(api.GET_LIMITS, v1.GetLimitsRequest())

    async def backup(self, path: str) -> None:
        """Copies everything that the server stores to a new file, which coordinator --restore restores.

        The file gets its name when it is complete. Only administrators may do this.
        """
        with new_file(path) as file:
            async with _closing(self._stream(api.BACKUP, v1.BackupRequest)) as parts:
                async for part in parts:
                    if part.total_bytes:  # the first part: of another attempt, if the stream broke
                        file.seek(0)
                        file.truncate()
                    await asyncio.to_thread(file.write, part.content)


@contextlib.asynccontextmanager
async def _closing(items: AsyncGenerator[Item, None]) -> AsyncIterator[AsyncGenerator[Item, None]]:
    """Closes a generator at the end, and so its call, which otherwise stays open until the generator is collected."""
    try:
        yield items
    finally:
        await items.aclose()


async def _in_thread(parts: Iterator[bytes], broken: List[Exception]) -> AsyncIterator[bytes]:
    """Yields parts, which are made in a thread, and keeps their error, which gRPC does not pass on to the caller."""
    try:
        while (part := await asyncio.to_thread(lambda: next(parts, None))) is not None:
            yield part
    except Exception as error:
        broken.append(error)
        raise
