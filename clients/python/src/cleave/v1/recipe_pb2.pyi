from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Iterable as _Iterable, Mapping as _Mapping, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor
MISSING_POLICY_AUTO: MissingPolicy
MISSING_POLICY_DROP: MissingPolicy
MISSING_POLICY_ERROR: MissingPolicy
MISSING_POLICY_MEAN: MissingPolicy
MISSING_POLICY_MEDIAN: MissingPolicy
MISSING_POLICY_UNSPECIFIED: MissingPolicy

class Recipe(_message.Message):
    __slots__ = ["decimal_mark", "features", "id_column", "label_column", "missing", "total_column", "total_sums"]
    DECIMAL_MARK_FIELD_NUMBER: _ClassVar[int]
    FEATURES_FIELD_NUMBER: _ClassVar[int]
    ID_COLUMN_FIELD_NUMBER: _ClassVar[int]
    LABEL_COLUMN_FIELD_NUMBER: _ClassVar[int]
    MISSING_FIELD_NUMBER: _ClassVar[int]
    TOTAL_COLUMN_FIELD_NUMBER: _ClassVar[int]
    TOTAL_SUMS_FIELD_NUMBER: _ClassVar[int]
    decimal_mark: str
    features: _containers.RepeatedCompositeFieldContainer[RecipeFeature]
    id_column: str
    label_column: str
    missing: MissingPolicy
    total_column: str
    total_sums: bool
    def __init__(self, id_column: _Optional[str] = ..., label_column: _Optional[str] = ..., missing: _Optional[_Union[MissingPolicy, str]] = ..., features: _Optional[_Iterable[_Union[RecipeFeature, _Mapping]]] = ..., decimal_mark: _Optional[str] = ..., total_column: _Optional[str] = ..., total_sums: bool = ...) -> None: ...

class RecipeFeature(_message.Message):
    __slots__ = ["absent", "absent_texts", "categories", "column", "dates", "donor_gaps", "donors", "fill", "fill_category", "other", "unit"]
    ABSENT_FIELD_NUMBER: _ClassVar[int]
    ABSENT_TEXTS_FIELD_NUMBER: _ClassVar[int]
    CATEGORIES_FIELD_NUMBER: _ClassVar[int]
    COLUMN_FIELD_NUMBER: _ClassVar[int]
    DATES_FIELD_NUMBER: _ClassVar[int]
    DONORS_FIELD_NUMBER: _ClassVar[int]
    DONOR_GAPS_FIELD_NUMBER: _ClassVar[int]
    FILL_CATEGORY_FIELD_NUMBER: _ClassVar[int]
    FILL_FIELD_NUMBER: _ClassVar[int]
    OTHER_FIELD_NUMBER: _ClassVar[int]
    UNIT_FIELD_NUMBER: _ClassVar[int]
    absent: _containers.RepeatedScalarFieldContainer[float]
    absent_texts: bool
    categories: _containers.RepeatedScalarFieldContainer[str]
    column: str
    dates: str
    donor_gaps: _containers.RepeatedScalarFieldContainer[int]
    donors: _containers.RepeatedScalarFieldContainer[float]
    fill: float
    fill_category: str
    other: str
    unit: float
    def __init__(self, column: _Optional[str] = ..., categories: _Optional[_Iterable[str]] = ..., fill: _Optional[float] = ..., fill_category: _Optional[str] = ..., donors: _Optional[_Iterable[float]] = ..., donor_gaps: _Optional[_Iterable[int]] = ..., unit: _Optional[float] = ..., absent: _Optional[_Iterable[float]] = ..., absent_texts: bool = ..., other: _Optional[str] = ..., dates: _Optional[str] = ...) -> None: ...

class TablePoints(_message.Message):
    __slots__ = ["categorical", "dates_as_numbers", "decimal_mark", "id_column", "ignore", "keep", "keep_last_row", "label_column", "missing", "only", "table_id"]
    CATEGORICAL_FIELD_NUMBER: _ClassVar[int]
    DATES_AS_NUMBERS_FIELD_NUMBER: _ClassVar[int]
    DECIMAL_MARK_FIELD_NUMBER: _ClassVar[int]
    ID_COLUMN_FIELD_NUMBER: _ClassVar[int]
    IGNORE_FIELD_NUMBER: _ClassVar[int]
    KEEP_FIELD_NUMBER: _ClassVar[int]
    KEEP_LAST_ROW_FIELD_NUMBER: _ClassVar[int]
    LABEL_COLUMN_FIELD_NUMBER: _ClassVar[int]
    MISSING_FIELD_NUMBER: _ClassVar[int]
    ONLY_FIELD_NUMBER: _ClassVar[int]
    TABLE_ID_FIELD_NUMBER: _ClassVar[int]
    categorical: _containers.RepeatedScalarFieldContainer[str]
    dates_as_numbers: bool
    decimal_mark: str
    id_column: str
    ignore: _containers.RepeatedScalarFieldContainer[str]
    keep: _containers.RepeatedScalarFieldContainer[str]
    keep_last_row: bool
    label_column: str
    missing: MissingPolicy
    only: _containers.RepeatedScalarFieldContainer[str]
    table_id: str
    def __init__(self, table_id: _Optional[str] = ..., id_column: _Optional[str] = ..., label_column: _Optional[str] = ..., ignore: _Optional[_Iterable[str]] = ..., only: _Optional[_Iterable[str]] = ..., categorical: _Optional[_Iterable[str]] = ..., missing: _Optional[_Union[MissingPolicy, str]] = ..., decimal_mark: _Optional[str] = ..., keep: _Optional[_Iterable[str]] = ..., dates_as_numbers: bool = ..., keep_last_row: bool = ...) -> None: ...

class MissingPolicy(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = []
