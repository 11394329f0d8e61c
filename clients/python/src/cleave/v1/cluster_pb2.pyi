from google.protobuf import duration_pb2 as _duration_pb2
from google.protobuf import timestamp_pb2 as _timestamp_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Iterable as _Iterable, Mapping as _Mapping, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor
WORKER_STATE_DRAINING: WorkerState
WORKER_STATE_READY: WorkerState
WORKER_STATE_SILENT: WorkerState
WORKER_STATE_UNSPECIFIED: WorkerState

class BackupRequest(_message.Message):
    __slots__ = []
    def __init__(self) -> None: ...

class BackupResponse(_message.Message):
    __slots__ = ["content", "total_bytes"]
    CONTENT_FIELD_NUMBER: _ClassVar[int]
    TOTAL_BYTES_FIELD_NUMBER: _ClassVar[int]
    content: bytes
    total_bytes: int
    def __init__(self, total_bytes: _Optional[int] = ..., content: _Optional[bytes] = ...) -> None: ...

class DrainWorkerRequest(_message.Message):
    __slots__ = ["worker_id"]
    WORKER_ID_FIELD_NUMBER: _ClassVar[int]
    worker_id: str
    def __init__(self, worker_id: _Optional[str] = ...) -> None: ...

class DrainWorkerResponse(_message.Message):
    __slots__ = ["worker"]
    WORKER_FIELD_NUMBER: _ClassVar[int]
    worker: Worker
    def __init__(self, worker: _Optional[_Union[Worker, _Mapping]] = ...) -> None: ...

class GetLimitsRequest(_message.Message):
    __slots__ = []
    def __init__(self) -> None: ...

class GetLimitsResponse(_message.Message):
    __slots__ = ["limits", "usage"]
    LIMITS_FIELD_NUMBER: _ClassVar[int]
    USAGE_FIELD_NUMBER: _ClassVar[int]
    limits: Limits
    usage: Usage
    def __init__(self, limits: _Optional[_Union[Limits, _Mapping]] = ..., usage: _Optional[_Union[Usage, _Mapping]] = ...) -> None: ...

class Limits(_message.Message):
    __slots__ = ["calls", "clusters", "constraints", "dataset_bytes", "default_time_limit", "disk_quota_bytes", "free_disk_bytes", "jobs_queued", "jobs_queued_per_owner", "jobs_running", "jobs_running_per_owner", "keep_datasets", "keep_jobs", "max_time_limit", "message_bytes", "reads", "rows", "slow_reader", "streams", "upload_bytes_per_second", "upload_bytes_per_second_per_owner", "upload_stall"]
    CALLS_FIELD_NUMBER: _ClassVar[int]
    CLUSTERS_FIELD_NUMBER: _ClassVar[int]
    CONSTRAINTS_FIELD_NUMBER: _ClassVar[int]
    DATASET_BYTES_FIELD_NUMBER: _ClassVar[int]
    DEFAULT_TIME_LIMIT_FIELD_NUMBER: _ClassVar[int]
    DISK_QUOTA_BYTES_FIELD_NUMBER: _ClassVar[int]
    FREE_DISK_BYTES_FIELD_NUMBER: _ClassVar[int]
    JOBS_QUEUED_FIELD_NUMBER: _ClassVar[int]
    JOBS_QUEUED_PER_OWNER_FIELD_NUMBER: _ClassVar[int]
    JOBS_RUNNING_FIELD_NUMBER: _ClassVar[int]
    JOBS_RUNNING_PER_OWNER_FIELD_NUMBER: _ClassVar[int]
    KEEP_DATASETS_FIELD_NUMBER: _ClassVar[int]
    KEEP_JOBS_FIELD_NUMBER: _ClassVar[int]
    MAX_TIME_LIMIT_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_BYTES_FIELD_NUMBER: _ClassVar[int]
    READS_FIELD_NUMBER: _ClassVar[int]
    ROWS_FIELD_NUMBER: _ClassVar[int]
    SLOW_READER_FIELD_NUMBER: _ClassVar[int]
    STREAMS_FIELD_NUMBER: _ClassVar[int]
    UPLOAD_BYTES_PER_SECOND_FIELD_NUMBER: _ClassVar[int]
    UPLOAD_BYTES_PER_SECOND_PER_OWNER_FIELD_NUMBER: _ClassVar[int]
    UPLOAD_STALL_FIELD_NUMBER: _ClassVar[int]
    calls: int
    clusters: int
    constraints: int
    dataset_bytes: int
    default_time_limit: _duration_pb2.Duration
    disk_quota_bytes: int
    free_disk_bytes: int
    jobs_queued: int
    jobs_queued_per_owner: int
    jobs_running: int
    jobs_running_per_owner: int
    keep_datasets: _duration_pb2.Duration
    keep_jobs: _duration_pb2.Duration
    max_time_limit: _duration_pb2.Duration
    message_bytes: int
    reads: int
    rows: int
    slow_reader: _duration_pb2.Duration
    streams: int
    upload_bytes_per_second: int
    upload_bytes_per_second_per_owner: int
    upload_stall: _duration_pb2.Duration
    def __init__(self, rows: _Optional[int] = ..., dataset_bytes: _Optional[int] = ..., message_bytes: _Optional[int] = ..., clusters: _Optional[int] = ..., constraints: _Optional[int] = ..., jobs_running: _Optional[int] = ..., jobs_running_per_owner: _Optional[int] = ..., jobs_queued: _Optional[int] = ..., jobs_queued_per_owner: _Optional[int] = ..., default_time_limit: _Optional[_Union[_duration_pb2.Duration, _Mapping]] = ..., max_time_limit: _Optional[_Union[_duration_pb2.Duration, _Mapping]] = ..., calls: _Optional[int] = ..., reads: _Optional[int] = ..., streams: _Optional[int] = ..., slow_reader: _Optional[_Union[_duration_pb2.Duration, _Mapping]] = ..., upload_bytes_per_second: _Optional[int] = ..., upload_bytes_per_second_per_owner: _Optional[int] = ..., upload_stall: _Optional[_Union[_duration_pb2.Duration, _Mapping]] = ..., disk_quota_bytes: _Optional[int] = ..., free_disk_bytes: _Optional[int] = ..., keep_jobs: _Optional[_Union[_duration_pb2.Duration, _Mapping]] = ..., keep_datasets: _Optional[_Union[_duration_pb2.Duration, _Mapping]] = ...) -> None: ...

