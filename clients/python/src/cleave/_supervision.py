"""What the user knows about the answer: pairs and labels of some rows, as tables.

This module checks what only the client can tell, and that rows exist, so that no data is uploaded in vain. The server
checks the rest.
"""

from __future__ import annotations

import math
import sys
from typing import Any, Hashable, List, Optional, Tuple

import numpy as np
import numpy.typing as npt

from cleave._frames import index_column
from cleave._upload import Table, TableColumn, compressed, floats, upper_triangle
from cleave.errors import CleaveError, InvalidInputError, invalid

_CONSTRAINTS = "spec.supervision.constraints"
_SEEDS = "spec.supervision.seeds"


def pairs_table(must_link: Any, cannot_link: Any, rows: int) -> Optional[Table]:
    """Returns the table of constraints, or None if there are none.

    Each argument is None or has a line for each pair: two row numbers and, optionally, a positive weight.
    """
    must, cannot = _pairs("must_link", must_link, rows), _pairs("cannot_link", cannot_link, rows)
    ends, weights = np.concatenate([must[0], cannot[0]]), np.concatenate([must[1], cannot[1]])
    if not len(ends):
        return None
    kinds = ["must"] * len(must[0]) + ["cannot"] * len(cannot[0])
    columns = [index_column(ends[:, 0], "i"), index_column(ends[:, 1], "j"), TableColumn("kind", "texts", kinds)]
    unweighted = np.isnan(weights)
    if not unweighted.all():
        columns.append(TableColumn("weight", "numbers", np.where(unweighted, 1.0, weights), unweighted))
    return Table(columns)


def name_pair(error: CleaveError, pairs: Optional[Table]) -> None:
    """Adds to an error of the server about a row of the table of constraints which pair that is."""
    if pairs is not None and error.field == _CONSTRAINTS and "row" in error.metadata:
        row, must = int(error.metadata["row"]), pairs.table_columns[2].values.count("must")
        error.reword(f"{error.message} ({f'must_link[{row}]' if row < must else f'cannot_link[{row - must}]'})")


def _pairs(name: str, pairs: Any, rows: int) -> Tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]]:
    """Returns the row numbers and the weights of pairs; a weight that is not given is NaN."""
    ends, weights = _read_pairs(name, () if pairs is None else pairs)
    outside = np.flatnonzero(((ends < 0) | (ends >= rows)).any(axis=1))
    if len(outside):
        at = int(outside[0])
        raise invalid("INDEX_OUT_OF_RANGE", f"{name}[{at}] is ({ends[at, 0]}, {ends[at, 1]}); rows are numbered 0 to {rows - 1}", _CONSTRAINTS)
    return ends, weights


def _read_pairs(name: str, pairs: Any) -> Tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]]:
    if hasattr(pairs, "to_numpy"):
        pairs = pairs.to_numpy()
    if isinstance(pairs, np.ndarray) and pairs.dtype.kind in "iu" and pairs.ndim == 2 and pairs.shape[1] == 2:
        return pairs.astype(np.int64), np.full(len(pairs), math.nan)  # many pairs come this way
    listed: List[Any] = list(pairs)
    ends, weights = np.empty((len(listed), 2), np.int64), np.full(len(listed), math.nan)
    for at, pair in enumerate(listed):
        try:
            size = len(pair)
            if size not in (2, 3) or isinstance(pair, (str, bytes)):
                raise TypeError
            for side in range(2):
                if int(pair[side]) != pair[side]:
                    raise TypeError
                ends[at, side] = int(pair[side])
            if size == 3:
                weights[at] = math.nan if pair[2] is None else float(pair[2])
        except (TypeError, ValueError, OverflowError) as error:
            raise invalid(
                "BAD_PAIR", f"{name}[{at}] is {pair!r}; a pair is two row numbers and, if it has one, a weight", _CONSTRAINTS
            ) from error
    return ends, weights


def is_unknown(label: Any) -> bool:
    """Reports whether a label stands for an unknown class: None, NaN, pandas.NA, "" or -1."""
    if label is None or isinstance(label, str):
        return label is None or label == ""
    if label is getattr(sys.modules.get("pandas"), "NA", None):  # it has no truth value
        return True
    return bool(label == -1) or bool(label != label)


def _class_order(label: Any) -> Tuple[int, int, str]:
    """Orders classes as the command line does: integers by value, then all others alphabetically."""
    text = str(label)
    try:
        return 0, int(text), text
    except ValueError:
        return 1, 0, text


def seeds_table(partial_labels: Any, rows: int, clusters: int) -> Tuple[Optional[Table], npt.NDArray[Any]]:
    """Returns the table of known labels, or None if none is known, and the classes, in the order of their clusters."""
    if partial_labels is None:
        return None, np.empty(0, dtype=object)
    shape = getattr(partial_labels, "shape", (rows,))
    if len(shape) != 1:
        raise _bad_labels(f"partial_labels has the shape {tuple(shape)}")
    labels = list(partial_labels)
    for row, label in enumerate(labels):
        if not isinstance(label, Hashable):
            raise _bad_labels(f"partial_labels[{row}] is a {type(label).__name__}")
    if len(labels) != rows:
        raise invalid(
            "SIZE_MISMATCH",
            f"partial_labels has {_plural(len(labels), 'label')} for {_plural(rows, 'row')}; it needs one per row, -1 or None where it is unknown",
            _SEEDS,
        )
    known = [(row, _plain(label)) for row, label in enumerate(labels) if not is_unknown(label)]
    classes = sorted({label for _, label in known}, key=_class_order)
    if len(classes) > clusters:
        raise invalid(
            "TOO_MANY_CLASSES",
            f"there are {len(classes)} classes ({str(classes[0])!r} and others), but only {_plural(clusters, 'cluster')}; "
            f"n_clusters={len(classes)} makes one for each",
            _SEEDS,
        )
    number = {label: at for at, label in enumerate(classes)}
    if not known:
        return None, np.empty(0, dtype=object)
    columns = [index_column([row for row, _ in known]), index_column([number[label] for _, label in known], "label")]
    return Table(columns), _array(classes)


def _bad_labels(wrong: str) -> InvalidInputError:
    return invalid("BAD_LABELS", f"{wrong}; it needs one class per row, such as onehot.argmax(axis=1) for an array of zeros and ones", _SEEDS)


def _plain(label: Any) -> Any:
    """Returns a label as a Python value, a whole float as an integer: pandas stores integers with gaps as floats."""
    label = label.item() if isinstance(label, np.generic) else label
    return int(label) if isinstance(label, float) and label.is_integer() else label


def _array(classes: List[Any]) -> npt.NDArray[Any]:
    if all(isinstance(c, int) for c in classes) or all(isinstance(c, str) for c in classes):
        return np.array(classes)
    array = np.empty(len(classes), dtype=object)
    array[:] = classes
    return array


def weights_table(weights: Any, rows: int) -> Table:
    """Returns the table of the weights of all rows."""
    values = floats("weights", weights)
    if values.shape != (rows,):
        raise invalid("SIZE_MISMATCH", f"weights has the shape {values.shape} for {_plural(rows, 'row')}; it needs one weight per row")
    return Table([index_column(np.arange(rows)), TableColumn("weight", "numbers", values)])


def beliefs_table(beliefs: Any, rows: int) -> Table:
    """Returns the table of a symmetric matrix of beliefs: positive together, negative apart."""
    matrix = compressed(beliefs if hasattr(beliefs, "tocsr") else floats("beliefs", beliefs))
    if matrix.shape != (rows, rows):
        raise invalid("SIZE_MISMATCH", f"beliefs has the shape {matrix.shape} for {_plural(rows, 'row')}; it must be square")
    upper = upper_triangle(matrix, "the matrix of beliefs", "such as (B + B.T) / 2")
    return Table([index_column(upper.row, "i"), index_column(upper.col, "j"), TableColumn("belief", "numbers", upper.data)])


def labels_table(labels: Any, rows: int) -> Table:
    """Returns the table of initial labels."""
    values = np.asarray(labels)
    if values.shape != (rows,):
        raise invalid("SIZE_MISMATCH", f"init has {_plural(len(values), 'label')} for {_plural(rows, 'row')}; it needs one label per row")
    if values.dtype.kind not in "iu":
        raise invalid("BAD_START", f"init has labels of the type {values.dtype}; they must be the numbers of clusters, from 0")
    return Table([index_column(np.arange(rows)), index_column(values, "label")])


def _plural(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"
