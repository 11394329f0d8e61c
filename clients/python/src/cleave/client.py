"""A synchronous client of a Cleave server. Generated from aio.py by scripts/python-client.py."""

from __future__ import annotations

from types import TracebackType
from typing import Any, Callable, Generator, Iterator, Optional, Sequence, Type, TypeVar

import grpc

from cleave import _calls as calls
from cleave import _connection as api
from cleave import v1
from cleave._blocking import channels, closing, in_thread, received, send_parts, sleep
from cleave._calls import Reader, Request, Response, Value
from cleave._connection import Attempts, BaseClient, Method
from cleave._frames import table_of
from cleave._upload import Graph, KernelMatrix, Table, Upload, points_of
from cleave.errors import Broken, CleaveError, Failure, NotFoundError, PreconditionError, client_error
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


class Client(BaseClient):
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

    _grpc = channels

    def __enter__(self) -> Client:
        return self

    def __exit__(self, kind: Optional[Type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]) -> None:
        self.close()

    def close(self) -> None:
        """Closes the connections. The client may be used again, with new ones."""
        for channel in self._take_channels():
            channel.close()

    # Calls.

    def _attempt(self, call: Callable[[Any], Item], attempts: Optional[Attempts] = None) -> Item:
        """Makes a call, with the channel of the server that leads, until it succeeds or should not be repeated."""
        attempts = attempts or Attempts(self._route)
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
        sleep(pause)

    def _explain(self, failure: Failure, address: str) -> CleaveError:
        if not api.needs_diagnosis(failure):
            return failure.error()
        services = None
        try:
            services = self._list_services(self._channel(address))
        except grpc.RpcError:
            pass
        listening = services is None and in_thread(api.is_listening, address)
        return api.diagnose(failure, address, self.credentials, services, listening)

    def _call(self, method: Method[Request, Response], request: Request) -> Response:
        return self._attempt(lambda channel: self._invoke(channel, method, request))  # type: ignore[no-any-return]

    def _stream(
        self, method: Method[Request, Response], request: Callable[[], Request], attempts: Attempts, silence: Optional[float] = None
    ) -> Generator[Response, None, None]:
        """Yields the responses of a streaming call, which breaks if it is silent for so many seconds. It asks for the request again then."""
        while True:
            address = self._route.current
            call: Any = None
            try:
                call = self._open_stream(self._channel(address), method, request())
                with closing(received(call, silence)) as responses:
                    for response in responses:
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

    def _download(self, method: Method[Request, Response], reader: Reader[Request, Response, Value]) -> Generator[Response, None, None]:
        """Yields the parts of a download. One that cannot continue where it broke off begins again a few times."""
        attempts = Attempts(self._route)
        return self._stream(method, lambda: attempts.asked(reader.request()), attempts)

    def _read(self, method: Method[Request, Response], reader: Reader[Request, Response, Value]) -> Value:
        with closing(self._download(method, reader)) as parts:
            for part in parts:
                reader.add(part)
        return reader.value()

    def _pages(self, method: Method[Any, Any], pages: calls.Pages) -> Iterator[Any]:
        while pages.more:
            for item in pages.take(self._call(method, pages.request)):
                yield item

    def _send(self, method: Method[bytes, Response], data: Upload, name: str) -> Response:
        """Uploads data. If the upload breaks off, it continues with the first part that has not arrived."""
        sending, attempts = calls.Sending(data, name), Attempts(self._route)

        def send(channel: Any) -> Any:
            if sending.begun and sending.resume(self._arrived(channel, sending.id)):
                attempts.reached()
            invoke = channel.stream_unary(method.path, None, method.parse)
            return send_parts(invoke, sending, self.credentials.metadata())

        response: Response = self._attempt(send, attempts)
        return response

    def _arrived(self, channel: Any, upload_id: str) -> int:
        """Returns how many parts of an upload have arrived, 0 if the server does not know it."""
        try:
            return int(self._invoke(channel, api.GET_UPLOAD, v1.GetUploadRequest(upload_id=upload_id)).parts)
        except grpc.RpcError as error:
            if Failure(error).code == "NOT_FOUND":
                return 0
            raise

    # Data.

    def upload(self, data: Upload, name: str = "") -> v1.Dataset:
        """Uploads points, a graph or a kernel matrix, unless the server has the same data already."""
        known = in_thread(data.id)
        if known:
            try:
                return self.get_dataset(known)
            except NotFoundError:
                pass
        return calls.checked_dataset(self._send(api.CREATE_DATASET, data, name).dataset, known)

    def upload_points(self, points: Any, name: str = "") -> v1.Dataset:
        """Uploads an array with a row for each point, or a sparse matrix of SciPy. A memory-mapped array is read in parts."""
        return self.upload(in_thread(points_of, points), name)

    def upload_graph(self, adjacency: Any, name: str = "") -> v1.Dataset:
        """Uploads a graph, given its symmetric adjacency matrix, sparse or dense."""
        return self.upload(in_thread(Graph, adjacency), name)

    def upload_kernel_matrix(self, matrix: Any, name: str = "") -> v1.Dataset:
        """Uploads a symmetric kernel matrix."""
        return self.upload(in_thread(KernelMatrix, matrix), name)

    def upload_table(self, table: Any, name: str = "") -> v1.Table:
        """Uploads a table: a pandas frame, or a dict of columns."""
        data = table if isinstance(table, Table) else in_thread(table_of, table)
        return self._send(api.CREATE_TABLE, data, name).table

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
        return self._read(api.IMPORT_TABLE, calls.ImportReader(uris, name, reading, request_id, progress))

    def get_dataset(self, dataset_id: str) -> v1.Dataset:
        """Returns the metadata of a data set."""
        return self._call(api.GET_DATASET, v1.GetDatasetRequest(dataset_id=dataset_id)).dataset

    def list_datasets(self, limit: Optional[int] = None) -> Iterator[v1.Dataset]:
        """Yields the data sets that the caller may see."""
        return self._pages(api.LIST_DATASETS, calls.Pages(v1.ListDatasetsRequest(), "datasets", limit))

    def delete_dataset(self, dataset_id: str) -> None:
        """Deletes a data set. Deleting one that does not exist is not an error."""
        self._call(api.DELETE_DATASET, v1.DeleteDatasetRequest(dataset_id=dataset_id))

    def get_table(self, table_id: str) -> v1.Table:
        """Returns the metadata of a table."""
        return self._call(api.GET_TABLE, v1.GetTableRequest(table_id=table_id)).table

    def get_table_rows(self, table_id: str, max_rows: int = 0) -> v1.TableRows:
        """Returns the rows of a table, or max_rows evenly spaced ones."""
        return self._read(api.GET_TABLE_ROWS, calls.TableRowsReader(table_id, max_rows))

    def list_tables(self, limit: Optional[int] = None) -> Iterator[v1.Table]:
        """Yields the tables that the caller may see."""
        return self._pages(api.LIST_TABLES, calls.Pages(v1.ListTablesRequest(), "tables", limit))

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
        return self._call(api.CREATE_JOB, calls.create_request(spec, request_id, name, time_limit, scheduling)).job

    def get_job(self, job_id: str) -> v1.GetJobResponse:
        """Returns the state and the spec of a job."""
        return self._call(api.GET_JOB, v1.GetJobRequest(job_id=job_id))

    def list_jobs(self, limit: Optional[int] = None, **filters: Any) -> Iterator[v1.Job]:
        """Yields jobs. The filters are fields of v1.ListJobsRequest, such as states=[v1.JOB_STATE_RUNNING]."""
        return self._pages(api.LIST_JOBS, calls.Pages(v1.ListJobsRequest(**filters), "jobs", limit))

    def cancel_job(self, job_id: str) -> v1.Job:
        """Asks a job to stop, and returns without waiting until it has stopped."""
        return self._call(api.CANCEL_JOB, v1.CancelJobRequest(job_id=job_id)).job

    def delete_job(self, job_id: str) -> None:
        """Deletes a job that has ended, with its results. Deleting one that does not exist is not an error."""
        self._call(api.DELETE_JOB, v1.DeleteJobRequest(job_id=job_id))

    def watch(self, job_id: str, after: int = 0) -> Generator[v1.WatchJobResponse, None, None]:
        """Yields the events of a job with sequence numbers above after, and its progress between them, until it ends.

        If the connection breaks, the watch continues after the last event: every event comes exactly once.
        """
        watch, attempts = calls.Watch(job_id, after), Attempts(self._route)
        try:
            while True:
                with closing(self._stream(api.WATCH_JOB, watch.request, attempts, calls.WATCH_SILENCE)) as items:
                    for item in items:
                        watch.add(item)
                        yield item
                        if watch.ended:
                            return
                if self.get_job(job_id).job.state in calls.ENDED:  # a watch that begins after the last event has none
                    return
                self._wait(attempts, Failure(Broken("the stream ended before the job")), self._route.current)
        except CleaveError as error:
            if not error.temporary:
                raise
            message = f"job {job_id} cannot be watched, and may still be running: {error}"
            raise client_error("WATCH_LOST", message, job_id=job_id, retry_after=error.retry_after) from error

    def wait(self, job_id: str, on_item: Optional[Callable[[v1.WatchJobResponse], None]] = None) -> v1.Job:
        """Waits until a job ends, and returns it. Raises an error if the job failed or was canceled.

        A job that its time limit ended is returned if it has labels. on_item is called with every event and progress
        report.
        """
        with closing(self.watch(job_id)) as items:
            for item in items:
                if on_item is not None:
                    on_item(item)
        job = self.get_job(job_id).job
        if not (calls.reached_time_limit(job) and self._has_labels(job_id)):
            calls.check_ended(job)
        return job

    def _has_labels(self, job_id: str) -> bool:
        try:
            return bool(self.get_result(job_id).rows)
        except (NotFoundError, PreconditionError):
            return False

    # Results.

    def get_result(self, job_id: str) -> v1.Result:
        """Returns the result of a job without its large parts."""
        return self._call(api.GET_RESULT, v1.GetResultRequest(job_id=job_id)).result

    def get_labels(self, job_id: str, k: int = 0) -> Labels:
        """Returns the cluster of every row; for a job with a range of k, those for one k."""
        return self._read(api.GET_LABELS, LabelsReader(job_id, k))

    def get_row_scores(self, job_id: str) -> RowScores:
        """Returns how close each row is to its cluster, and how certain its label is."""
        return self._read(api.GET_ROW_SCORES, RowScoresReader(job_id))

    def get_model(self, job_id: str) -> Model:
        """Returns the centroids of a job that has them."""
        return self._read(api.GET_MODEL, ModelReader(job_id))

    def get_embedding(self, job_id: str) -> Embedding:
        """Returns the coordinates that a job of the spectral family computed."""
        return self._read(api.GET_EMBEDDING, EmbeddingReader(job_id))

    def get_neighbor_graph(self, job_id: str) -> Any:
        """Returns the nearest-neighbor graph that a job clustered, as an adjacency matrix of SciPy."""
        return self._read(api.GET_NEIGHBOR_GRAPH, GraphReader(job_id))

    def predict(self, job_id: str, *, dataset_id: str = "", table_id: str = "") -> Prediction:
        """Assigns new points, uploaded as a data set or as a table, to the clusters of a job."""
        request = v1.PredictJobRequest(job_id=job_id, dataset_id=dataset_id, table_id=table_id)
        return self._read(api.PREDICT_JOB, PredictionReader(request))

    def evaluate(self, job_id: str, truth: Any) -> v1.Evaluation:
        """Scores the labels of a job against the true class of every row, an array of any type."""
        return self._call(api.EVALUATE_JOB, calls.evaluate_request(job_id, truth)).evaluation

    # The cluster.

    def list_workers(self, limit: Optional[int] = None) -> Iterator[v1.Worker]:
        """Yields the attached workers."""
        return self._pages(api.LIST_WORKERS, calls.Pages(v1.ListWorkersRequest(), "workers", limit))

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
        with calls.new_file(path) as file:
            reader = calls.BackupReader(file)
            with closing(self._download(api.BACKUP, reader)) as parts:
                for part in parts:
                    in_thread(reader.add, part)