class ListWorkersRequest(_message.Message):
    __slots__ = ["page_size", "page_token"]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    page_size: int
    page_token: str
    def __init__(self, page_size: _Optional[int] = ..., page_token: _Optional[str] = ...) -> None: ...

class ListWorkersResponse(_message.Message):
    __slots__ = ["next_page_token", "workers"]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    WORKERS_FIELD_NUMBER: _ClassVar[int]
    next_page_token: str
    workers: _containers.RepeatedCompositeFieldContainer[Worker]
    def __init__(self, workers: _Optional[_Iterable[_Union[Worker, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...

class Usage(_message.Message):
    __slots__ = ["calls", "disk_bytes", "jobs_queued", "jobs_queued_own", "jobs_running", "reads", "streams"]
    CALLS_FIELD_NUMBER: _ClassVar[int]
    DISK_BYTES_FIELD_NUMBER: _ClassVar[int]
    JOBS_QUEUED_FIELD_NUMBER: _ClassVar[int]
    JOBS_QUEUED_OWN_FIELD_NUMBER: _ClassVar[int]
    JOBS_RUNNING_FIELD_NUMBER: _ClassVar[int]
    READS_FIELD_NUMBER: _ClassVar[int]
    STREAMS_FIELD_NUMBER: _ClassVar[int]
    calls: int
    disk_bytes: int
    jobs_queued: int
    jobs_queued_own: int
    jobs_running: int
    reads: int
    streams: int
    def __init__(self, jobs_running: _Optional[int] = ..., jobs_queued: _Optional[int] = ..., jobs_queued_own: _Optional[int] = ..., calls: _Optional[int] = ..., streams: _Optional[int] = ..., disk_bytes: _Optional[int] = ..., reads: _Optional[int] = ...) -> None: ...

class Worker(_message.Message):
    __slots__ = ["attach_time", "job_ids", "last_heartbeat_time", "memory_bytes", "name", "numeric_class", "state", "status_message", "threads", "tile_bytes", "tiles", "version", "worker_id"]
    ATTACH_TIME_FIELD_NUMBER: _ClassVar[int]
    JOB_IDS_FIELD_NUMBER: _ClassVar[int]
    LAST_HEARTBEAT_TIME_FIELD_NUMBER: _ClassVar[int]
    MEMORY_BYTES_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    NUMERIC_CLASS_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    STATUS_MESSAGE_FIELD_NUMBER: _ClassVar[int]
    THREADS_FIELD_NUMBER: _ClassVar[int]
    TILES_FIELD_NUMBER: _ClassVar[int]
    TILE_BYTES_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    WORKER_ID_FIELD_NUMBER: _ClassVar[int]
    attach_time: _timestamp_pb2.Timestamp
    job_ids: _containers.RepeatedScalarFieldContainer[str]
    last_heartbeat_time: _timestamp_pb2.Timestamp
    memory_bytes: int
    name: str
    numeric_class: str
    state: WorkerState
    status_message: str
    threads: int
    tile_bytes: int
    tiles: int
    version: str
    worker_id: str
    def __init__(self, worker_id: _Optional[str] = ..., name: _Optional[str] = ..., state: _Optional[_Union[WorkerState, str]] = ..., version: _Optional[str] = ..., threads: _Optional[int] = ..., memory_bytes: _Optional[int] = ..., numeric_class: _Optional[str] = ..., attach_time: _Optional[_Union[_timestamp_pb2.Timestamp, _Mapping]] = ..., last_heartbeat_time: _Optional[_Union[_timestamp_pb2.Timestamp, _Mapping]] = ..., tiles: _Optional[int] = ..., tile_bytes: _Optional[int] = ..., job_ids: _Optional[_Iterable[str]] = ..., status_message: _Optional[str] = ...) -> None: ...

class WorkerState(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = []
