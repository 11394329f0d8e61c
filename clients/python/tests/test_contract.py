"""What docs/CLIENT-CONTRACT.md promises for all clients, played by a scripted server."""

from __future__ import annotations

import asyncio
import json
from concurrent import futures
from datetime import timedelta
from typing import Any, List

import grpc
import pytest
from programs import REPOSITORY

import cleave
from cleave import aio, v1
from cleave.rpc import status_pb2

CASES = json.loads((REPOSITORY / "test" / "clients" / "contract.json").read_text())["cases"]


class Script(grpc.GenericRpcHandler):
    """A server that plays a case of test/clients/contract.json, which says what the fields mean."""

    def __init__(self, case: Any) -> None:
        self.case = case
        self.calls = 0
        self.after: List[int] = []
        self.request_ids: List[str] = []

    def service(self, details: Any) -> Any:
        name = details.method.rpartition("/")[2]
        if name == "GetJob":
            return grpc.unary_unary_rpc_method_handler(lambda *_: v1.GetJobResponse(job=self.job()).SerializeToString())
        if name != self.case["call"]:
            return None
        if name == "WatchJob":
            return grpc.unary_stream_rpc_method_handler(self.watch)
        return grpc.unary_unary_rpc_method_handler(self.create if name == "CreateJob" else self.cancel)

    def job(self) -> v1.Job:
        return v1.Job(job_id="job", state=v1.JobState.Value("JOB_STATE_" + self.case.get("job", "UNSPECIFIED")))

    def answer(self) -> Any:
        self.calls += 1
        return self.case["answers"][self.calls - 1]

    def cancel(self, _: bytes, context: Any) -> bytes:
        fail(context, self.answer())
        return v1.CancelJobResponse(job=self.job()).SerializeToString()

    def create(self, request: bytes, context: Any) -> bytes:
        self.request_ids.append(v1.CreateJobRequest.FromString(request).request_id)
        fail(context, self.answer())
        return v1.CreateJobResponse(job=self.job()).SerializeToString()

    def watch(self, request: bytes, context: Any) -> Any:
        self.after.append(v1.WatchJobRequest.FromString(request).after_sequence)
        answer = self.answer()
        for sequence in answer.get("events", []):
            event = v1.Event(sequence=sequence)
            if answer.get("ended") and sequence == answer["events"][-1]:
                event.ended.state = v1.JOB_STATE_SUCCEEDED
            yield v1.WatchJobResponse(event=event).SerializeToString()
        fail(context, answer)


def fail(context: Any, answer: Any) -> None:
    """Ends a call with the error of an answer, if it has one."""
    error = answer.get("error")
    if error is None:
        return
    code = grpc.StatusCode[error["code"]]
    status = status_pb2.Status(code=code.value[0], message="not now")
    details = []
    if "reason" in error:
        details.append(status_pb2.ErrorInfo(reason=error["reason"], domain="cleave"))
    if "field" in error:
        details.append(status_pb2.BadRequest(field_violations=[{"field": error["field"]}]))
    if "retryAfter" in error:
        retry = status_pb2.RetryInfo()
        retry.retry_delay.FromTimedelta(timedelta(seconds=error["retryAfter"]))
        details.append(retry)
    for detail in details:
        status.details.add(type_url="type.googleapis.com/google.rpc." + detail.DESCRIPTOR.name, value=detail.SerializeToString())
    context.set_trailing_metadata([("grpc-status-details-bin", status.SerializeToString())])
    context.abort(code, "not now")


def call(address: str, name: str, events: List[int]) -> None:
    """Makes a call with the synchronous client."""
    with cleave.Client(address) as client:
        if name == "CancelJob":
            client.cancel_job("job")
        elif name == "CreateJob":
            client.create_job(v1.JobSpec())
        else:
            events.extend(item.event.sequence for item in client.watch("job"))


async def call_async(address: str, name: str, events: List[int]) -> None:
    """Makes a call with the asynchronous client."""
    async with aio.Client(address) as client:
        if name == "CancelJob":
            await client.cancel_job("job")
        elif name == "CreateJob":
            await client.create_job(v1.JobSpec())
        else:
            async for item in client.watch("job"):
                events.append(item.event.sequence)


@pytest.mark.parametrize("client", ["synchronous", "asynchronous"])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_contract(case, client):
    script = Script(case)
    server = grpc.server(futures.ThreadPoolExecutor(4), handlers=[script])
    address = f"127.0.0.1:{server.add_insecure_port('127.0.0.1:0')}"
    server.start()
    events: List[int] = []
    failure = None
    try:
        if client == "synchronous":
            call(address, case["call"], events)
        else:
            asyncio.run(call_async(address, case["call"], events))
    except cleave.CleaveError as error:
        failure = error
    finally:
        server.stop(None)
    assert script.calls == case["calls"]
    assert script.after == case.get("after", [])
    assert events == case.get("events", [])
    if case["call"] == "CreateJob":
        assert len(set(script.request_ids)) == 1 and script.request_ids[0]
    expected = case.get("error")
    if expected is None:
        assert failure is None
    else:
        assert (failure.code, failure.reason, failure.field) == (expected["code"], expected["reason"], expected["field"])
