from google.protobuf import duration_pb2 as _duration_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Iterable as _Iterable, Mapping as _Mapping, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor
PLAN_STORAGE_FLOAT16: PlanStorage
PLAN_STORAGE_FLOAT32: PlanStorage
PLAN_STORAGE_NEIGHBORS: PlanStorage
PLAN_STORAGE_NONE: PlanStorage
PLAN_STORAGE_PARTLY_FLOAT16: PlanStorage
PLAN_STORAGE_PARTLY_FLOAT32: PlanStorage
PLAN_STORAGE_SPARSE: PlanStorage
PLAN_STORAGE_SPARSE_VECTORS: PlanStorage
PLAN_STORAGE_UNSPECIFIED: PlanStorage
PLAN_STORAGE_VECTORS: PlanStorage

class Plan(_message.Message):
    __slots__ = ["bytes", "computed_tiles", "coordinator_bytes", "explanation", "grid_exponent", "passes", "predicted_time", "products", "shares", "snapshot_bytes", "storage", "stored_tiles", "tile_bytes", "tile_rows", "tiles", "workers"]
    BYTES_FIELD_NUMBER: _ClassVar[int]
    COMPUTED_TILES_FIELD_NUMBER: _ClassVar[int]
    COORDINATOR_BYTES_FIELD_NUMBER: _ClassVar[int]
    EXPLANATION_FIELD_NUMBER: _ClassVar[int]
    GRID_EXPONENT_FIELD_NUMBER: _ClassVar[int]
    PASSES_FIELD_NUMBER: _ClassVar[int]
    PREDICTED_TIME_FIELD_NUMBER: _ClassVar[int]
    PRODUCTS_FIELD_NUMBER: _ClassVar[int]
    SHARES_FIELD_NUMBER: _ClassVar[int]
    SNAPSHOT_BYTES_FIELD_NUMBER: _ClassVar[int]
    STORAGE_FIELD_NUMBER: _ClassVar[int]
    STORED_TILES_FIELD_NUMBER: _ClassVar[int]
    TILES_FIELD_NUMBER: _ClassVar[int]
    TILE_BYTES_FIELD_NUMBER: _ClassVar[int]
    TILE_ROWS_FIELD_NUMBER: _ClassVar[int]
    WORKERS_FIELD_NUMBER: _ClassVar[int]
    bytes: int
    computed_tiles: int
    coordinator_bytes: int
    explanation: str
    grid_exponent: int
    passes: float
    predicted_time: _duration_pb2.Duration
    products: int
    shares: _containers.RepeatedCompositeFieldContainer[WorkerShare]
    snapshot_bytes: int
    storage: PlanStorage
    stored_tiles: int
    tile_bytes: int
    tile_rows: int
    tiles: int
    workers: int
    def __init__(self, tiles: _Optional[int] = ..., tile_rows: _Optional[int] = ..., storage: _Optional[_Union[PlanStorage, str]] = ..., stored_tiles: _Optional[int] = ..., computed_tiles: _Optional[int] = ..., tile_bytes: _Optional[int] = ..., bytes: _Optional[int] = ..., grid_exponent: _Optional[int] = ..., workers: _Optional[int] = ..., shares: _Optional[_Iterable[_Union[WorkerShare, _Mapping]]] = ..., explanation: _Optional[str] = ..., passes: _Optional[float] = ..., predicted_time: _Optional[_Union[_duration_pb2.Duration, _Mapping]] = ..., products: _Optional[int] = ..., coordinator_bytes: _Optional[int] = ..., snapshot_bytes: _Optional[int] = ...) -> None: ...

class WorkerShare(_message.Message):
    __slots__ = ["bytes", "computed_tiles", "memory_bytes", "name", "stored_tiles", "threads"]
    BYTES_FIELD_NUMBER: _ClassVar[int]
    COMPUTED_TILES_FIELD_NUMBER: _ClassVar[int]
    MEMORY_BYTES_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    STORED_TILES_FIELD_NUMBER: _ClassVar[int]
    THREADS_FIELD_NUMBER: _ClassVar[int]
    bytes: int
    computed_tiles: int
    memory_bytes: int
    name: str
    stored_tiles: int
    threads: int
    def __init__(self, name: _Optional[str] = ..., threads: _Optional[int] = ..., memory_bytes: _Optional[int] = ..., bytes: _Optional[int] = ..., stored_tiles: _Optional[int] = ..., computed_tiles: _Optional[int] = ...) -> None: ...

class PlanStorage(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = []
