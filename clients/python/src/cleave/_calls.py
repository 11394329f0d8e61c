"""What both clients ask a server for, and how they read its answers. Nothing here calls one."""

from __future__ import annotations

import contextlib
import errno
import os
import tempfile
import uuid
from datetime import timedelta
from typing import Any, BinaryIO, Callable, Generic, Iterator, List, Optional, Sequence, TypeVar

import numpy as np

from cleave import v1
from cleave._upload import Upload
from cleave.errors import client_error, job_error

Request = TypeVar("Request")
Response = TypeVar("Response")
Value = TypeVar("Value")

ENDED = (v1.JOB_STATE_SUCCEEDED, v1.JOB_STATE_FAILED, v1.JOB_STATE_CANCELLED)
MAX_PAGE = 1000
# Seconds that a watch may be silent; progress comes every two seconds.
WATCH_SILENCE = 10.0


class Reader(Generic[Request, Response, Value]):
    """Collects the parts of a download."""

    def request(self) -> Request:
        """Returns the request of the next attempt: for what is missing or, if that is impossible, for everything."""
        raise NotImplementedError

    def add(self, part: Response) -> None:
        """Takes the next part."""
        raise NotImplementedError

    def value(self) -> Value:
        """Returns what was downloaded."""
        raise NotImplementedError


class TableRowsReader(Reader[v1.GetTableRowsRequest, v1.GetTableRowsResponse, v1.TableRows]):
    """Joins the parts of a table. A download that broke off starts over."""

    def __init__(self, table_id: str, max_rows: int) -> None:
        self._request = v1.GetTableRowsRequest(table_id=table_id, max_rows=max_rows)

    def request(self) -> v1.GetTableRowsRequest:
        self._whole, self._rows = v1.TableRows(), 0
        return self._request

    def add(self, part: v1.GetTableRowsResponse) -> None:
        count = 0
        for at, column in enumerate(part.rows.columns):
            if at == len(self._whole.columns):
                self._whole.columns.add(name=column.name)
            into, kind = self._whole.columns[at], column.WhichOneof("cells")
            if kind is not None:
                cells = getattr(column, kind).values
                getattr(into, kind).SetInParent()
                getattr(into, kind).values.extend(cells)
                count = len(cells)
            into.empty_rows.extend(self._rows + row for row in column.empty_rows)
        self._rows += count

    def value(self) -> v1.TableRows:
        return self._whole


class ImportReader(Reader[v1.ImportTableRequest, v1.ImportTableResponse, v1.ImportedTable]):
    """Reports the progress of an import, and keeps its table. The request has an ID, so that it can be repeated."""

    def __init__(
        self,
        uris: Sequence[str],
        name: str,
        reading: Optional[v1.TableReading],
        request_id: str,
        progress: Optional[Callable[[v1.ImportProgress], None]],
    ) -> None:
        if isinstance(uris, str):
            uris = [uris]
        self._request = v1.ImportTableRequest(uris=uris, display_name=name, reading=reading, request_id=request_id or str(uuid.uuid4()))
        self._progress = progress
        self._imported: Optional[v1.ImportedTable] = None

    def request(self) -> v1.ImportTableRequest:
        return self._request

    def add(self, part: v1.ImportTableResponse) -> None:
        if part.HasField("imported"):
            self._imported = part.imported
        elif self._progress is not None:
            self._progress(part.progress)

    def value(self) -> v1.ImportedTable:
        if self._imported is None:
            raise client_error("BAD_ANSWER", "the server ended the import without a table")
        return self._imported


