from cleave.v1 import job_pb2 as _job_pb2
from google.protobuf import duration_pb2 as _duration_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Iterable as _Iterable, Mapping as _Mapping, Optional as _Optional, Union as _Union

CONSTRAINT_USE_CUTS: ConstraintUse
CONSTRAINT_USE_DISCRIMINANT: ConstraintUse
CONSTRAINT_USE_HARD: ConstraintUse
CONSTRAINT_USE_METRIC: ConstraintUse
CONSTRAINT_USE_NONE: ConstraintUse
CONSTRAINT_USE_SOFT: ConstraintUse
CONSTRAINT_USE_SPREAD: ConstraintUse
CONSTRAINT_USE_UNSPECIFIED: ConstraintUse
CONSTRAINT_USE_WHITENED: ConstraintUse
DESCRIPTOR: _descriptor.FileDescriptor
PHASE_BUILDING: Phase
PHASE_INITIALIZING: Phase
PHASE_ITERATING: Phase
PHASE_LOADING: Phase
PHASE_UNSPECIFIED: Phase
PHASE_WAITING: Phase
SPACE_GRAPH: Space
SPACE_LEVELS: Space
SPACE_MIXTURE: Space
SPACE_NEIGHBORS: Space
SPACE_ROWS: Space
SPACE_STANDARDIZED: Space
SPACE_STANDARDIZED_NEIGHBORS: Space
SPACE_UNSPECIFIED: Space

class Event(_message.Message):
    __slots__ = ["ended", "iteration", "k", "level", "method_tried", "notice", "restart", "revoked", "sequence", "shift", "solver"]
    ENDED_FIELD_NUMBER: _ClassVar[int]
    ITERATION_FIELD_NUMBER: _ClassVar[int]
    K_FIELD_NUMBER: _ClassVar[int]
    LEVEL_FIELD_NUMBER: _ClassVar[int]
    METHOD_TRIED_FIELD_NUMBER: _ClassVar[int]
    NOTICE_FIELD_NUMBER: _ClassVar[int]
    RESTART_FIELD_NUMBER: _ClassVar[int]
    REVOKED_FIELD_NUMBER: _ClassVar[int]
    SEQUENCE_FIELD_NUMBER: _ClassVar[int]
    SHIFT_FIELD_NUMBER: _ClassVar[int]
    SOLVER_FIELD_NUMBER: _ClassVar[int]
    ended: JobEnded
    iteration: Iteration
    k: KStarted
    level: LevelStarted
    method_tried: MethodTried
    notice: Notice
    restart: RestartStarted
    revoked: EventsRevoked
    sequence: int
    shift: ShiftChange
    solver: SolverStep
    def __init__(self, sequence: _Optional[int] = ..., restart: _Optional[_Union[RestartStarted, _Mapping]] = ..., iteration: _Optional[_Union[Iteration, _Mapping]] = ..., shift: _Optional[_Union[ShiftChange, _Mapping]] = ..., solver: _Optional[_Union[SolverStep, _Mapping]] = ..., notice: _Optional[_Union[Notice, _Mapping]] = ..., ended: _Optional[_Union[JobEnded, _Mapping]] = ..., method_tried: _Optional[_Union[MethodTried, _Mapping]] = ..., level: _Optional[_Union[LevelStarted, _Mapping]] = ..., revoked: _Optional[_Union[EventsRevoked, _Mapping]] = ..., k: _Optional[_Union[KStarted, _Mapping]] = ...) -> None: ...

class EventsRevoked(_message.Message):
    __slots__ = ["first_sequence", "message"]
    FIRST_SEQUENCE_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    first_sequence: int
    message: str
    def __init__(self, first_sequence: _Optional[int] = ..., message: _Optional[str] = ...) -> None: ...

class Iteration(_message.Message):
    __slots__ = ["assignment_objective", "iteration", "moved", "objective", "parts", "restart"]
    ASSIGNMENT_OBJECTIVE_FIELD_NUMBER: _ClassVar[int]
    ITERATION_FIELD_NUMBER: _ClassVar[int]
    MOVED_FIELD_NUMBER: _ClassVar[int]
    OBJECTIVE_FIELD_NUMBER: _ClassVar[int]
    PARTS_FIELD_NUMBER: _ClassVar[int]
    RESTART_FIELD_NUMBER: _ClassVar[int]
    assignment_objective: float
    iteration: int
    moved: int
    objective: float
    parts: ObjectiveParts
    restart: int
    def __init__(self, iteration: _Optional[int] = ..., objective: _Optional[float] = ..., moved: _Optional[int] = ..., restart: _Optional[int] = ..., assignment_objective: _Optional[float] = ..., parts: _Optional[_Union[ObjectiveParts, _Mapping]] = ...) -> None: ...

class JobEnded(_message.Message):
    __slots__ = ["error", "message", "state", "stop_reason"]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    STOP_REASON_FIELD_NUMBER: _ClassVar[int]
    error: _job_pb2.Error
    message: str
    state: _job_pb2.JobState
    stop_reason: _job_pb2.StopReason
    def __init__(self, state: _Optional[_Union[_job_pb2.JobState, str]] = ..., stop_reason: _Optional[_Union[_job_pb2.StopReason, str]] = ..., message: _Optional[str] = ..., error: _Optional[_Union[_job_pb2.Error, _Mapping]] = ...) -> None: ...

class KStarted(_message.Message):
    __slots__ = ["k", "max", "min"]
    K_FIELD_NUMBER: _ClassVar[int]
    MAX_FIELD_NUMBER: _ClassVar[int]
    MIN_FIELD_NUMBER: _ClassVar[int]
    k: int
    max: int
    min: int
    def __init__(self, k: _Optional[int] = ..., min: _Optional[int] = ..., max: _Optional[int] = ...) -> None: ...

class LevelStarted(_message.Message):
    __slots__ = ["level", "levels", "vertices"]
    LEVELS_FIELD_NUMBER: _ClassVar[int]
    LEVEL_FIELD_NUMBER: _ClassVar[int]
    VERTICES_FIELD_NUMBER: _ClassVar[int]
    level: int
    levels: int
    vertices: int
    def __init__(self, level: _Optional[int] = ..., levels: _Optional[int] = ..., vertices: _Optional[int] = ...) -> None: ...

class Link(_message.Message):
    __slots__ = ["must_link", "other", "row"]
    MUST_LINK_FIELD_NUMBER: _ClassVar[int]
    OTHER_FIELD_NUMBER: _ClassVar[int]
    ROW_FIELD_NUMBER: _ClassVar[int]
    must_link: bool
    other: int
    row: int
    def __init__(self, row: _Optional[int] = ..., other: _Optional[int] = ..., must_link: bool = ...) -> None: ...

class MessagePart(_message.Message):
    __slots__ = ["column", "link", "row", "text"]
    COLUMN_FIELD_NUMBER: _ClassVar[int]
    LINK_FIELD_NUMBER: _ClassVar[int]
    ROW_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    column: int
    link: Link
    row: int
    text: str
    def __init__(self, text: _Optional[str] = ..., row: _Optional[int] = ..., column: _Optional[int] = ..., link: _Optional[_Union[Link, _Mapping]] = ...) -> None: ...

class Method(_message.Message):
    __slots__ = ["constraint_use", "space"]
    CONSTRAINT_USE_FIELD_NUMBER: _ClassVar[int]
    SPACE_FIELD_NUMBER: _ClassVar[int]
    constraint_use: ConstraintUse
    space: Space
    def __init__(self, space: _Optional[_Union[Space, str]] = ..., constraint_use: _Optional[_Union[ConstraintUse, str]] = ...) -> None: ...

class MethodTried(_message.Message):
    __slots__ = ["cannot_links", "cannot_links_right", "fold", "folds", "method", "must_links", "must_links_right"]
    CANNOT_LINKS_FIELD_NUMBER: _ClassVar[int]
    CANNOT_LINKS_RIGHT_FIELD_NUMBER: _ClassVar[int]
    FOLDS_FIELD_NUMBER: _ClassVar[int]
    FOLD_FIELD_NUMBER: _ClassVar[int]
    METHOD_FIELD_NUMBER: _ClassVar[int]
    MUST_LINKS_FIELD_NUMBER: _ClassVar[int]
    MUST_LINKS_RIGHT_FIELD_NUMBER: _ClassVar[int]
    cannot_links: int
    cannot_links_right: int
    fold: int
    folds: int
    method: Method
    must_links: int
    must_links_right: int
    def __init__(self, method: _Optional[_Union[Method, _Mapping]] = ..., fold: _Optional[int] = ..., folds: _Optional[int] = ..., must_links: _Optional[int] = ..., must_links_right: _Optional[int] = ..., cannot_links: _Optional[int] = ..., cannot_links_right: _Optional[int] = ...) -> None: ...

class Notice(_message.Message):
    __slots__ = ["message", "parts", "reason"]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    PARTS_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    message: str
    parts: _containers.RepeatedCompositeFieldContainer[MessagePart]
    reason: str
    def __init__(self, reason: _Optional[str] = ..., message: _Optional[str] = ..., parts: _Optional[_Iterable[_Union[MessagePart, _Mapping]]] = ...) -> None: ...

class ObjectiveParts(_message.Message):
    __slots__ = ["cannot_link", "distortion", "log_det", "metric_spread", "must_link", "violated"]
    CANNOT_LINK_FIELD_NUMBER: _ClassVar[int]
    DISTORTION_FIELD_NUMBER: _ClassVar[int]
    LOG_DET_FIELD_NUMBER: _ClassVar[int]
    METRIC_SPREAD_FIELD_NUMBER: _ClassVar[int]
    MUST_LINK_FIELD_NUMBER: _ClassVar[int]
    VIOLATED_FIELD_NUMBER: _ClassVar[int]
    cannot_link: float
    distortion: float
    log_det: float
    metric_spread: float
    must_link: float
    violated: int
    def __init__(self, distortion: _Optional[float] = ..., must_link: _Optional[float] = ..., cannot_link: _Optional[float] = ..., log_det: _Optional[float] = ..., violated: _Optional[int] = ..., metric_spread: _Optional[float] = ...) -> None: ...

class Progress(_message.Message):
    __slots__ = ["elapsed", "iteration", "iterations_per_second", "k", "level", "message", "method_tried", "moved", "objective", "phase", "restart", "restarts", "solver", "tiles", "tiles_built", "time_left", "workers"]
    ELAPSED_FIELD_NUMBER: _ClassVar[int]
    ITERATIONS_PER_SECOND_FIELD_NUMBER: _ClassVar[int]
    ITERATION_FIELD_NUMBER: _ClassVar[int]
    K_FIELD_NUMBER: _ClassVar[int]
    LEVEL_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    METHOD_TRIED_FIELD_NUMBER: _ClassVar[int]
    MOVED_FIELD_NUMBER: _ClassVar[int]
    OBJECTIVE_FIELD_NUMBER: _ClassVar[int]
    PHASE_FIELD_NUMBER: _ClassVar[int]
    RESTARTS_FIELD_NUMBER: _ClassVar[int]
    RESTART_FIELD_NUMBER: _ClassVar[int]
    SOLVER_FIELD_NUMBER: _ClassVar[int]
    TILES_BUILT_FIELD_NUMBER: _ClassVar[int]
    TILES_FIELD_NUMBER: _ClassVar[int]
    TIME_LEFT_FIELD_NUMBER: _ClassVar[int]
    WORKERS_FIELD_NUMBER: _ClassVar[int]
    elapsed: _duration_pb2.Duration
    iteration: int
    iterations_per_second: float
    k: KStarted
    level: LevelStarted
    message: str
    method_tried: MethodTried
    moved: int
    objective: float
    phase: Phase
    restart: int
    restarts: int
    solver: SolverStep
    tiles: int
    tiles_built: int
    time_left: _duration_pb2.Duration
    workers: int
    def __init__(self, phase: _Optional[_Union[Phase, str]] = ..., message: _Optional[str] = ..., elapsed: _Optional[_Union[_duration_pb2.Duration, _Mapping]] = ..., time_left: _Optional[_Union[_duration_pb2.Duration, _Mapping]] = ..., workers: _Optional[int] = ..., tiles_built: _Optional[int] = ..., tiles: _Optional[int] = ..., iteration: _Optional[int] = ..., objective: _Optional[float] = ..., moved: _Optional[int] = ..., iterations_per_second: _Optional[float] = ..., solver: _Optional[_Union[SolverStep, _Mapping]] = ..., method_tried: _Optional[_Union[MethodTried, _Mapping]] = ..., level: _Optional[_Union[LevelStarted, _Mapping]] = ..., restart: _Optional[int] = ..., restarts: _Optional[int] = ..., k: _Optional[_Union[KStarted, _Mapping]] = ...) -> None: ...

class RestartStarted(_message.Message):
    __slots__ = ["restart"]
    RESTART_FIELD_NUMBER: _ClassVar[int]
    restart: int
    def __init__(self, restart: _Optional[int] = ...) -> None: ...

class ShiftChange(_message.Message):
    __slots__ = ["iteration", "sigma", "why"]
    ITERATION_FIELD_NUMBER: _ClassVar[int]
    SIGMA_FIELD_NUMBER: _ClassVar[int]
    WHY_FIELD_NUMBER: _ClassVar[int]
    iteration: int
    sigma: float
    why: str
    def __init__(self, iteration: _Optional[int] = ..., sigma: _Optional[float] = ..., why: _Optional[str] = ...) -> None: ...

class SolverStep(_message.Message):
    __slots__ = ["converged", "products", "residual", "step", "steps_left", "tolerance", "wanted"]
    CONVERGED_FIELD_NUMBER: _ClassVar[int]
    PRODUCTS_FIELD_NUMBER: _ClassVar[int]
    RESIDUAL_FIELD_NUMBER: _ClassVar[int]
    STEPS_LEFT_FIELD_NUMBER: _ClassVar[int]
    STEP_FIELD_NUMBER: _ClassVar[int]
    TOLERANCE_FIELD_NUMBER: _ClassVar[int]
    WANTED_FIELD_NUMBER: _ClassVar[int]
    converged: int
    products: int
    residual: float
    step: int
    steps_left: int
    tolerance: float
    wanted: int
    def __init__(self, step: _Optional[int] = ..., products: _Optional[int] = ..., residual: _Optional[float] = ..., tolerance: _Optional[float] = ..., converged: _Optional[int] = ..., wanted: _Optional[int] = ..., steps_left: _Optional[int] = ...) -> None: ...

class Space(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = []

class ConstraintUse(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = []

class Phase(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = []
