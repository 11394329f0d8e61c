"""Cleave as an estimator of scikit-learn."""

from __future__ import annotations

import contextlib
import inspect
import os
import threading
import uuid
import warnings
import weakref
from dataclasses import dataclass
from typing import Any, Callable, Dict, Iterable, Iterator, List, Optional, Sequence, Tuple, TypeVar, Union

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.utils import check_array, check_random_state
from sklearn.utils.validation import check_is_fitted

from cleave import _supervision, embedded, v1
from cleave._frames import column_name, is_frame, table_of
from cleave._options import OPTIONS, choose_algorithm, enum_word, option_path, set_field, set_options, with_parameters
from cleave._progress import Progress
from cleave._upload import Graph, KernelMatrix, Points, SparsePoints, Table, Upload, floats
from cleave.client import Client
from cleave.embedded import EmbeddedServer, Item
from cleave.errors import CleaveError, CleaveWarning, NotFoundError, invalid
from cleave.report import Report, make_report
from cleave.results import Prediction, expand

Value = TypeVar("Value")

__all__ = ["Cleave"]

# Supervision of more rows is uploaded instead of being sent with the job.
_INLINE_ROWS = 10_000


class Cleave(ClusterMixin, BaseEstimator):  # type: ignore[misc]
    """Clustering under supervision.

    By default Cleave tries several methods, scores each on held-out supervision, and returns the answer of the one
    that predicts it best. The same data and parameters always give the same labels.

    Parameters that are None have the default of the command line; see docs/OPTIONS.md for what each of them does.

    Args:
        n_clusters: The number of clusters, or a range such as ``range(2, 9)``: each of 2 to 8 is run, and one is proposed.
        algorithm: The algorithm. "auto" compares several methods; if a parameter is given that "auto" does not have, it stands
            for the first algorithm that has it.
        random_state: The seed of all random choices. None is 0, so that runs can be repeated.
        affinity: "adjacency" if X is the symmetric adjacency matrix of a graph, to cluster its vertices.
        kernel: The kernel function on points, or "precomputed" if X is a symmetric kernel matrix.
        n_init: The number of runs from different starts, the best of which is kept.
        max_iter: The limit on the iterations of each run.
        tol: A run stops when the objective improves by at most this share.
        init: How runs start, by name; or an array: a label for each row, or a row for each centroid.
        n_neighbors: The number of neighbors in the nearest-neighbor graph that "auto" considers.
        knn: Connect each row with this many nearest neighbors, and cluster that graph.
        missing: How missing values of a frame are treated: "auto" (filled from similar rows), "error", "drop" (the row gets the
            label -1), "mean" or "median".
        id_column: The column of a frame that identifies the rows; it is not a feature.
        ignore: Columns of a frame to leave out, or one of them.
        categorical: Columns of a frame whose values are categories even if they are numbers.
        keep: Columns of a frame to use as they are, even if they look like ids, codes or constants.
        dates: "numbers" uses dates in a frame as numbers of days; they are ignored otherwise.
        keep_last_row: Use the last row of a frame even if it looks like a row of totals.
        time_limit: End the job after this many seconds, with the labels that it has by then.
        server: The address of a server, ``HOST:PORT``. By default it is ``$CLEAVE_SERVER``, and without that the estimator starts
            a server of its own, which all estimators of the process share and which ends with the process.
        token: A token for the server; the default is ``$CLEAVE_TOKEN``.
        tls: A folder with certificates for the server, as ``cleave certs`` writes it.
        ca_file: The certificates that the server's must be signed by, if there is no folder tls.
        verbose: Show progress: True, False, or "auto" for jobs in a terminal or notebook that take a second or longer.

    Attributes:
        labels_: The cluster of each row, from 0; -1 for a row that was dropped.
        confidence_: How certain each label is, from 0 to 1: the share of the runs that agree with it or, if a mixture of
            Gaussians was fitted, the probability of the label. NaN if it is not known.
        objective_: The value of the objective.
        n_clusters_: The number of clusters.
        classes_: The classes in partial_labels, in the order of their clusters: cluster i is that of ``classes_[i]``. Clusters of
            higher numbers have no known class.
        n_iter_: The number of iterations, at least 1.
        method_: The method that "auto" chose: how it compares rows and how it uses supervision, such as "neighbors, hard"; "" for
            other algorithms.
        why_: Why it chose that method, in a sentence; "" for other algorithms.
        n_features_in_: The number of columns of X.
        feature_names_in_: Their names, if X is a frame with names of columns that are all texts.
        result_: Everything else that the server reports, a :class:`cleave.v1.Result`.
        job_id_: The job on the server.
    """

    def __init__(
        self,
        n_clusters: Union[int, range] = 8,
        *,
        algorithm: str = "auto",
        random_state: Any = None,
        affinity: Optional[str] = None,
        kernel: Optional[str] = None,
        rho: Union[float, str, None] = None,
        gamma: Optional[float] = None,
        coef0: Optional[float] = None,
        degree: Optional[int] = None,
        affinity_diagonal: Optional[str] = None,
        objective: Optional[str] = None,
        sigma: Union[float, str, None] = None,
        on_rise: Optional[str] = None,
        local_search: Optional[int] = None,
        empty: Optional[str] = None,
        landmarks: Optional[int] = None,
        storage: Optional[str] = None,
        scale: Optional[str] = None,
        enforce: Optional[str] = None,
        n_neighbors: Optional[int] = None,
        folds: Optional[int] = None,
        knn: Optional[int] = None,
        knn_weights: Optional[str] = None,
        n_init: Optional[int] = None,
        max_iter: Optional[int] = None,
        tol: Optional[float] = None,
        init: Any = None,
        farthest: Optional[str] = None,
        entail: Optional[bool] = None,
        paper: Optional[bool] = None,
        geometry: Optional[str] = None,
        distortion: Optional[str] = None,
        metric: Optional[str] = None,
        penalty: Optional[str] = None,
        inference: Optional[str] = None,
        max_restarts: Optional[int] = None,
        beta: Union[float, str, None] = None,
        discretize: Optional[str] = None,
        components: Optional[str] = None,
        missing: Optional[str] = None,
        id_column: Union[str, int, None] = None,
        ignore: Union[str, int, Sequence[Any]] = (),
        categorical: Union[str, int, Sequence[Any]] = (),
        keep: Union[str, int, Sequence[Any]] = (),
        dates: Optional[str] = None,
        keep_last_row: bool = False,
        time_limit: Optional[float] = None,
        server: Optional[str] = None,
        token: Optional[str] = None,
        tls: Optional[str] = None,
        ca_file: Optional[str] = None,
        verbose: Union[bool, int, str] = "auto",
    ) -> None:
        self.n_clusters = n_clusters
        self.algorithm = algorithm
        self.random_state = random_state
        self.affinity = affinity
        self.kernel = kernel
        self.rho = rho
        self.gamma = gamma
        self.coef0 = coef0
        self.degree = degree
        self.affinity_diagonal = affinity_diagonal
        self.objective = objective
        self.sigma = sigma
        self.on_rise = on_rise
        self.local_search = local_search
        self.empty = empty
        self.landmarks = landmarks
        self.storage = storage
        self.scale = scale
        self.enforce = enforce
        self.n_neighbors = n_neighbors
        self.folds = folds
        self.knn = knn
        self.knn_weights = knn_weights
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.init = init
        self.farthest = farthest
        self.entail = entail
        self.paper = paper
        self.geometry = geometry
        self.distortion = distortion
        self.metric = metric
        self.penalty = penalty
        self.inference = inference
        self.max_restarts = max_restarts
        self.beta = beta
        self.discretize = discretize
        self.components = components
        self.missing = missing
        self.id_column = id_column
        self.ignore = ignore
        self.categorical = categorical
        self.keep = keep
        self.dates = dates
        self.keep_last_row = keep_last_row
        self.time_limit = time_limit
        self.server = server
        self.token = token
        self.tls = tls
        self.ca_file = ca_file
        self.verbose = verbose

    @property
    def token(self) -> Optional[str]:  # in __dict__ under this name, where scikit-learn expects a parameter
        return self.__dict__["token"]  # type: ignore[no-any-return]

    @token.setter
    def token(self, value: Optional[str]) -> None:
        self.__dict__["token"] = _Secret(value) if type(value) is str else value

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        must_link: Any = None,
        cannot_link: Any = None,
        partial_labels: Any = None,
        weights: Any = None,
        beliefs: Any = None,
        request_id: Optional[str] = None,
    ) -> Cleave:
        """Clusters the rows of X.

        Args:
            X: A NumPy array or a list of rows, a pandas frame, which may have categories and missing values, or a sparse matrix
                of SciPy. See the parameters affinity and kernel for graphs and kernel matrices.
            y: Ignored. It is here because scikit-learn passes it.
            must_link: Pairs of row numbers, counted from 0, that belong together; a third value is a positive weight.
            cannot_link: Pairs of rows that belong apart.
            partial_labels: A class for each row, of any type; -1, None or NaN where it is unknown.
            weights: A positive weight for each row, for kernel-kmeans.
            beliefs: A symmetric matrix of beliefs, positive together and negative apart, for constrained-spectral.
            request_id: Any text of up to 200 bytes that identifies the job on its server. Fitting again with the same id, data and
                parameters finds the job instead of running it twice, also from another process. If such a fit is interrupted by
                anything but Ctrl-C, the job goes on.

        Returns:
            The estimator itself.
        """
        data = self._read(X, reset=True)
        fewest, most = self._cluster_range()
        pairs = _supervision.pairs_table(must_link, cannot_link, data.rows)
        seeds, classes = _supervision.seeds_table(partial_labels, data.rows, most)
        spec = v1.JobSpec()
        fewest = max(fewest, len(classes))  # each class is a cluster
        if fewest == most:
            spec.k = most
        else:
            spec.k_range.min, spec.k_range.max = fewest, most
        tables = self._set_spec(spec, data, pairs, seeds, weights, beliefs)
        job = _Job(self._server(), data, spec, tables, self.time_limit)
        with job.server.connect() as client:
            progress = Progress(self.verbose)
            try:
                ended = job.run(client, progress, request_id)
            finally:
                progress.close()
            result = client.get_result(ended.job_id)
            found = client.get_labels(ended.job_id)
            scores = client.get_row_scores(ended.job_id) if result.HasField("row_scores") else None
        confidence = scores.confidence if scores is not None and scores.confidence is not None else np.full(len(found.labels), np.nan)
        self.labels_: npt.NDArray[np.int32] = found.expand_to(data.rows)
        self.confidence_: npt.NDArray[np.float64] = expand(confidence, found.rows, data.rows, np.nan)
        self.objective_ = float(result.objective)
        self.n_clusters_ = int(result.k)
        self.classes_ = classes
        self.n_iter_ = max(1, int(result.iterations))
        self.method_, self.why_ = _choice(result)
        self.result_ = result
        self.job_id_ = ended.job_id
        self._job = job
        for notice in result.warnings:
            warnings.warn(with_parameters(notice.message), CleaveWarning, stacklevel=2)
        if ended.state != v1.JOB_STATE_SUCCEEDED:
            warnings.warn(f"the job was {ended.status_message}; its labels are those of that moment", CleaveWarning, stacklevel=2)
        return self

    def fit_predict(self, X: Any, y: Any = None, **supervision: Any) -> npt.NDArray[np.int32]:
        """Clusters the rows of X, as fit does, and returns their clusters."""
        return self.fit(X, y, **supervision).labels_

    def predict(self, X: Any) -> npt.NDArray[np.int32]:
        """Assigns new rows to the clusters: each gets a number from 0, or -1 if a frame's row was dropped.

        If the server no longer has the job, such as after unpickling in another process, the job runs again first. It gives the
        same clusters, unless a time limit ended it.
        """
        check_is_fitted(self)
        data = self._read(X, reset=False)
        with self._job.server.connect() as client:
            prediction = self._job.predict(client, data)
        for notice in prediction.notices:
            warnings.warn(with_parameters(notice.message), CleaveWarning, stacklevel=2)
        return prediction.expand_to(data.rows)

    def report(self, path: Union[str, "os.PathLike[str]", None] = None) -> Report:
        """Returns a page about the answer: what distinguishes the clusters, typical and borderline rows, and pictures.

        Args:
            path: A file to write the page to.
        """
        check_is_fitted(self)
        report = self._job.report()
        if path is not None:
            report.save(path)
        return report

    # Input.

    def _read(self, X: Any, reset: bool) -> Upload:
        """Checks X, and returns it as what is uploaded."""
        if self.affinity not in (None, "adjacency"):
            raise invalid("BAD_VALUE", f"affinity is {self.affinity!r}; use 'adjacency' for a graph, or leave it out")
        if self.affinity == "adjacency":
            return Graph(self._validate(X, reset))
        if self.kernel == "precomputed":
            return KernelMatrix(_dense(self._validate(X, reset)))
        tabular = is_frame(X) if reset else isinstance(self._job.data, Table)
        if not tabular:
            points = self._validate(X, reset)
            return SparsePoints(points) if hasattr(points, "tocsr") else Points(points)
        _check_features(self, X, reset)
        if is_frame(X):
            return table_of(X)
        values = check_array(X, dtype=None, **_any_values())
        trained = self._job.data
        assert isinstance(trained, Table)
        return table_of({column.name: values[:, at] for at, column in enumerate(trained.table_columns)})

    def _validate(self, X: Any, reset: bool) -> Any:
        """Returns X as an array or a sparse matrix. Whether values are finite is checked later, with the sentence of the server."""
        options = {"accept_sparse": "csr", "dtype": np.float64, "accept_large_sparse": True, **_any_values()}
        if hasattr(self, "_validate_data"):
            return self._validate_data(X, reset=reset, **options)
        from sklearn.utils.validation import validate_data  # scikit-learn 1.6 and later

        return validate_data(self, X, reset=reset, **options)

    def _server(self) -> _Server:
        return _Server(self.server, self.token, self.tls, self.ca_file)

    def _set_spec(
        self, spec: v1.JobSpec, data: Upload, pairs: Optional[Table], seeds: Optional[Table], weights: Any, beliefs: Any
    ) -> Dict[str, Table]:
        """Sets the algorithm and its options, and returns the tables of the supervision, by their paths in the spec."""
        options = {name: getattr(self, name) for name in OPTIONS if getattr(self, name, None) is not None}
        if self.kernel == "precomputed":
            del options["kernel"]
        options.pop("init", None)
        options.pop("random_state", None)
        tables: Dict[str, Table] = {}
        if isinstance(self.init, str):
            options["init"] = self.init
        elif self.init is not None:
            self._set_start(spec, data, tables)
        if self.n_init == 0:  # the API takes it for unset
            raise invalid("BAD_RESTARTS", "n_init is 0; it must be at least 1", "spec.restarts")
        algorithm = self.algorithm
        if algorithm == "auto":
            given = {**options, **{name: value for name, value in (("weights", weights), ("beliefs", beliefs)) if value is not None}}
            algorithm = choose_algorithm(given, pairs is not None, seeds is not None)
        options["random_state"] = _seed(self.random_state)
        set_options(spec, algorithm, options)
        for path, table in (("supervision.constraints", pairs), ("supervision.seeds", seeds)):
            if table is not None:
                tables[path] = table
        if weights is not None:
            tables[".".join(option_path("weights", algorithm))] = _supervision.weights_table(weights, data.rows)
        if beliefs is not None:
            tables[".".join(option_path("beliefs", algorithm))] = _supervision.beliefs_table(beliefs, data.rows)
        if isinstance(data, Table):
            self._set_table(spec.table)
        return tables

    def _cluster_range(self) -> Tuple[int, int]:
        """Returns the smallest and the largest number of clusters."""
        clusters = self.n_clusters
        fewest = most = 0
        if isinstance(clusters, range) and len(clusters) > 1 and clusters.step == 1:
            fewest, most = clusters[0], clusters[-1]
        elif isinstance(clusters, (int, np.integer)) and not isinstance(clusters, bool):
            fewest = most = int(clusters)
        if not 1 <= fewest <= most < 2**31:
            raise invalid("BAD_K", f"n_clusters is {clusters!r}; it must be a whole number of at least 1, or a range such as range(2, 9)", "spec.k")
        return fewest, most

    def _set_start(self, spec: v1.JobSpec, data: Upload, tables: Dict[str, Table]) -> None:
        start = np.asarray(self.init)
        if start.ndim == 1:
            spec.initialization.start = v1.START_LABELS
            tables["initialization.labels"] = _supervision.labels_table(start, data.rows)
            return
        # Only the server knows how many features the columns of a frame become.
        if start.ndim != 2 or not isinstance(data, Table) and start.shape[1] != data.columns:
            raise invalid("BAD_START", f"init has the shape {start.shape}; it must have a row for each centroid and a column for each feature")
        spec.initialization.start = v1.START_CENTROIDS
        spec.initialization.centroids.extend(floats("init", start).ravel().tolist())

    def _set_table(self, table: v1.TablePoints) -> None:
        table.id_column = "" if self.id_column is None else column_name(self.id_column)
        table.ignore.extend(_names(self.ignore))
        table.categorical.extend(_names(self.categorical))
        table.keep.extend(_names(self.keep))
        table.keep_last_row = self.keep_last_row
        if self.missing is not None:
            set_field(table, "missing", "missing", self.missing)
        if self.dates not in (None, "ignore", "numbers"):
            raise invalid("BAD_VALUE", f"dates is {self.dates!r}; use ignore or numbers")
        table.dates_as_numbers = self.dates == "numbers"

    # scikit-learn and notebooks.

    def _more_tags(self) -> Dict[str, Any]:
        return {"pairwise": self._is_pairwise()}

    def _is_pairwise(self) -> bool:
        """Reports whether rows and columns of X are the same objects, so that a fold is a part of both."""
        return bool(self.affinity == "adjacency" or self.kernel == "precomputed")

    def __sklearn_tags__(self) -> Any:  # scikit-learn 1.6 and later
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse, tags.input_tags.pairwise = True, self._is_pairwise()
        return tags

    def _repr_html_(self) -> str:
        """Returns the picture of the clusters and the summary, or the parameters if the estimator is not fitted."""
        if hasattr(self, "_job"):
            try:
                return self._job.report().picture_html()
            except CleaveError as error:
                warnings.warn(f"there is no picture: {error}", CleaveWarning, stacklevel=2)
        from html import escape

        return f"<pre>{escape(repr(self))}</pre>"

    def _repr_mimebundle_(self, **kwargs: Any) -> Dict[str, str]:
        return {"text/plain": repr(self), "text/html": self._repr_html_()}


def _any_values() -> Dict[str, bool]:
    """Returns the option of scikit-learn that accepts NaN and inf. Version 1.6 renamed it."""
    renamed = "ensure_all_finite" in inspect.signature(check_array).parameters
    return {"ensure_all_finite" if renamed else "force_all_finite": False}


def _names(columns: Any) -> List[str]:
    """Returns the names of columns, which are given as a list, or one alone."""
    alone = isinstance(columns, str) or not isinstance(columns, Iterable)
    return [column_name(name) for name in ([columns] if alone else columns)]


def _dense(values: Any) -> Any:
    return values.toarray() if hasattr(values, "toarray") else values


def _seed(random_state: Any) -> int:
    """Returns the seed of a job. None is 0, as on the command line."""
    if random_state is None:
        return 0
    if isinstance(random_state, (int, np.integer)) and not isinstance(random_state, bool):
        return int(random_state)
    return int(check_random_state(random_state).randint(np.iinfo(np.int32).max))


def _check_features(estimator: Any, X: Any, reset: bool) -> None:
    """Checks the number and the names of columns of a frame, as scikit-learn does for arrays."""
    if hasattr(estimator, "_check_feature_names"):
        estimator._check_feature_names(X, reset=reset)
        estimator._check_n_features(X, reset=reset)
        return
    from sklearn.utils.validation import _check_feature_names, _check_n_features  # scikit-learn 1.6 and later

    _check_feature_names(estimator, X, reset=reset)
    _check_n_features(estimator, X, reset=reset)


def _choice(result: v1.Result) -> Tuple[str, str]:
    """Returns the method that "auto" chose, and why."""
    if not result.HasField("choice"):
        return "", ""
    chosen = result.choice.chosen
    space = enum_word(v1.Space.DESCRIPTOR, chosen.space)
    use = enum_word(v1.ConstraintUse.DESCRIPTOR, chosen.constraint_use)
    return f"{space}, {'no constraints' if use in ('', 'none') else use}", result.choice.reason


class _Secret(str):
    """A text whose repr hides it: scikit-learn prints the parameters of the steps of a pipeline."""

    def __repr__(self) -> str:
        return "'***'"


@dataclass(frozen=True)
class _Server:
    """Where jobs run: at an address, or in the server of this process."""

    address: Optional[str]
    token: Optional[str]
    tls: Optional[str]
    ca_file: Optional[str]

    def embedded(self) -> Optional[EmbeddedServer]:
        """Returns the server of this process, or None if another is named."""
        return embedded.server() if self.address is None and not os.environ.get("CLEAVE_SERVER") else None

    @contextlib.contextmanager
    def connect(self) -> Iterator[Client]:
        """Returns a client. It is closed afterwards, so that no connection is open when the process forks.

        Errors of the server name parameters of the estimator in place of flags of the command line and fields of the API.
        """
        own = self.embedded()
        with own.client() if own is not None else Client(self.address, token=self.token, tls=self.tls, ca_file=self.ca_file) as client:
            try:
                yield client
            except CleaveError as error:
                error.reword(with_parameters(error.message, error.field))
                raise


class _Job:
    """A job that was run, with all that is needed to run it again: jobs are deterministic.

    The embedded server keeps the job as long as this object exists.
    """

    def __init__(self, server: _Server, data: Upload, spec: v1.JobSpec, tables: Dict[str, Table], time_limit: Optional[float]) -> None:
        self.server = server
        self.data = data
        self._spec, self._tables, self._time_limit = spec, tables, time_limit
        self._job_id = ""
        self._data_id = ""
        self._kept_by: Optional[EmbeddedServer] = None
        self._report: Optional[Report] = None

    def __getstate__(self) -> Dict[str, Any]:
        state = dict(self.__dict__, _report=None)
        if self._kept_by is not None:  # it ends with this process
            state.update(_job_id="", _kept_by=None)
        return state

    def __deepcopy__(self, memo: Any) -> _Job:
        return self  # it never changes what it computes

    def run(self, client: Client, progress: Optional[Progress] = None, request_id: Optional[str] = None) -> v1.Job:
        """Uploads the data, runs the job, and waits until it ends.

        If this is interrupted, it cancels the job, unless the caller has a request_id to find it again, and it was not Ctrl-C.
        """
        own = self.server.embedded()
        kept: List[Item] = []
        if own is not None:
            weakref.finalize(self, own.release, kept)
        detachable = request_id is not None
        request_id = request_id or uuid.uuid4().hex

        def attempt() -> v1.Job:
            spec, data_id = self._upload(client, own, kept)
            if self._data_id not in ("", data_id):
                raise CleaveError("the training data was modified after fit, so the job cannot be run again; call fit again", reason="DATA_CHANGED")
            job_id = ""
            try:
                job_id = client.create_job(spec, request_id=request_id, time_limit=self._time_limit).job_id
                if own is not None:
                    kept.append(own.use("job", job_id))
                ended = client.wait(job_id, progress)
            except NotFoundError:
                raise
            except CleaveError as error:
                _supervision.name_pair(error, self._tables.get("supervision.constraints"))
                raise
            except BaseException as interruption:
                if detachable and not isinstance(interruption, KeyboardInterrupt):
                    raise

                def cancel() -> None:  # the same request finds a job whose ID has not arrived
                    client.cancel_job(job_id or client.create_job(spec, request_id=request_id, time_limit=self._time_limit).job_id)

                _cancel_soon(cancel, f"job {job_id}" if job_id else f"the job with the request_id {request_id}")
                raise
            self._job_id, self._data_id, self._kept_by = job_id, data_id, own
            return ended

        return _while_deleted(attempt)

    def _upload(self, client: Client, own: Optional[EmbeddedServer], kept: List[Item]) -> Tuple[v1.JobSpec, str]:
        """Uploads the data and large tables. Returns the spec with their ids, and the id of the data."""
        spec = v1.JobSpec()
        spec.CopyFrom(self._spec)
        data_id = _upload(client, self.data, own, kept)
        if isinstance(self.data, Table):
            spec.table.table_id = data_id
        else:
            spec.dataset_id = data_id
        for path, table in self._tables.items():
            message: Any = spec
            for name in path.split("."):
                message = getattr(message, name)
            if table.rows <= _INLINE_ROWS:
                message.inline.CopyFrom(table.message(0, table.rows))
            else:
                message.table_id = _upload(client, table, own, kept)
        return spec, data_id

    def _ensure(self, client: Client) -> str:
        """Returns the id of the job, which runs again if this process's server is another one by now."""
        if not self._job_id or self._kept_by is not self.server.embedded():
            self.run(client)
        return self._job_id

    def predict(self, client: Client, data: Upload) -> Prediction:
        """Assigns new rows to the clusters."""
        own = self.server.embedded()
        used: List[Item] = []

        def attempt() -> Prediction:
            job_id = self._ensure(client)
            new = _upload(client, data, own, used)
            try:
                if isinstance(data, Table):
                    return client.predict(job_id, table_id=new)
                return client.predict(job_id, dataset_id=new)
            except NotFoundError:
                self._job_id = ""  # somebody deleted the job or the data
                raise

        try:
            return _while_deleted(attempt)
        finally:
            if own is not None:
                own.release(used)

    def report(self) -> Report:
        """Returns the report, which is made once."""
        if self._report is None:
            with self.server.connect() as client:
                job_id = self._ensure(client)
                self._report = make_report(client.address, client.credentials, job_id, self.data)
        return self._report


# Seconds that an interrupted program waits until its job is canceled.
_CANCEL_SECONDS = 5.0


def _cancel_soon(cancel: Callable[[], None], job: str) -> None:
    """Calls a function that cancels a job, and waits for it a short time. Warns if the job may go on."""
    canceled = threading.Event()

    def run() -> None:
        with contextlib.suppress(Exception):  # whoever interrupts a program learns that the job may go on, and needs no more
            cancel()
            canceled.set()

    thread = threading.Thread(target=run, daemon=True)  # so that a server that is away holds up nobody
    thread.start()
    thread.join(_CANCEL_SECONDS)
    if not canceled.is_set():
        warnings.warn(f"{job} could not be canceled, and may go on", CleaveWarning, stacklevel=2)


def _while_deleted(attempt: Callable[[], Value]) -> Value:
    """Calls a function up to three times, because another thread or process may delete what it has found on the server."""
    for _ in range(2):
        with contextlib.suppress(NotFoundError):
            return attempt()
    return attempt()


def _upload(client: Client, data: Upload, own: Optional[EmbeddedServer], kept: List[Item]) -> str:
    """Uploads data, unless the server has it, and returns its id. An embedded server keeps it until kept is released."""
    if isinstance(data, Table):
        stored = client.upload_table(data).table_id
    else:
        stored = client.upload(data).dataset_id
    if own is not None:
        kept.append(own.use("table" if isinstance(data, Table) else "dataset", stored))
    return stored
