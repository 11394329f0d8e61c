"""What docs/CLIENT-CONTRACT.md promises for all clients, played by a scripted server."""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
import threading
from concurrent import futures
from datetime import timedelta
from typing import Any, Dict, Iterator, List, Optional, Sequence, Tuple

import grpc
import numpy as np
import pytest
from programs import REPOSITORY, OtherServer, free_port, health_list
from programs import cleave as run_cleave

import cleave
from cleave import _calls, _connection, aio, errors, v1
from cleave.rpc import status_pb2

CONTRACT = json.loads((REPOSITORY / "test" / "clients" / "contract.json").read_text())


class Script(grpc.GenericRpcHandler):
    """A server that plays its part of a case of test/clients/contract.json, which says what the fields mean."""

    def __init__(self, case: Any, addresses: Sequence[str] = ()) -> None:
        self.case = case
        self.addresses = addresses  # of all servers of the case
        self.asked = ""  # the ID of the data set that the client has
        self.calls = 0
        self.after: List[int] = []
        self.first: List[int] = []
        self.request_ids: List[str] = []

    def service(self, details: Any) -> Any:
        name = details.method.rpartition("/")[2]
        unary = {"GetJob": self.get, "GetResult": self.result, "CancelJob": self.cancel, "CreateJob": self.create, "List": self.services}
        unary.update(GetDataset=self.dataset, GetUpload=self.upload)
        if name == "CreateDataset":
            return grpc.stream_unary_rpc_method_handler(self.create_dataset)
        if name in unary:
            return grpc.unary_unary_rpc_method_handler(unary[name])
        return grpc.unary_stream_rpc_method_handler(self.watch if name == "WatchJob" else self.labels)

    def services(self, _: bytes, context: Any) -> bytes:
        """Answers for the health service."""
        return health_list("cleave.v1.JobService")

    def job(self) -> v1.Job:
        state = v1.JobState.Value("JOB_STATE_" + self.case.get("job", "UNSPECIFIED"))
        reason = v1.StopReason.Value("STOP_REASON_" + self.case.get("stopReason", "UNSPECIFIED"))
        job = v1.Job(job_id="job", state=state, stop_reason=reason, status_message="ended")
        if "failure" in self.case:
            failure = self.case["failure"]
            job.error.code = grpc.StatusCode[failure["code"]].value[0]
            job.error.reason, job.error.field, job.error.message = failure["reason"], failure.get("field", ""), "not now"
        return job

    def answer(self) -> Any:
        self.calls += 1
        return self.case["answers"][self.calls - 1]

    def get(self, _: bytes, context: Any) -> bytes:
        return v1.GetJobResponse(job=self.job()).SerializeToString()

    def result(self, _: bytes, context: Any) -> bytes:
        self.fail(context, self.case["result"])
        return v1.GetResultResponse(result=v1.Result(rows=self.case["result"]["rows"])).SerializeToString()

    def cancel(self, _: bytes, context: Any) -> bytes:
        self.fail(context, self.answer())
        return v1.CancelJobResponse(job=self.job()).SerializeToString()

    def create(self, request: bytes, context: Any) -> bytes:
        self.request_ids.append(v1.CreateJobRequest.FromString(request).request_id)
        self.fail(context, self.answer())
        return v1.CreateJobResponse(job=self.job()).SerializeToString()

    def dataset(self, request: bytes, context: Any) -> bytes:
        self.asked = v1.GetDatasetRequest.FromString(request).dataset_id
        self.fail(context, {"error": {"code": "NOT_FOUND", "reason": "DATASET_NOT_FOUND"}})
        return b""

    def upload(self, _: bytes, context: Any) -> bytes:
        if "arrived" not in self.case:
            self.fail(context, {"error": {"code": "NOT_FOUND", "reason": "UPLOAD_NOT_FOUND"}})
        return v1.GetUploadResponse(parts=self.case["arrived"]).SerializeToString()

    def create_dataset(self, requests: Iterator[bytes], context: Any) -> bytes:
        header = [v1.CreateDatasetRequest.FromString(request) for request in requests][0].header
        self.first.append(header.first_part)
        self.fail(context, self.answer())
        return v1.CreateDatasetResponse(dataset=v1.Dataset(dataset_id=self.asked or "data")).SerializeToString()

    def watch(self, request: bytes, context: Any) -> Any:
        if self.case["call"] == "Wait":
            return
        self.after.append(v1.WatchJobRequest.FromString(request).after_sequence)
        answer = self.answer()
        for sequence in answer.get("events", []):
            event = v1.Event(sequence=sequence)
            if answer.get("ended") and sequence == answer["events"][-1]:
                event.ended.state = v1.JOB_STATE_SUCCEEDED
            yield v1.WatchJobResponse(event=event).SerializeToString()
        if answer.get("silent"):
            gone = threading.Event()
            context.add_callback(gone.set)
            gone.wait()
        self.fail(context, answer)

    def labels(self, request: bytes, context: Any) -> Any:
        self.first.append(v1.GetLabelsRequest.FromString(request).first_index)
        answer = self.answer()
        for part in answer["parts"]:
            yield v1.GetLabelsResponse(first_index=part["first"], labels=part["labels"]).SerializeToString()
        self.fail(context, answer)

    def fail(self, context: Any, answer: Any) -> None:
        """Ends a call with the error of an answer, if it has one."""
        error = answer.get("error")
        if error is None:
            return
        code = grpc.StatusCode[error["code"]]
        status = status_pb2.Status(code=code.value[0], message="not now")
        details = []
        if "reason" in error:
            metadata = {"leader": self.addresses[error["leader"]]} if "leader" in error else {}
            details.append(status_pb2.ErrorInfo(reason=error["reason"], domain="cleave", metadata=metadata))
        if error.get("field"):
            details.append(status_pb2.BadRequest(field_violations=[{"field": error["field"]}]))
        if "retryAfter" in error:
            retry = status_pb2.RetryInfo()
            retry.retry_delay.FromTimedelta(timedelta(seconds=error["retryAfter"]))
            details.append(retry)
        for detail in details:
            status.details.add(type_url="type.googleapis.com/google.rpc." + detail.DESCRIPTOR.name, value=detail.SerializeToString())
        context.set_trailing_metadata([("grpc-status-details-bin", status.SerializeToString())])
        context.abort(code, "not now")


@contextlib.contextmanager
def serving(script: Script, folder: Any) -> Iterator[Tuple[str, Dict[str, Any]]]:
    """Starts a server. Yields its address, and what the client needs to connect."""
    kind = script.case.get("server", "")
    if kind == "NONE":
        yield f"127.0.0.1:{free_port()}", {}
        return
    if kind == "OTHER":
        with contextlib.closing(socket.create_server(("127.0.0.1", 0))) as listener:
            threading.Thread(target=greet, args=(listener,), daemon=True).start()
            yield f"127.0.0.1:{listener.getsockname()[1]}", {}
        return
    if kind == "OTHER_API":
        other = OtherServer("cleave.v2.JobService")
        yield other.address, {}
        other.stop()
        return
    server = grpc.server(futures.ThreadPoolExecutor(4), handlers=[script])
    if kind == "UNTRUSTED":
        run_cleave("certs", "init", "--host", "127.0.0.1", "--dir", folder / "certs")
        pair = [(folder / "certs" / "coordinator" / name).read_bytes() for name in ("key.pem", "cert.pem")]
        port = server.add_secure_port("127.0.0.1:0", grpc.ssl_server_credentials([tuple(pair)]))
    else:
        port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    yield f"127.0.0.1:{port}", {"ca_file": "system"} if kind == "UNTRUSTED" else {}
    server.stop(None)


def greet(listener: socket.socket) -> None:
    """Answers connections as a server of another protocol does."""
    with contextlib.suppress(OSError):  # the listener is closed
        while True:
            connection, _ = listener.accept()
            with connection:
                connection.sendall(b"SSH-2.0-OpenSSH_9.2p1 Debian-2\r\n")


# The adjacency matrix of a graph of two edges.
EDGES = np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0]])


class Got:
    """What a caller gets."""

    def __init__(self) -> None:
        self.events: List[int] = []
        self.labels: List[int] = []
        self.failure: Optional[cleave.CleaveError] = None


def call(address: str, options: Any, name: str, got: Got) -> None:
    """Makes a call with the synchronous client."""
    with cleave.Client(address, **options) as client:
        if name == "CancelJob":
            client.cancel_job("job")
        elif name == "CreateJob":
            client.create_job(v1.JobSpec())
        elif name == "GetLabels":
            got.labels = client.get_labels("job").labels.tolist()
        elif name == "UploadGraph":
            client.upload_graph(EDGES)
        elif name == "Wait":
            client.wait("job")
        else:
            got.events.extend(item.event.sequence for item in client.watch("job"))


async def call_async(address: str, options: Any, name: str, got: Got) -> None:
    """Makes a call with the asynchronous client."""
    async with aio.Client(address, **options) as client:
        if name == "CancelJob":
            await client.cancel_job("job")
        elif name == "CreateJob":
            await client.create_job(v1.JobSpec())
        elif name == "GetLabels":
            got.labels = (await client.get_labels("job")).labels.tolist()
        elif name == "UploadGraph":
            await client.upload_graph(EDGES)
        elif name == "Wait":
            await client.wait("job")
        else:
            async for item in client.watch("job"):
                got.events.append(item.event.sequence)


def play(case: Any, client: str, folder: Any) -> Tuple[List[Script], Got]:
    addresses: List[str] = []
    scripts, got = [Script({**case, **server}, addresses) for server in case.get("servers", [{}])], Got()
    options: Dict[str, Any] = {}
    with contextlib.ExitStack() as stack:
        for script in scripts:
            address, needed = stack.enter_context(serving(script, folder))
            addresses.append(address)
            options.update(needed)
        given = ",".join(addresses[at] for at in case.get("given", range(len(addresses))))
        try:
            if client == "synchronous":
                call(given, options, case["call"], got)
            else:
                asyncio.run(call_async(given, options, case["call"], got))
        except cleave.CleaveError as error:
            got.failure = error
    return scripts, got


@pytest.mark.parametrize("client", ["synchronous", "asynchronous"])
@pytest.mark.parametrize("case", CONTRACT["cases"], ids=lambda case: case["name"])
def test_contract(case, client, tmp_path, monkeypatch):
    monkeypatch.setattr(_calls, "WATCH_SILENCE", 0.3)
    scripts, got = play(case, client, tmp_path)
    for script in scripts:
        assert script.calls == script.case.get("calls", 0)
        assert script.after == script.case.get("after", [])
        assert script.first == script.case.get("first", [])
    assert got.events == case.get("events", [])
    assert got.labels == case.get("labels", [])
    if case["call"] == "CreateJob":
        ids = {one for script in scripts for one in script.request_ids}
        assert len(ids) == 1 and "" not in ids
    expected = case.get("error")
    if expected is None:
        assert got.failure is None
        return
    assert got.failure is not None
    assert (got.failure.code, got.failure.reason, got.failure.field) == (expected["code"], expected["reason"], expected["field"])
    assert got.failure.temporary == expected.get("temporary", False)
    if case["call"] in ("Wait", "WatchJob") and "answers" not in case and case.get("result", {}).get("error", {}).get("code") != "DATA_LOSS":
        assert got.failure.job_id == "job"


def test_the_contract_has_every_reason():
    found = [errors.client_error(reason["reason"], "x") for reason in CONTRACT["reasons"]]
    assert [(e.reason, e.code, e.temporary) for e in found] == [(r["reason"], r["code"], r["temporary"]) for r in CONTRACT["reasons"]]
    assert len(found) == len(errors._CLIENT_ERRORS)


@pytest.mark.parametrize("state", [99, v1.JOB_STATE_UNSPECIFIED, v1.JOB_STATE_RUNNING])
def test_a_job_that_ended_in_no_state_of_an_end(state):
    with pytest.raises(cleave.CleaveError, match="job 7 ended in the state") as error:
        _calls.check_ended(v1.Job(job_id="7", state=state))
    assert (error.value.reason, error.value.job_id) == ("BAD_ANSWER", "7")


@pytest.mark.parametrize("client", ["synchronous", "asynchronous"])
def test_a_watch_that_ends_again_and_again_is_lost(client, tmp_path, monkeypatch):
    monkeypatch.setattr(_connection, "_RECONNECT_TIMEOUT", 0.5)
    case = {"call": "WatchJob", "job": "RUNNING", "answers": [{} for _ in range(100)]}
    (script,), got = play(case, client, tmp_path)
    assert got.failure is not None and got.failure.reason == "WATCH_LOST" and "ended before the job" in str(got.failure)
    assert 3 <= script.calls <= 10, "the pauses grow"
