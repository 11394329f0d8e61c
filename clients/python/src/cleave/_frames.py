"""pandas frames, arrays and mappings as tables."""

from __future__ import annotations

import math
from typing import Any, Mapping

import numpy as np

from cleave._upload import Table, TableColumn
from cleave.errors import invalid


def is_frame(data: Any) -> bool:
    """Reports whether data is a pandas frame, without importing pandas."""
    return type(data).__module__.partition(".")[0] == "pandas" and hasattr(data, "columns")


def table_of(data: Any) -> Table:
    """Returns the table of a pandas frame, or of a mapping of names to columns.

    Columns become what a CSV file would have: integers, numbers or texts, with empty cells where values are missing.
    """
    if is_frame(data):
        columns = [_column(column_name(name), data.iloc[:, at]) for at, name in enumerate(data.columns)]
    elif isinstance(data, Mapping):
        try:
            import pandas
        except ImportError as error:
            raise invalid("NO_PANDAS", "a table needs pandas, which is not installed: pip install cleave[pandas]") from error
        columns = [_column(str(name), pandas.Series(values)) for name, values in data.items()]
    else:
        raise invalid("NOT_A_TABLE", f"a table is a pandas frame or a dict of columns, not {type(data).__name__}")
    for column in columns:
        if len(column.values) != len(columns[0].values):
            raise invalid(
                "COLUMN_LENGTHS_DIFFER",
                f"the columns have different numbers of rows: {columns[0].name!r} has {len(columns[0].values)} and "
                f"{column.name!r} has {len(column.values)}",
            )
    if not columns:
        raise invalid("EMPTY_DATA", "the table has no columns; at least one is needed")
    return Table(columns)


def column_name(name: Any) -> str:
    """Returns the name that a column of a frame has in its table."""
    return ".".join(map(str, name)) if isinstance(name, tuple) else str(name)


def _column(name: str, series: Any) -> TableColumn:
    import pandas
    from pandas.api import types

    empty = series.isna().to_numpy(dtype=bool)
    if isinstance(series.dtype, pandas.CategoricalDtype) or types.is_bool_dtype(series.dtype):
        return _texts(name, series, empty)
    if types.is_datetime64_any_dtype(series.dtype):
        return _dates(name, series, empty)
    if types.is_complex_dtype(series.dtype):
        raise invalid("NOT_A_NUMBER", f"column {name!r} has complex numbers; give their parts as columns of their own")
    if types.is_timedelta64_dtype(series.dtype):
        series = series.dt.total_seconds()
    elif not types.is_numeric_dtype(series.dtype):
        kind = types.infer_dtype(series, skipna=True)
        if kind not in ("integer", "floating", "mixed-integer-float", "decimal"):
            return _texts(name, series, empty)
        series = series.where(~empty, other=math.nan)
        series = pandas.to_numeric(series) if kind == "integer" else series.astype(np.float64)
    if types.is_integer_dtype(series.dtype):
        filled = series.where(~empty, other=0) if empty.any() else series
        if len(filled) == 0 or int(filled.max()) <= np.iinfo(np.int64).max:
            return TableColumn(name, "integers", filled.to_numpy(dtype=np.int64), empty)
    return _numbers(name, series.to_numpy(dtype=np.float64, na_value=math.nan), empty)


def _numbers(name: str, values: Any, empty: Any) -> TableColumn:
    if np.isinf(values).any():
        row = int(np.flatnonzero(np.isinf(values))[0])
        shown = "+Inf" if values[row] > 0 else "-Inf"
        raise invalid("NOT_FINITE", f"row {row}, column {name!r} is {shown}; every value must be a finite number or missing, not inf")
    values = np.where(empty, 0.0, values)
    if empty.any() and (values == np.trunc(values)).all() and (np.abs(values) < 2**53).all():
        # pandas stores integers with missing values as floats. They were integers where they came from.
        return TableColumn(name, "integers", values.astype(np.int64), empty)
    return TableColumn(name, "numbers", values, empty)


def _texts(name: str, series: Any, empty: Any) -> TableColumn:
    texts = ["" if missing else str(value) for value, missing in zip(series, empty)]
    return TableColumn(name, "texts", texts, empty | np.array([not text for text in texts], dtype=bool))


def _dates(name: str, series: Any, empty: Any) -> TableColumn:
    """Returns dates as texts, as they are read from Parquet files: in UTC, with fractions of seconds. Without a time if all are at midnight."""
    times = (series if series.dt.tz is None else series.dt.tz_convert("UTC").dt.tz_localize(None))[~empty]
    written = times.dt.strftime("%Y-%m-%d" if (times == times.dt.normalize()).all() else "%Y-%m-%d %H:%M:%S")
    nanoseconds = times.dt.microsecond.astype(np.int64) * 1000 + times.dt.nanosecond
    texts = np.full(len(series), "", dtype=object)
    texts[~empty] = [text + (f".{part:09d}".rstrip("0") if part else "") for text, part in zip(written, nanoseconds)]
    return TableColumn(name, "texts", texts.tolist(), empty)


def index_column(values: Any, name: str = "index") -> TableColumn:
    """Returns a column of row numbers."""
    return TableColumn(name, "integers", np.asarray(values, dtype=np.int64))