class BackupReader(Reader[v1.BackupRequest, v1.BackupResponse, None]):
    """Writes a backup to a file. One that broke off starts over."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file

    def request(self) -> v1.BackupRequest:
        self._file.seek(0)
        self._file.truncate()
        return v1.BackupRequest()

    def add(self, part: v1.BackupResponse) -> None:
        self._file.write(part.content)

    def value(self) -> None:
        pass


class Pages:
    """The requests of a list, page by page, as long as there are more."""

    def __init__(self, request: Any, field: str, limit: Optional[int]) -> None:
        self.request = request
        self.request.page_size = MAX_PAGE if limit is None else max(1, min(limit, MAX_PAGE))
        self.more = limit is None or limit > 0
        self._field, self._left = field, limit

    def take(self, page: Any) -> Sequence[Any]:
        """Returns the items of a page, and asks for the next one."""
        items: Sequence[Any] = getattr(page, self._field)[: self._left]
        if self._left is not None:
            self._left -= len(items)
        self.request.page_token = page.next_page_token
        self.more = bool(page.next_page_token) and self._left != 0
        return items


class Watch:
    """Where a watch of a job is: after which event, and whether that was the last one."""

    def __init__(self, job_id: str, after: int) -> None:
        self._job_id, self._last = job_id, after
        self.ended = False

    def request(self) -> v1.WatchJobRequest:
        return v1.WatchJobRequest(job_id=self._job_id, after_sequence=self._last)

    def add(self, item: v1.WatchJobResponse) -> None:
        if item.HasField("event"):
            self._last = item.event.sequence
            self.ended = item.event.HasField("ended")


class Sending:
    """Where an upload is: an attempt continues with the first part that has not arrived."""

    def __init__(self, data: Upload, name: str) -> None:
        self._data, self._name = data, name
        self.id = uuid.uuid4().hex
        self.begun = False
        self.broken: Optional[Exception] = None
        self._first = 0

    def resume(self, arrived: int) -> bool:
        """Continues after the parts that have arrived, and reports whether they are more than before."""
        more = arrived > self._first
        self._first = arrived
        return more

    def messages(self) -> Iterator[bytes]:
        """Yields the header and the parts, and keeps their error, which gRPC does not pass on to the caller."""
        self.begun = True
        try:
            yield self._data.header(self._name, self.id, self._first)
            yield from self._data.parts(self._first)
        except Exception as error:
            self.broken = error
            raise


def checked_dataset(stored: v1.Dataset, known: str) -> v1.Dataset:
    """Returns a data set that was uploaded. Raises an error if its ID is not the known one."""
    if known and stored.dataset_id != known:
        message = f"the data set arrived as {stored.dataset_id}, but it is {known}: the upload was damaged; upload it again"
        raise client_error("UPLOAD_DAMAGED", message)
    return stored


def create_request(
    spec: v1.JobSpec, request_id: Optional[str], name: str, time_limit: Optional[float], scheduling: Optional[v1.Scheduling]
) -> v1.CreateJobRequest:
    """Returns the request that creates a job."""
    request = v1.CreateJobRequest(spec=spec, request_id=request_id or uuid.uuid4().hex, display_name=name, scheduling=scheduling)
    if time_limit is not None:
        request.scheduling.time_limit.FromTimedelta(timedelta(seconds=time_limit))
    return request


def reached_time_limit(job: v1.Job) -> bool:
    """Reports whether its time limit ended a job."""
    return job.state == v1.JOB_STATE_CANCELLED and job.stop_reason == v1.STOP_REASON_TIME_LIMIT


def check_ended(job: v1.Job) -> None:
    """Raises an error unless a job, which has ended, succeeded."""
    if job.state == v1.JOB_STATE_FAILED:
        raise job_error(job.job_id, job.error)
    if reached_time_limit(job):
        raise client_error("TIME_LIMIT", f"job {job.job_id} was {job.status_message}", job_id=job.job_id)
    if job.state == v1.JOB_STATE_CANCELLED:
        raise client_error("JOB_CANCELLED", f"job {job.job_id} was canceled", job_id=job.job_id)
    if job.state != v1.JOB_STATE_SUCCEEDED:
        state = v1.JobState.Name(job.state) if job.state in v1.JobState.values() else job.state
        raise client_error("BAD_ANSWER", f"the server says that job {job.job_id} ended in the state {state}, which is no end", job_id=job.job_id)


def evaluate_request(job_id: str, truth: Any) -> v1.EvaluateJobRequest:
    """Returns the request that scores labels."""
    numbers = np.unique(np.asarray(truth), return_inverse=True)[1]  # what the classes are called does not matter
    column = v1.Column(name="label", integers=v1.IntegerCells(values=numbers.tolist()))
    return v1.EvaluateJobRequest(job_id=job_id, truth=v1.TableInput(inline=v1.TableRows(columns=[column])))


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
        _rename(partial, path)
    except BaseException:
        os.unlink(partial)
        raise


def _rename(partial: str, path: str) -> None:
    """Renames a file. Raises FileExistsError if the name is taken."""
    try:
        os.link(partial, path)
    except OSError:  # the name is taken, or the file system has no links
        open(path, "xb").close()  # takes the name, because os.replace would replace a file that appeared meanwhile
        try:
            os.replace(partial, path)
        except OSError:
            os.unlink(path)
            raise
    else:
        os.unlink(partial)
