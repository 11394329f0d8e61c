"""The clients against real servers, with connections that break."""

from __future__ import annotations

import asyncio
import decimal
import errno
import importlib
import inspect
import io
import os
import pkgutil
import socket
import sys
import tarfile
import threading
from concurrent import futures

import grpc
import numpy as np
import pytest
import scipy.sparse as sp
from programs import OtherServer, Process, Proxy, free_port

import cleave
from cleave import _calls, _connection, _supervision, aio, v1
from cleave._connection import Attempts, Credentials, Route, is_loopback, parse_addresses
from cleave._frames import table_of
from cleave._upload import Points, SparsePoints


@pytest.fixture
def client(server):
    with cleave.Client(server) as client:
        yield client


def test_the_life_of_a_job(client, blobs):
    points, truth = blobs
    stored = client.upload_points(points, name="blobs")
    assert (stored.rows, stored.columns, stored.kind) == (120, 4, v1.DATASET_KIND_POINTS)
    spec = v1.JobSpec(dataset_id=stored.dataset_id, k=3, kmeans=v1.Kmeans())
    assert client.plan_job(spec).plan.workers == 1
    job = client.create_job(spec, request_id="nightly-17", name="a job")
    assert client.create_job(spec, request_id="nightly-17").job_id == job.job_id
    with pytest.raises(cleave.InvalidInputError) as error:
        client.create_job(v1.JobSpec(dataset_id=stored.dataset_id, k=4), request_id="nightly-17")
    assert error.value.code == "ALREADY_EXISTS"
    events = [item.event for item in client.watch(job.job_id) if item.HasField("event")]
    assert [event.sequence for event in events] == list(range(1, len(events) + 1)) and events[-1].HasField("ended")
    later = [item.event for item in client.watch(job.job_id, after=events[2].sequence) if item.HasField("event")]
    assert later == events[3:]
    assert list(client.watch(job.job_id, after=events[-1].sequence)) == []
    assert client.wait(job.job_id).state == v1.JOB_STATE_SUCCEEDED

    result, labels = client.get_result(job.job_id), client.get_labels(job.job_id)
    assert list(result.cluster_sizes) == np.bincount(labels.labels).tolist()
    scored = client.evaluate(job.job_id, truth)
    assert scored.ari > 0.8 and client.evaluate(job.job_id, np.array(["x", "y", "z"])[truth]) == scored
    with pytest.raises(cleave.InvalidInputError, match="one label per point"):
        client.evaluate(job.job_id, truth[:5])
    model = client.get_model(job.job_id)
    nearest = ((points[:, None] - model.centroids[None]) ** 2).sum(-1).argmin(1)
    np.testing.assert_array_equal(nearest, labels.labels)
    scores = client.get_row_scores(job.job_id)
    assert scores.distance.shape == scores.margin.shape == scores.confidence.shape == (120,)
    prediction = client.predict(job.job_id, dataset_id=stored.dataset_id)
    np.testing.assert_array_equal(prediction.labels, labels.labels)
    assert prediction.distance.shape == (120,)
    assert client.get_job(job.job_id).spec.k == 3
    assert [j.job_id for j in client.list_jobs(dataset_id=stored.dataset_id, name_contains="a job")] == [job.job_id]
    client.delete_job(job.job_id)
    with pytest.raises(cleave.NotFoundError) as error:
        client.get_result(job.job_id)
    assert error.value.reason == "JOB_NOT_FOUND" and isinstance(error.value, LookupError)
    client.delete_dataset(stored.dataset_id)
    assert client.get_limits().limits.rows >= 0 and [w.state for w in client.list_workers()] == [v1.WORKER_STATE_READY]


def test_the_model_of_a_mixture_gives_the_labels_and_confidences_of_its_job(client):
    generator = np.random.default_rng(2)
    points = generator.normal(size=(300, 3)) * np.where(np.arange(300) % 2, 5, 1)[:, None]
    points[:, 2] = generator.integers(0, 2, 300)
    stored = client.upload_points(points)
    job = client.wait(client.create_job(v1.JobSpec(dataset_id=stored.dataset_id, k=2, auto=v1.Auto())).job_id)
    assert client.get_result(job.job_id).choice.chosen.space == v1.SPACE_MIXTURE
    labels, scores, model = client.get_labels(job.job_id).labels, client.get_row_scores(job.job_id), client.get_model(job.job_id)
    mixture = model.mixture
    rows = points if model.scales is None else (points - model.centers) / model.scales
    compared, few = mixture.triangles[0].diagonal() > 0, mixture.variances > 0
    distances = np.empty((300, 2))
    for c in range(2):
        factor, difference = mixture.triangles[c][np.ix_(compared, compared)], rows - mixture.means[c]
        distances[:, c] = (np.linalg.solve(factor, difference[:, compared].T) ** 2).sum(0) + 2 * np.log(factor.diagonal()).sum()
        distances[:, c] += (difference[:, few] ** 2 / mixture.variances[few]).sum(1) + np.log(mixture.variances[few]).sum()
        distances[:, c] -= 2 * np.log(mixture.shares[c])
    np.testing.assert_array_equal(distances.argmin(1), labels)
    np.testing.assert_allclose(scores.distance, distances.min(1), rtol=1e-9)
    probabilities = np.exp(-distances / 2) / np.exp(-distances / 2).sum(1, keepdims=True)
    assert scores.posterior and scores.runs == 0 and 0.5 <= scores.confidence.min() < 0.9
    np.testing.assert_allclose(scores.confidence, probabilities.max(1), rtol=1e-9)
    prediction = client.predict(job.job_id, dataset_id=stored.dataset_id)
    np.testing.assert_array_equal(prediction.labels, labels)
    np.testing.assert_array_equal(prediction.confidence, scores.confidence)


def test_the_model_of_a_classifier_gives_the_labels_of_its_predictions(client, blobs):
    points, truth = blobs
    stored = client.upload_points(points)
    cells = {"index": list(range(60)), "label": truth[:60].tolist()}
    known = [v1.Column(name=name, integers=v1.IntegerCells(values=values)) for name, values in cells.items()]
    seeds = v1.Supervision(seeds=v1.TableInput(inline=v1.TableRows(columns=known)))
    job = client.wait(client.create_job(v1.JobSpec(dataset_id=stored.dataset_id, k=3, auto=v1.Auto(), supervision=seeds)).job_id)
    assert client.get_result(job.job_id).choice.chosen.constraint_use == v1.CONSTRAINT_USE_DISCRIMINANT
    model = client.get_model(job.job_id)
    head, forest = model.head, model.forest
    assert forest.shape == (head.forest.nodes, 2) and set(forest[forest[:, 0] < 0, 1]) == {0, 1, 2}

    def follow(row, at):
        """Returns the group of the leaf that a row reaches from a node, and the number of the node after the subtree."""
        column, threshold = forest[at]
        if column < 0:
            return int(threshold), at + 1
        left, after = follow(row, at + 1)
        right, end = follow(row, after)
        return (left if row[int(column)] <= threshold else right), end

    shares = np.zeros((120, 3))
    trees = 0
    for row in range(120):
        at = trees = 0
        while at < len(forest):
            group, at = follow(points[row], at)
            shares[row, group] += 1
            trees += 1
    assert trees == head.forest.trees
    rows, landmarks = points, model.landmarks
    if model.scales is not None:
        rows = (points - model.centers) / model.scales
    if head.landmarks.centered:
        rows, landmarks = rows - landmarks.mean(0), landmarks - landmarks.mean(0)
    difference = rows[:, None] - landmarks[None]
    kernel = head.landmarks.kernel
    values = {
        v1.KERNEL_FUNCTION_GAUSSIAN: lambda: np.exp(-(difference**2).sum(-1) / (2 * kernel.rho**2)),
        v1.KERNEL_FUNCTION_LAPLACIAN: lambda: np.exp(-np.sqrt((difference**2).sum(-1)) / kernel.rho),
        v1.KERNEL_FUNCTION_LINEAR: lambda: rows @ landmarks.T,
    }[kernel.function]()
    features = values @ model.projection + head.forest.weight * (shares / trees - 1 / 3)
    nearest = ((features[:, None] - model.centroids[None]) ** 2).sum(-1).argmin(1)
    np.testing.assert_array_equal(nearest, client.predict(job.job_id, dataset_id=stored.dataset_id).labels)


def test_backup(client, blobs, tmp_path):
    stored = client.upload_points(blobs[0])
    client.backup(str(tmp_path / "backup.tar"))
    with tarfile.open(tmp_path / "backup.tar") as backup:
        names = backup.getnames()
    assert names[:2] == ["backup.json", "state"] and names[-1] == "SHA256SUMS"
    assert any(stored.dataset_id in name for name in names)
    with pytest.raises(FileExistsError):
        client.backup(str(tmp_path / "backup.tar"))
    assert [path.name for path in tmp_path.iterdir()] == ["backup.tar"]


async def test_a_backup_that_fails_leaves_nothing(monkeypatch, server, tmp_path):
    first = v1.BackupResponse(content=b"half of it")

    def stream(*_):
        yield first
        raise cleave.UnavailableError("the disk is full")

    async def asynchronous_stream(*_):
        yield first
        raise cleave.UnavailableError("the disk is full")

    monkeypatch.setattr(cleave.Client, "_stream", stream)
    monkeypatch.setattr(aio.Client, "_stream", asynchronous_stream)
    with cleave.Client(server) as client, pytest.raises(cleave.UnavailableError):
        client.backup(str(tmp_path / "backup.tar"))
    async with aio.Client(server) as client:
        with pytest.raises(cleave.UnavailableError):
            await client.backup(str(tmp_path / "backup.tar"))
    assert list(tmp_path.iterdir()) == []


def test_embeddings_and_neighbor_graphs(client, blobs):
    stored = client.upload_points(blobs[0])
    spec = v1.JobSpec(dataset_id=stored.dataset_id, k=3, spectral=v1.Spectral(), neighbor_graph=v1.NeighborGraph(neighbors=9))
    job = client.wait(client.create_job(spec).job_id)
    embedding = client.get_embedding(job.job_id).coordinates
    assert embedding.shape[0] == 120
    graph = client.get_neighbor_graph(job.job_id)
    assert graph.shape == (120, 120) and (graph != graph.T).nnz == 0
    assert graph.nnz == 2 * client.get_result(job.job_id).neighbor_graph.edges
    again = client.upload_graph(graph)
    same = v1.JobSpec(dataset_id=again.dataset_id, k=3, spectral=v1.Spectral())
    np.testing.assert_array_equal(
        client.get_labels(client.wait(client.create_job(same).job_id).job_id).labels, client.get_labels(job.job_id).labels
    )


def test_ids_of_data_sets_are_those_of_the_server(client):
    generator = np.random.default_rng(3)
    dense = generator.normal(size=(301, 517))  # 1.2 MB: parts end within rows
    dense[0, 0] = -0.0
    for array in (dense, np.asfortranarray(dense), dense[::-1, ::2], dense.astype(np.float32), dense.astype(">f8"), np.arange(12).reshape(3, 4)):
        assert client.upload_points(array).dataset_id == Points(array).id()
    thin = sp.random(400, 300, 0.1, random_state=1, format="csr")
    thin.data[::7] = 0
    assert client.upload_points(thin).dataset_id == SparsePoints(thin).id()
    many = sp.random(300_000, 20, 0.02, random_state=1, format="coo")  # several parts of lengths and of entries
    assert client.upload_points(many).rows == 300_000


def test_tables_come_back_as_they_were(client):
    pandas = pytest.importorskip("pandas")
    columns = {
        "whole": pandas.array([1, None, -(2**60)], dtype="Int64"),
        "gaps": [1.0, None, 3.0],
        "number": [0.5, None, -1e300],
        "text": ["a", None, "ü\n,\""],
        "blank": ["", "b", "c"],
        "objects": pandas.Series([7, None, 2**40], dtype=object),
        "decimals": [decimal.Decimal("0.25"), None, decimal.Decimal(2)],
        "large": pandas.array([2**63, None, 1], dtype="UInt64"),
        "nothing": [None, None, None],
        "hours": pandas.to_timedelta(["1h", None, "90s"]),
        "flag": [True, False, True],
        "day": pandas.to_datetime(["2024-02-29", None, "1999-12-31"]),
        "month": pandas.PeriodIndex(["2024-02", None, "1999-12"], freq="M"),
        "span": pandas.arrays.IntervalArray.from_tuples([(0, 1), None, (1, 2)]),
    }
    stored = client.upload_table(pandas.DataFrame(columns))
    rows = client.get_table_rows(stored.table_id)
    found = {}
    for column in rows.columns:
        values = list(getattr(column, column.WhichOneof("cells")).values)
        found[column.name] = [None if row in column.empty_rows else value for row, value in enumerate(values)]
    assert found == {
        "whole": [1, None, -(2**60)],
        "gaps": [1, None, 3],
        "number": [0.5, None, -1e300],
        "text": ["a", None, 'ü\n,"'],
        "blank": [None, "b", "c"],
        "objects": [7, None, 2**40],
        "decimals": [0.25, None, 2.0],
        "large": [2.0**63, None, 1.0],
        "nothing": [None, None, None],
        "hours": [3600, None, 90],
        "flag": ["True", "False", "True"],
        "day": ["2024-02-29", None, "1999-12-31"],
        "month": ["2024-02", None, "1999-12"],
        "span": ["(0.0, 1.0]", None, "(1.0, 2.0]"],
    }
    assert client.get_table(stored.table_id).rows == 3
    many = client.upload_table({"number": np.arange(400_000) / 2, "text": ["x" * (i % 7) for i in range(400_000)]})
    assert client.get_table_rows(many.table_id).columns[0].numbers.values[399_999] == 399_999 / 2
    assert len(client.get_table_rows(many.table_id, max_rows=10).columns[1].texts.values) == 10
    client.delete_table(many.table_id)


def test_times_are_those_that_parquet_files_have():
    pandas = pytest.importorskip("pandas")
    times = pandas.Series([pandas.Timestamp("2024-03-01 00:30:00"), None, pandas.Timestamp("2024-03-01 00:30:00.25")], index=[5, 5, 1])
    table = table_of(pandas.DataFrame({"local": times.dt.tz_localize("Europe/Berlin"), "exact": times + pandas.Timedelta(1, "ns")}))
    assert [list(column.values) for column in table.table_columns] == [
        ["2024-02-29 23:30:00", "", "2024-02-29 23:30:00.25"],
        ["2024-03-01 00:30:00.000000001", "", "2024-03-01 00:30:00.250000001"],
    ]


def test_a_table_is_cut_by_the_sizes_of_its_rows():
    table = table_of({"number": np.arange(100_000), "text": [""] * 99_000 + ["ü" * 5_000] * 999 + ["x" * 3_000_000]})
    parts = list(table.parts(0))
    assert max(map(len, parts[:-1])) < 1_100_000 and 3_000_000 < len(parts[-1]) < 3_000_100
    found = [v1.CreateTableRequest.FromString(part).rows for part in parts]
    assert [number for rows in found for number in rows.columns[0].integers.values] == list(range(100_000))
    assert list(table.parts(7)) == parts[7:]
    assert len(list(table_of({"a": np.empty(0)}).parts(0))) == 1


def test_what_is_no_table(monkeypatch):
    with pytest.raises(cleave.InvalidInputError, match="different numbers of rows: 'a' has 1 and 'b' has 2"):
        table_of({"a": [1], "b": [1, 2]})
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(cleave.InvalidInputError, match=r"pip install cleave\[pandas\]") as error:
        table_of({"a": [1]})
    assert error.value.reason == "NO_PANDAS"


async def test_an_upload_that_cannot_be_made_raises_its_error(server):
    class Unreadable(Points):
        def parts(self, first):
            yield next(super().parts(first))
            raise OSError("the disk is gone")

    data = Unreadable(np.random.default_rng(9).normal(size=(40_000, 10)))
    with cleave.Client(server) as client:
        with pytest.raises(OSError, match="the disk is gone"):
            client.upload(data)
        with pytest.raises(cleave.InvalidInputError, match="cannot be written as UTF-8"):
            client.upload_table({"text": ["\ud800"]})
    async with aio.Client(server) as client:
        with pytest.raises(OSError, match="the disk is gone"):
            await client.upload(data)
        with pytest.raises(cleave.InvalidInputError, match="cannot be written as UTF-8"):
            await client.upload_table({"text": ["\ud800"]})


async def test_the_asynchronous_client_prepares_data_in_other_threads(server):
    threads = []

    class Recorded:
        def __array__(self, *_, **__):
            threads.append(threading.current_thread())
            return np.eye(3) + len(threads)

    class RecordedPoints(Points):
        def parts(self, first):
            for part in super().parts(first):
                threads.append(threading.current_thread())
                yield part

    async with aio.Client(server) as client:
        await client.upload_points(Recorded())
        await client.upload_graph(Recorded())
        await client.upload_kernel_matrix(Recorded())
        await client.upload(RecordedPoints(np.full((2, 2), 7.5)))
    assert len(threads) >= 4 and threading.main_thread() not in threads


async def test_leaving_a_watch_ends_its_call(monkeypatch, server):
    closed = []

    async def stream(*_):
        try:
            while True:
                yield v1.WatchJobResponse()
        finally:
            closed.append(True)

    monkeypatch.setattr(aio.Client, "_stream", stream)
    client = aio.Client(server)
    items = client.watch("x")
    await items.__anext__()
    await items.aclose()
    assert closed == [True]

    def leave(_):
        raise KeyError

    with pytest.raises(KeyError):
        await client.wait("x", on_item=leave)
    assert closed == [True, True]


def test_an_import_refuses_what_is_no_object(client):
    with pytest.raises(cleave.InvalidInputError, match="use s3://BUCKET/KEY") as error:
        client.import_table(["file:///etc/passwd"], name="users")
    assert (error.value.reason, error.value.field) == ("BAD_URI", "uris")


def test_errors_have_the_sentence_the_reason_and_the_field(client, blobs):
    stored = client.upload_points(blobs[0])
    with pytest.raises(cleave.InvalidInputError) as error:
        client.create_job(v1.JobSpec(dataset_id=stored.dataset_id, k=900))
    assert str(error.value) == "k is 900 but there are only 120 rows; k must be at most the number of rows"
    assert (error.value.reason, error.value.field, error.value.code) == ("BAD_K", "spec.k", "INVALID_ARGUMENT")


@pytest.mark.parametrize("values", [np.array([[1 + 2j]]), np.array([["a"]]), np.array([["a"]], dtype=object), np.array([["2024-01-01"]], dtype="M8[D]")])
def test_points_are_numbers(client, values):
    with pytest.raises(cleave.InvalidInputError, match="points must be numbers") as error:
        client.upload_points(values)
    assert error.value.reason == "NOT_A_NUMBER"


def test_a_value_that_is_not_finite_is_rejected_with_the_sentence_of_the_server(client):
    bad = np.array([[1.0, 2.0], [np.inf, 3.0]])
    with pytest.raises(cleave.InvalidInputError) as here:
        client.upload_points(bad)
    unchecked = Points(bad)
    unchecked.id = lambda: ""
    with pytest.raises(cleave.InvalidInputError) as there:
        client.upload(unchecked)
    assert str(here.value).startswith(str(there.value)) and here.value.reason == there.value.reason == "NOT_FINITE"


def test_a_failed_job_raises_its_error(client):
    stored = client.upload_points(np.arange(11.0)[:, None])
    spec = v1.JobSpec(dataset_id=stored.dataset_id, k=3, cop_kmeans=v1.CopKmeans())
    # The Groetzsch graph has no triangle and no coloring with three colors, so that only a search tells that nothing fits.
    ring = [(at, (at + 1) % 5) for at in range(5)]
    apart = ring + [(5 + i, j) for i, _ in ring for j in ((i + 1) % 5, (i + 4) % 5)] + [(10, 5 + i) for i in range(5)]
    table = _supervision.pairs_table(None, apart, 11)
    spec.supervision.constraints.inline.CopyFrom(table.message(0, table.rows))
    job = client.create_job(spec)
    with pytest.raises(cleave.InvalidInputError) as error:
        client.wait(job.job_id)
    assert (error.value.job_id, error.value.reason) == (job.job_id, "INFEASIBLE_CONSTRAINTS")


def long_job(client, points):
    stored = client.upload_points(points)
    spec = v1.JobSpec(dataset_id=stored.dataset_id, k=30, restarts=10000, mpc_kmeans=v1.MpcKmeans(metric=v1.METRIC_FULL))
    return client.create_job(spec).job_id


@pytest.mark.long
def test_cancel_and_time_limit(client):
    points = np.random.default_rng(0).normal(size=(3000, 20))
    job_id = long_job(client, points)
    client.cancel_job(job_id)
    with pytest.raises(cleave.CanceledError) as error:
        client.wait(job_id)
    assert error.value.job_id == job_id
    with pytest.raises(cleave.PreconditionError):
        client.delete_job(long := long_job(client, points))
    client.cancel_job(long)
    limited = client.create_job(client.get_job(long).spec, time_limit=2).job_id
    try:
        client.wait(limited)
        assert len(client.get_labels(limited).labels) == 3000
    except cleave.TimeLimitError as ended:  # a busy machine had no labels by then
        assert ended.job_id == limited and isinstance(ended, TimeoutError)
    assert client.get_job(limited).job.stop_reason == v1.STOP_REASON_TIME_LIMIT


def test_an_upload_that_breaks_off_continues(server):
    points = np.random.default_rng(5).normal(size=(120_000, 10))  # 9.6 MB, ten parts
    proxy = Proxy(server, cut_after_bytes=5_000_000)
    sent = []
    try:
        with cleave.Client(proxy.address) as client:
            data = Points(points)
            parts = data.parts
            data.parts = lambda first: sent.append(first) or parts(first)
            assert client.upload(data).dataset_id == data.id()
            assert proxy.cuts == 1 and len(sent) == 2 and sent[0] == 0 < sent[1]
            client.delete_dataset(data.id())
    finally:
        proxy.close()


def test_a_watch_that_breaks_off_continues(server, blobs):
    with cleave.Client(server) as direct:
        stored = direct.upload_points(np.random.default_rng(1).normal(size=(2000, 8)))
        spec = v1.JobSpec(dataset_id=stored.dataset_id, k=20, restarts=20, mpc_kmeans=v1.MpcKmeans())
        job_id = direct.create_job(spec).job_id
        proxy = Proxy(server)
        events = []
        try:
            with cleave.Client(proxy.address) as client:
                for item in client.watch(job_id):
                    if item.HasField("event"):
                        events.append(item.event)
                        if len(events) in (3, 40):
                            proxy.cut()
                assert proxy.cuts == 2
        finally:
            proxy.close()
        assert events == [item.event for item in direct.watch(job_id) if item.HasField("event")]


@pytest.mark.long
def test_a_server_that_restarts_is_waited_for(tmp_path, blobs):
    port = free_port()
    arguments = ("serve", "--listen", f"127.0.0.1:{port}", "--data-dir", tmp_path / "data")
    process = Process("cleave", *arguments)
    process.listening()
    with cleave.Client(f"127.0.0.1:{port}") as client:
        stored = client.upload_points(blobs[0])
        process.stop()
        answers = []
        asking = threading.Thread(target=lambda: answers.append(client.get_dataset(stored.dataset_id)))
        asking.start()
        process = Process("cleave", *arguments)
        try:
            process.listening()
            asking.join()
            assert answers[0].dataset_id == stored.dataset_id
        finally:
            process.stop()


def explain(address, **options):
    """Returns the error of both clients, which must be the same."""
    with cleave.Client(address, **options) as client, pytest.raises(cleave.CleaveError) as error:
        list(client.list_jobs())

    async def call():
        async with aio.Client(address, **options) as client:
            await client.get_job("x")

    with pytest.raises(type(error.value)) as other:
        asyncio.run(call())
    assert other.value.reason == error.value.reason
    return error.value


def test_servers_of_another_version_are_told_apart_from_those_that_are_down(server):
    down = explain(f"127.0.0.1:{free_port()}")
    assert isinstance(down, cleave.UnavailableError) and "does not answer" in str(down)

    newer = OtherServer("cleave.v2.JobService", "cleave.v2.TableService", "grpc.health.v1.Health")
    error = explain(newer.address)
    assert isinstance(error, cleave.VersionError) and "has the API cleave.v2, and this client has cleave.v1" in str(error)
    newer.stop()

    for services in ((), ("shop.v1.Orders",)):
        other = OtherServer(*services)
        error = explain(other.address)
        assert isinstance(error, cleave.NotCleaveError) and "a gRPC server answers" in str(error)
        other.stop()


def test_a_port_that_does_not_speak_grpc_is_recognized(server, tmp_path):
    listener = socket.create_server(("127.0.0.1", 0))

    def answer():
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            with connection:
                connection.recv(1000)
                connection.sendall(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")

    thread = threading.Thread(target=answer)
    thread.start()
    try:
        error = explain(f"127.0.0.1:{listener.getsockname()[1]}")
        assert isinstance(error, cleave.NotCleaveError) and "does not speak gRPC without TLS" in str(error)
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        thread.join()
    error = explain(server, ca_file="system")
    assert isinstance(error, cleave.HandshakeError) and "or it has none" in str(error)


def test_connections_that_others_could_read_are_refused():
    for address, options, reason in (
        ("example.org", {}, "NO_ENCRYPTION"),
        ("example.org", {"insecure": True, "token": "t"}, "TOKEN_WITHOUT_ENCRYPTION"),
        ("localhost", {"tls": "/nowhere"}, "BAD_CERTIFICATE_FILES"),
        ("localhost", {"cert_file": "x"}, "BAD_CERTIFICATE_FILES"),
        ("localhost", {"ca_file": "system", "insecure": True}, "INSECURE_WITH_CERTIFICATES"),
        ("localhost", {"token": "two\nlines"}, "BAD_TOKEN"),
        ("", {}, "NO_COORDINATOR"),
    ):
        with pytest.raises(cleave.InvalidInputError) as error:
            cleave.Client(address, **options)
        assert error.value.reason == reason


def test_addresses():
    assert parse_addresses("a, b:1,[::1]:7") == ["a:7400", "b:1", "[::1]:7"]
    assert parse_addresses("10.0.0.1,::1,[::1],fd00::2") == ["10.0.0.1:7400", "[::1]:7400", "[::1]:7400", "[fd00::2]:7400"]
    assert parse_addresses("unix:///run/cleave,dns:///cleave.svc:70") == ["unix:///run/cleave", "dns:///cleave.svc:70"]
    assert [is_loopback(a) for a in ("localhost:1", "127.0.0.9:1", "[::1]:7400", "unix:/x", "10.0.0.1:1", "host:1")] == [True] * 4 + [False] * 2
    assert Credentials.of(None, None, None, None, None, None, False).metadata() is None


class Failed:
    def __init__(self, code="UNAVAILABLE", reason="", leader="", retry_after=None):
        self.code, self.reason, self.retry_after = code, reason, retry_after
        self.metadata = {"leader": leader} if leader else {}


def test_attempts_find_the_leader_and_end():
    now = [0.0]

    def check(leader):
        if leader == "elsewhere:1":
            raise cleave.InvalidInputError("elsewhere", reason="NO_ENCRYPTION")

    route = Route(["a:1", "b:1", "c:1"], check)
    attempts = Attempts(route, lambda: now[0])
    assert attempts.pause(Failed(reason="NOT_LEADER", leader="d:1"), "a:1") == 0 and route.current == "d:1"
    assert attempts.pause(Failed(), "d:1") == 0 and route.current == "a:1"
    assert attempts.pause(Failed(reason="NOT_LEADER", leader="elsewhere:1"), "a:1") == 0 and route.current == "b:1"
    assert attempts.pause(Failed(code="INVALID_ARGUMENT"), "a:1") is None
    now[0] = 31.0
    assert attempts.pause(Failed(), "a:1") is None, "there was no leader for 30 s"

    with pytest.raises(cleave.InvalidInputError, match="elsewhere"):
        Attempts(Route(["a:1"], check)).pause(Failed(reason="NOT_LEADER", leader="elsewhere:1"), "a:1")

    fresh = Route(["a:1"], check)
    pauses = []
    attempts = Attempts(fresh, lambda: 0.0)
    while (pause := attempts.pause(Failed(), "a:1")) is not None:
        pauses.append(pause)
    assert len(pauses) == 4 and pauses[0] <= 0.1
    fresh.answered = True
    attempts.reached()
    assert all(attempts.pause(Failed(), "a:1") is not None for _ in range(20)), "a server that answered before is restarting"
    now = [0.0]
    late = Attempts(fresh, lambda: now[0])
    now[0] = 1000.0  # an upload that breaks off after a long time has not failed for a long time
    assert late.pause(Failed(), "a:1") is not None
    now[0] += 61
    assert late.pause(Failed(), "a:1") is None
    refused = Attempts(fresh, lambda: 0.0)
    assert [refused.pause(Failed("RESOURCE_EXHAUSTED", "BUSY", retry_after=100.0), "a:1") is not None for _ in range(7)] == [True] * 6 + [False]
    refused = Attempts(fresh, lambda: 0.0)
    assert refused.pause(Failed("RESOURCE_EXHAUSTED", "BUSY", retry_after=0.0), "a:1") >= 0.1, "a server that names no time gets some"
    assert refused.pause(Failed("RESOURCE_EXHAUSTED", "BUSY", retry_after=0.0), "a:1") >= 0.2


class Breaking:
    """A server whose streams break off after one part."""

    def __init__(self):
        self.calls = 0

        def rows(request, context):
            self.calls += 1
            yield v1.GetTableRowsResponse(rows=v1.TableRows(columns=[v1.Column(name="a", integers=v1.IntegerCells(values=[1]))])).SerializeToString()
            context.abort(grpc.StatusCode.UNAVAILABLE, "the connection broke")

        def labels(request, context):
            self.calls += 1
            first = v1.GetLabelsRequest.FromString(request).first_index
            if first < 20:
                yield v1.GetLabelsResponse(first_index=first, labels=[1]).SerializeToString()
                context.abort(grpc.StatusCode.UNAVAILABLE, "the connection broke")

        self._server = grpc.server(futures.ThreadPoolExecutor(2))
        for method, answer in ((_connection.GET_TABLE_ROWS, rows), (_connection.GET_LABELS, labels)):
            _, service, name = method.path.split("/")
            handlers = {name: grpc.unary_stream_rpc_method_handler(answer)}
            self._server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(service, handlers),))
        self.address = f"127.0.0.1:{self._server.add_insecure_port('127.0.0.1:0')}"
        self._server.start()

    def stop(self):
        self._server.stop(None).wait()


async def test_a_download_that_cannot_continue_begins_again_a_few_times():
    for resumes, calls in ((False, 7), (True, 21)):
        for asynchronous in (False, True):
            server = Breaking()
            try:
                if asynchronous:
                    async with aio.Client(server.address) as client:
                        if resumes:
                            assert len((await client.get_labels("x")).labels) == 20
                        else:
                            with pytest.raises(cleave.CleaveError, match="the connection broke"):
                                await client.get_table_rows("x")
                else:
                    with cleave.Client(server.address) as client:
                        if resumes:
                            assert len(client.get_labels("x").labels) == 20
                        else:
                            with pytest.raises(cleave.CleaveError, match="the connection broke"):
                                client.get_table_rows("x")
                assert server.calls == calls
            finally:
                server.stop()


def test_every_method_of_the_api_is_there():
    files = [importlib.import_module(f"cleave.v1.{module.name}") for module in pkgutil.iter_modules(v1.__path__)]
    services = [service for file in files for service in file.DESCRIPTOR.services_by_name.values()]
    known = {method.path for method in vars(_connection).values() if isinstance(method, _connection.Method)}
    assert known == {f"/{service.full_name}/{method.name}" for service in services for method in service.methods}


def test_a_list_ends_with_its_last_page_or_at_its_limit():
    def listed(limit):
        pages, found, sizes = _calls.Pages(v1.ListJobsRequest(), "jobs", limit), [], []
        while pages.more:
            begin = int(pages.request.page_token or 0)
            sizes.append(pages.request.page_size)
            end = min(begin + min(pages.request.page_size, 3), 7)  # a server may send less
            page = v1.ListJobsResponse(jobs=[v1.Job(job_id=str(at)) for at in range(begin, end)], next_page_token=str(end) if end < 7 else "")
            found.extend(int(job.job_id) for job in pages.take(page))
        return found, sizes

    assert listed(None) == (list(range(7)), [1000] * 3)
    assert listed(4) == (list(range(4)), [4, 4])
    assert listed(3) == (list(range(3)), [3])
    assert listed(9) == (list(range(7)), [9] * 3)
    assert listed(0) == ([], [])


@pytest.mark.parametrize("links", [True, False])
def test_a_new_file_is_complete_or_not_there(monkeypatch, tmp_path, links):
    def refused(*names):
        raise PermissionError(errno.EPERM, "Operation not permitted")

    if not links:
        monkeypatch.setattr(os, "link", refused)
    with _calls.new_file(str(tmp_path / "whole")) as file:
        file.write(b"content")
    assert (tmp_path / "whole").read_bytes() == b"content"
    with pytest.raises(FileExistsError), _calls.new_file(str(tmp_path / "other")) as file:
        (tmp_path / "other").write_bytes(b"another's")
    assert (tmp_path / "other").read_bytes() == b"another's"
    for name in ("link", "replace"):
        monkeypatch.setattr(os, name, refused)
    with pytest.raises(PermissionError), _calls.new_file(str(tmp_path / "none")):
        pass
    assert sorted(path.name for path in tmp_path.iterdir()) == ["other", "whole"]


def test_a_backup_that_breaks_off_starts_over():
    file = io.BytesIO()
    reader = _calls.BackupReader(file)
    for content in (b"half of a long", b"whole"):
        reader.request()
        reader.add(v1.BackupResponse(content=content))
    assert file.getvalue() == b"whole"


def test_both_clients_have_the_same_methods():
    def signatures(kind):
        public = {name: value for name, value in vars(kind).items() if not name.startswith("_") and callable(value)}
        return {name: [str(p) for p in inspect.signature(value).parameters.values()] for name, value in public.items()}

    assert signatures(cleave.Client) == signatures(aio.Client)


async def test_the_asynchronous_client(server, blobs):
    points, truth = blobs
    proxy = Proxy(server, cut_after_bytes=3_000_000)
    try:
        async with aio.Client(proxy.address) as client:
            large = await client.upload_points(np.random.default_rng(6).normal(size=(60_000, 10)))
            assert proxy.cuts == 1
            await client.delete_dataset(large.dataset_id)
            stored = await client.upload_points(points)
            spec = v1.JobSpec(dataset_id=stored.dataset_id, k=3, mpc_kmeans=v1.MpcKmeans(), restarts=20)
            job = await client.create_job(spec)
            events = []
            async for item in client.watch(job.job_id):
                if item.HasField("event"):
                    events.append(item.event.sequence)
                    if len(events) == 4:
                        await asyncio.to_thread(proxy.cut)
            assert events == list(range(1, len(events) + 1))
            assert (await client.wait(job.job_id)).state == v1.JOB_STATE_SUCCEEDED
            labels = (await client.get_labels(job.job_id)).labels
            assert (await client.evaluate(job.job_id, truth)).ari > 0.5
            table = await client.upload_table({"a": [1, 2], "b": ["x", "y"]})
            assert (await client.get_table_rows(table.table_id)).columns[1].texts.values == ["x", "y"]
            assert [j.job_id async for j in client.list_jobs(dataset_id=stored.dataset_id, limit=1)] == [job.job_id]
            together = await asyncio.gather(*(client.get_labels(job.job_id) for _ in range(8)))
            assert all((other.labels == labels).all() for other in together)
            with pytest.raises(cleave.InvalidInputError, match="use s3://BUCKET/KEY"):
                await client.import_table(["/etc/passwd"])
            with pytest.raises(cleave.InvalidInputError, match="k is 900"):
                await client.create_job(v1.JobSpec(dataset_id=stored.dataset_id, k=900))
    finally:
        proxy.close()
