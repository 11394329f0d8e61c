"""The package against a coordinator with three workers under TLS."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from programs import Cluster, Proxy, cleave

from cleave import AccessError, Cleave, Client, v1

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    cluster = Cluster(tmp_path_factory.mktemp("cluster"), workers=3)
    yield cluster
    cluster.stop()


def test_labels_are_those_of_the_command_line_although_the_connection_breaks(cluster, tmp_path):
    cleave("generate", "two-moons", "--n", 2000, "--noise", 0.12, "--constraints", 300, "--seed", 3, "--out", tmp_path)
    points = pd.read_csv(tmp_path / "data.csv").to_numpy(dtype=np.float64)
    np.save(tmp_path / "points.npy", points)
    constraints = pd.read_csv(tmp_path / "constraints.csv")
    flags = ["--server", cluster.address, "--tls", cluster.tls, "--quiet", "--k", 2, "--constraints", tmp_path / "constraints.csv"]
    cleave("run", "--data", tmp_path / "points.npy", "--out", tmp_path / "out", *flags)
    expected, result = pd.read_csv(tmp_path / "out" / "labels.csv", float_precision="round_trip"), json.loads((tmp_path / "out" / "result.json").read_text())

    proxy = Proxy(cluster.address)
    try:
        with Client(proxy.address, tls=cluster.tls) as client:
            assert sum(w.state == v1.WORKER_STATE_READY for w in client.list_workers()) == 3
            stored = client.upload_points(points)
            table = client.upload_table(constraints)
            spec = v1.JobSpec(dataset_id=stored.dataset_id, k=2)
            spec.supervision.constraints.table_id = table.table_id
            job = client.create_job(spec, request_id="watched")
            sequences = []
            for item in client.watch(job.job_id):
                if item.HasField("event"):
                    sequences.append(item.event.sequence)
                    if len(sequences) in (2, 10):
                        proxy.cut()
            assert proxy.cuts == 2
            assert sequences == list(range(1, len(sequences) + 1))
            found, scores = client.get_labels(job.job_id), client.get_row_scores(job.job_id)
            assert client.get_result(job.job_id).objective == result["objective"]
            np.testing.assert_array_equal(found.labels, expected["label"])
            for name in ("distance", "margin", "confidence"):
                np.testing.assert_array_equal(getattr(scores, name), expected[name])
    finally:
        proxy.close()

    must = constraints[constraints["kind"] == "must"][["i", "j"]]
    cannot = constraints[constraints["kind"] == "cannot"][["i", "j"]]
    fitted = Cleave(2, server=cluster.address, tls=cluster.tls).fit(points, must_link=must, cannot_link=cannot)
    assert fitted.result_.plan.workers == 3
    np.testing.assert_array_equal(fitted.labels_, expected["label"])
    np.testing.assert_array_equal(fitted.confidence_, expected["confidence"])
    assert fitted.objective_ == result["objective"]
    assert "data:image/svg" in fitted._repr_html_()
    np.testing.assert_array_equal(fitted.predict(points[:50]), fitted.labels_[:50])


def test_who_has_no_certificate_is_refused(cluster):
    with Client(cluster.address, ca_file=cluster.tls + "/ca.pem") as client, pytest.raises(AccessError) as error:
        list(client.list_jobs())
    assert error.value.reason == "NO_CREDENTIALS"
