from cleave.v1 import event_pb2 as _event_pb2
from cleave.v1 import job_pb2 as _job_pb2
from cleave.v1 import plan_pb2 as _plan_pb2
from cleave.v1 import recipe_pb2 as _recipe_pb2
from cleave.v1 import spec_pb2 as _spec_pb2
from google.protobuf import duration_pb2 as _duration_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Iterable as _Iterable, Mapping as _Mapping, Optional as _Optional, Union as _Union

CONFIDENCE_CLEAR: Confidence
CONFIDENCE_LIKELY: Confidence
CONFIDENCE_UNSPECIFIED: Confidence
CONFIDENCE_UNSURE: Confidence
CUT_RULE_COMPLETION: CutRule
CUT_RULE_PAPER: CutRule
CUT_RULE_PENCIL: CutRule
CUT_RULE_STRICT: CutRule
CUT_RULE_UNCONSTRAINED: CutRule
CUT_RULE_UNSPECIFIED: CutRule
DESCRIPTOR: _descriptor.FileDescriptor
ROW_MEASURE_DISTORTION: RowMeasure
ROW_MEASURE_EDGE_SHARE: RowMeasure
ROW_MEASURE_EMBEDDING: RowMeasure
ROW_MEASURE_FEATURE_SPACE: RowMeasure
ROW_MEASURE_GROUP_SCORES: RowMeasure
ROW_MEASURE_UNSPECIFIED: RowMeasure

class Choice(_message.Message):
    __slots__ = ["chosen", "reason", "reason_parts", "tried"]
    CHOSEN_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    REASON_PARTS_FIELD_NUMBER: _ClassVar[int]
    TRIED_FIELD_NUMBER: _ClassVar[int]
    chosen: _event_pb2.Method
    reason: str
    reason_parts: _containers.RepeatedCompositeFieldContainer[_event_pb2.MessagePart]
    tried: _containers.RepeatedCompositeFieldContainer[MethodScore]
    def __init__(self, chosen: _Optional[_Union[_event_pb2.Method, _Mapping]] = ..., tried: _Optional[_Iterable[_Union[MethodScore, _Mapping]]] = ..., reason: _Optional[str] = ..., reason_parts: _Optional[_Iterable[_Union[_event_pb2.MessagePart, _Mapping]]] = ...) -> None: ...

class ConstraintReport(_message.Message):
    __slots__ = ["cannot_link_violated", "must_link_violated", "satisfied", "total"]
    CANNOT_LINK_VIOLATED_FIELD_NUMBER: _ClassVar[int]
    MUST_LINK_VIOLATED_FIELD_NUMBER: _ClassVar[int]
    SATISFIED_FIELD_NUMBER: _ClassVar[int]
    TOTAL_FIELD_NUMBER: _ClassVar[int]
    cannot_link_violated: int
    must_link_violated: int
    satisfied: int
    total: int
    def __init__(self, total: _Optional[int] = ..., satisfied: _Optional[int] = ..., must_link_violated: _Optional[int] = ..., cannot_link_violated: _Optional[int] = ...) -> None: ...

class CutCandidate(_message.Message):
    __slots__ = ["loss", "rho", "rule", "theta", "violated", "width"]
    LOSS_FIELD_NUMBER: _ClassVar[int]
    RHO_FIELD_NUMBER: _ClassVar[int]
    RULE_FIELD_NUMBER: _ClassVar[int]
    THETA_FIELD_NUMBER: _ClassVar[int]
    VIOLATED_FIELD_NUMBER: _ClassVar[int]
    WIDTH_FIELD_NUMBER: _ClassVar[int]
    loss: float
    rho: float
    rule: CutRule
    theta: float
    violated: float
    width: int
    def __init__(self, rule: _Optional[_Union[CutRule, str]] = ..., width: _Optional[int] = ..., theta: _Optional[float] = ..., rho: _Optional[float] = ..., loss: _Optional[float] = ..., violated: _Optional[float] = ...) -> None: ...

class EmbeddingHead(_message.Message):
    __slots__ = ["columns", "rows"]
    COLUMNS_FIELD_NUMBER: _ClassVar[int]
    ROWS_FIELD_NUMBER: _ClassVar[int]
    columns: int
    rows: int
    def __init__(self, rows: _Optional[int] = ..., columns: _Optional[int] = ...) -> None: ...

class Evaluation(_message.Message):
    __slots__ = ["ari", "mutual_information", "nmi", "pairwise_f", "pairwise_precision", "pairwise_recall", "purity"]
    ARI_FIELD_NUMBER: _ClassVar[int]
    MUTUAL_INFORMATION_FIELD_NUMBER: _ClassVar[int]
    NMI_FIELD_NUMBER: _ClassVar[int]
    PAIRWISE_F_FIELD_NUMBER: _ClassVar[int]
    PAIRWISE_PRECISION_FIELD_NUMBER: _ClassVar[int]
    PAIRWISE_RECALL_FIELD_NUMBER: _ClassVar[int]
    PURITY_FIELD_NUMBER: _ClassVar[int]
    ari: float
    mutual_information: float
    nmi: float
    pairwise_f: float
    pairwise_precision: float
    pairwise_recall: float
    purity: float
    def __init__(self, nmi: _Optional[float] = ..., mutual_information: _Optional[float] = ..., ari: _Optional[float] = ..., pairwise_precision: _Optional[float] = ..., pairwise_recall: _Optional[float] = ..., pairwise_f: _Optional[float] = ..., purity: _Optional[float] = ...) -> None: ...

class ForestHead(_message.Message):
    __slots__ = ["nodes", "trees", "weight"]
    NODES_FIELD_NUMBER: _ClassVar[int]
    TREES_FIELD_NUMBER: _ClassVar[int]
    WEIGHT_FIELD_NUMBER: _ClassVar[int]
    nodes: int
    trees: int
    weight: float
    def __init__(self, trees: _Optional[int] = ..., nodes: _Optional[int] = ..., weight: _Optional[float] = ...) -> None: ...

class InferenceReport(_message.Message):
    __slots__ = ["engine", "exact", "fallbacks", "lp_value", "rounds"]
    ENGINE_FIELD_NUMBER: _ClassVar[int]
    EXACT_FIELD_NUMBER: _ClassVar[int]
    FALLBACKS_FIELD_NUMBER: _ClassVar[int]
    LP_VALUE_FIELD_NUMBER: _ClassVar[int]
    ROUNDS_FIELD_NUMBER: _ClassVar[int]
    engine: _spec_pb2.Inference
    exact: bool
    fallbacks: int
    lp_value: float
    rounds: int
    def __init__(self, engine: _Optional[_Union[_spec_pb2.Inference, str]] = ..., exact: bool = ..., lp_value: _Optional[float] = ..., fallbacks: _Optional[int] = ..., rounds: _Optional[int] = ...) -> None: ...

class InputFile(_message.Message):
    __slots__ = ["bytes", "flag", "path", "sha256"]
    BYTES_FIELD_NUMBER: _ClassVar[int]
    FLAG_FIELD_NUMBER: _ClassVar[int]
    PATH_FIELD_NUMBER: _ClassVar[int]
    SHA256_FIELD_NUMBER: _ClassVar[int]
    bytes: int
    flag: str
    path: str
    sha256: str
    def __init__(self, flag: _Optional[str] = ..., path: _Optional[str] = ..., sha256: _Optional[str] = ..., bytes: _Optional[int] = ...) -> None: ...

class KScore(_message.Message):
    __slots__ = ["agreement", "k", "modularity", "objective", "silhouette", "space", "stability"]
    AGREEMENT_FIELD_NUMBER: _ClassVar[int]
    K_FIELD_NUMBER: _ClassVar[int]
    MODULARITY_FIELD_NUMBER: _ClassVar[int]
    OBJECTIVE_FIELD_NUMBER: _ClassVar[int]
    SILHOUETTE_FIELD_NUMBER: _ClassVar[int]
    SPACE_FIELD_NUMBER: _ClassVar[int]
    STABILITY_FIELD_NUMBER: _ClassVar[int]
    agreement: float
    k: int
    modularity: float
    objective: float
    silhouette: float
    space: _event_pb2.Space
    stability: float
    def __init__(self, k: _Optional[int] = ..., objective: _Optional[float] = ..., space: _Optional[_Union[_event_pb2.Space, str]] = ..., agreement: _Optional[float] = ..., stability: _Optional[float] = ..., silhouette: _Optional[float] = ..., modularity: _Optional[float] = ...) -> None: ...

class KSelection(_message.Message):
    __slots__ = ["confidence", "plausible", "proposed", "reason", "scores"]
    CONFIDENCE_FIELD_NUMBER: _ClassVar[int]
    PLAUSIBLE_FIELD_NUMBER: _ClassVar[int]
    PROPOSED_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    SCORES_FIELD_NUMBER: _ClassVar[int]
    confidence: Confidence
    plausible: _containers.RepeatedScalarFieldContainer[int]
    proposed: int
    reason: str
    scores: _containers.RepeatedCompositeFieldContainer[KScore]
    def __init__(self, proposed: _Optional[int] = ..., confidence: _Optional[_Union[Confidence, str]] = ..., plausible: _Optional[_Iterable[int]] = ..., reason: _Optional[str] = ..., scores: _Optional[_Iterable[_Union[KScore, _Mapping]]] = ...) -> None: ...

class KernelReport(_message.Message):
    __slots__ = ["coef0", "degree", "function", "gamma", "rho"]
    COEF0_FIELD_NUMBER: _ClassVar[int]
    DEGREE_FIELD_NUMBER: _ClassVar[int]
    FUNCTION_FIELD_NUMBER: _ClassVar[int]
    GAMMA_FIELD_NUMBER: _ClassVar[int]
    RHO_FIELD_NUMBER: _ClassVar[int]
    coef0: float
    degree: int
    function: _spec_pb2.KernelFunction
    gamma: float
    rho: float
    def __init__(self, function: _Optional[_Union[_spec_pb2.KernelFunction, str]] = ..., rho: _Optional[float] = ..., gamma: _Optional[float] = ..., coef0: _Optional[float] = ..., degree: _Optional[int] = ...) -> None: ...

class LandmarkHead(_message.Message):
    __slots__ = ["centered", "columns", "count", "grid_exponent", "kernel"]
    CENTERED_FIELD_NUMBER: _ClassVar[int]
    COLUMNS_FIELD_NUMBER: _ClassVar[int]
    COUNT_FIELD_NUMBER: _ClassVar[int]
    GRID_EXPONENT_FIELD_NUMBER: _ClassVar[int]
    KERNEL_FIELD_NUMBER: _ClassVar[int]
    centered: bool
    columns: int
    count: int
    grid_exponent: int
    kernel: KernelReport
    def __init__(self, count: _Optional[int] = ..., columns: _Optional[int] = ..., kernel: _Optional[_Union[KernelReport, _Mapping]] = ..., centered: bool = ..., grid_exponent: _Optional[int] = ...) -> None: ...

class LandmarkReport(_message.Message):
    __slots__ = ["count", "exact_nmi", "exact_objective", "lost", "rank"]
    COUNT_FIELD_NUMBER: _ClassVar[int]
    EXACT_NMI_FIELD_NUMBER: _ClassVar[int]
    EXACT_OBJECTIVE_FIELD_NUMBER: _ClassVar[int]
    LOST_FIELD_NUMBER: _ClassVar[int]
    RANK_FIELD_NUMBER: _ClassVar[int]
    count: int
    exact_nmi: float
    exact_objective: float
    lost: float
    rank: int
    def __init__(self, count: _Optional[int] = ..., rank: _Optional[int] = ..., lost: _Optional[float] = ..., exact_nmi: _Optional[float] = ..., exact_objective: _Optional[float] = ...) -> None: ...

class MethodScore(_message.Message):
    __slots__ = ["advantage", "agreement", "cannot_links", "cannot_links_right", "method", "must_links", "must_links_right"]
    ADVANTAGE_FIELD_NUMBER: _ClassVar[int]
    AGREEMENT_FIELD_NUMBER: _ClassVar[int]
    CANNOT_LINKS_FIELD_NUMBER: _ClassVar[int]
    CANNOT_LINKS_RIGHT_FIELD_NUMBER: _ClassVar[int]
    METHOD_FIELD_NUMBER: _ClassVar[int]
    MUST_LINKS_FIELD_NUMBER: _ClassVar[int]
    MUST_LINKS_RIGHT_FIELD_NUMBER: _ClassVar[int]
    advantage: float
    agreement: float
    cannot_links: int
    cannot_links_right: int
    method: _event_pb2.Method
    must_links: int
    must_links_right: int
    def __init__(self, method: _Optional[_Union[_event_pb2.Method, _Mapping]] = ..., must_links: _Optional[int] = ..., must_links_right: _Optional[int] = ..., cannot_links: _Optional[int] = ..., cannot_links_right: _Optional[int] = ..., agreement: _Optional[float] = ..., advantage: _Optional[float] = ...) -> None: ...

class MixtureHead(_message.Message):
    __slots__ = ["shares"]
    SHARES_FIELD_NUMBER: _ClassVar[int]
    shares: _containers.RepeatedScalarFieldContainer[float]
    def __init__(self, shares: _Optional[_Iterable[float]] = ...) -> None: ...

class ModelHead(_message.Message):
    __slots__ = ["columns", "distortion", "forest", "k", "landmarks", "metric", "mixture", "scaled"]
    COLUMNS_FIELD_NUMBER: _ClassVar[int]
    DISTORTION_FIELD_NUMBER: _ClassVar[int]
    FOREST_FIELD_NUMBER: _ClassVar[int]
    K_FIELD_NUMBER: _ClassVar[int]
    LANDMARKS_FIELD_NUMBER: _ClassVar[int]
    METRIC_FIELD_NUMBER: _ClassVar[int]
    MIXTURE_FIELD_NUMBER: _ClassVar[int]
    SCALED_FIELD_NUMBER: _ClassVar[int]
    columns: int
    distortion: _spec_pb2.Distortion
    forest: ForestHead
    k: int
    landmarks: LandmarkHead
    metric: _spec_pb2.Metric
    mixture: MixtureHead
    scaled: bool
    def __init__(self, distortion: _Optional[_Union[_spec_pb2.Distortion, str]] = ..., k: _Optional[int] = ..., columns: _Optional[int] = ..., metric: _Optional[_Union[_spec_pb2.Metric, str]] = ..., scaled: bool = ..., landmarks: _Optional[_Union[LandmarkHead, _Mapping]] = ..., mixture: _Optional[_Union[MixtureHead, _Mapping]] = ..., forest: _Optional[_Union[ForestHead, _Mapping]] = ...) -> None: ...

class NeighborGraphReport(_message.Message):
    __slots__ = ["edges", "neighbors", "weights"]
    EDGES_FIELD_NUMBER: _ClassVar[int]
    NEIGHBORS_FIELD_NUMBER: _ClassVar[int]
    WEIGHTS_FIELD_NUMBER: _ClassVar[int]
    edges: int
    neighbors: int
    weights: _spec_pb2.NeighborWeights
    def __init__(self, neighbors: _Optional[int] = ..., weights: _Optional[_Union[_spec_pb2.NeighborWeights, str]] = ..., edges: _Optional[int] = ...) -> None: ...

class Origin(_message.Message):
    __slots__ = ["command", "directory", "display_name", "inputs", "seed", "spec", "version"]
    COMMAND_FIELD_NUMBER: _ClassVar[int]
    DIRECTORY_FIELD_NUMBER: _ClassVar[int]
    DISPLAY_NAME_FIELD_NUMBER: _ClassVar[int]
    INPUTS_FIELD_NUMBER: _ClassVar[int]
    SEED_FIELD_NUMBER: _ClassVar[int]
    SPEC_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    command: _containers.RepeatedScalarFieldContainer[str]
    directory: str
    display_name: str
    inputs: _containers.RepeatedCompositeFieldContainer[InputFile]
    seed: int
    spec: _spec_pb2.JobSpec
    version: str
    def __init__(self, version: _Optional[str] = ..., command: _Optional[_Iterable[str]] = ..., directory: _Optional[str] = ..., seed: _Optional[int] = ..., inputs: _Optional[_Iterable[_Union[InputFile, _Mapping]]] = ..., spec: _Optional[_Union[_spec_pb2.JobSpec, _Mapping]] = ..., display_name: _Optional[str] = ...) -> None: ...

class Result(_message.Message):
    __slots__ = ["choice", "cluster_sizes", "constraints", "dropped_rows", "embedding", "history", "inference", "iterations", "k", "k_selection", "kernel", "landmarks", "model", "neighbor_graph", "objective", "objective_name", "plain_objective", "plan", "recipe", "restart", "row_scores", "rows", "scale", "shifts", "sigma", "spectral", "state", "stop_reason", "suspects", "timings", "version", "warnings"]
    CHOICE_FIELD_NUMBER: _ClassVar[int]
    CLUSTER_SIZES_FIELD_NUMBER: _ClassVar[int]
    CONSTRAINTS_FIELD_NUMBER: _ClassVar[int]
    DROPPED_ROWS_FIELD_NUMBER: _ClassVar[int]
    EMBEDDING_FIELD_NUMBER: _ClassVar[int]
    HISTORY_FIELD_NUMBER: _ClassVar[int]
    INFERENCE_FIELD_NUMBER: _ClassVar[int]
    ITERATIONS_FIELD_NUMBER: _ClassVar[int]
    KERNEL_FIELD_NUMBER: _ClassVar[int]
    K_FIELD_NUMBER: _ClassVar[int]
    K_SELECTION_FIELD_NUMBER: _ClassVar[int]
    LANDMARKS_FIELD_NUMBER: _ClassVar[int]
    MODEL_FIELD_NUMBER: _ClassVar[int]
    NEIGHBOR_GRAPH_FIELD_NUMBER: _ClassVar[int]
    OBJECTIVE_FIELD_NUMBER: _ClassVar[int]
    OBJECTIVE_NAME_FIELD_NUMBER: _ClassVar[int]
    PLAIN_OBJECTIVE_FIELD_NUMBER: _ClassVar[int]
    PLAN_FIELD_NUMBER: _ClassVar[int]
    RECIPE_FIELD_NUMBER: _ClassVar[int]
    RESTART_FIELD_NUMBER: _ClassVar[int]
    ROWS_FIELD_NUMBER: _ClassVar[int]
    ROW_SCORES_FIELD_NUMBER: _ClassVar[int]
    SCALE_FIELD_NUMBER: _ClassVar[int]
    SHIFTS_FIELD_NUMBER: _ClassVar[int]
    SIGMA_FIELD_NUMBER: _ClassVar[int]
    SPECTRAL_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    STOP_REASON_FIELD_NUMBER: _ClassVar[int]
    SUSPECTS_FIELD_NUMBER: _ClassVar[int]
    TIMINGS_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    WARNINGS_FIELD_NUMBER: _ClassVar[int]
    choice: Choice
    cluster_sizes: _containers.RepeatedScalarFieldContainer[int]
    constraints: ConstraintReport
    dropped_rows: int
    embedding: EmbeddingHead
    history: _containers.RepeatedCompositeFieldContainer[_event_pb2.Iteration]
    inference: InferenceReport
    iterations: int
    k: int
    k_selection: KSelection
    kernel: KernelReport
    landmarks: LandmarkReport
    model: ModelHead
    neighbor_graph: NeighborGraphReport
    objective: float
    objective_name: str
    plain_objective: float
    plan: _plan_pb2.Plan
    recipe: _recipe_pb2.Recipe
    restart: int
    row_scores: RowScoresHead
    rows: int
    scale: _spec_pb2.Scale
    shifts: _containers.RepeatedCompositeFieldContainer[_event_pb2.ShiftChange]
    sigma: float
    spectral: SpectralReport
    state: _job_pb2.JobState
    stop_reason: _job_pb2.StopReason
    suspects: _containers.RepeatedCompositeFieldContainer[Suspect]
    timings: Timings
    version: str
    warnings: _containers.RepeatedCompositeFieldContainer[_event_pb2.Notice]
    def __init__(self, state: _Optional[_Union[_job_pb2.JobState, str]] = ..., stop_reason: _Optional[_Union[_job_pb2.StopReason, str]] = ..., objective_name: _Optional[str] = ..., objective: _Optional[float] = ..., plain_objective: _Optional[float] = ..., iterations: _Optional[int] = ..., k: _Optional[int] = ..., rows: _Optional[int] = ..., dropped_rows: _Optional[int] = ..., cluster_sizes: _Optional[_Iterable[int]] = ..., constraints: _Optional[_Union[ConstraintReport, _Mapping]] = ..., kernel: _Optional[_Union[KernelReport, _Mapping]] = ..., sigma: _Optional[float] = ..., scale: _Optional[_Union[_spec_pb2.Scale, str]] = ..., neighbor_graph: _Optional[_Union[NeighborGraphReport, _Mapping]] = ..., inference: _Optional[_Union[InferenceReport, _Mapping]] = ..., spectral: _Optional[_Union[SpectralReport, _Mapping]] = ..., model: _Optional[_Union[ModelHead, _Mapping]] = ..., embedding: _Optional[_Union[EmbeddingHead, _Mapping]] = ..., warnings: _Optional[_Iterable[_Union[_event_pb2.Notice, _Mapping]]] = ..., restart: _Optional[int] = ..., history: _Optional[_Iterable[_Union[_event_pb2.Iteration, _Mapping]]] = ..., shifts: _Optional[_Iterable[_Union[_event_pb2.ShiftChange, _Mapping]]] = ..., plan: _Optional[_Union[_plan_pb2.Plan, _Mapping]] = ..., timings: _Optional[_Union[Timings, _Mapping]] = ..., choice: _Optional[_Union[Choice, _Mapping]] = ..., landmarks: _Optional[_Union[LandmarkReport, _Mapping]] = ..., row_scores: _Optional[_Union[RowScoresHead, _Mapping]] = ..., version: _Optional[str] = ..., k_selection: _Optional[_Union[KSelection, _Mapping]] = ..., recipe: _Optional[_Union[_recipe_pb2.Recipe, _Mapping]] = ..., suspects: _Optional[_Iterable[_Union[Suspect, _Mapping]]] = ...) -> None: ...

class RowScoresHead(_message.Message):
    __slots__ = ["measure", "posterior", "rows", "runs"]
    MEASURE_FIELD_NUMBER: _ClassVar[int]
    POSTERIOR_FIELD_NUMBER: _ClassVar[int]
    ROWS_FIELD_NUMBER: _ClassVar[int]
    RUNS_FIELD_NUMBER: _ClassVar[int]
    measure: RowMeasure
    posterior: bool
    rows: int
    runs: int
    def __init__(self, rows: _Optional[int] = ..., measure: _Optional[_Union[RowMeasure, str]] = ..., runs: _Optional[int] = ..., posterior: bool = ...) -> None: ...

class RunRecord(_message.Message):
    __slots__ = ["evaluation", "origin", "solver_steps"]
    EVALUATION_FIELD_NUMBER: _ClassVar[int]
    ORIGIN_FIELD_NUMBER: _ClassVar[int]
    SOLVER_STEPS_FIELD_NUMBER: _ClassVar[int]
    evaluation: Evaluation
    origin: Origin
    solver_steps: _containers.RepeatedCompositeFieldContainer[_event_pb2.SolverStep]
    def __init__(self, evaluation: _Optional[_Union[Evaluation, _Mapping]] = ..., origin: _Optional[_Union[Origin, _Mapping]] = ..., solver_steps: _Optional[_Iterable[_Union[_event_pb2.SolverStep, _Mapping]]] = ...) -> None: ...

class SpectralReport(_message.Message):
    __slots__ = ["beta", "candidates", "chosen", "constraint_satisfaction", "costs", "eigenvalues", "feasible_vectors", "products", "residuals", "volume", "width"]
    BETA_FIELD_NUMBER: _ClassVar[int]
    CANDIDATES_FIELD_NUMBER: _ClassVar[int]
    CHOSEN_FIELD_NUMBER: _ClassVar[int]
    CONSTRAINT_SATISFACTION_FIELD_NUMBER: _ClassVar[int]
    COSTS_FIELD_NUMBER: _ClassVar[int]
    EIGENVALUES_FIELD_NUMBER: _ClassVar[int]
    FEASIBLE_VECTORS_FIELD_NUMBER: _ClassVar[int]
    PRODUCTS_FIELD_NUMBER: _ClassVar[int]
    RESIDUALS_FIELD_NUMBER: _ClassVar[int]
    VOLUME_FIELD_NUMBER: _ClassVar[int]
    WIDTH_FIELD_NUMBER: _ClassVar[int]
    beta: float
    candidates: _containers.RepeatedCompositeFieldContainer[CutCandidate]
    chosen: CutRule
    constraint_satisfaction: _containers.RepeatedScalarFieldContainer[float]
    costs: _containers.RepeatedScalarFieldContainer[float]
    eigenvalues: _containers.RepeatedScalarFieldContainer[float]
    feasible_vectors: int
    products: int
    residuals: _containers.RepeatedScalarFieldContainer[float]
    volume: float
    width: int
    def __init__(self, beta: _Optional[float] = ..., feasible_vectors: _Optional[int] = ..., volume: _Optional[float] = ..., eigenvalues: _Optional[_Iterable[float]] = ..., costs: _Optional[_Iterable[float]] = ..., constraint_satisfaction: _Optional[_Iterable[float]] = ..., residuals: _Optional[_Iterable[float]] = ..., products: _Optional[int] = ..., chosen: _Optional[_Union[CutRule, str]] = ..., width: _Optional[int] = ..., candidates: _Optional[_Iterable[_Union[CutCandidate, _Mapping]]] = ...) -> None: ...

class Suspect(_message.Message):
    __slots__ = ["label", "must_link", "other", "row", "strength"]
    LABEL_FIELD_NUMBER: _ClassVar[int]
    MUST_LINK_FIELD_NUMBER: _ClassVar[int]
    OTHER_FIELD_NUMBER: _ClassVar[int]
    ROW_FIELD_NUMBER: _ClassVar[int]
    STRENGTH_FIELD_NUMBER: _ClassVar[int]
    label: int
    must_link: bool
    other: int
    row: int
    strength: float
    def __init__(self, row: _Optional[int] = ..., other: _Optional[int] = ..., must_link: bool = ..., label: _Optional[int] = ..., strength: _Optional[float] = ...) -> None: ...

class Timings(_message.Message):
    __slots__ = ["build", "initialize", "iterate", "load", "total"]
    BUILD_FIELD_NUMBER: _ClassVar[int]
    INITIALIZE_FIELD_NUMBER: _ClassVar[int]
    ITERATE_FIELD_NUMBER: _ClassVar[int]
    LOAD_FIELD_NUMBER: _ClassVar[int]
    TOTAL_FIELD_NUMBER: _ClassVar[int]
    build: _duration_pb2.Duration
    initialize: _duration_pb2.Duration
    iterate: _duration_pb2.Duration
    load: _duration_pb2.Duration
    total: _duration_pb2.Duration
    def __init__(self, load: _Optional[_Union[_duration_pb2.Duration, _Mapping]] = ..., build: _Optional[_Union[_duration_pb2.Duration, _Mapping]] = ..., initialize: _Optional[_Union[_duration_pb2.Duration, _Mapping]] = ..., iterate: _Optional[_Union[_duration_pb2.Duration, _Mapping]] = ..., total: _Optional[_Union[_duration_pb2.Duration, _Mapping]] = ...) -> None: ...

class Confidence(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = []

class RowMeasure(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = []

class CutRule(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = []
