"""Data to upload, cut into the parts of an upload.

The parts of an upload are numbered and always the same, so that an upload that broke off can continue with any part. They are
made one at a time, so that a memory-mapped array of any size takes the memory of one part.
"""

from __future__ import annotations

import hashlib
import math
import struct
from typing import Any, Dict, Iterator, Optional, Sequence, Tuple

import numpy as np
import numpy.typing as npt

from cleave import v1
from cleave.errors import InvalidInputError, invalid

# The number of values, entries, edges or row lengths in a part: parts have about a mebibyte, well below the limit of a message.
PART_VALUES = 1 << 17
PART_ENTRIES = 1 << 16
PART_BYTES = 1 << 20

# The kinds of data sets in their canonical bytes, which the id of a data set is the SHA-256 of.
_POINTS, _KERNEL, _SPARSE_POINTS = 1, 3, 4


class Upload:
    """Something to upload: a header and numbered parts."""

    rows: int
    columns: int

    def id(self) -> str:
        """Returns the id that the server will give it, or "" if only the server can tell."""
        return ""

    def header(self, name: str, upload_id: str, first_part: int) -> bytes:
        raise NotImplementedError

    def parts(self, first: int) -> Iterator[bytes]:
        raise NotImplementedError


class _Dataset(Upload):
    def _form(self) -> Dict[str, Any]:
        raise NotImplementedError

    def header(self, name: str, upload_id: str, first_part: int) -> bytes:
        header = v1.DatasetHeader(display_name=name, upload_id=upload_id, first_part=first_part, **self._form())
        return bytes(v1.CreateDatasetRequest(header=header).SerializeToString())


def not_finite(row: int, column: int, value: float) -> InvalidInputError:
    """Returns the error of a server about a value that is not finite, and how to go on in Python."""
    shown = "NaN" if math.isnan(value) else "+Inf" if value > 0 else "-Inf"
    return invalid(
        "NOT_FINITE",
        f"row {row}, column {column} is {shown}; every value must be a finite number (only a pandas frame may have missing values, "
        "NaN, and none may have inf)",
    )


def floats(name: str, values: Any) -> npt.NDArray[np.float64]:
    """Returns values as an array of float64."""
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise invalid("NOT_A_NUMBER", f"{name} must be numbers: {error}") from error


class Points(_Dataset):
    """Dense points: an array with a row for each point. It may be memory-mapped."""

    _kind = _POINTS

    def __init__(self, values: Any) -> None:
        self.values: npt.NDArray[Any] = np.asarray(values)
        if self.values.dtype.kind in "OSU":
            self.values = floats("the points", self.values)
        if self.values.dtype.kind not in "biuf":
            raise invalid("NOT_A_NUMBER", f"the points must be numbers, not {self.values.dtype}")
        if self.values.ndim != 2:
            raise invalid("BAD_SHAPE", f"the points are an array of {self.values.ndim} dimensions; give one with two: a row for each point")
        self.rows, self.columns = self.values.shape
        if self.rows == 0 or self.columns == 0:
            raise invalid("EMPTY_DATA", f"the data set has {self.rows} rows and {self.columns} columns; at least one of each is needed")

    def _blocks(self, first: int = 0) -> Iterator[Tuple[int, npt.NDArray[np.float64]]]:
        """Yields the values in row-major order as little-endian float64, a part at a time, with the position of the first."""
        flat = self.values.reshape(-1) if self.values.flags.c_contiguous else None
        total = self.rows * self.columns
        for begin in range(first * PART_VALUES, total, PART_VALUES):
            end = min(begin + PART_VALUES, total)
            if flat is not None:
                block = flat[begin:end]
            else:  # copy only the rows of the part
                top = begin // self.columns
                rows = np.ascontiguousarray(self.values[top : -(-end // self.columns)])
                block = rows.reshape(-1)[begin - top * self.columns : end - top * self.columns]
            yield begin, np.ascontiguousarray(block, dtype="<f8")

    def id(self) -> str:
        """Returns the SHA-256 of the canonical bytes. Raises an error if a value is not finite."""
        digest = hashlib.sha256(_canonical_header(self._kind, self.rows, self.columns))
        for begin, block in self._blocks():
            if not np.isfinite(block).all():
                at = int(np.flatnonzero(~np.isfinite(block))[0])
                raise not_finite((begin + at) // self.columns, (begin + at) % self.columns, float(block[at]))
            digest.update(block.data)
        return digest.hexdigest()

    def _form(self) -> Dict[str, Any]:
        return {"points": v1.PointsForm(rows=self.rows, columns=self.columns)}

    def parts(self, first: int) -> Iterator[bytes]:
        for _, block in self._blocks(first):
            # CreateDatasetRequest.values (field 2) is a DenseValues, whose values (field 1) are packed doubles. Writing the bytes
            # directly avoids a Python object for each value.
            size = block.nbytes
            inner = b"\x0a" + _varint(size)
            yield b"".join((b"\x12", _varint(len(inner) + size), inner, block.data))


class KernelMatrix(Points):
    """A symmetric kernel matrix."""

    _kind = _KERNEL

    def __init__(self, values: Any) -> None:
        super().__init__(values)
        if self.rows != self.columns:
            raise invalid("NOT_SQUARE", f"the kernel matrix has {self.rows} rows and {self.columns} columns; it must be square")

    def _form(self) -> Dict[str, Any]:
        return {"kernel": v1.KernelForm(rows=self.rows)}


def compressed(matrix: Any) -> Any:
    """Returns a matrix of SciPy or an array as sorted compressed rows of float64 without stored zeros."""
    from scipy import sparse

    rows = sparse.csr_matrix(matrix, dtype=np.float64, copy=True)
    rows.sum_duplicates()
    rows.eliminate_zeros()
    rows.sort_indices()
    return rows


def _check_sparse(matrix: Any) -> None:
    if np.isfinite(matrix.data).all():
        return
    at = int(np.flatnonzero(~np.isfinite(matrix.data))[0])
    row = int(np.searchsorted(matrix.indptr, at, side="right")) - 1
    raise not_finite(row, int(matrix.indices[at]), float(matrix.data[at]))


def upper_triangle(matrix: Any, name: str, advice: str) -> Any:
    """Returns the entries of a square sparse matrix from the diagonal on. It must be finite and symmetric."""
    from scipy import sparse

    _check_sparse(matrix)
    different = (matrix != matrix.T).tocoo()
    if different.nnz:
        i, j = int(different.row[0]), int(different.col[0])
        raise invalid(
            "NOT_SYMMETRIC", f"{name} has {matrix[i, j]:g} at ({i}, {j}) and {matrix[j, i]:g} at ({j}, {i}); it must be symmetric, {advice}"
        )
    return sparse.triu(matrix, format="coo")


class SparsePoints(_Dataset):
    """Points with few values that are not zero: a sparse matrix of SciPy."""

    def __init__(self, matrix: Any) -> None:
        self.matrix = compressed(matrix)
        self.rows, self.columns = self.matrix.shape
        if self.rows == 0 or self.columns == 0:
            raise invalid("EMPTY_DATA", f"the data set has {self.rows} rows and {self.columns} columns; at least one of each is needed")
        _check_sparse(self.matrix)

    def id(self) -> str:
        digest = hashlib.sha256(_canonical_header(_SPARSE_POINTS, self.rows, self.columns))
        for array, form in ((self.matrix.indptr, "<i8"), (self.matrix.indices, "<i4"), (self.matrix.data, "<f8")):
            digest.update(np.ascontiguousarray(array, dtype=form).data)
        return digest.hexdigest()

    def _form(self) -> Dict[str, Any]:
        return {"sparse_points": v1.SparsePointsForm(rows=self.rows, columns=self.columns)}

    def parts(self, first: int) -> Iterator[bytes]:
        lengths = np.diff(self.matrix.indptr)
        of_lengths = -(-self.rows // PART_VALUES)
        for part in range(first, of_lengths):
            chunk = lengths[part * PART_VALUES : (part + 1) * PART_VALUES]
            yield v1.CreateDatasetRequest(sparse_rows=v1.SparseRows(lengths=chunk.tolist())).SerializeToString()
        for begin in range(max(0, first - of_lengths) * PART_ENTRIES, self.matrix.nnz, PART_ENTRIES):
            end = begin + PART_ENTRIES
            rows = v1.SparseRows(columns=self.matrix.indices[begin:end].tolist(), values=self.matrix.data[begin:end].tolist())
            yield v1.CreateDatasetRequest(sparse_rows=rows).SerializeToString()


class Graph(_Dataset):
    """A graph: a symmetric adjacency matrix, sparse or dense."""

    def __init__(self, adjacency: Any) -> None:
        matrix = compressed(adjacency if hasattr(adjacency, "tocsr") else np.asarray(adjacency, dtype=np.float64))
        self.rows, self.columns = matrix.shape
        if self.rows != self.columns:
            raise invalid("NOT_SQUARE", f"the adjacency matrix has {self.rows} rows and {self.columns} columns; it must be square")
        if self.rows == 0:
            raise invalid("EMPTY_DATA", "the graph has no vertices; at least one is needed")
        self._edges = upper_triangle(matrix, "the adjacency matrix", "such as A + A.T for edges that are listed in one direction")
        self.matrix = matrix

    def _form(self) -> Dict[str, Any]:
        return {"graph": v1.GraphForm(vertices=self.rows)}

    def parts(self, first: int) -> Iterator[bytes]:
        for begin in range(first * PART_ENTRIES, self._edges.nnz, PART_ENTRIES):
            end = begin + PART_ENTRIES
            edges = v1.Edges(
                sources=self._edges.row[begin:end].tolist(),
                targets=self._edges.col[begin:end].tolist(),
                weights=self._edges.data[begin:end].tolist(),
            )
            yield v1.CreateDatasetRequest(edges=edges).SerializeToString()


class TableColumn:
    """A column of a table: integers, numbers or texts, and which of its cells are empty."""

    def __init__(self, name: str, kind: str, values: Any, empty: Optional[npt.NDArray[np.bool_]] = None) -> None:
        self.name = name
        self.kind = kind  # "integers", "numbers" or "texts"
        self.values = values
        self.empty = empty if empty is not None and empty.any() else None

    def message(self, begin: int, end: int) -> v1.Column:
        """Returns the cells of some rows."""
        values = self.values[begin:end]
        column = v1.Column(name=self.name)
        getattr(column, self.kind).SetInParent()
        getattr(column, self.kind).values.extend(values.tolist() if hasattr(values, "tolist") else values)
        if self.empty is not None:
            column.empty_rows.extend(np.flatnonzero(self.empty[begin:end]).tolist())
        return column

    def cell_bytes(self) -> npt.NDArray[np.int64]:
        """Returns about how many bytes each cell takes in a message."""
        if self.kind != "texts":
            return np.full(len(self.values), 8)
        return np.array([4 + (len(text) if text.isascii() else self._encoded_bytes(text)) for text in self.values], dtype=np.int64)

    def _encoded_bytes(self, text: str) -> int:
        try:
            return len(text.encode())
        except UnicodeEncodeError as error:
            raise invalid("NOT_UTF8", f"column {self.name!r} has {text[:60]!r}, which cannot be written as UTF-8: {error.reason}") from error


class Table(Upload):
    """A table, column by column."""

    def __init__(self, columns: Sequence[TableColumn]) -> None:
        self.table_columns = list(columns)
        self.columns = len(self.table_columns)
        self.rows = len(self.table_columns[0].values) if self.table_columns else 0

    def header(self, name: str, upload_id: str, first_part: int) -> bytes:
        header = v1.TableHeader(display_name=name, upload_id=upload_id, first_part=first_part)
        return bytes(v1.CreateTableRequest(header=header).SerializeToString())

    def message(self, begin: int, end: int) -> v1.TableRows:
        """Returns some rows."""
        return v1.TableRows(columns=[c.message(begin, end) for c in self.table_columns])

    def parts(self, first: int) -> Iterator[bytes]:
        """Returns the parts from the first one on. A part has about PART_BYTES, or one row if that is larger."""
        sizes = np.cumsum(sum(column.cell_bytes() for column in self.table_columns))
        bounds = [0]
        while bounds[-1] < self.rows:
            begin = bounds[-1]
            limit = PART_BYTES + (sizes[begin - 1] if begin else 0)
            bounds.append(max(begin + 1, int(np.searchsorted(sizes, limit, side="right"))))
        if self.rows == 0:
            bounds.append(0)
        ranges = zip(bounds[first:], bounds[first + 1 :])
        return (v1.CreateTableRequest(rows=self.message(begin, end)).SerializeToString() for begin, end in ranges)


def points_of(data: Any) -> _Dataset:
    """Returns dense or sparse points for an array or a sparse matrix."""
    return SparsePoints(data) if hasattr(data, "tocsr") else Points(data)


def _canonical_header(kind: int, a: int, b: int) -> bytes:
    return struct.pack("<4sBxxxQQ", b"CLV1", kind, a, b)


def _varint(value: int) -> bytes:
    encoded = bytearray()
    while value > 0x7F:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)
