from cleave.v1 import recipe_pb2 as _recipe_pb2
from cleave.v1 import table_pb2 as _table_pb2
from google.protobuf import duration_pb2 as _duration_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Iterable as _Iterable, Mapping as _Mapping, Optional as _Optional, Union as _Union

AFFINITY_DIAGONAL_KEEP: AffinityDiagonal
AFFINITY_DIAGONAL_UNSPECIFIED: AffinityDiagonal
AFFINITY_DIAGONAL_ZERO: AffinityDiagonal
BETA_RULE_AUTO: BetaRule
BETA_RULE_PAPER: BetaRule
BETA_RULE_STRICT: BetaRule
BETA_RULE_UNSPECIFIED: BetaRule
COMPONENT_POLICY_AUTO: ComponentPolicy
COMPONENT_POLICY_JOIN: ComponentPolicy
COMPONENT_POLICY_KEEP: ComponentPolicy
COMPONENT_POLICY_UNSPECIFIED: ComponentPolicy
DESCRIPTOR: _descriptor.FileDescriptor
DISCRETIZATION_PLAIN: Discretization
DISCRETIZATION_SIGN: Discretization
DISCRETIZATION_UNSPECIFIED: Discretization
DISCRETIZATION_WEIGHTED: Discretization
DISTORTION_COSINE: Distortion
DISTORTION_EUCLIDEAN: Distortion
DISTORTION_I_DIVERGENCE: Distortion
DISTORTION_KL: Distortion
DISTORTION_UNSPECIFIED: Distortion
EMPTY_POLICY_FARTHEST: EmptyPolicy
EMPTY_POLICY_KEEP: EmptyPolicy
EMPTY_POLICY_UNSPECIFIED: EmptyPolicy
ENFORCEMENT_ALWAYS: Enforcement
ENFORCEMENT_AUTO: Enforcement
ENFORCEMENT_NEVER: Enforcement
ENFORCEMENT_UNSPECIFIED: Enforcement
FARTHEST_RULE_MEAN: FarthestRule
FARTHEST_RULE_TOTAL: FarthestRule
FARTHEST_RULE_UNSPECIFIED: FarthestRule
GEOMETRY_EUCLIDEAN: Geometry
GEOMETRY_SPHERICAL: Geometry
GEOMETRY_UNSPECIFIED: Geometry
INFERENCE_BP: Inference
INFERENCE_EXACT: Inference
INFERENCE_ICM: Inference
INFERENCE_LP: Inference
INFERENCE_UNSPECIFIED: Inference
KERNEL_FUNCTION_COSINE: KernelFunction
KERNEL_FUNCTION_GAUSSIAN: KernelFunction
KERNEL_FUNCTION_LAPLACIAN: KernelFunction
KERNEL_FUNCTION_LINEAR: KernelFunction
KERNEL_FUNCTION_POLYNOMIAL: KernelFunction
KERNEL_FUNCTION_SIGMOID: KernelFunction
KERNEL_FUNCTION_UNSPECIFIED: KernelFunction
LABEL_USE_AUTO: LabelUse
LABEL_USE_CONSTRAINTS: LabelUse
LABEL_USE_SEEDS: LabelUse
LABEL_USE_TRUTH: LabelUse
LABEL_USE_UNSPECIFIED: LabelUse
METRIC_DIAGONAL: Metric
METRIC_FULL: Metric
METRIC_IDENTITY: Metric
METRIC_UNSPECIFIED: Metric
NEIGHBOR_WEIGHTS_GAUSSIAN: NeighborWeights
NEIGHBOR_WEIGHTS_UNSPECIFIED: NeighborWeights
NEIGHBOR_WEIGHTS_UNWEIGHTED: NeighborWeights
OBJECTIVE_KERNEL_KMEANS: Objective
OBJECTIVE_NORMALIZED_CUT: Objective
OBJECTIVE_RATIO_ASSOCIATION: Objective
OBJECTIVE_RATIO_CUT: Objective
OBJECTIVE_UNSPECIFIED: Objective
PENALTY_BASU2003: Penalty
PENALTY_BILENKO2004: Penalty
PENALTY_POTTS: Penalty
PENALTY_UNSPECIFIED: Penalty
PRIORITY_HIGH: Priority
PRIORITY_LOW: Priority
PRIORITY_NORMAL: Priority
PRIORITY_UNSPECIFIED: Priority
RISE_POLICY_IGNORE: RisePolicy
RISE_POLICY_SHIFT: RisePolicy
RISE_POLICY_STOP: RisePolicy
RISE_POLICY_UNSPECIFIED: RisePolicy
SCALE_AUTO: Scale
SCALE_MINMAX: Scale
SCALE_NONE: Scale
SCALE_ROBUST: Scale
SCALE_UNSPECIFIED: Scale
SCALE_ZSCORE: Scale
SHIFT_RULE_AUTO: ShiftRule
SHIFT_RULE_UNSPECIFIED: ShiftRule
START_CENTROIDS: Start
START_FARTHEST_FIRST: Start
START_KMEANS_PLUS_PLUS: Start
START_LABELS: Start
START_MULTILEVEL: Start
START_NEIGHBORHOODS: Start
START_RANDOM: Start
START_SEEDS: Start
START_SPECTRAL: Start
START_UNSPECIFIED: Start
START_WEIGHTED_FARTHEST_FIRST: Start
STORAGE_MODE_FLOAT16: StorageMode
STORAGE_MODE_FLOAT32: StorageMode
STORAGE_MODE_NONE: StorageMode
STORAGE_MODE_UNSPECIFIED: StorageMode

class Auto(_message.Message):
    __slots__ = ["enforce", "folds", "neighbors"]
    ENFORCE_FIELD_NUMBER: _ClassVar[int]
    FOLDS_FIELD_NUMBER: _ClassVar[int]
    NEIGHBORS_FIELD_NUMBER: _ClassVar[int]
    enforce: Enforcement
    folds: int
    neighbors: int
    def __init__(self, neighbors: _Optional[int] = ..., folds: _Optional[int] = ..., enforce: _Optional[_Union[Enforcement, str]] = ...) -> None: ...

class Beta(_message.Message):
    __slots__ = ["rule", "value"]
    RULE_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    rule: BetaRule
    value: float
    def __init__(self, rule: _Optional[_Union[BetaRule, str]] = ..., value: _Optional[float] = ...) -> None: ...

class ConstrainedKmeans(_message.Message):
    __slots__ = ["geometry"]
    GEOMETRY_FIELD_NUMBER: _ClassVar[int]
    geometry: Geometry
    def __init__(self, geometry: _Optional[_Union[Geometry, str]] = ...) -> None: ...

class ConstrainedSpectral(_message.Message):
    __slots__ = ["affinity_diagonal", "beliefs", "beta", "components", "discretization", "eigenvectors", "kernel", "transfer"]
    AFFINITY_DIAGONAL_FIELD_NUMBER: _ClassVar[int]
    BELIEFS_FIELD_NUMBER: _ClassVar[int]
    BETA_FIELD_NUMBER: _ClassVar[int]
    COMPONENTS_FIELD_NUMBER: _ClassVar[int]
    DISCRETIZATION_FIELD_NUMBER: _ClassVar[int]
    EIGENVECTORS_FIELD_NUMBER: _ClassVar[int]
    KERNEL_FIELD_NUMBER: _ClassVar[int]
    TRANSFER_FIELD_NUMBER: _ClassVar[int]
    affinity_diagonal: AffinityDiagonal
    beliefs: _table_pb2.TableInput
    beta: Beta
    components: ComponentPolicy
    discretization: Discretization
    eigenvectors: Eigenvectors
    kernel: Kernel
    transfer: bool
    def __init__(self, kernel: _Optional[_Union[Kernel, _Mapping]] = ..., affinity_diagonal: _Optional[_Union[AffinityDiagonal, str]] = ..., beta: _Optional[_Union[Beta, _Mapping]] = ..., discretization: _Optional[_Union[Discretization, str]] = ..., beliefs: _Optional[_Union[_table_pb2.TableInput, _Mapping]] = ..., transfer: bool = ..., components: _Optional[_Union[ComponentPolicy, str]] = ..., eigenvectors: _Optional[_Union[Eigenvectors, _Mapping]] = ...) -> None: ...

class CopKmeans(_message.Message):
    __slots__ = ["geometry", "max_restarts"]
    GEOMETRY_FIELD_NUMBER: _ClassVar[int]
    MAX_RESTARTS_FIELD_NUMBER: _ClassVar[int]
    geometry: Geometry
    max_restarts: int
    def __init__(self, geometry: _Optional[_Union[Geometry, str]] = ..., max_restarts: _Optional[int] = ...) -> None: ...

class Eigenvectors(_message.Message):
    __slots__ = ["kmeans_max_iterations", "kmeans_restarts", "tolerance"]
    KMEANS_MAX_ITERATIONS_FIELD_NUMBER: _ClassVar[int]
    KMEANS_RESTARTS_FIELD_NUMBER: _ClassVar[int]
    TOLERANCE_FIELD_NUMBER: _ClassVar[int]
    kmeans_max_iterations: int
    kmeans_restarts: int
    tolerance: float
    def __init__(self, tolerance: _Optional[float] = ..., kmeans_restarts: _Optional[int] = ..., kmeans_max_iterations: _Optional[int] = ...) -> None: ...

class HmrfKmeans(_message.Message):
    __slots__ = ["distortion", "inference", "metric", "penalty"]
    DISTORTION_FIELD_NUMBER: _ClassVar[int]
    INFERENCE_FIELD_NUMBER: _ClassVar[int]
    METRIC_FIELD_NUMBER: _ClassVar[int]
    PENALTY_FIELD_NUMBER: _ClassVar[int]
    distortion: Distortion
    inference: Inference
    metric: Metric
    penalty: Penalty
    def __init__(self, distortion: _Optional[_Union[Distortion, str]] = ..., penalty: _Optional[_Union[Penalty, str]] = ..., metric: _Optional[_Union[Metric, str]] = ..., inference: _Optional[_Union[Inference, str]] = ...) -> None: ...

class Initialization(_message.Message):
    __slots__ = ["centroids", "farthest", "labels", "start"]
    CENTROIDS_FIELD_NUMBER: _ClassVar[int]
    FARTHEST_FIELD_NUMBER: _ClassVar[int]
    LABELS_FIELD_NUMBER: _ClassVar[int]
    START_FIELD_NUMBER: _ClassVar[int]
    centroids: _containers.RepeatedScalarFieldContainer[float]
    farthest: FarthestRule
    labels: _table_pb2.TableInput
    start: Start
    def __init__(self, start: _Optional[_Union[Start, str]] = ..., labels: _Optional[_Union[_table_pb2.TableInput, _Mapping]] = ..., farthest: _Optional[_Union[FarthestRule, str]] = ..., centroids: _Optional[_Iterable[float]] = ...) -> None: ...

class JobSpec(_message.Message):
    __slots__ = ["auto", "constrained_kmeans", "constrained_spectral", "cop_kmeans", "dataset_id", "hmrf_kmeans", "initialization", "k", "k_range", "kernel_kmeans", "kmeans", "m_kmeans", "max_iterations", "mpc_kmeans", "neighbor_graph", "paper_settings", "pc_kmeans", "restarts", "scale", "seed", "seeded_kmeans", "spectral", "spectral_learning", "storage", "supervision", "table", "tolerance"]
    AUTO_FIELD_NUMBER: _ClassVar[int]
    CONSTRAINED_KMEANS_FIELD_NUMBER: _ClassVar[int]
    CONSTRAINED_SPECTRAL_FIELD_NUMBER: _ClassVar[int]
    COP_KMEANS_FIELD_NUMBER: _ClassVar[int]
    DATASET_ID_FIELD_NUMBER: _ClassVar[int]
    HMRF_KMEANS_FIELD_NUMBER: _ClassVar[int]
    INITIALIZATION_FIELD_NUMBER: _ClassVar[int]
    KERNEL_KMEANS_FIELD_NUMBER: _ClassVar[int]
    KMEANS_FIELD_NUMBER: _ClassVar[int]
    K_FIELD_NUMBER: _ClassVar[int]
    K_RANGE_FIELD_NUMBER: _ClassVar[int]
    MAX_ITERATIONS_FIELD_NUMBER: _ClassVar[int]
    MPC_KMEANS_FIELD_NUMBER: _ClassVar[int]
    M_KMEANS_FIELD_NUMBER: _ClassVar[int]
    NEIGHBOR_GRAPH_FIELD_NUMBER: _ClassVar[int]
    PAPER_SETTINGS_FIELD_NUMBER: _ClassVar[int]
    PC_KMEANS_FIELD_NUMBER: _ClassVar[int]
    RESTARTS_FIELD_NUMBER: _ClassVar[int]
    SCALE_FIELD_NUMBER: _ClassVar[int]
    SEEDED_KMEANS_FIELD_NUMBER: _ClassVar[int]
    SEED_FIELD_NUMBER: _ClassVar[int]
    SPECTRAL_FIELD_NUMBER: _ClassVar[int]
    SPECTRAL_LEARNING_FIELD_NUMBER: _ClassVar[int]
    STORAGE_FIELD_NUMBER: _ClassVar[int]
    SUPERVISION_FIELD_NUMBER: _ClassVar[int]
    TABLE_FIELD_NUMBER: _ClassVar[int]
    TOLERANCE_FIELD_NUMBER: _ClassVar[int]
    auto: Auto
    constrained_kmeans: ConstrainedKmeans
    constrained_spectral: ConstrainedSpectral
    cop_kmeans: CopKmeans
    dataset_id: str
    hmrf_kmeans: HmrfKmeans
    initialization: Initialization
    k: int
    k_range: KRange
    kernel_kmeans: KernelKmeans
    kmeans: Kmeans
    m_kmeans: MKmeans
    max_iterations: int
    mpc_kmeans: MpcKmeans
    neighbor_graph: NeighborGraph
    paper_settings: bool
    pc_kmeans: PcKmeans
    restarts: int
    scale: Scale
    seed: int
    seeded_kmeans: SeededKmeans
    spectral: Spectral
    spectral_learning: SpectralLearning
    storage: StorageMode
    supervision: Supervision
    table: _recipe_pb2.TablePoints
    tolerance: float
    def __init__(self, dataset_id: _Optional[str] = ..., table: _Optional[_Union[_recipe_pb2.TablePoints, _Mapping]] = ..., k: _Optional[int] = ..., k_range: _Optional[_Union[KRange, _Mapping]] = ..., seed: _Optional[int] = ..., restarts: _Optional[int] = ..., max_iterations: _Optional[int] = ..., tolerance: _Optional[float] = ..., supervision: _Optional[_Union[Supervision, _Mapping]] = ..., initialization: _Optional[_Union[Initialization, _Mapping]] = ..., storage: _Optional[_Union[StorageMode, str]] = ..., scale: _Optional[_Union[Scale, str]] = ..., paper_settings: bool = ..., neighbor_graph: _Optional[_Union[NeighborGraph, _Mapping]] = ..., auto: _Optional[_Union[Auto, _Mapping]] = ..., kernel_kmeans: _Optional[_Union[KernelKmeans, _Mapping]] = ..., kmeans: _Optional[_Union[Kmeans, _Mapping]] = ..., seeded_kmeans: _Optional[_Union[SeededKmeans, _Mapping]] = ..., constrained_kmeans: _Optional[_Union[ConstrainedKmeans, _Mapping]] = ..., cop_kmeans: _Optional[_Union[CopKmeans, _Mapping]] = ..., pc_kmeans: _Optional[_Union[PcKmeans, _Mapping]] = ..., m_kmeans: _Optional[_Union[MKmeans, _Mapping]] = ..., mpc_kmeans: _Optional[_Union[MpcKmeans, _Mapping]] = ..., hmrf_kmeans: _Optional[_Union[HmrfKmeans, _Mapping]] = ..., spectral: _Optional[_Union[Spectral, _Mapping]] = ..., spectral_learning: _Optional[_Union[SpectralLearning, _Mapping]] = ..., constrained_spectral: _Optional[_Union[ConstrainedSpectral, _Mapping]] = ...) -> None: ...

class KRange(_message.Message):
    __slots__ = ["max", "min"]
    MAX_FIELD_NUMBER: _ClassVar[int]
    MIN_FIELD_NUMBER: _ClassVar[int]
    max: int
    min: int
    def __init__(self, min: _Optional[int] = ..., max: _Optional[int] = ...) -> None: ...

class Kernel(_message.Message):
    __slots__ = ["coef0", "degree", "function", "gamma", "rho"]
    COEF0_FIELD_NUMBER: _ClassVar[int]
    DEGREE_FIELD_NUMBER: _ClassVar[int]
    FUNCTION_FIELD_NUMBER: _ClassVar[int]
    GAMMA_FIELD_NUMBER: _ClassVar[int]
    RHO_FIELD_NUMBER: _ClassVar[int]
    coef0: float
    degree: int
    function: KernelFunction
    gamma: float
    rho: float
    def __init__(self, function: _Optional[_Union[KernelFunction, str]] = ..., rho: _Optional[float] = ..., gamma: _Optional[float] = ..., coef0: _Optional[float] = ..., degree: _Optional[int] = ...) -> None: ...

class KernelKmeans(_message.Message):
    __slots__ = ["affinity_diagonal", "kernel", "landmarks", "local_search", "objective", "on_empty", "on_rise", "shift", "weights"]
    AFFINITY_DIAGONAL_FIELD_NUMBER: _ClassVar[int]
    KERNEL_FIELD_NUMBER: _ClassVar[int]
    LANDMARKS_FIELD_NUMBER: _ClassVar[int]
    LOCAL_SEARCH_FIELD_NUMBER: _ClassVar[int]
    OBJECTIVE_FIELD_NUMBER: _ClassVar[int]
    ON_EMPTY_FIELD_NUMBER: _ClassVar[int]
    ON_RISE_FIELD_NUMBER: _ClassVar[int]
    SHIFT_FIELD_NUMBER: _ClassVar[int]
    WEIGHTS_FIELD_NUMBER: _ClassVar[int]
    affinity_diagonal: AffinityDiagonal
    kernel: Kernel
    landmarks: int
    local_search: int
    objective: Objective
    on_empty: EmptyPolicy
    on_rise: RisePolicy
    shift: Shift
    weights: _table_pb2.TableInput
    def __init__(self, objective: _Optional[_Union[Objective, str]] = ..., kernel: _Optional[_Union[Kernel, _Mapping]] = ..., shift: _Optional[_Union[Shift, _Mapping]] = ..., on_rise: _Optional[_Union[RisePolicy, str]] = ..., on_empty: _Optional[_Union[EmptyPolicy, str]] = ..., affinity_diagonal: _Optional[_Union[AffinityDiagonal, str]] = ..., weights: _Optional[_Union[_table_pb2.TableInput, _Mapping]] = ..., local_search: _Optional[int] = ..., landmarks: _Optional[int] = ...) -> None: ...

class Kmeans(_message.Message):
    __slots__ = ["geometry"]
    GEOMETRY_FIELD_NUMBER: _ClassVar[int]
    geometry: Geometry
    def __init__(self, geometry: _Optional[_Union[Geometry, str]] = ...) -> None: ...

class MKmeans(_message.Message):
    __slots__ = ["metric"]
    METRIC_FIELD_NUMBER: _ClassVar[int]
    metric: Metric
    def __init__(self, metric: _Optional[_Union[Metric, str]] = ...) -> None: ...

class MpcKmeans(_message.Message):
    __slots__ = ["inference", "metric", "penalty"]
    INFERENCE_FIELD_NUMBER: _ClassVar[int]
    METRIC_FIELD_NUMBER: _ClassVar[int]
    PENALTY_FIELD_NUMBER: _ClassVar[int]
    inference: Inference
    metric: Metric
    penalty: Penalty
    def __init__(self, penalty: _Optional[_Union[Penalty, str]] = ..., metric: _Optional[_Union[Metric, str]] = ..., inference: _Optional[_Union[Inference, str]] = ...) -> None: ...

class NeighborGraph(_message.Message):
    __slots__ = ["neighbors", "weights"]
    NEIGHBORS_FIELD_NUMBER: _ClassVar[int]
    WEIGHTS_FIELD_NUMBER: _ClassVar[int]
    neighbors: int
    weights: NeighborWeights
    def __init__(self, neighbors: _Optional[int] = ..., weights: _Optional[_Union[NeighborWeights, str]] = ...) -> None: ...

class PcKmeans(_message.Message):
    __slots__ = ["inference"]
    INFERENCE_FIELD_NUMBER: _ClassVar[int]
    inference: Inference
    def __init__(self, inference: _Optional[_Union[Inference, str]] = ...) -> None: ...

class Scheduling(_message.Message):
    __slots__ = ["priority", "time_limit", "webhook_url"]
    PRIORITY_FIELD_NUMBER: _ClassVar[int]
    TIME_LIMIT_FIELD_NUMBER: _ClassVar[int]
    WEBHOOK_URL_FIELD_NUMBER: _ClassVar[int]
    priority: Priority
    time_limit: _duration_pb2.Duration
    webhook_url: str
    def __init__(self, priority: _Optional[_Union[Priority, str]] = ..., time_limit: _Optional[_Union[_duration_pb2.Duration, _Mapping]] = ..., webhook_url: _Optional[str] = ...) -> None: ...

class SeededKmeans(_message.Message):
    __slots__ = ["geometry"]
    GEOMETRY_FIELD_NUMBER: _ClassVar[int]
    geometry: Geometry
    def __init__(self, geometry: _Optional[_Union[Geometry, str]] = ...) -> None: ...

class Shift(_message.Message):
    __slots__ = ["rule", "sigma"]
    RULE_FIELD_NUMBER: _ClassVar[int]
    SIGMA_FIELD_NUMBER: _ClassVar[int]
    rule: ShiftRule
    sigma: float
    def __init__(self, rule: _Optional[_Union[ShiftRule, str]] = ..., sigma: _Optional[float] = ...) -> None: ...

class Spectral(_message.Message):
    __slots__ = ["affinity_diagonal", "components", "eigenvectors", "kernel", "objective"]
    AFFINITY_DIAGONAL_FIELD_NUMBER: _ClassVar[int]
    COMPONENTS_FIELD_NUMBER: _ClassVar[int]
    EIGENVECTORS_FIELD_NUMBER: _ClassVar[int]
    KERNEL_FIELD_NUMBER: _ClassVar[int]
    OBJECTIVE_FIELD_NUMBER: _ClassVar[int]
    affinity_diagonal: AffinityDiagonal
    components: ComponentPolicy
    eigenvectors: Eigenvectors
    kernel: Kernel
    objective: Objective
    def __init__(self, objective: _Optional[_Union[Objective, str]] = ..., kernel: _Optional[_Union[Kernel, _Mapping]] = ..., affinity_diagonal: _Optional[_Union[AffinityDiagonal, str]] = ..., eigenvectors: _Optional[_Union[Eigenvectors, _Mapping]] = ..., components: _Optional[_Union[ComponentPolicy, str]] = ...) -> None: ...

class SpectralLearning(_message.Message):
    __slots__ = ["affinity_diagonal", "components", "eigenvectors", "kernel"]
    AFFINITY_DIAGONAL_FIELD_NUMBER: _ClassVar[int]
    COMPONENTS_FIELD_NUMBER: _ClassVar[int]
    EIGENVECTORS_FIELD_NUMBER: _ClassVar[int]
    KERNEL_FIELD_NUMBER: _ClassVar[int]
    affinity_diagonal: AffinityDiagonal
    components: ComponentPolicy
    eigenvectors: Eigenvectors
    kernel: Kernel
    def __init__(self, kernel: _Optional[_Union[Kernel, _Mapping]] = ..., affinity_diagonal: _Optional[_Union[AffinityDiagonal, str]] = ..., eigenvectors: _Optional[_Union[Eigenvectors, _Mapping]] = ..., components: _Optional[_Union[ComponentPolicy, str]] = ...) -> None: ...

class Supervision(_message.Message):
    __slots__ = ["constraints", "entail", "label_as", "seeds"]
    CONSTRAINTS_FIELD_NUMBER: _ClassVar[int]
    ENTAIL_FIELD_NUMBER: _ClassVar[int]
    LABEL_AS_FIELD_NUMBER: _ClassVar[int]
    SEEDS_FIELD_NUMBER: _ClassVar[int]
    constraints: _table_pb2.TableInput
    entail: bool
    label_as: LabelUse
    seeds: _table_pb2.TableInput
    def __init__(self, constraints: _Optional[_Union[_table_pb2.TableInput, _Mapping]] = ..., seeds: _Optional[_Union[_table_pb2.TableInput, _Mapping]] = ..., entail: bool = ..., label_as: _Optional[_Union[LabelUse, str]] = ...) -> None: ...

class Priority(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = []

class NeighborWeights(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = []

class LabelUse(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = []

class StorageMode(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = []

class Scale(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = []

class Start(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = []

class FarthestRule(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = []

class Enforcement(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = []

class Objective(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = []

class KernelFunction(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = []

class ShiftRule(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = []

class RisePolicy(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = []

class EmptyPolicy(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = []

class AffinityDiagonal(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = []

class Geometry(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = []

class Distortion(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = []

class Metric(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = []

class Penalty(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = []

class Inference(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = []

class BetaRule(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = []

class Discretization(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = []

class ComponentPolicy(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = []
