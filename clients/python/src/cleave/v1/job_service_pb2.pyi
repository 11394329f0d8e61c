from cleave.v1 import dataset_pb2 as _dataset_pb2
from cleave.v1 import event_pb2 as _event_pb2
from cleave.v1 import job_pb2 as _job_pb2
from cleave.v1 import plan_pb2 as _plan_pb2
from cleave.v1 import recipe_pb2 as _recipe_pb2
from cleave.v1 import result_pb2 as _result_pb2
from cleave.v1 import spec_pb2 as _spec_pb2
from cleave.v1 import table_pb2 as _table_pb2
from google.protobuf import timestamp_pb2 as _timestamp_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Iterable as _Iterable, Mapping as _Mapping, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor
JOB_ORDER_NEWEST_FIRST: JobOrder
JOB_ORDER_OLDEST_FIRST: JobOrder
JOB_ORDER_UNSPECIFIED: JobOrder

class CancelJobRequest(_message.Message):
    __slots__ = ["job_id"]
    JOB_ID_FIELD_NUMBER: _ClassVar[int]
    job_id: str
    def __init__(self, job_id: _Optional[str] = ...) -> None: ...

class CancelJobResponse(_message.Message):
    __slots__ = ["job"]
    JOB_FIELD_NUMBER: _ClassVar[int]
    job: _job_pb2.Job
    def __init__(self, job: _Optional[_Union[_job_pb2.Job, _Mapping]] = ...) -> None: ...

class CreateJobRequest(_message.Message):
    __slots__ = ["display_name", "request_id", "scheduling", "spec"]
    DISPLAY_NAME_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    SCHEDULING_FIELD_NUMBER: _ClassVar[int]
    SPEC_FIELD_NUMBER: _ClassVar[int]
    display_name: str
    request_id: str
    scheduling: _spec_pb2.Scheduling
    spec: _spec_pb2.JobSpec
    def __init__(self, spec: _Optional[_Union[_spec_pb2.JobSpec, _Mapping]] = ..., request_id: _Optional[str] = ..., display_name: _Optional[str] = ..., scheduling: _Optional[_Union[_spec_pb2.Scheduling, _Mapping]] = ...) -> None: ...

class CreateJobResponse(_message.Message):
    __slots__ = ["job"]
    JOB_FIELD_NUMBER: _ClassVar[int]
    job: _job_pb2.Job
    def __init__(self, job: _Optional[_Union[_job_pb2.Job, _Mapping]] = ...) -> None: ...

class DeleteJobRequest(_message.Message):
    __slots__ = ["job_id"]
    JOB_ID_FIELD_NUMBER: _ClassVar[int]
    job_id: str
    def __init__(self, job_id: _Optional[str] = ...) -> None: ...

class DeleteJobResponse(_message.Message):
    __slots__ = []
    def __init__(self) -> None: ...

class EvaluateJobRequest(_message.Message):
    __slots__ = ["job_id", "score_on", "truth"]
    JOB_ID_FIELD_NUMBER: _ClassVar[int]
    SCORE_ON_FIELD_NUMBER: _ClassVar[int]
    TRUTH_FIELD_NUMBER: _ClassVar[int]
    job_id: str
    score_on: _table_pb2.TableInput
    truth: _table_pb2.TableInput
    def __init__(self, job_id: _Optional[str] = ..., truth: _Optional[_Union[_table_pb2.TableInput, _Mapping]] = ..., score_on: _Optional[_Union[_table_pb2.TableInput, _Mapping]] = ...) -> None: ...

class EvaluateJobResponse(_message.Message):
    __slots__ = ["evaluation"]
    EVALUATION_FIELD_NUMBER: _ClassVar[int]
    evaluation: _result_pb2.Evaluation
    def __init__(self, evaluation: _Optional[_Union[_result_pb2.Evaluation, _Mapping]] = ...) -> None: ...

class GetEmbeddingRequest(_message.Message):
    __slots__ = ["first_row", "job_id"]
    FIRST_ROW_FIELD_NUMBER: _ClassVar[int]
    JOB_ID_FIELD_NUMBER: _ClassVar[int]
    first_row: int
    job_id: str
    def __init__(self, job_id: _Optional[str] = ..., first_row: _Optional[int] = ...) -> None: ...

class GetEmbeddingResponse(_message.Message):
    __slots__ = ["head", "values"]
    HEAD_FIELD_NUMBER: _ClassVar[int]
    VALUES_FIELD_NUMBER: _ClassVar[int]
    head: _result_pb2.EmbeddingHead
    values: _dataset_pb2.DenseValues
    def __init__(self, head: _Optional[_Union[_result_pb2.EmbeddingHead, _Mapping]] = ..., values: _Optional[_Union[_dataset_pb2.DenseValues, _Mapping]] = ...) -> None: ...

class GetJobRequest(_message.Message):
    __slots__ = ["job_id", "without_spec"]
    JOB_ID_FIELD_NUMBER: _ClassVar[int]
    WITHOUT_SPEC_FIELD_NUMBER: _ClassVar[int]
    job_id: str
    without_spec: bool
    def __init__(self, job_id: _Optional[str] = ..., without_spec: bool = ...) -> None: ...

class GetJobResponse(_message.Message):
    __slots__ = ["job", "spec"]
    JOB_FIELD_NUMBER: _ClassVar[int]
    SPEC_FIELD_NUMBER: _ClassVar[int]
    job: _job_pb2.Job
    spec: _spec_pb2.JobSpec
    def __init__(self, job: _Optional[_Union[_job_pb2.Job, _Mapping]] = ..., spec: _Optional[_Union[_spec_pb2.JobSpec, _Mapping]] = ...) -> None: ...

class GetLabelsRequest(_message.Message):
    __slots__ = ["first_index", "job_id", "k", "with_rows"]
    FIRST_INDEX_FIELD_NUMBER: _ClassVar[int]
    JOB_ID_FIELD_NUMBER: _ClassVar[int]
    K_FIELD_NUMBER: _ClassVar[int]
    WITH_ROWS_FIELD_NUMBER: _ClassVar[int]
    first_index: int
    job_id: str
    k: int
    with_rows: bool
    def __init__(self, job_id: _Optional[str] = ..., first_index: _Optional[int] = ..., k: _Optional[int] = ..., with_rows: bool = ...) -> None: ...

class GetLabelsResponse(_message.Message):
    __slots__ = ["first_index", "ids", "labels", "rows"]
    FIRST_INDEX_FIELD_NUMBER: _ClassVar[int]
    IDS_FIELD_NUMBER: _ClassVar[int]
    LABELS_FIELD_NUMBER: _ClassVar[int]
    ROWS_FIELD_NUMBER: _ClassVar[int]
    first_index: int
    ids: _containers.RepeatedScalarFieldContainer[str]
    labels: _containers.RepeatedScalarFieldContainer[int]
    rows: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, first_index: _Optional[int] = ..., labels: _Optional[_Iterable[int]] = ..., rows: _Optional[_Iterable[int]] = ..., ids: _Optional[_Iterable[str]] = ...) -> None: ...

class GetModelRequest(_message.Message):
    __slots__ = ["first_value", "job_id"]
    FIRST_VALUE_FIELD_NUMBER: _ClassVar[int]
    JOB_ID_FIELD_NUMBER: _ClassVar[int]
    first_value: int
    job_id: str
    def __init__(self, job_id: _Optional[str] = ..., first_value: _Optional[int] = ...) -> None: ...

class GetModelResponse(_message.Message):
    __slots__ = ["head", "values"]
    HEAD_FIELD_NUMBER: _ClassVar[int]
    VALUES_FIELD_NUMBER: _ClassVar[int]
    head: _result_pb2.ModelHead
    values: _dataset_pb2.DenseValues
    def __init__(self, head: _Optional[_Union[_result_pb2.ModelHead, _Mapping]] = ..., values: _Optional[_Union[_dataset_pb2.DenseValues, _Mapping]] = ...) -> None: ...

class GetNeighborGraphRequest(_message.Message):
    __slots__ = ["job_id"]
    JOB_ID_FIELD_NUMBER: _ClassVar[int]
    job_id: str
    def __init__(self, job_id: _Optional[str] = ...) -> None: ...

class GetNeighborGraphResponse(_message.Message):
    __slots__ = ["edges", "head"]
    EDGES_FIELD_NUMBER: _ClassVar[int]
    HEAD_FIELD_NUMBER: _ClassVar[int]
    edges: _dataset_pb2.Edges
    head: NeighborGraphHead
    def __init__(self, head: _Optional[_Union[NeighborGraphHead, _Mapping]] = ..., edges: _Optional[_Union[_dataset_pb2.Edges, _Mapping]] = ...) -> None: ...

class GetResultRequest(_message.Message):
    __slots__ = ["job_id"]
    JOB_ID_FIELD_NUMBER: _ClassVar[int]
    job_id: str
    def __init__(self, job_id: _Optional[str] = ...) -> None: ...

class GetResultResponse(_message.Message):
    __slots__ = ["result"]
    RESULT_FIELD_NUMBER: _ClassVar[int]
    result: _result_pb2.Result
    def __init__(self, result: _Optional[_Union[_result_pb2.Result, _Mapping]] = ...) -> None: ...

class GetRowScoresRequest(_message.Message):
    __slots__ = ["first_row", "job_id"]
    FIRST_ROW_FIELD_NUMBER: _ClassVar[int]
    JOB_ID_FIELD_NUMBER: _ClassVar[int]
    first_row: int
    job_id: str
    def __init__(self, job_id: _Optional[str] = ..., first_row: _Optional[int] = ...) -> None: ...

class GetRowScoresResponse(_message.Message):
    __slots__ = ["head", "values"]
    HEAD_FIELD_NUMBER: _ClassVar[int]
    VALUES_FIELD_NUMBER: _ClassVar[int]
    head: _result_pb2.RowScoresHead
    values: _dataset_pb2.DenseValues
    def __init__(self, head: _Optional[_Union[_result_pb2.RowScoresHead, _Mapping]] = ..., values: _Optional[_Union[_dataset_pb2.DenseValues, _Mapping]] = ...) -> None: ...

class ListJobsRequest(_message.Message):
    __slots__ = ["created_before", "created_from", "dataset_id", "id_prefix", "name_contains", "order", "owner", "page_size", "page_token", "request_id", "states", "table_id"]
    CREATED_BEFORE_FIELD_NUMBER: _ClassVar[int]
    CREATED_FROM_FIELD_NUMBER: _ClassVar[int]
    DATASET_ID_FIELD_NUMBER: _ClassVar[int]
    ID_PREFIX_FIELD_NUMBER: _ClassVar[int]
    NAME_CONTAINS_FIELD_NUMBER: _ClassVar[int]
    ORDER_FIELD_NUMBER: _ClassVar[int]
    OWNER_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    STATES_FIELD_NUMBER: _ClassVar[int]
    TABLE_ID_FIELD_NUMBER: _ClassVar[int]
    created_before: _timestamp_pb2.Timestamp
    created_from: _timestamp_pb2.Timestamp
    dataset_id: str
    id_prefix: str
    name_contains: str
    order: JobOrder
    owner: str
    page_size: int
    page_token: str
    request_id: str
    states: _containers.RepeatedScalarFieldContainer[_job_pb2.JobState]
    table_id: str
    def __init__(self, page_size: _Optional[int] = ..., page_token: _Optional[str] = ..., states: _Optional[_Iterable[_Union[_job_pb2.JobState, str]]] = ..., owner: _Optional[str] = ..., dataset_id: _Optional[str] = ..., table_id: _Optional[str] = ..., name_contains: _Optional[str] = ..., created_from: _Optional[_Union[_timestamp_pb2.Timestamp, _Mapping]] = ..., created_before: _Optional[_Union[_timestamp_pb2.Timestamp, _Mapping]] = ..., order: _Optional[_Union[JobOrder, str]] = ..., request_id: _Optional[str] = ..., id_prefix: _Optional[str] = ...) -> None: ...

class ListJobsResponse(_message.Message):
    __slots__ = ["jobs", "next_page_token"]
    JOBS_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    jobs: _containers.RepeatedCompositeFieldContainer[_job_pb2.Job]
    next_page_token: str
    def __init__(self, jobs: _Optional[_Iterable[_Union[_job_pb2.Job, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...

class NeighborGraphHead(_message.Message):
    __slots__ = ["edges", "vertices"]
    EDGES_FIELD_NUMBER: _ClassVar[int]
    VERTICES_FIELD_NUMBER: _ClassVar[int]
    edges: int
    vertices: int
    def __init__(self, vertices: _Optional[int] = ..., edges: _Optional[int] = ...) -> None: ...

class PlanJobRequest(_message.Message):
    __slots__ = ["spec"]
    SPEC_FIELD_NUMBER: _ClassVar[int]
    spec: _spec_pb2.JobSpec
    def __init__(self, spec: _Optional[_Union[_spec_pb2.JobSpec, _Mapping]] = ...) -> None: ...

class PlanJobResponse(_message.Message):
    __slots__ = ["notices", "plan", "recipe"]
    NOTICES_FIELD_NUMBER: _ClassVar[int]
    PLAN_FIELD_NUMBER: _ClassVar[int]
    RECIPE_FIELD_NUMBER: _ClassVar[int]
    notices: _containers.RepeatedCompositeFieldContainer[_event_pb2.Notice]
    plan: _plan_pb2.Plan
    recipe: _recipe_pb2.Recipe
    def __init__(self, plan: _Optional[_Union[_plan_pb2.Plan, _Mapping]] = ..., recipe: _Optional[_Union[_recipe_pb2.Recipe, _Mapping]] = ..., notices: _Optional[_Iterable[_Union[_event_pb2.Notice, _Mapping]]] = ...) -> None: ...

class PredictJobRequest(_message.Message):
    __slots__ = ["dataset_id", "job_id", "table_id"]
    DATASET_ID_FIELD_NUMBER: _ClassVar[int]
    JOB_ID_FIELD_NUMBER: _ClassVar[int]
    TABLE_ID_FIELD_NUMBER: _ClassVar[int]
    dataset_id: str
    job_id: str
    table_id: str
    def __init__(self, job_id: _Optional[str] = ..., dataset_id: _Optional[str] = ..., table_id: _Optional[str] = ...) -> None: ...

class PredictJobResponse(_message.Message):
    __slots__ = ["confidences", "distances", "first_index", "ids", "labels", "margins", "notices", "rows"]
    CONFIDENCES_FIELD_NUMBER: _ClassVar[int]
    DISTANCES_FIELD_NUMBER: _ClassVar[int]
    FIRST_INDEX_FIELD_NUMBER: _ClassVar[int]
    IDS_FIELD_NUMBER: _ClassVar[int]
    LABELS_FIELD_NUMBER: _ClassVar[int]
    MARGINS_FIELD_NUMBER: _ClassVar[int]
    NOTICES_FIELD_NUMBER: _ClassVar[int]
    ROWS_FIELD_NUMBER: _ClassVar[int]
    confidences: _containers.RepeatedScalarFieldContainer[float]
    distances: _containers.RepeatedScalarFieldContainer[float]
    first_index: int
    ids: _containers.RepeatedScalarFieldContainer[str]
    labels: _containers.RepeatedScalarFieldContainer[int]
    margins: _containers.RepeatedScalarFieldContainer[float]
    notices: _containers.RepeatedCompositeFieldContainer[_event_pb2.Notice]
    rows: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, first_index: _Optional[int] = ..., labels: _Optional[_Iterable[int]] = ..., distances: _Optional[_Iterable[float]] = ..., margins: _Optional[_Iterable[float]] = ..., confidences: _Optional[_Iterable[float]] = ..., rows: _Optional[_Iterable[int]] = ..., ids: _Optional[_Iterable[str]] = ..., notices: _Optional[_Iterable[_Union[_event_pb2.Notice, _Mapping]]] = ...) -> None: ...

class WatchJobRequest(_message.Message):
    __slots__ = ["after_sequence", "job_id"]
    AFTER_SEQUENCE_FIELD_NUMBER: _ClassVar[int]
    JOB_ID_FIELD_NUMBER: _ClassVar[int]
    after_sequence: int
    job_id: str
    def __init__(self, job_id: _Optional[str] = ..., after_sequence: _Optional[int] = ...) -> None: ...

class WatchJobResponse(_message.Message):
    __slots__ = ["event", "progress"]
    EVENT_FIELD_NUMBER: _ClassVar[int]
    PROGRESS_FIELD_NUMBER: _ClassVar[int]
    event: _event_pb2.Event
    progress: _event_pb2.Progress
    def __init__(self, event: _Optional[_Union[_event_pb2.Event, _Mapping]] = ..., progress: _Optional[_Union[_event_pb2.Progress, _Mapping]] = ...) -> None: ...

class JobOrder(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = []
