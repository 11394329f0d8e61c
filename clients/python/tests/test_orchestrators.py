"""The steps for Airflow and Dagster in examples/, with stand-ins for what they import from there."""

from __future__ import annotations

import logging
import os
import pathlib
import signal
import subprocess
import sys
import threading
import time
import types
from typing import Any, Callable, Iterator

import numpy as np
import pandas as pd
import pytest
from programs import REPOSITORY, Process

from cleave import Cleave, Client, v1

EXAMPLES = REPOSITORY / "examples"
# A job that takes a few seconds, and one that does not end by itself.
SECONDS = {"algorithm": "kernel-kmeans", "n_init": 60, "tol": 0, "max_iter": 200}
FOREVER = {"algorithm": "kernel-kmeans", "n_init": 10_000, "tol": 0}


class AirflowException(Exception):
    pass


class AirflowFailException(AirflowException):
    pass


class BaseOperator:
    """What Airflow does with an operator, as far as the example uses it."""

    def __init__(self, task_id: str, **kwargs: Any) -> None:
        self.task_id = task_id
        self.log = logging.getLogger(task_id)


class Failure(Exception):
    def __init__(self, description: str, metadata: Any, allow_retries: bool) -> None:
        super().__init__(description)
        self.metadata, self.allow_retries = metadata, allow_retries


class RetryRequested(Exception):
    def __init__(self, max_retries: int, seconds_to_wait: float) -> None:
        super().__init__()
        self.max_retries, self.seconds_to_wait = max_retries, seconds_to_wait


class ConfigurableResource:
    def __init__(self, **values: Any) -> None:
        self.__dict__.update(values)


class Interrupted(BaseException):
    """What Dagster raises in a step that is terminated: not an Exception."""


def install_stand_ins() -> None:
    airflow, exceptions, models = (types.ModuleType(name) for name in ("airflow", "airflow.exceptions", "airflow.models"))
    exceptions.AirflowException, exceptions.AirflowFailException = AirflowException, AirflowFailException  # type: ignore[attr-defined]
    models.BaseOperator = BaseOperator  # type: ignore[attr-defined]
    dagster = types.ModuleType("dagster")
    dagster.ConfigurableResource, dagster.Failure, dagster.RetryRequested = ConfigurableResource, Failure, RetryRequested  # type: ignore[attr-defined]
    dagster.DagsterRunStatus = types.SimpleNamespace(CANCELING="CANCELING", CANCELED="CANCELED", STARTED="STARTED")  # type: ignore[attr-defined]
    for module in (airflow, exceptions, models, dagster):
        sys.modules.setdefault(module.__name__, module)
    for folder in ("airflow", "dagster"):
        sys.path.insert(0, str(EXAMPLES / folder))


install_stand_ins()
from cleave_operator import CleaveOperator  # noqa: E402
from cleave_resource import CleaveResource  # noqa: E402


@pytest.fixture
def address() -> Iterator[str]:
    """The address of a server of its own, so that the test can count jobs."""
    process = Process("cleave", "serve", "--listen", "127.0.0.1:0", "--workers", "1")
    yield process.listening()
    process.stop()


@pytest.fixture
def table(tmp_path: pathlib.Path) -> pathlib.Path:
    """A file of 1,500 points without clusters, so that jobs take a while."""
    path = tmp_path / "points.csv"
    pd.DataFrame(np.random.default_rng(5).standard_normal((1500, 5)), columns=list("abcde")).to_csv(path, index=False)
    return path


def operator(address: str, table: pathlib.Path, request_id: str = "dag/run/task/-1", **changes: Any) -> CleaveOperator:
    arguments = {"n_clusters": 3, "parameters": {"algorithm": "kmeans"}, **changes}
    return CleaveOperator(task_id="cluster", data=str(table), out=str(table.with_name("labels.csv")), server=address, request_id=request_id, **arguments)


def jobs_of(address: str) -> "list[v1.Job]":
    with Client(address) as client:
        return list(client.list_jobs())


def await_job(address: str, state: int) -> v1.Job:
    """Waits until the server has one job, in a state."""
    deadline = time.monotonic() + 120
    while True:
        jobs = jobs_of(address)
        if len(jobs) == 1 and jobs[0].state == state:
            return jobs[0]
        assert time.monotonic() < deadline, jobs
        time.sleep(0.02)


def test_airflow_repeats_a_task_without_another_job(address, table):
    (table.parent / "pairs.csv").write_text("i,j,kind\n0,1,must\n0,2,cannot\n")
    task = operator(address, table, constraints=str(table.parent / "pairs.csv"), parameters={"algorithm": "pc-kmeans"})
    first = task.execute({})
    labels = pd.read_csv(first["labels"])
    assert len(labels) == 1500 and labels["label"][0] == labels["label"][1] != labels["label"][2]
    os.remove(first["labels"])
    assert operator(address, table, constraints=str(table.parent / "pairs.csv"), parameters={"algorithm": "pc-kmeans"}).execute({}) == first
    pd.testing.assert_frame_equal(pd.read_csv(first["labels"]), labels)
    assert [job.job_id for job in jobs_of(address)] == [first["job_id"]]
    assert sorted(path.name for path in table.parent.iterdir()) == ["labels.csv", "pairs.csv", "points.csv"]


def test_airflow_uses_known_classes(address, table):
    frame = pd.read_csv(table)
    frame["class"] = np.where(frame.index < 60, np.where(frame["a"] > 0, "high", "low"), None)
    frame.to_csv(table, index=False)
    result = operator(address, table, n_clusters=2, class_column="class", parameters={}).execute({})
    labels = pd.read_csv(result["labels"])["label"][:60]
    assert (labels == (frame["a"][:60] <= 0)).all()  # classes are numbered by name


def test_airflow_tells_temporary_errors_from_final_ones(address, table):
    with pytest.raises(AirflowFailException, match="only 1500 rows"):
        operator(address, table, n_clusters=9999).execute({})
    with pytest.raises(AirflowException, match="does not answer") as raised:
        operator("127.0.0.1:1", table).execute({})
    assert not isinstance(raised.value, AirflowFailException)


def test_airflow_kills_a_task(address, table):
    task = operator(address, table, parameters=FOREVER)

    def terminated(number: int, frame: Any) -> None:  # as Airflow's task runner
        task.on_kill()
        raise AirflowException("Task received SIGTERM signal")

    before = signal.signal(signal.SIGTERM, terminated)
    try:

        def kill() -> None:
            await_job(address, v1.JOB_STATE_RUNNING)
            os.kill(os.getpid(), signal.SIGTERM)

        killer = threading.Thread(target=kill)
        killer.start()
        with pytest.raises(AirflowException, match="SIGTERM"):
            task.execute({})
        killer.join()
    finally:
        signal.signal(signal.SIGTERM, before)
    await_job(address, v1.JOB_STATE_CANCELLED)
    with pytest.raises(AirflowFailException, match="canceled"):
        operator(address, table, parameters=FOREVER).execute({})
    assert len(jobs_of(address)) == 1


def test_airflow_continues_with_the_job_of_a_lost_task(address, table):
    program = f"import test_orchestrators as t, pathlib; t.operator({address!r}, pathlib.Path({str(table)!r}), parameters=t.SECONDS).execute({{}})"
    paths = os.pathsep.join((str(REPOSITORY / "clients/python/src"), str(REPOSITORY / "clients/python/tests")))
    task = subprocess.Popen([sys.executable, "-c", program], env={**os.environ, "PYTHONPATH": paths})
    job = await_job(address, v1.JOB_STATE_RUNNING)
    task.kill()
    task.wait()
    assert operator(address, table, parameters=SECONDS).execute({})["job_id"] == job.job_id
    assert len(jobs_of(address)) == 1


class Handle:
    def to_string(self) -> str:
        return "clusters"


def context(status: Callable[[], str] = lambda: "STARTED", root: "str | None" = None, run: str = "run-1") -> Any:
    return types.SimpleNamespace(
        run=types.SimpleNamespace(root_run_id=root),
        run_id=run,
        op_execution_context=types.SimpleNamespace(op_handle=Handle()),
        has_partition_key=True,
        partition_key="2026-01-01",
        instance=types.SimpleNamespace(get_run_by_id=lambda run_id: types.SimpleNamespace(status=status())),
    )


def resource(address: str) -> CleaveResource:
    return CleaveResource(server=address, tls=None, ca_file=None, token=None, max_retries=5, retry_seconds=60)


def test_dagster_repeats_a_step_without_another_job(address, table):
    points = pd.read_csv(table)
    first = resource(address).fit(context(), Cleave(3, algorithm="kmeans"), points)
    again = resource(address).fit(context(root="run-1", run="run-2"), Cleave(3, algorithm="kmeans"), points)
    assert again.job_id_ == first.job_id_ and (again.labels_ == first.labels_).all()
    assert [job.request_id for job in jobs_of(address)] == ["run-1/clusters/2026-01-01"]
    resource(address).fit(context(), Cleave(4, algorithm="kmeans"), points, name="four")
    assert len(jobs_of(address)) == 2


def test_dagster_tells_temporary_errors_from_final_ones(address, table):
    points = pd.read_csv(table)
    with pytest.raises(Failure, match="only 1500 rows") as raised:
        resource(address).fit(context(), Cleave(9999), points)
    assert not raised.value.allow_retries and raised.value.metadata["reason"] == "BAD_K"
    with pytest.raises(RetryRequested) as retry:
        resource("127.0.0.1:1").fit(context(), Cleave(3), points)
    assert retry.value.seconds_to_wait == 60


@pytest.mark.parametrize("status, ends", [("CANCELING", v1.JOB_STATE_CANCELLED), ("STARTED", v1.JOB_STATE_RUNNING)])
def test_dagster_interrupts_a_step(address, table, status, ends):
    def interrupted(number: int, frame: Any) -> None:
        raise Interrupted

    before = signal.signal(signal.SIGTERM, interrupted)
    try:

        def interrupt() -> None:
            await_job(address, v1.JOB_STATE_RUNNING)
            os.kill(os.getpid(), signal.SIGTERM)

        other = threading.Thread(target=interrupt)
        other.start()
        with pytest.raises(Interrupted):
            resource(address).fit(context(lambda: status), Cleave(3, **FOREVER), pd.read_csv(table))
        other.join()
    finally:
        signal.signal(signal.SIGTERM, before)
    await_job(address, ends)
