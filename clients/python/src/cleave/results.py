"""What a job found, as arrays. The classes below collect the parts of a download."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, List, Optional

import numpy as np
import numpy.typing as npt

from cleave import v1
from cleave._calls import Reader, Request, Response, Value
from cleave.errors import client_error

__all__ = ["Embedding", "Labels", "Mixture", "Model", "Prediction", "RowScores"]

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Labels:
    """The clusters of the rows."""

    labels: npt.NDArray[np.int32]
    """The cluster of each clustered row, from 0."""
    rows: Optional[npt.NDArray[np.int64]]
    """The row of the table of each label; None if no row was dropped."""
    ids: Optional[List[str]]
    """The id of each label's row; None if the table has no column of ids."""

    def expand_to(self, rows: int) -> npt.NDArray[np.int32]:
        """Returns the labels of all rows of the table, -1 for rows that were dropped."""
        return expand(self.labels, self.rows, rows, -1)


@dataclass(frozen=True)
class RowScores:
    """How close each row is to its cluster and to the next one, and how certain its label is. NaN means unknown."""

    measure: int
    """The v1.RowMeasure of distances and margins."""
    runs: int
    """The number of runs that the confidences compare."""
    posterior: bool
    """Whether the confidences are the probabilities of the rows' clusters by a mixture of Gaussians. If so, runs is 0."""
    distance: Optional[Floats]
    margin: Optional[Floats]
    confidence: Optional[Floats]


@dataclass(frozen=True)
class Mixture:
    """A mixture of Gaussians, in scaled units if the model has centers and scales."""

    shares: Floats
    """The share of the rows in each cluster."""
    means: Floats
    """The mean of each cluster."""
    variances: Floats
    """The variances of columns of few values, which are the same in all clusters; 0 in other columns."""
    triangles: Floats
    """For each cluster, the lower triangle G of its covariance G G'; 0 in columns of few values."""


@dataclass(frozen=True)
class Model:
    """What assigns points to the clusters of a job. See ModelHead, LandmarkHead, ForestHead and MixtureHead of the API."""

    head: v1.ModelHead
    centroids: Floats
    landmarks: Optional[Floats]
    projection: Optional[Floats]
    forest: Optional[Floats]
    """The column and the threshold of each node of the decision trees; of a leaf, -1 and its group."""
    mixture: Optional[Mixture]
    metric: Optional[Floats]
    centers: Optional[Floats]
    scales: Optional[Floats]


@dataclass(frozen=True)
class Embedding:
    """The coordinates that a method of the spectral family computed for the rows."""

    coordinates: Floats


@dataclass(frozen=True)
class Prediction:
    """The clusters of new rows."""

    labels: npt.NDArray[np.int32]
    distance: Optional[Floats]
    margin: Optional[Floats]
    confidence: Optional[Floats]
    """The probability of each row's cluster; None unless the model is a mixture of Gaussians."""
    rows: Optional[npt.NDArray[np.int64]]
    """The row of the table of each label; None if no row was dropped."""
    notices: List[v1.Notice]

    def expand_to(self, rows: int) -> npt.NDArray[np.int32]:
        """Returns the labels of all rows of the table, -1 for rows that were dropped."""
        return expand(self.labels, self.rows, rows, -1)


def expand(values: npt.NDArray[Any], kept: Optional[npt.NDArray[np.int64]], rows: int, missing: Any) -> npt.NDArray[Any]:
    """Returns values for all rows, given those of the rows that were kept."""
    if kept is None:
        return values
    everywhere = np.full(rows, missing, dtype=values.dtype)
    everywhere[kept] = values
    return everywhere


class LabelsReader(Reader[v1.GetLabelsRequest, v1.GetLabelsResponse, Labels]):
    """Collects labels. A download that broke off continues after the last label."""

    def __init__(self, job_id: str, k: int = 0) -> None:
        self._job_id, self._k = job_id, k
        self._labels: List[npt.NDArray[np.int32]] = []
        self._rows: List[int] = []
        self._ids: List[str] = []
        self._count = 0

    def request(self) -> v1.GetLabelsRequest:
        return v1.GetLabelsRequest(job_id=self._job_id, first_index=self._count, k=self._k, with_rows=True)

    def add(self, part: v1.GetLabelsResponse) -> None:
        if part.first_index != self._count:
            raise client_error("BAD_ANSWER", f"the server sent labels from row {part.first_index}, expected row {self._count}")
        self._labels.append(np.fromiter(part.labels, dtype=np.int32, count=len(part.labels)))
        self._rows.extend(part.rows)
        self._ids.extend(part.ids)
        self._count += len(part.labels)

    def value(self) -> Labels:
        labels = np.concatenate(self._labels) if self._labels else np.empty(0, np.int32)
        return Labels(labels, np.asarray(self._rows, np.int64) if self._rows else None, self._ids or None)


class _ValuesReader(Reader[Request, Response, Value]):
    """Collects a head and the values that follow it."""

    def __init__(self) -> None:
        self.head: Any = None
        self._values: List[Floats] = []
        self.count = 0

    def add(self, part: Any) -> None:
        if part.WhichOneof("part") == "head":
            self.head = part.head
            return
        values = np.fromiter(part.values.values, dtype=np.float64, count=len(part.values.values))
        self._values.append(values)
        self.count += len(values)

    def values(self) -> Floats:
        return np.concatenate(self._values) if self._values else np.empty(0)


class RowScoresReader(_ValuesReader[v1.GetRowScoresRequest, v1.GetRowScoresResponse, RowScores]):
    def __init__(self, job_id: str) -> None:
        super().__init__()
        self._job_id = job_id

    def _width(self) -> int:
        return (2 if self.head.measure else 0) + (1 if self._has_confidence() else 0)

    def _has_confidence(self) -> bool:
        return bool(self.head.runs >= 2 or self.head.posterior)

    def request(self) -> v1.GetRowScoresRequest:
        whole = self.count // self._width() if self.head and self._width() else 0
        if whole * (self._width() if self.head else 0) != self.count:  # a part ended within a row
            self._values, self.count, whole = [], 0, 0
        return v1.GetRowScoresRequest(job_id=self._job_id, first_row=whole)

    def value(self) -> RowScores:
        table = self.values().reshape(-1, max(1, self._width()))
        measured = bool(self.head.measure)
        return RowScores(
            measure=self.head.measure,
            runs=self.head.runs,
            posterior=self.head.posterior,
            distance=table[:, 0].copy() if measured else None,
            margin=table[:, 1].copy() if measured else None,
            confidence=table[:, -1].copy() if self._has_confidence() else None,
        )


class EmbeddingReader(_ValuesReader[v1.GetEmbeddingRequest, v1.GetEmbeddingResponse, Embedding]):
    def __init__(self, job_id: str) -> None:
        super().__init__()
        self._job_id = job_id

    def request(self) -> v1.GetEmbeddingRequest:
        whole = self.count // max(1, self.head.columns) if self.head else 0
        if self.head and whole * self.head.columns != self.count:
            self._values, self.count, whole = [], 0, 0
        return v1.GetEmbeddingRequest(job_id=self._job_id, first_row=whole)

    def value(self) -> Embedding:
        return Embedding(self.values().reshape(self.head.rows, self.head.columns))


class ModelReader(_ValuesReader[v1.GetModelRequest, v1.GetModelResponse, Model]):
    def __init__(self, job_id: str) -> None:
        super().__init__()
        self._job_id = job_id

    def request(self) -> v1.GetModelRequest:
        return v1.GetModelRequest(job_id=self._job_id, first_value=self.count)

    def value(self) -> Model:
        head: v1.ModelHead = self.head
        left = self.values()

        def take(*shape: int) -> Floats:
            nonlocal left
            count = int(np.prod(shape))
            taken, left = left[:count].reshape(shape), left[count:]
            return taken

        columns = head.columns
        centroids = take(head.k, columns)
        landmarks = projection = forest = mixture = metric = centers = scales = None
        if head.HasField("landmarks"):
            landmarks = take(head.landmarks.count, head.landmarks.columns)
            projection = take(head.landmarks.count, columns)
        if head.HasField("forest"):
            forest = take(head.forest.nodes, 2)
        if head.HasField("mixture"):
            shares = np.asarray(head.mixture.shares)
            mixture = Mixture(shares, take(head.k, columns), take(columns), take(head.k, columns, columns))
        if head.metric == v1.METRIC_DIAGONAL:
            metric = take(columns)
        elif head.metric == v1.METRIC_FULL:
            metric = take(columns, columns)
        if head.scaled:
            width = len(left) // 2
            centers, scales = take(width), take(width)
        return Model(head, centroids, landmarks, projection, forest, mixture, metric, centers, scales)


class GraphReader(Reader[v1.GetNeighborGraphRequest, v1.GetNeighborGraphResponse, Any]):
    """Collects the edges of a nearest-neighbor graph into a symmetric adjacency matrix of SciPy."""

    def __init__(self, job_id: str) -> None:
        self._job_id = job_id
        self.request()

    def request(self) -> v1.GetNeighborGraphRequest:
        self._vertices = 0
        self._sources: List[int] = []
        self._targets: List[int] = []
        self._weights: List[float] = []
        return v1.GetNeighborGraphRequest(job_id=self._job_id)

    def add(self, part: v1.GetNeighborGraphResponse) -> None:
        if part.WhichOneof("part") == "head":
            self._vertices = part.head.vertices
            return
        self._sources.extend(part.edges.sources)
        self._targets.extend(part.edges.targets)
        self._weights.extend(part.edges.weights or [1.0] * len(part.edges.sources))

    def value(self) -> Any:
        from scipy import sparse

        shape = (self._vertices, self._vertices)
        half = sparse.coo_matrix((self._weights, (self._sources, self._targets)), shape=shape).tocsr()
        return (half + half.T).tocsr()


class PredictionReader(Reader[v1.PredictJobRequest, v1.PredictJobResponse, Prediction]):
    """Collects a prediction. One that broke off starts over."""

    def __init__(self, request: v1.PredictJobRequest) -> None:
        self._request = request
        self.request()

    def request(self) -> v1.PredictJobRequest:
        self._labels: List[int] = []
        self._distances: List[float] = []
        self._margins: List[float] = []
        self._confidences: List[float] = []
        self._rows: List[int] = []
        self._notices: List[v1.Notice] = []
        return self._request

    def add(self, part: v1.PredictJobResponse) -> None:
        if part.first_index != len(self._labels):
            raise client_error("BAD_ANSWER", f"the server sent labels from row {part.first_index}, expected row {len(self._labels)}")
        self._labels.extend(part.labels)
        self._distances.extend(part.distances)
        self._margins.extend(part.margins)
        self._confidences.extend(part.confidences)
        self._rows.extend(part.rows)
        self._notices.extend(part.notices)

    def value(self) -> Prediction:
        scored = bool(self._labels) and len(self._distances) == len(self._labels) == len(self._margins)
        return Prediction(
            np.asarray(self._labels, np.int32),
            np.asarray(self._distances) if scored else None,
            np.asarray(self._margins) if scored else None,
            np.asarray(self._confidences) if scored and len(self._confidences) == len(self._labels) else None,
            np.asarray(self._rows, np.int64) if self._rows else None,
            self._notices,
        )
