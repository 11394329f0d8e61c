from cleave.v1 import spec_pb2 as _spec_pb2
from google.protobuf import duration_pb2 as _duration_pb2
from google.protobuf import timestamp_pb2 as _timestamp_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Mapping as _Mapping, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor
JOB_STATE_CANCELLED: JobState
JOB_STATE_FAILED: JobState
JOB_STATE_PENDING: JobState
JOB_STATE_RUNNING: JobState
JOB_STATE_SUCCEEDED: JobState
JOB_STATE_UNSPECIFIED: JobState
STOP_REASON_CANCELLED: StopReason
STOP_REASON_CONVERGED: StopReason
STOP_REASON_CYCLE: StopReason
STOP_REASON_MAX_ITERATIONS: StopReason
STOP_REASON_MAX_PRODUCTS: StopReason
STOP_REASON_RISE: StopReason
STOP_REASON_TIME_LIMIT: StopReason
STOP_REASON_TOLERANCE: StopReason
STOP_REASON_UNSPECIFIED: StopReason

class Error(_message.Message):
    __slots__ = ["code", "field", "message", "metadata", "reason"]
    class MetadataEntry(_message.Message):
        __slots__ = ["key", "value"]
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    CODE_FIELD_NUMBER: _ClassVar[int]
    FIELD_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    METADATA_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    code: int
    field: str
    message: str
    metadata: _containers.ScalarMap[str, str]
    reason: str
    def __init__(self, code: _Optional[int] = ..., reason: _Optional[str] = ..., message: _Optional[str] = ..., field: _Optional[str] = ..., metadata: _Optional[_Mapping[str, str]] = ...) -> None: ...

class Job(_message.Message):
    __slots__ = ["cancel_requested", "create_time", "dataset_id", "display_name", "end_time", "error", "iterations", "job_id", "last_sequence", "objective", "objective_name", "owner", "priority", "request_id", "start_time", "state", "status_message", "stop_reason", "time_limit"]
    CANCEL_REQUESTED_FIELD_NUMBER: _ClassVar[int]
    CREATE_TIME_FIELD_NUMBER: _ClassVar[int]
    DATASET_ID_FIELD_NUMBER: _ClassVar[int]
    DISPLAY_NAME_FIELD_NUMBER: _ClassVar[int]
    END_TIME_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    ITERATIONS_FIELD_NUMBER: _ClassVar[int]
    JOB_ID_FIELD_NUMBER: _ClassVar[int]
    LAST_SEQUENCE_FIELD_NUMBER: _ClassVar[int]
    OBJECTIVE_FIELD_NUMBER: _ClassVar[int]
    OBJECTIVE_NAME_FIELD_NUMBER: _ClassVar[int]
    OWNER_FIELD_NUMBER: _ClassVar[int]
    PRIORITY_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    START_TIME_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    STATUS_MESSAGE_FIELD_NUMBER: _ClassVar[int]
    STOP_REASON_FIELD_NUMBER: _ClassVar[int]
    TIME_LIMIT_FIELD_NUMBER: _ClassVar[int]
    cancel_requested: bool
    create_time: _timestamp_pb2.Timestamp
    dataset_id: str
    display_name: str
    end_time: _timestamp_pb2.Timestamp
    error: Error
    iterations: int
    job_id: str
    last_sequence: int
    objective: float
    objective_name: str
    owner: str
    priority: _spec_pb2.Priority
    request_id: str
    start_time: _timestamp_pb2.Timestamp
    state: JobState
    status_message: str
    stop_reason: StopReason
    time_limit: _duration_pb2.Duration
    def __init__(self, job_id: _Optional[str] = ..., display_name: _Optional[str] = ..., dataset_id: _Optional[str] = ..., request_id: _Optional[str] = ..., owner: _Optional[str] = ..., state: _Optional[_Union[JobState, str]] = ..., status_message: _Optional[str] = ..., cancel_requested: bool = ..., error: _Optional[_Union[Error, _Mapping]] = ..., create_time: _Optional[_Union[_timestamp_pb2.Timestamp, _Mapping]] = ..., start_time: _Optional[_Union[_timestamp_pb2.Timestamp, _Mapping]] = ..., end_time: _Optional[_Union[_timestamp_pb2.Timestamp, _Mapping]] = ..., last_sequence: _Optional[int] = ..., iterations: _Optional[int] = ..., objective_name: _Optional[str] = ..., objective: _Optional[float] = ..., stop_reason: _Optional[_Union[StopReason, str]] = ..., time_limit: _Optional[_Union[_duration_pb2.Duration, _Mapping]] = ..., priority: _Optional[_Union[_spec_pb2.Priority, str]] = ...) -> None: ...

class JobState(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = []

class StopReason(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = []
