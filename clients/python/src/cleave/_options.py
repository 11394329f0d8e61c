"""The options of a job: the parameters of the estimator, and where they are in a JobSpec.

Names, values and defaults are those of the command line; see docs/OPTIONS.md.
"""

from __future__ import annotations

import re
from typing import Any, Dict, List, Mapping, Optional, Tuple

from google.protobuf.descriptor import Descriptor, EnumDescriptor, FieldDescriptor

from cleave import v1
from cleave.errors import invalid

# The algorithms in the order in which one is chosen for options that not all of them have.
ALGORITHMS = (
    "auto",
    "kernel-kmeans",
    "kmeans",
    "seeded-kmeans",
    "constrained-kmeans",
    "pc-kmeans",
    "mpc-kmeans",
    "hmrf-kmeans",
    "m-kmeans",
    "cop-kmeans",
    "spectral",
    "spectral-learning",
    "constrained-spectral",
)
_SPECTRAL = ("spectral", "spectral-learning", "constrained-spectral")

# The algorithms that have these, which are fields of the JobSpec and so do not tell by themselves.
HAVING = {
    "constraints": ("auto", "kernel-kmeans", "pc-kmeans", "mpc-kmeans", "hmrf-kmeans", "m-kmeans", "cop-kmeans", *_SPECTRAL),
    "seeds": ("auto", "kernel-kmeans", "seeded-kmeans", "constrained-kmeans", "constrained-spectral"),
    "paper": tuple(name for name in ALGORITHMS if name not in ("auto", "spectral", "spectral-learning")),
}

# Parameter, or argument of fit: flag of the command line, field of the JobSpec, and the field in the spectral family if
# that is another one. A field that does not begin with "spec." is within the message of the algorithm.
OPTIONS: Dict[str, Tuple[str, str, Optional[str]]] = {
    "random_state": ("seed", "spec.seed", None),
    "n_init": ("restarts", "spec.restarts", "eigenvectors.kmeans_restarts"),
    "max_iter": ("max-iterations", "spec.max_iterations", "eigenvectors.kmeans_max_iterations"),
    "tol": ("tolerance", "spec.tolerance", "eigenvectors.tolerance"),
    "init": ("init", "spec.initialization.start", None),
    "farthest": ("farthest", "spec.initialization.farthest", None),
    "scale": ("scale", "spec.scale", None),
    "paper": ("paper", "spec.paper_settings", None),
    "storage": ("storage", "spec.storage", None),
    "entail": ("entail", "spec.supervision.entail", None),
    "n_neighbors": ("neighbors", "neighbors", None),
    "enforce": ("enforce", "enforce", None),
    "folds": ("folds", "folds", None),
    "knn": ("knn", "spec.neighbor_graph.neighbors", None),
    "knn_weights": ("knn-weights", "spec.neighbor_graph.weights", None),
    "objective": ("objective", "objective", None),
    "kernel": ("kernel", "kernel.function", None),
    "rho": ("rho", "kernel.rho", None),
    "gamma": ("gamma", "kernel.gamma", None),
    "coef0": ("coef0", "kernel.coef0", None),
    "degree": ("degree", "kernel.degree", None),
    "affinity_diagonal": ("affinity-diagonal", "affinity_diagonal", None),
    "sigma": ("sigma", "shift", None),
    "on_rise": ("on-rise", "on_rise", None),
    "local_search": ("local-search", "local_search", None),
    "empty": ("empty", "on_empty", None),
    "landmarks": ("landmarks", "landmarks", None),
    "geometry": ("geometry", "geometry", None),
    "distortion": ("distortion", "distortion", None),
    "metric": ("metric", "metric", None),
    "penalty": ("penalty", "penalty", None),
    "inference": ("inference", "inference", None),
    "max_restarts": ("max-restarts", "max_restarts", None),
    "beta": ("beta", "beta", None),
    "discretize": ("discretize", "discretization", None),
    "components": ("components", "components", None),
    "weights": ("weights", "weights", None),
    "beliefs": ("beliefs", "beliefs", None),
}

# Flags of the command line that are other parameters.
_OTHER_FLAGS = {
    "k": "n_clusters",
    "algorithm": "algorithm",
    "missing": "missing",
    "id-column": "id_column",
    "ignore": "ignore",
    "categorical": "categorical",
    "keep": "keep",
    "keep-last-row": "keep_last_row",
    "dates": "dates",
    "timeout": "time_limit",
}

# Fields of the API that are other parameters, or arguments of fit.
_OTHER_FIELDS = {
    "spec.k": "n_clusters",
    "spec.k_range": "n_clusters",
    "spec.initialization": "init",
    "spec.supervision.seeds": "partial_labels",
    "scheduling.time_limit": "time_limit",
}

_PARAMETERS = {**{flag: option for option, (flag, _, _) in OPTIONS.items()}, **_OTHER_FLAGS}
_FLAG = re.compile("--([a-z][a-z0-9-]*)")


def with_parameters(message: str, field: str = "") -> str:
    """Returns a message of the server in words of the estimator.

    Parameters replace flags of the command line. The parameter of the field at fault is appended if it is not named.
    """
    message = _FLAG.sub(lambda flag: _PARAMETERS.get(flag[1], flag[0]), message)
    parameter = _parameter_at(field)
    return f"{message} ({parameter})" if parameter and not re.search(rf"\b{parameter}\b", message) else message


def _parameter_at(field: str) -> str:
    """Returns the parameter whose field of the API is the given one or contains it, or "" if there is none."""
    algorithm, _, rest = field[len("spec.") :].partition(".")
    path = rest if algorithm.replace("_", "-") in ALGORITHMS else field
    for parameter, (_, own, spectral) in OPTIONS.items():
        if f"{path}.".startswith((f"{own}.", f"{spectral}.")):
            return parameter
    return next((parameter for own, parameter in _OTHER_FIELDS.items() if f"{path}.".startswith(f"{own}.")), "")


def _path(option: str, algorithm: str) -> List[str]:
    """Returns the names of the fields from a JobSpec to an option."""
    _, path, spectral = OPTIONS[option]
    if spectral is not None and algorithm in _SPECTRAL:
        path = spectral
    if path.startswith("spec."):
        return path.split(".")[1:]
    return [algorithm.replace("-", "_"), *path.split(".")]


def option_path(option: str, algorithm: str) -> List[str]:
    """Returns the names of the fields from a JobSpec to an option. Raises an error if the algorithm lacks it."""
    if _field(option, algorithm) is None:
        having = [name for name in ALGORITHMS if _field(option, name) is not None]
        raise invalid("OPTION_DOES_NOT_APPLY", f"{option} does not apply to {algorithm}; it applies to {', '.join(having)}")
    return _path(option, algorithm)


def _field(option: str, algorithm: str) -> Optional[FieldDescriptor]:
    """Returns the field of an option, or None if the algorithm does not have it."""
    message: Optional[Descriptor] = v1.JobSpec.DESCRIPTOR
    field = None
    for name in _path(option, algorithm):
        field = message.fields_by_name.get(name) if message is not None else None
        if field is None:
            return None
        message = field.message_type
    return field


def choose_algorithm(options: Mapping[str, Any], constraints: bool, seeds: bool) -> str:
    """Returns the first algorithm whose message has all options that belong there, and which has what HAVING lists.

    It returns "" if no option belongs there: the server chooses as the command line does, which depends on values too.
    """
    if all(OPTIONS[option][1].startswith("spec.") for option in options):
        return ""
    given = {"constraints": constraints, "seeds": seeds, "paper": bool(options.get("paper"))}
    for algorithm in ALGORITHMS:
        if any(given[name] and algorithm not in having for name, having in HAVING.items()):
            continue
        if all(_field(option, algorithm) is not None for option in options):
            return algorithm
    raise invalid("OPTION_DOES_NOT_APPLY", f"no algorithm has all of these options: {', '.join(sorted(options))}; leave some out")


def set_options(spec: v1.JobSpec, algorithm: str, options: Mapping[str, Any]) -> None:
    """Sets the algorithm of a spec, unless it is "", and its options, which are parameters of the estimator."""
    if algorithm:
        if algorithm not in ALGORITHMS:
            raise invalid("UNKNOWN_ALGORITHM", f"there is no algorithm {algorithm!r}; use one of {', '.join(ALGORITHMS)}", "spec.algorithm")
        getattr(spec, algorithm.replace("-", "_")).SetInParent()
    for option, value in options.items():
        message: Any = spec
        *outer, last = option_path(option, algorithm)
        for name in outer:
            message = getattr(message, name)
        set_field(message, last, option, value)


def set_field(message: Any, name: str, option: str, value: Any) -> None:
    """Sets a field of a message to the value of an option, as the command line writes it."""
    field: FieldDescriptor = message.DESCRIPTOR.fields_by_name[name]
    if field.message_type is not None:  # a number, or a rule in its place
        chosen = getattr(message, name)
        for member in field.message_type.oneofs_by_name["kind"].fields:
            if (member.enum_type is None) != isinstance(value, str):
                set_field(chosen, member.name, option, value)
        return
    if field.enum_type is not None:
        number = enum_number(field.enum_type, str(value))
        if number is None:
            words = ", ".join(enum_word(field.enum_type, v.number) for v in field.enum_type.values if v.number)
            raise invalid("BAD_VALUE", f"{option} is {value!r}; use one of {words}", f"spec.{name}")
        if number or value == "auto":
            setattr(message, name, number)
        return
    if value == "auto" and field.cpp_type == FieldDescriptor.CPPTYPE_DOUBLE:
        return  # unset
    try:
        setattr(message, name, value)
    except (TypeError, ValueError) as error:
        kind = "a number" if field.cpp_type == FieldDescriptor.CPPTYPE_DOUBLE else "a whole number of at least 0"
        if field.cpp_type == FieldDescriptor.CPPTYPE_BOOL:
            kind = "True or False"
        raise invalid("BAD_VALUE", f"{option} is {value!r}; it must be {kind}", f"spec.{name}") from error


def _prefix(enum: EnumDescriptor) -> str:
    name: str = enum.values_by_number[0].name
    return name[: -len("UNSPECIFIED")]


def enum_number(enum: EnumDescriptor, word: str) -> Optional[int]:
    """Returns the number of a word of the command line, such as kmeans++; "auto" is 0 where it has no value of its own."""
    value = enum.values_by_name.get(_prefix(enum) + word.replace("++", "-plus-plus").replace("-", "_").upper())
    if value is not None and value.number:
        return int(value.number)
    return 0 if word == "auto" else None


def enum_word(enum: EnumDescriptor, number: int) -> str:
    """Returns a value as the command line writes it, or "" for an unknown or unspecified one."""
    value = enum.values_by_number.get(number)
    if value is None or number == 0:
        return ""
    return value.name[len(_prefix(enum)) :].lower().replace("_", "-").replace("-plus-plus", "++")  # type: ignore[no-any-return]
