from google.protobuf import timestamp_pb2 as _timestamp_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Iterable as _Iterable, Mapping as _Mapping, Optional as _Optional, Union as _Union

DATASET_KIND_GRAPH: DatasetKind
DATASET_KIND_KERNEL: DatasetKind
DATASET_KIND_POINTS: DatasetKind
DATASET_KIND_SPARSE_POINTS: DatasetKind
DATASET_KIND_UNSPECIFIED: DatasetKind
DESCRIPTOR: _descriptor.FileDescriptor

class CreateDatasetRequest(_message.Message):
    __slots__ = ["edges", "header", "sparse_rows", "values"]
    EDGES_FIELD_NUMBER: _ClassVar[int]
    HEADER_FIELD_NUMBER: _ClassVar[int]
    SPARSE_ROWS_FIELD_NUMBER: _ClassVar[int]
    VALUES_FIELD_NUMBER: _ClassVar[int]
    edges: Edges
    header: DatasetHeader
    sparse_rows: SparseRows
    values: DenseValues
    def __init__(self, header: _Optional[_Union[DatasetHeader, _Mapping]] = ..., values: _Optional[_Union[DenseValues, _Mapping]] = ..., edges: _Optional[_Union[Edges, _Mapping]] = ..., sparse_rows: _Optional[_Union[SparseRows, _Mapping]] = ...) -> None: ...

class CreateDatasetResponse(_message.Message):
    __slots__ = ["dataset", "notices"]
    DATASET_FIELD_NUMBER: _ClassVar[int]
    NOTICES_FIELD_NUMBER: _ClassVar[int]
    dataset: Dataset
    notices: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, dataset: _Optional[_Union[Dataset, _Mapping]] = ..., notices: _Optional[_Iterable[str]] = ...) -> None: ...

class Dataset(_message.Message):
    __slots__ = ["bytes", "columns", "create_time", "dataset_id", "display_name", "kind", "non_zeros", "rows"]
    BYTES_FIELD_NUMBER: _ClassVar[int]
    COLUMNS_FIELD_NUMBER: _ClassVar[int]
    CREATE_TIME_FIELD_NUMBER: _ClassVar[int]
    DATASET_ID_FIELD_NUMBER: _ClassVar[int]
    DISPLAY_NAME_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    NON_ZEROS_FIELD_NUMBER: _ClassVar[int]
    ROWS_FIELD_NUMBER: _ClassVar[int]
    bytes: int
    columns: int
    create_time: _timestamp_pb2.Timestamp
    dataset_id: str
    display_name: str
    kind: DatasetKind
    non_zeros: int
    rows: int
    def __init__(self, dataset_id: _Optional[str] = ..., display_name: _Optional[str] = ..., kind: _Optional[_Union[DatasetKind, str]] = ..., rows: _Optional[int] = ..., columns: _Optional[int] = ..., non_zeros: _Optional[int] = ..., bytes: _Optional[int] = ..., create_time: _Optional[_Union[_timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class DatasetHeader(_message.Message):
    __slots__ = ["display_name", "first_part", "graph", "kernel", "points", "sparse_points", "upload_id"]
    DISPLAY_NAME_FIELD_NUMBER: _ClassVar[int]
    FIRST_PART_FIELD_NUMBER: _ClassVar[int]
    GRAPH_FIELD_NUMBER: _ClassVar[int]
    KERNEL_FIELD_NUMBER: _ClassVar[int]
    POINTS_FIELD_NUMBER: _ClassVar[int]
    SPARSE_POINTS_FIELD_NUMBER: _ClassVar[int]
    UPLOAD_ID_FIELD_NUMBER: _ClassVar[int]
    display_name: str
    first_part: int
    graph: GraphForm
    kernel: KernelForm
    points: PointsForm
    sparse_points: SparsePointsForm
    upload_id: str
    def __init__(self, display_name: _Optional[str] = ..., points: _Optional[_Union[PointsForm, _Mapping]] = ..., graph: _Optional[_Union[GraphForm, _Mapping]] = ..., kernel: _Optional[_Union[KernelForm, _Mapping]] = ..., sparse_points: _Optional[_Union[SparsePointsForm, _Mapping]] = ..., upload_id: _Optional[str] = ..., first_part: _Optional[int] = ...) -> None: ...

class DeleteDatasetRequest(_message.Message):
    __slots__ = ["dataset_id"]
    DATASET_ID_FIELD_NUMBER: _ClassVar[int]
    dataset_id: str
    def __init__(self, dataset_id: _Optional[str] = ...) -> None: ...

class DeleteDatasetResponse(_message.Message):
    __slots__ = []
    def __init__(self) -> None: ...

class DenseValues(_message.Message):
    __slots__ = ["values"]
    VALUES_FIELD_NUMBER: _ClassVar[int]
    values: _containers.RepeatedScalarFieldContainer[float]
    def __init__(self, values: _Optional[_Iterable[float]] = ...) -> None: ...

class Edges(_message.Message):
    __slots__ = ["sources", "targets", "weights"]
    SOURCES_FIELD_NUMBER: _ClassVar[int]
    TARGETS_FIELD_NUMBER: _ClassVar[int]
    WEIGHTS_FIELD_NUMBER: _ClassVar[int]
    sources: _containers.RepeatedScalarFieldContainer[int]
    targets: _containers.RepeatedScalarFieldContainer[int]
    weights: _containers.RepeatedScalarFieldContainer[float]
    def __init__(self, sources: _Optional[_Iterable[int]] = ..., targets: _Optional[_Iterable[int]] = ..., weights: _Optional[_Iterable[float]] = ...) -> None: ...

class GetDatasetRequest(_message.Message):
    __slots__ = ["dataset_id"]
    DATASET_ID_FIELD_NUMBER: _ClassVar[int]
    dataset_id: str
    def __init__(self, dataset_id: _Optional[str] = ...) -> None: ...

class GetDatasetResponse(_message.Message):
    __slots__ = ["dataset"]
    DATASET_FIELD_NUMBER: _ClassVar[int]
    dataset: Dataset
    def __init__(self, dataset: _Optional[_Union[Dataset, _Mapping]] = ...) -> None: ...

class GetUploadRequest(_message.Message):
    __slots__ = ["upload_id"]
    UPLOAD_ID_FIELD_NUMBER: _ClassVar[int]
    upload_id: str
    def __init__(self, upload_id: _Optional[str] = ...) -> None: ...

class GetUploadResponse(_message.Message):
    __slots__ = ["parts"]
    PARTS_FIELD_NUMBER: _ClassVar[int]
    parts: int
    def __init__(self, parts: _Optional[int] = ...) -> None: ...

class GraphForm(_message.Message):
    __slots__ = ["vertices"]
    VERTICES_FIELD_NUMBER: _ClassVar[int]
    vertices: int
    def __init__(self, vertices: _Optional[int] = ...) -> None: ...

class KernelForm(_message.Message):
    __slots__ = ["rows"]
    ROWS_FIELD_NUMBER: _ClassVar[int]
    rows: int
    def __init__(self, rows: _Optional[int] = ...) -> None: ...

class ListDatasetsRequest(_message.Message):
    __slots__ = ["page_size", "page_token"]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    page_size: int
    page_token: str
    def __init__(self, page_size: _Optional[int] = ..., page_token: _Optional[str] = ...) -> None: ...

class ListDatasetsResponse(_message.Message):
    __slots__ = ["datasets", "next_page_token"]
    DATASETS_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    datasets: _containers.RepeatedCompositeFieldContainer[Dataset]
    next_page_token: str
    def __init__(self, datasets: _Optional[_Iterable[_Union[Dataset, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...

class PointsForm(_message.Message):
    __slots__ = ["columns", "rows"]
    COLUMNS_FIELD_NUMBER: _ClassVar[int]
    ROWS_FIELD_NUMBER: _ClassVar[int]
    columns: int
    rows: int
    def __init__(self, rows: _Optional[int] = ..., columns: _Optional[int] = ...) -> None: ...

class SparsePointsForm(_message.Message):
    __slots__ = ["columns", "rows"]
    COLUMNS_FIELD_NUMBER: _ClassVar[int]
    ROWS_FIELD_NUMBER: _ClassVar[int]
    columns: int
    rows: int
    def __init__(self, rows: _Optional[int] = ..., columns: _Optional[int] = ...) -> None: ...

class SparseRows(_message.Message):
    __slots__ = ["columns", "lengths", "values"]
    COLUMNS_FIELD_NUMBER: _ClassVar[int]
    LENGTHS_FIELD_NUMBER: _ClassVar[int]
    VALUES_FIELD_NUMBER: _ClassVar[int]
    columns: _containers.RepeatedScalarFieldContainer[int]
    lengths: _containers.RepeatedScalarFieldContainer[int]
    values: _containers.RepeatedScalarFieldContainer[float]
    def __init__(self, lengths: _Optional[_Iterable[int]] = ..., columns: _Optional[_Iterable[int]] = ..., values: _Optional[_Iterable[float]] = ...) -> None: ...

class DatasetKind(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = []
