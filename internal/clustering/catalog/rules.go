package catalog

import (
	"slices"

	"github.com/cleave-project/cleave/internal/text"
)

// checkData refuses data that the algorithm does not accept, and scales that do not apply to the data.
func (r Request) checkData(a Algorithm) *Misuse {
	if r.Data == "" {
		return nil
	}
	if !slices.Contains(a.Data, r.Data) {
		var others []string
		for _, other := range Algorithms {
			if slices.Contains(other.Data, r.Data) {
				others = append(others, other.Name)
			}
		}
		return r.refuse(a, notApplicable, "algorithm", "%s takes %s, not %s; use {algorithm} %s", a.Name,
			text.Or(withArticles(a.Data)), withArticles([]string{r.Data})[0], text.Or(others))
	}
	if scale := r.Values["scale"]; r.Data != Points && scale != "" && scale != "none" {
		return r.refuse(a, notApplicable, "scale",
			"{scale} %s does not apply to %s: only dense points have columns to scale", scale,
			withArticles([]string{r.Data})[0])
	}
	return nil
}

// checkNeighbors refuses a neighbor graph for data that is a graph, and options that conflict with it or need it.
func (r Request) checkNeighbors(a Algorithm) *Misuse {
	switch {
	case !r.given("knn") && r.given("knn-weights"):
		return r.refuse(a, notApplicable, "knn-weights", "{knn-weights} requires {knn}")
	case !r.given("knn"):
	case r.Data == Graph:
		return r.refuse(a, notApplicable, "knn",
			"{knn} does not apply to a graph, which has edges; it connects points, or the rows of a kernel matrix")
	case r.given("neighbors"):
		return r.refuse(a, notApplicable, "neighbors",
			"{neighbors} cannot be combined with {knn}, which says how many neighbors there are")
	}
	return nil
}

// checkStorage refuses storage that does not suit the data.
func (r Request) checkStorage(a Algorithm) *Misuse {
	storage := r.Values["storage"]
	switch {
	case r.Data == Graph && (storage == "float16" || storage == "none"):
		return r.refuse(a, notApplicable, "storage",
			"{storage} %s does not apply to a graph: only its edges are stored", storage)
	case r.Data == KernelMatrix && storage == "none":
		return r.refuse(a, notApplicable, "storage",
			"{storage} none does not apply to a kernel matrix: its entries cannot be computed again")
	case a.Family == SpectralFamily && storage == "float16":
		return r.refuse(a, notApplicable, "storage",
			"{storage} float16 does not apply to %s: the eigenvectors would be those of another matrix", a.Name)
	}
	return nil
}

func withArticles(kinds []string) []string {
	return names(kinds, func(kind string) string {
		if kind == Graph || kind == KernelMatrix {
			return "a " + kind
		}
		return kind
	})
}

// checkKernel refuses kernels for data that has its own, and parameters that the kernel does not have.
func (r Request) checkKernel(a Algorithm) *Misuse {
	for _, option := range kernelOptions {
		switch {
		case !r.given(option):
		case r.given("knn"):
			return r.refuse(a, notApplicable, option,
				"{%s} cannot be combined with {knn}: the graph of neighbors is its own affinity", option)
		case r.Data == Graph:
			return r.refuse(a, notApplicable, option, "{%s} does not apply to a graph, which is its own affinity",
				option)
		case r.Data == KernelMatrix:
			return r.refuse(a, notApplicable, option, "{%s} does not apply to a kernel matrix, which is the kernel",
				option)
		case option == "kernel":
		default:
			kernel := r.kernel()
			if !kernel.Has(option) {
				return r.refuse(a, notApplicable, option, "{%s} does not apply to the %s kernel, only to %s", option,
					kernel.Name, text.Or(kernelsHaving(option)))
			}
		}
	}
	return nil
}

// kernel returns the requested kernel, or the default.
func (r Request) kernel() Kernel {
	if kernel, known := FindKernel(r.Values["kernel"]); known {
		return kernel
	}
	return Kernels[0]
}

// checkStart refuses starts that the algorithm does not have, and options that do not apply to the start.
func (r Request) checkStart(a Algorithm) *Misuse {
	start, given := r.Values["init"]
	switch {
	case given && a.Family == AutoFamily:
		return r.refuse(a, notApplicable, "init",
			"{init} does not apply to auto, which has several starts of its own; it applies to %s",
			text.Or(names(r.accepting([]string{"init"}), func(a Algorithm) string { return a.Name })))
	case given && len(a.Starts) == 0:
		return r.refuse(a, notApplicable, "init",
			"{init} does not apply to %s: it computes eigenvectors, which need no starting point", a.Name)
	case given && !slices.Contains(a.Starts, start):
		return r.refuse(a, notApplicable, "init", "{init} %s does not apply to %s; use %s", start, a.Name,
			text.Or(a.Starts))
	case (start == "labels") != r.given("initial-labels"):
		return r.refuse(a, "BAD_START", "initial-labels",
			"{initial-labels} and the start from labels go together: give both or neither")
	case (start == "centroids") != r.given("initial-centroids"):
		return r.refuse(a, "BAD_START", "initial-centroids",
			"{initial-centroids} and the start from centroids go together: give both or neither")
	case start == "seeds" && !r.given("seeds"):
		return r.refuse(a, "BAD_START", "seeds", "{init} seeds needs {seeds}")
	case given && start != "seeds" && r.given("seeds"):
		return r.refuse(a, notApplicable, "seeds",
			"{seeds} are where the run starts; they have no effect with {init} %s", start)
	case start == "multilevel" && r.Data != Graph && r.Data != "":
		return r.refuse(a, notApplicable, "init",
			"{init} multilevel is for graphs: the affinity of points has too many edges to merge vertices by")
	case r.given("farthest") && start != "farthest-first" && (given || !r.given("constraints") || r.given("seeds")):
		return r.refuse(a, notApplicable, "farthest", "{farthest} requires {init} farthest-first")
	}
	return nil
}

// checkRules refuses other combinations of options.
func (r Request) checkRules(a Algorithm) *Misuse {
	for _, needed := range a.Needs {
		if !r.given(needed) {
			return r.refuse(a, missingReason(needed), needed, "%s needs {%s}", a.Name, needed)
		}
	}
	objective := r.objective(a)
	cuts := objective != "kernel-kmeans"
	switch {
	case r.given("entail") && !r.given("constraints"):
		return r.refuse(a, notApplicable, "entail", "{entail} requires {constraints}")
	case a.Family == AutoFamily && r.Is("max-iterations", "0"):
		return r.refuse(a, badReason("max-iterations"), "max-iterations",
			"{max-iterations} is 0; auto compares answers, not starts: it must be at least 1")
	case a.Name == "spectral" && (objective == "kernel-kmeans" || objective == "ratio-cut"):
		return r.refuse(a, notApplicable, "objective",
			"{objective} %s does not apply to spectral, only normalized-cut or ratio-association", objective)
	case r.given("weights") && cuts:
		return r.refuse(a, notApplicable, "weights",
			"{weights} requires {objective} kernel-kmeans: the %s sets the weights itself", objective)
	case r.Values["affinity-diagonal"] == "zero" && (r.Data == Graph || !cuts):
		return r.refuse(a, notApplicable, "affinity-diagonal",
			"{affinity-diagonal} requires a cut of points or of a kernel matrix; here the diagonal is kept")
	case r.Values["components"] == "join" && r.Data != Graph && r.Data != "":
		return r.refuse(a, notApplicable, "components",
			"{components} join is for graphs: an affinity of points is connected")
	}
	if distortion, metric := r.Values["distortion"], r.Values["metric"]; a.Takes("distortion") &&
		distortion != "" && distortion != "euclidean" && metric != "" && metric != "identity" {
		return r.refuse(a, notApplicable, "metric",
			"{metric} %s requires {distortion} euclidean: nothing is learned for the distortion %s", metric, distortion)
	}
	if scale, distortion := r.Values["scale"], r.Values["distortion"]; scale != "" && scale != "none" &&
		(distortion == "kl" || distortion == "i-divergence") {
		return r.refuse(a, notApplicable, "scale",
			"{scale} %s cannot be combined with {distortion} %s: a divergence compares values with 0, and scaling "+
				"moves the 0 of a column", scale, distortion)
	}
	if misuse := r.checkLandmarks(a, objective); misuse != nil {
		return misuse
	}
	if a.Takes("beliefs") {
		return r.checkBeliefs(a)
	}
	return nil
}

// checkLandmarks refuses options that k-means on the features of landmarks does not have.
func (r Request) checkLandmarks(a Algorithm, objective string) *Misuse {
	if !r.given("landmarks") || r.Is("landmarks", "0") {
		return nil
	}
	if r.Data != "" && r.Data != Points {
		return r.refuse(a, notApplicable, "landmarks", "{landmarks} does not apply to %s, only to dense points",
			withArticles([]string{r.Data})[0])
	}
	if objective != "kernel-kmeans" {
		return r.refuse(a, notApplicable, "landmarks",
			"{landmarks} requires {objective} kernel-kmeans: a %s needs the whole matrix", objective)
	}
	for _, option := range []string{"weights", "sigma", "on-rise", "empty", "farthest", "affinity-diagonal", "paper"} {
		if r.given(option) && !r.Is(option, "false") {
			return r.refuse(a, notApplicable, option,
				"{%s} cannot be combined with {landmarks}: it applies to the full matrix, which landmarks replace",
				option)
		}
	}
	if storage := r.Values["storage"]; storage != "" && storage != "auto" {
		return r.refuse(a, notApplicable, "storage",
			"{storage} %s cannot be combined with {landmarks}: there is no matrix to store", storage)
	}
	if start := r.Values["init"]; start == "farthest-first" || start == "spectral" {
		return r.refuse(a, notApplicable, "init",
			"{init} %s cannot be combined with {landmarks}; use kmeans++, random, seeds or labels", start)
	}
	return nil
}

// objective returns the requested objective, or the default.
func (r Request) objective(a Algorithm) string {
	switch objective := r.Values["objective"]; {
	case objective != "":
		return objective
	case r.Data == Graph || a.Family == SpectralFamily:
		return "normalized-cut"
	}
	return "kernel-kmeans"
}

// checkBeliefs checks that the constraint matrix Q (Wang2014) has exactly one source.
func (r Request) checkBeliefs(a Algorithm) *Misuse {
	var whole []string
	for _, option := range []string{"beliefs", "source-graph", "source-data"} {
		if r.given(option) {
			whole = append(whole, option)
		}
	}
	supervised := r.given("constraints") || r.given("seeds")
	switch {
	case len(whole) > 1:
		return r.refuse(a, notApplicable, whole[1],
			"{%s} and {%s} were both given; each is a whole constraint matrix: give one of them", whole[0], whole[1])
	case len(whole) > 0 && supervised:
		return r.refuse(a, notApplicable, whole[0],
			"{constraints} and {seeds} cannot be combined with {%s}, which is a whole constraint matrix: put the "+
				"constraints into it", whole[0])
	case len(whole) == 0 && !supervised:
		return r.refuse(a, "NO_BELIEFS", "constraints",
			"%s needs {constraints}, {seeds} or {beliefs}; without them, use spectral", a.Name)
	}
	return nil
}
