"""The estimator with the embedded server, compared with the command line."""

from __future__ import annotations

import copy
import inspect
import json
import pickle
import re
import threading
import time
import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from programs import REPOSITORY, cleave
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from cleave import Cleave, CleaveWarning, InvalidInputError, UnavailableError, estimator, v1
from cleave._connection import Credentials
from cleave._options import ALGORITHMS, HAVING, OPTIONS
from cleave.client import Client

CUSTOMERS = REPOSITORY / "docs" / "examples" / "customers.csv"


@parametrize_with_checks([Cleave()])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def command_line(folder, *arguments):
    """Runs a job by the command line, and returns its labels, confidences and result."""
    cleave("run", "--quiet", "--out", folder / "out", "--workers", 1, *arguments, cwd=folder)
    table = pd.read_csv(folder / "out" / "labels.csv", float_precision="round_trip")
    return table["label"].to_numpy(), table["confidence"].to_numpy() if "confidence" in table else None


def write_pairs(path, must, cannot):
    lines = [f"{i},{j},must\n" for i, j in must] + [f"{i},{j},cannot\n" for i, j in cannot]
    path.write_text("i,j,kind\n" + "".join(lines))


def same(estimator, expected):
    labels, confidence = expected
    np.testing.assert_array_equal(estimator.labels_, labels)
    if confidence is not None:
        np.testing.assert_array_equal(estimator.confidence_, confidence)


def test_points_and_pairs_give_the_labels_of_the_command_line(tmp_path, blobs, pairs):
    np.save(tmp_path / "x.npy", blobs[0])
    write_pairs(tmp_path / "pairs.csv", *pairs)
    expected = command_line(tmp_path, "--data", "x.npy", "--k", 3, "--constraints", "pairs.csv", "--seed", 5)
    fitted = Cleave(3, random_state=5).fit(blobs[0], must_link=pairs[0], cannot_link=np.array(pairs[1]))
    same(fitted, expected)
    same(Cleave(3, random_state=5).fit(np.asfortranarray(blobs[0]).tolist(), must_link=pairs[0], cannot_link=pairs[1]), expected)


@pytest.mark.parametrize(
    "flags, parameters",
    [
        ("--algorithm mpc-kmeans --metric full --penalty potts --restarts 3", dict(algorithm="mpc-kmeans", metric="full", penalty="potts", n_init=3)),
        ("--kernel polynomial --degree 3 --gamma 0.5 --coef0 1 --max-iterations 7", dict(kernel="polynomial", degree=3, gamma=0.5, coef0=1, max_iter=7)),
        ("--algorithm spectral --restarts 2 --tolerance 1e-6 --rho 2", dict(algorithm="spectral", n_init=2, tol=1e-6, rho=2)),
        ("--algorithm constrained-spectral --beta 0.1 --scale zscore", dict(algorithm="constrained-spectral", beta=0.1, scale="zscore")),
        ("--algorithm kernel-kmeans --sigma auto --knn 8 --knn-weights gaussian", dict(algorithm="kernel-kmeans", sigma="auto", knn=8, knn_weights="gaussian")),
        ("--algorithm cop-kmeans --geometry euclidean --init kmeans++", dict(algorithm="cop-kmeans", geometry="euclidean", init="kmeans++")),
    ],
)
def test_options_mean_what_they_mean_on_the_command_line(tmp_path, blobs, pairs, flags, parameters):
    np.save(tmp_path / "x.npy", blobs[0])
    write_pairs(tmp_path / "pairs.csv", *pairs)
    expected = command_line(tmp_path, "--data", "x.npy", "--k", 3, "--constraints", "pairs.csv", *flags.split())
    same(Cleave(3, **parameters).fit(blobs[0], must_link=pairs[0], cannot_link=pairs[1]), expected)


@pytest.mark.parametrize(
    "flags, parameters",
    [
        ("--init random", dict(init="random")),
        ("--init neighborhoods", dict(init="neighborhoods")),
        ("--init farthest-first --farthest mean", dict(init="farthest-first", farthest="mean")),
        ("--paper", dict(paper=True)),
        ("--storage none", dict(storage="none")),
        ("--entail=false", dict(entail=False)),
        ("--scale zscore --knn 8 --max-iterations 9 --tolerance 0.1 --restarts 2", dict(scale="zscore", knn=8, max_iter=9, tol=0.1, n_init=2)),
        ("--neighbors 8 --folds 2 --enforce never", dict(n_neighbors=8, folds=2, enforce="never")),
        ("--init random --rho 3", dict(init="random", rho=3)),
        ("--metric full --init random", dict(metric="full", init="random")),
        ("--components keep --paper", dict(components="keep", paper=True)),
        ("--components keep", dict(components="keep")),
    ],
)
def test_options_choose_the_algorithm_of_the_command_line(tmp_path, blobs, pairs, flags, parameters):
    np.save(tmp_path / "x.npy", blobs[0])
    write_pairs(tmp_path / "pairs.csv", *pairs)
    expected = command_line(tmp_path, "--data", "x.npy", "--k", 3, "--constraints", "pairs.csv", *flags.split())
    fitted = Cleave(3, **parameters).fit(blobs[0], must_link=pairs[0], cannot_link=pairs[1])
    same(fitted, expected)
    assert fitted.result_.objective == json.loads((tmp_path / "out" / "result.json").read_text())["objective"]


def test_every_option_of_the_catalog_is_a_parameter():
    listed = {}
    for line in (REPOSITORY / "docs" / "OPTIONS.md").read_text().splitlines():
        if found := re.match(r"\| `--([a-z0-9-]+)`.*\|([^|]*)\|([^|]*)\|$", line):
            listed[found[1]] = tuple(re.findall(r"`([^`]+)`", found[2]))
            if found[1] in HAVING:
                assert set(HAVING[found[1]]) == set(re.findall(r"`([^`]+)`", found[3])), found[1]
    # Given in other ways: as n_clusters, algorithm, and pairs and labels. A second graph or metric is a matrix of beliefs.
    elsewhere = {"k", "algorithm", "constraints", "seeds", "source-graph", "source-data"}
    assert set(listed) - elsewhere == {flag for flag, _, _ in OPTIONS.values()}
    for parameter, (flag, field, spectral) in OPTIONS.items():
        assert listed[flag] == ((field, spectral) if spectral else (field,)), parameter
        assert parameter in {**inspect.signature(Cleave).parameters, **inspect.signature(Cleave.fit).parameters}
    assert set(ALGORITHMS) == {f.name.replace("_", "-") for f in v1.JobSpec.DESCRIPTOR.oneofs_by_name["algorithm"].fields}


def test_frames_give_the_labels_of_the_command_line(tmp_path):
    labels, confidence = command_line(tmp_path, "--data", CUSTOMERS, "--k", 3, "--label-column", "segment")
    frame = pd.read_csv(CUSTOMERS, sep=";", decimal=",")
    segment = frame.pop("segment")
    with pytest.warns(CleaveWarning) as warned:
        fitted = Cleave(3).fit(frame, partial_labels=segment)
    messages = [str(w.message) for w in warned]
    assert 'column "customer" is the row id: its values are all different' in messages
    assert any("empty cells are filled from similar rows; missing selects another method" in m for m in messages)
    same(fitted, (labels, confidence))
    assert fitted.classes_.tolist() == ["business", "regular", "student"]
    assert list(fitted.feature_names_in_) == list(frame.columns)
    as_categories = frame.assign(channel=frame["channel"].astype("category"), age=frame["age"].astype("Int64"))
    same(Cleave(3).fit(as_categories, partial_labels=segment.where(segment.notna(), None).tolist()), (labels, confidence))
    known = segment.notna().to_numpy()
    agreement = np.mean(fitted.classes_[fitted.labels_[known]] == segment[known])
    assert agreement > 0.95


def test_new_rows_of_a_frame_are_assigned_as_on_the_command_line(tmp_path):
    command_line(tmp_path, "--data", CUSTOMERS, "--k", 3)
    frame = pd.read_csv(CUSTOMERS, sep=";", decimal=",")
    lines = CUSTOMERS.read_text().splitlines(keepends=True)
    (tmp_path / "new.csv").write_text("".join(lines[:1] + lines[10:40]))
    expected = pd.read_csv(pd.io.common.StringIO(cleave("predict", "--model", "out", "--data", "new.csv", cwd=tmp_path)))
    fitted = Cleave(3).fit(frame)
    np.testing.assert_array_equal(fitted.predict(frame.iloc[9:39]), expected["label"])
    with pytest.raises(ValueError, match="feature names should match"):
        fitted.predict(frame.drop(columns="age"))


def test_rows_with_missing_values_can_be_dropped(tmp_path):
    frame = pd.read_csv(CUSTOMERS, sep=";", decimal=",").drop(columns="segment")
    fitted = Cleave(3, missing="drop").fit(frame)
    dropped = frame.drop(columns="customer").isna().any(axis=1).to_numpy()
    np.testing.assert_array_equal(fitted.labels_ == -1, dropped)
    np.testing.assert_array_equal(np.isnan(fitted.confidence_), dropped)
    np.testing.assert_array_equal(fitted.predict(frame) == -1, dropped)
    with pytest.raises(InvalidInputError) as error:
        Cleave(3, missing="error").fit(frame)
    assert error.value.reason == "MISSING_VALUE"


@pytest.mark.long
def test_sparse_points_graphs_and_kernels_give_the_labels_of_the_command_line(tmp_path, blobs, pairs):
    points = blobs[0]
    write_pairs(tmp_path / "pairs.csv", *pairs)
    supervision = dict(must_link=pairs[0], cannot_link=pairs[1])
    thin = sp.csr_matrix(np.where(points > 1, points, 0))
    sp.save_npz(tmp_path / "thin.npz", thin)
    expected = command_line(tmp_path, "--data", "thin.npz", "--k", 3, "--constraints", "pairs.csv")
    same(Cleave(3).fit(thin.tocoo(), **supervision), expected)

    distances = ((points[:, None] - points[None]) ** 2).sum(-1)
    adjacency = sp.csr_matrix(np.where(distances < 9, np.round(10 - distances, 3), 0))
    sp.save_npz(tmp_path / "graph.npz", adjacency)
    expected = command_line(tmp_path, "--graph", "graph.npz", "--k", 3, "--constraints", "pairs.csv")
    same(Cleave(3, affinity="adjacency").fit(adjacency, **supervision), expected)
    same(Cleave(3, affinity="adjacency").fit(adjacency.toarray(), **supervision), expected)

    kernel = np.exp(-distances / 8)
    np.save(tmp_path / "kernel.npy", kernel)
    expected = command_line(tmp_path, "--kernel-matrix", "kernel.npy", "--k", 3, "--constraints", "pairs.csv")
    same(Cleave(3, kernel="precomputed").fit(kernel, **supervision), expected)


@pytest.mark.parametrize("unknown", [-1, None, float("nan"), "", pd.NA, np.float64("nan"), pd.NaT])
def test_partial_labels_may_be_of_any_type(blobs, unknown):
    points, truth = blobs
    names = np.array(["zoo", "10", "9"], dtype=object)
    partial = [names[t] if row % 3 == 0 else unknown for row, t in enumerate(truth)]
    fitted = Cleave(3).fit(points, partial_labels=partial)
    assert fitted.classes_.tolist() == ["9", "10", "zoo"]  # integers by value, then the others
    assert np.mean(fitted.classes_[fitted.labels_] == names[truth]) > 0.9
    numbers = Cleave(3).fit(points, partial_labels=pd.Series(partial).map({"9": 9, "10": 10, "zoo": 11}))
    assert numbers.classes_.tolist() == [9, 10, 11]
    np.testing.assert_array_equal(numbers.labels_, fitted.labels_)


def test_weights_beliefs_and_starts(blobs):
    points, truth = blobs
    heavy = Cleave(3, algorithm="kernel-kmeans", kernel="linear", objective="kernel-kmeans").fit(points, weights=np.where(truth == 0, 5.0, 1.0))
    assert heavy.objective_ > 0
    beliefs = np.where(truth[:, None] == truth[None], 1.0, -1.0)
    assert len(set(Cleave(3, algorithm="constrained-spectral").fit(points, beliefs=beliefs).labels_)) == 3
    np.testing.assert_array_equal(Cleave(3, algorithm="kmeans", init=truth, max_iter=0).fit(points).labels_, truth)
    centers = np.array([points[truth == c].mean(0) for c in range(3)])
    from_centers = Cleave(3, algorithm="kmeans", init=centers).fit(points)
    np.testing.assert_array_equal(Cleave(3, init=centers).fit(points).labels_, from_centers.labels_)
    assert Cleave(3, init=truth).fit(points).method_ == ""  # not auto, which has starts of its own
    lower = Cleave(3, algorithm="constrained-spectral").fit(points, beliefs=sp.coo_matrix(beliefs))
    np.testing.assert_array_equal(lower.labels_, Cleave(3, algorithm="constrained-spectral").fit(points, beliefs=beliefs).labels_)
    with pytest.raises(InvalidInputError, match="weights does not apply to kmeans; it applies to kernel-kmeans"):
        Cleave(3, algorithm="kmeans").fit(points, weights=truth)


def test_weights_and_beliefs_choose_the_algorithm_of_the_command_line(tmp_path, blobs):
    points, truth = blobs
    np.save(tmp_path / "x.npy", points)
    weights, beliefs = np.where(truth == 0, 5.0, 1.0), np.where(truth[:, None] == truth[None], 1.0, -1.0)
    pd.DataFrame({"index": range(120), "weight": weights}).to_csv(tmp_path / "weights.csv", index=False)
    np.save(tmp_path / "beliefs.npy", beliefs)
    same(Cleave(3).fit(points, weights=weights), command_line(tmp_path, "--data", "x.npy", "--k", 3, "--weights", "weights.csv"))
    same(Cleave(3).fit(points, beliefs=beliefs), command_line(tmp_path, "--data", "x.npy", "--k", 3, "--beliefs", "beliefs.npy"))


def test_centroids_of_a_frame_have_its_features(blobs):
    points, truth = blobs
    centers = np.array([points[truth == c].mean(0) for c in range(3)])
    frame = pd.DataFrame(points).rename(columns=str).assign(name=[f"row {at}" for at in range(120)])  # an id is no feature
    np.testing.assert_array_equal(Cleave(3, init=centers).fit(frame).labels_, Cleave(3, init=centers).fit(points).labels_)
    with pytest.raises(InvalidInputError, match="there are 8 values of centroids; 3 clusters of 4 columns need 12"):
        Cleave(3, init=centers[:2]).fit(frame)
    with pytest.raises(InvalidInputError, match="cannot be combined with a range of k"):
        Cleave(range(2, 4), init=centers).fit(points)


def test_a_column_may_be_named_alone_and_by_a_number(blobs):
    numbered = pd.DataFrame(np.column_stack([blobs[0], np.arange(120) ** 2]))
    expected = Cleave(3).fit(numbered[[0, 1, 3]]).labels_
    np.testing.assert_array_equal(Cleave(3, ignore=[2, 4]).fit(numbered).labels_, expected)
    np.testing.assert_array_equal(Cleave(3, ignore=2, id_column=4).fit(numbered).labels_, expected)
    named = numbered.rename(columns=dict(enumerate(["a", "b", "age", "c", "day"])))
    np.testing.assert_array_equal(Cleave(3, ignore="age", id_column="day").fit(named).labels_, expected)


@pytest.mark.long
def test_a_range_of_clusters_proposes_one(blobs):
    fitted = Cleave(range(2, 6)).fit(blobs[0])
    assert fitted.n_clusters_ == fitted.result_.k_selection.proposed == fitted.labels_.max() + 1
    assert [score.k for score in fitted.result_.k_selection.scores] == [2, 3, 4, 5]
    seeded = Cleave(range(2, 6)).fit(blobs[0], partial_labels=np.where(np.arange(120) % 3 == 0, blobs[1], -1))
    assert [score.k for score in seeded.result_.k_selection.scores] == [3, 4, 5]  # each class is a cluster
    assert Cleave(range(2, 4)).fit(blobs[0], partial_labels=blobs[1]).n_clusters_ == 3


@pytest.mark.long
def test_pipelines_and_grid_searches(blobs, pairs):
    points, truth = blobs
    line = make_pipeline(StandardScaler(), Cleave(3))
    labels = line.fit_predict(points, cleave__must_link=pairs[0], cleave__cannot_link=pairs[1])
    np.testing.assert_array_equal(line.predict(points)[:5], labels[:5])
    search = GridSearchCV(Cleave(), {"n_clusters": [2, 3], "scale": [None, "zscore"]}, scoring="adjusted_rand_score", cv=2)
    search.fit(points, truth)
    assert search.best_params_["n_clusters"] == 3
    seeded = GridSearchCV(Cleave(), {"n_clusters": [3, 4]}, scoring="adjusted_rand_score", cv=2)
    seeded.fit(points, truth, partial_labels=np.where(np.arange(120) % 4 == 0, truth, -1))  # cut with the folds
    assert seeded.best_score_ > 0.8


def test_a_fitted_estimator_can_be_copied_and_pickled(blobs):
    fitted = Cleave(3).fit(blobs[0])
    expected = fitted.predict(blobs[0])
    for other in (copy.copy(fitted), copy.deepcopy(fitted), pickle.loads(pickle.dumps(fitted))):
        np.testing.assert_array_equal(other.predict(blobs[0]), expected)
        np.testing.assert_array_equal(other.labels_, fitted.labels_)
    with pytest.raises(NotFittedError):
        clone(fitted).predict(blobs[0])


def test_the_report_and_the_picture(tmp_path, blobs, pairs):
    fitted = Cleave(3).fit(blobs[0], must_link=pairs[0], cannot_link=pairs[1])
    report = fitted.report(tmp_path / "report.html")
    assert report.summary.startswith("method ") and "clusters     3 of 120 points" in str(report)
    assert (tmp_path / "report.html").read_text() == report.html and "<html" in report.html
    assert report.picture.startswith("<svg") or "<svg" in report.picture
    assert "data:image/svg+xml;base64," in fitted._repr_mimebundle_()["text/html"]
    assert report._repr_html_().startswith("<iframe srcdoc=")
    assert "Cleave(n_clusters=4)" in Cleave(4)._repr_mimebundle_()["text/html"]
    frame = pd.read_csv(CUSTOMERS, sep=";", decimal=",")
    described = Cleave(3).fit(frame).report()
    assert "satisfaction" in described.html and ".svg" not in described.summary  # the files are gone


def test_errors_of_the_server_name_parameters():
    with pytest.raises(InvalidInputError, match="or use categorical x to make") as error:
        Cleave(2).fit(pd.DataFrame({"x": ["1.5", "2.5", "much", "3.5", "4.5"]}))
    assert "--" not in error.value.message and error.value.reason == "NOT_A_NUMBER"


def test_a_token_is_not_printed():
    estimator = Cleave(token="cleave_secret", server="localhost:1")
    assert estimator.token == "cleave_secret" and "secret" in "Bearer " + estimator.token
    changed = Cleave().set_params(token="cleave_secret")
    copies = [clone(estimator), copy.deepcopy(estimator), pickle.loads(pickle.dumps(estimator))]
    for printed in (estimator, changed, *copies):
        assert printed.token == "cleave_secret"
        for text in (repr(printed), repr(make_pipeline(printed)), repr(printed.get_params()), repr(printed._server())):
            assert "secret" not in text and "***" in text
    credentials = Credentials.of("cleave_secret", None, None, None, None, None, False)
    assert "secret" not in repr(credentials) and credentials.token == "cleave_secret"
    assert Cleave(token=None).token is None and "token" not in repr(Cleave())


def test_new_rows_may_be_an_array_with_any_scikit_learn(monkeypatch):
    from cleave import estimator

    frame = pd.DataFrame({"x": [0, 1, 10, 11], "y": [0.5, 1, 10, 11]})
    fitted = Cleave(2).fit(frame)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of scikit-learn, about the names that an array does not have
        expected = fitted.predict(frame.to_numpy())
        old = estimator.check_array

        def renamed(array, *, dtype, ensure_all_finite):  # as of scikit-learn 1.6; 1.8 has no other name
            return old(array, dtype=dtype, force_all_finite=ensure_all_finite)

        if "force_all_finite" in inspect.signature(old).parameters:
            monkeypatch.setattr(estimator, "check_array", renamed)
        np.testing.assert_array_equal(fitted.predict(frame.to_numpy()), expected)


@pytest.mark.parametrize(
    "fit, reason, message",
    [
        (lambda X: Cleave(3).fit(np.where(X == X[4, 1], np.nan, X)), "NOT_FINITE", "row 4, column 1 is NaN; every value must be a finite number"),
        (lambda X: Cleave(3).fit(sp.csr_matrix(np.where(X == X[4, 1], -np.inf, X))), "NOT_FINITE", "row 4, column 1 is -Inf; every value must"),
        (lambda X: Cleave(3).fit(pd.DataFrame(np.where(X == X[4, 1], np.inf, X))), "NOT_FINITE", "row 4, column '1' is +Inf"),
        (lambda X: Cleave(0).fit(X), "BAD_K", "n_clusters is 0; it must be a whole number of at least 1"),
        (lambda X: Cleave(range(-1, 3)).fit(X), "BAD_K", "n_clusters is range(-1, 3)"),
        (lambda X: Cleave(2**40).fit(X), "BAD_K", "n_clusters is 1099511627776"),
        (lambda X: Cleave("3").fit(X), "BAD_K", "n_clusters is '3'"),
        (lambda X: Cleave(3, random_state=-1).fit(X), "BAD_VALUE", "random_state is -1; it must be a whole number of at least 0"),
        (lambda X: Cleave(3).fit(X, must_link=[(0, 1), (7, 120)]), "INDEX_OUT_OF_RANGE", "must_link[1] is (7, 120); rows are numbered 0 to 119"),
        (lambda X: Cleave(3).fit(X, cannot_link=[(-1, 4)]), "INDEX_OUT_OF_RANGE", "cannot_link[0] is (-1, 4)"),
        (lambda X: Cleave(3).fit(X, must_link=[("a", 5)]), "BAD_PAIR", r"must_link[0] is ('a', 5)"),
        (lambda X: Cleave(3).fit(X, must_link=[(1, 2, 3, 4)]), "BAD_PAIR", "a pair is two row numbers"),
        (lambda X: Cleave(3).fit(X, must_link=[(1.5, 2)]), "BAD_PAIR", "must_link[0] is (1.5, 2)"),
        (lambda X: Cleave(3).fit(X, partial_labels=[0, 1]), "SIZE_MISMATCH", "partial_labels has 2 labels for 120 rows"),
        (lambda X: Cleave(3).fit(X, partial_labels=list(range(120))), "TOO_MANY_CLASSES", "there are 120 classes ('0' and others), but only 3 clusters"),
        (lambda X: Cleave(3).fit(X, partial_labels=np.eye(120)[:, :3]), "BAD_LABELS", "partial_labels has the shape (120, 3); it needs one class per row"),
        (lambda X: Cleave(3).fit(X, partial_labels=pd.DataFrame(X)), "BAD_LABELS", "partial_labels has the shape (120, 4)"),
        (lambda X: Cleave(3).fit(X, partial_labels=list(np.eye(120)[:, :3])), "BAD_LABELS", "partial_labels[0] is a ndarray; it needs one class"),
        (lambda X: Cleave(3).fit(X, partial_labels=np.eye(120)[:, :3].tolist()), "BAD_LABELS", "partial_labels[0] is a list"),
        (lambda X: Cleave(3, algorithm="constrained-spectral").fit(X, beliefs=np.tril(X @ X.T)), "NOT_SYMMETRIC", "the matrix of beliefs has 0 at (0, 1)"),
        (lambda X: Cleave(3, algorithm="constrained-spectral").fit(X, beliefs=np.full((120, 120), np.nan)), "NOT_FINITE", "row 0, column 0 is NaN"),
        (lambda X: Cleave(3, algorithm="constrained-spectral").fit(X, beliefs=[["a"]]), "NOT_A_NUMBER", "beliefs must be numbers"),
        (lambda X: Cleave(3, algorithm="magic").fit(X), "UNKNOWN_ALGORITHM", "there is no algorithm 'magic'"),
        (lambda X: Cleave(3, algorithm="kmeans", kernel="linear").fit(X), "OPTION_DOES_NOT_APPLY", "kernel does not apply to kmeans"),
        (lambda X: Cleave(3, scale="big").fit(X), "BAD_VALUE", "scale is 'big'; use one of auto, zscore, none, minmax, robust"),
        (lambda X: Cleave(3, n_init="many").fit(X), "BAD_VALUE", "n_init is 'many'"),
        (lambda X: Cleave(3, n_init=0).fit(X), "BAD_RESTARTS", "n_init is 0; it must be at least 1"),
        (lambda X: Cleave(3, algorithm="kmeans", init=X[:3, :2]).fit(X), "BAD_START", "init has the shape (3, 2); it must have a row for each centroid"),
        (lambda X: Cleave(3, algorithm="kmeans", init=["a"] * 120).fit(X), "BAD_START", "they must be the numbers of clusters"),
        (lambda X: Cleave(3, algorithm="kernel-kmeans").fit(X, weights=["a"] * 120), "NOT_A_NUMBER", "weights must be numbers"),
        (lambda X: Cleave(3, affinity="adjacency").fit(X), "NOT_SQUARE", "the adjacency matrix has 120 rows and 4 columns"),
        (lambda X: Cleave(3, affinity="adjacency").fit(np.triu(X @ X.T)), "NOT_SYMMETRIC", "it must be symmetric, such as A + A.T"),
        (lambda X: Cleave(3, kernel="precomputed").fit(X), "NOT_SQUARE", "the kernel matrix has 120 rows and 4 columns"),
    ],
)
def test_bad_input_fails_before_the_upload(monkeypatch, blobs, fit, reason, message):
    def refuse(*_):
        raise AssertionError("something was uploaded")

    monkeypatch.setattr(Client, "_send", refuse)
    with pytest.raises(InvalidInputError, match=re.escape(message)) as error:
        fit(blobs[0])
    assert error.value.reason == reason
    assert isinstance(error.value, ValueError)


@pytest.mark.parametrize(
    "fit, reason, message",
    [
        (lambda X: Cleave(121).fit(X), "BAD_K", "k is 121 but there are only 120 rows; k must be at most the number of rows (n_clusters)"),
        (lambda X: Cleave(range(119, 122)).fit(X), "BAD_K", "(n_clusters)"),
        (lambda X: Cleave(3).fit(X, must_link=[(0, 1)], cannot_link=[(1, 2), (4, 4)]), "SELF_CANNOT_LINK", "a cannot-link to itself (cannot_link[1])"),
        (lambda X: Cleave(3).fit(X, must_link=[(4, 5, -2)]), "BAD_WEIGHT", "the weight is -2; weights must be positive and finite (must_link[0])"),
        (lambda X: Cleave(3).fit(X, must_link=[(4, 5, np.inf)]), "NOT_FINITE", "+Inf is not a finite number (must_link[0])"),
        (lambda X: Cleave(3, n_init=100_000).fit(X), "BAD_RESTARTS", "restarts is 100000; it must be 1 to 10000 (n_init)"),
        (lambda X: Cleave(3, algorithm="spectral", tol=2).fit(X), "BAD_TOLERANCE", "(tol)"),
        (lambda X: Cleave(3, farthest="mean").fit(X), "OPTION_DOES_NOT_APPLY", "farthest requires init farthest-first"),
        (lambda X: Cleave(3, rho=-1).fit(X), "BAD_RHO", "rho is -1; it must be greater than 0"),
        (lambda X: Cleave(3, algorithm="kmeans", init=[7] * 120).fit(X), "BAD_START", "row 0 has initial label 7; labels are 0..2 (init)"),
        (lambda X: Cleave(3, algorithm="kernel-kmeans").fit(X, weights=[-1] * 120), "BAD_WEIGHT", "weights must be positive and finite"),
    ],
)
def test_errors_of_the_server_say_which_parameter_is_wrong(blobs, fit, reason, message):
    with pytest.raises(InvalidInputError, match=re.escape(message) + "$") as error:
        fit(blobs[0])
    assert error.value.reason == reason


@pytest.mark.parametrize("away", ["silent", "refusing", "back"])
@pytest.mark.parametrize("created", [True, False])
def test_an_interrupt_cancels_only_for_a_short_time(blobs, monkeypatch, away, created):
    over, calls = threading.Event(), []
    create = Client.create_job

    def interrupt(*_, **__):
        raise KeyboardInterrupt

    def create_job(client, spec, **options):
        calls.append("create")
        job = create(client, spec, **options)
        if not created and calls == ["create"]:
            raise KeyboardInterrupt
        return job

    def cancel(client, job_id):
        calls.append(job_id)
        if away == "silent":
            over.wait(60)
        elif away == "refusing":
            raise UnavailableError("the server is away", code="UNAVAILABLE")

    monkeypatch.setattr(Client, "create_job", create_job)
    monkeypatch.setattr(Client, "wait", interrupt)
    monkeypatch.setattr(Client, "cancel_job", cancel)
    monkeypatch.setattr(estimator, "_CANCEL_SECONDS", 2.0)
    began = time.monotonic()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with pytest.raises(KeyboardInterrupt):
            Cleave(2, algorithm="kmeans").fit(blobs[0])
    over.set()
    assert time.monotonic() - began < 20
    assert calls[:-1] == ["create"] * (1 if created else 2), "a job whose ID is known is not created again"
    assert ["could not be canceled, and may go on" in str(w.message) for w in caught if w.category is CleaveWarning] == ([] if away == "back" else [True])
