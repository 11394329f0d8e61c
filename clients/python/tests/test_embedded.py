"""The life of the embedded server."""

from __future__ import annotations

import gc
import multiprocessing
import os
import pathlib
import signal
import subprocess
import sys
import textwrap
import time

import numpy as np
import pytest
from joblib import Parallel, delayed

from cleave import AccessError, Cleave, CleaveError, Client, InvalidInputError, embedded, v1

SOURCE = str(pathlib.Path(__file__).resolve().parents[1] / "src")


def wait_until(condition, what):
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline, what
        time.sleep(0.05)


def process_ended(identifier):
    """Reports whether a process has ended; one that nobody has waited for counts."""
    try:
        return pathlib.Path(f"/proc/{identifier}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


def python(script, **options):
    """Starts Python with a script that prints the process number of its server first."""
    code = "import cleave.embedded as e, sys\nprint(e.server()._process.pid, flush=True)\n" + textwrap.dedent(script)
    environment = {**os.environ, "PYTHONPATH": SOURCE}
    popen = subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment, text=True, **options
    )
    return popen, int(popen.stdout.readline())


def test_estimators_share_one_server_that_others_cannot_call(blobs):
    Cleave(3).fit(blobs[0])
    first = embedded.server()
    Cleave(3, random_state=1).fit(blobs[0])
    assert embedded.server() is first
    with Client(first.address) as stranger, pytest.raises(AccessError) as error:
        list(stranger.list_jobs())
    assert error.value.reason == "NO_CREDENTIALS"
    with Client(first.address, token="cleave_guessed") as stranger, pytest.raises(AccessError):
        stranger.upload_points(blobs[0])


def test_a_server_that_died_is_replaced(blobs):
    fitted = Cleave(3).fit(blobs[0])
    expected = fitted.predict(blobs[0])
    died = embedded.server()
    died._process.kill()
    died._process.wait()
    np.testing.assert_array_equal(fitted.predict(blobs[0]), expected)
    assert embedded.server() is not died


def test_a_program_that_hangs_is_killed(tmp_path, monkeypatch):
    program = tmp_path / "cleave"
    program.write_text("#!/bin/sh\nsleep 600\n")
    program.chmod(0o755)
    monkeypatch.setenv("CLEAVE_BINARY", str(program))
    monkeypatch.setattr(embedded, "_START_SECONDS", 0.2)
    with pytest.raises(CleaveError) as error:
        embedded.EmbeddedServer()
    assert error.value.reason == "CANNOT_START" and "0.2 seconds" in error.value.message


def test_a_job_is_not_repeated_with_other_data(blobs):
    points = blobs[0].copy()
    fitted = Cleave(3).fit(points)
    points[0] += 1
    embedded.stop()
    with pytest.raises(CleaveError) as error:
        fitted.predict(blobs[0])
    assert error.value.reason == "DATA_CHANGED"


def test_what_is_no_longer_used_is_deleted(blobs):
    embedded.stop()
    kept = Cleave(3).fit(blobs[0])
    for seed in range(3):
        Cleave(3, random_state=seed).fit(blobs[0] + seed + 1)
    kept.predict(blobs[0][:10])
    with pytest.raises(InvalidInputError):
        Cleave(3, algorithm="seeded-kmeans").fit(blobs[0] - 1)  # it needs seeds; the data was uploaded
    gc.collect()
    with embedded.server().client() as client:
        assert [job.job_id for job in client.list_jobs()] == [kept.job_id_]
        assert [data.rows for data in client.list_datasets()] == [120]


def test_the_server_ends_with_its_process():
    popen, server = python("sys.stdin.read()")
    assert not process_ended(server)
    popen.communicate()
    wait_until(lambda: process_ended(server), "the server outlived its process")


def test_the_server_ends_when_its_process_is_killed():
    popen, server = python("sys.stdin.read()")
    popen.kill()
    popen.communicate()
    wait_until(lambda: process_ended(server), "the server outlived a process that was killed")


def test_an_interrupt_cancels_the_job(server):
    script = f"""
        import signal
        import numpy as np
        from cleave import Cleave, estimator
        estimator._CANCEL_SECONDS = 60  # a busy machine may take long to answer
        signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background processes ignore it
        print("fitting", flush=True)
        Cleave(40, algorithm="mpc-kmeans", metric="full", n_init=10000, server={server!r}, verbose=False).fit(np.random.default_rng(0).normal(size=(4000, 30)))
    """
    with Client(server) as client:
        before = {job.job_id for job in client.list_jobs()}
        popen, _ = python(script, start_new_session=True)
        assert popen.stdout.readline() == "fitting\n"
        running = []

        def started():
            running[:] = [j for j in client.list_jobs(states=[v1.JOB_STATE_RUNNING]) if j.job_id not in before]
            return running

        wait_until(started, "the job did not start")
        os.killpg(popen.pid, signal.SIGINT)
        _, stderr = popen.communicate()
        assert popen.returncode != 0 and "KeyboardInterrupt" in stderr
        wait_until(lambda: client.get_job(running[0].job_id).job.state == v1.JOB_STATE_CANCELLED, "the job was not canceled")


def fit_in_child(seed, points):
    fitted = Cleave(3, random_state=seed).fit(points)
    return fitted.predict(points).tolist()


def test_forked_processes_use_the_server_of_their_parent(blobs):
    expected = [fit_in_child(seed, blobs[0]) for seed in range(4)]
    with multiprocessing.get_context("fork").Pool(2) as pool:
        assert pool.starmap(fit_in_child, [(seed, blobs[0]) for seed in range(4)]) == expected
    assert fit_in_child(0, blobs[0]) == expected[0]


@pytest.mark.long
def test_joblib(blobs):
    expected = [fit_in_child(seed, blobs[0]) for seed in range(4)]
    assert Parallel(n_jobs=2, backend="threading")(delayed(fit_in_child)(seed, blobs[0]) for seed in range(4)) == expected
    assert Parallel(n_jobs=2, backend="loky")(delayed(fit_in_child)(seed, blobs[0]) for seed in range(4)) == expected
