package catalog

import (
	"fmt"
	"math"
	"slices"

	"github.com/cleave-project/cleave/internal/text"
)

var (
	onPoints = []string{Points, SparsePoints}
	onAll    = []string{Points, SparsePoints, Graph, KernelMatrix}

	kernelOptions   = []string{"kernel", "rho", "gamma", "coef0", "degree"}
	affinityOptions = slices.Concat(kernelOptions, neighborOptions, []string{"affinity-diagonal", "storage",
		"constraints", "entail"})

	// neighborOptions apply to every algorithm that accepts graphs.
	neighborOptions = []string{"knn", "knn-weights"}

	neighborhoodStarts = []string{"neighborhoods", "weighted-farthest-first", "random", "kmeans++",
		"labels", "centroids"}
)

// Options that have a fixed value in some algorithms. K-means and its seeded variants, which also cluster the rows of
// eigenvectors, fill empty clusters; in all other algorithms an empty cluster keeps its mean. Storage refers to the
// matrix, which the k-means family does not have. If constraints are hard in auto, so is what they imply.
var (
	impliedByAuto   = map[string]string{"entail": "true", "storage": "auto"}
	impliedByKmeans = map[string]string{"metric": "identity", "empty": "farthest", "storage": "auto"}
	impliedByCop    = map[string]string{"metric": "identity", "empty": "keep", "storage": "auto"}
	impliedByPC     = map[string]string{"geometry": "euclidean", "distortion": "euclidean", "metric": "identity",
		"penalty": "potts", "empty": "keep", "storage": "auto"}
	impliedByMPC = map[string]string{"geometry": "euclidean", "distortion": "euclidean", "empty": "keep",
		"storage": "auto"}
	impliedByHMRF     = map[string]string{"empty": "keep", "storage": "auto"}
	impliedBySpectral = map[string]string{"empty": "farthest", "discretize": "plain", "paper": "true"}
	impliedByCuts     = map[string]string{"empty": "farthest", "objective": "normalized-cut"}
)

// DefaultAlgorithm is the algorithm of a job that names none, if it accepts all of the given options.
const DefaultAlgorithm = "auto"

// Algorithms lists all algorithms. The message of an algorithm in the API has its name, with underscores. A job that
// names no algorithm runs the first one that accepts its options; see ChooseAlgorithm.
var Algorithms = []Algorithm{
	{
		Name: "auto", Family: AutoFamily, Supervision: "pairs, or seeds",
		About: "tries several methods of comparing points and using constraints, and chooses the one that agrees " +
			"best with held-out constraints",
		Data:    onAll,
		Options: slices.Concat(neighborOptions, []string{"constraints", "seeds", "neighbors", "folds", "enforce"}),
		Implied: impliedByAuto,
	},
	{
		Name: "kernel-kmeans", Family: KernelFamily, Paper: "Kulis et al. 2009", Supervision: "pairs, or seeds",
		About: "kernel k-means; ratio association, ratio cut and normalized cut on graphs",
		Data:  onAll,
		Options: slices.Concat([]string{"objective"}, affinityOptions,
			[]string{"sigma", "on-rise", "local-search", "empty", "weights", "landmarks", "farthest",
				"seeds", "paper"}),
		Starts: []string{"seeds", "farthest-first", "kmeans++", "random", "labels", "spectral", "multilevel"},
	},
	{
		Name: "kmeans", Family: KMeansFamily, Supervision: "none",
		About: "k-means, also spherical",
		Data:  onPoints, Options: []string{"geometry", "paper"}, Implied: impliedByKmeans,
		Starts: []string{"kmeans++", "random", "labels", "centroids"},
	},
	{
		Name: "seeded-kmeans", Family: KMeansFamily, Paper: "Basu et al. 2002", Supervision: "seeds",
		About: "k-means from the means of known labels, which it may change",
		Data:  onPoints, Options: []string{"geometry", "seeds", "paper"}, Implied: impliedByKmeans,
		Starts: []string{"seeds"}, Needs: []string{"seeds"},
	},
	{
		Name: "constrained-kmeans", Family: KMeansFamily, Paper: "Basu et al. 2002", Supervision: "seeds",
		About: "k-means from the means of known labels, which it never changes",
		Data:  onPoints, Options: []string{"geometry", "seeds", "paper"}, Implied: impliedByKmeans,
		Starts: []string{"seeds"}, Needs: []string{"seeds"},
	},
	{
		Name: "pc-kmeans", Family: KMeansFamily, Paper: "Basu et al. 2003", Supervision: "pairs",
		About: "k-means that pays for violated constraints",
		Data:  onPoints, Options: []string{"inference", "constraints", "entail", "paper"}, Implied: impliedByPC,
		Starts: neighborhoodStarts,
	},
	{
		Name: "mpc-kmeans", Family: KMeansFamily, Paper: "Basu et al. 2003", Supervision: "pairs",
		About: "k-means with a learned metric that pays for violated constraints",
		Data:  onPoints, Options: []string{"metric", "penalty", "inference", "constraints", "entail", "paper"},
		Implied: impliedByMPC,
		Starts:  neighborhoodStarts,
	},
	{
		Name: "hmrf-kmeans", Family: KMeansFamily, Paper: "Bilenko and Basu 2004", Supervision: "pairs",
		About: "mpc-kmeans as a hidden Markov random field, also with cosine distance and divergences",
		Data:  onPoints, Options: []string{"distortion", "metric", "penalty", "inference", "constraints", "entail",
			"paper"}, Implied: impliedByHMRF,
		Starts: neighborhoodStarts,
	},
	{
		Name: "m-kmeans", Family: KMeansFamily, Paper: "Basu et al. 2003", Supervision: "pairs, for the start only",
		About: "k-means with a learned metric",
		Data:  onPoints, Options: []string{"metric", "constraints", "entail", "paper"}, Implied: impliedByMPC,
		Starts: neighborhoodStarts,
	},
	{
		Name: "cop-kmeans", Family: KMeansFamily, Supervision: "pairs",
		About: "k-means under hard constraints",
		Data:  onPoints, Options: []string{"geometry", "max-restarts", "constraints", "entail", "paper"},
		Implied: impliedByCop,
		Starts:  []string{"random", "kmeans++", "labels", "centroids"},
	},
	{
		Name: "spectral", Family: SpectralFamily, Paper: "Kulis et al. 2009", Supervision: "pairs",
		About: "k-means on the leading eigenvectors of the affinity",
		Data:  onAll, Options: slices.Concat([]string{"objective"}, affinityOptions, []string{"components"}),
		Implied: impliedBySpectral,
	},
	{
		Name: "spectral-learning", Family: SpectralFamily, Paper: "Kamvar et al. 2003", Supervision: "pairs",
		About: "spectral with affinities of 1 and 0 for constrained pairs",
		Data:  onAll, Options: slices.Concat(affinityOptions, []string{"components"}), Implied: impliedBySpectral,
	},
	{
		Name: "constrained-spectral", Family: SpectralFamily, Paper: "Wang et al. 2014",
		Supervision: "pairs, labels, beliefs, or another graph or metric",
		About:       "cuts that satisfy constraints as well as held-out constraints justify",
		Data:        onAll,
		Options: slices.Concat(affinityOptions,
			[]string{"seeds", "beta", "discretize", "beliefs", "source-graph", "source-data", "components", "paper"}),
		Implied: impliedByCuts,
	},
}

// Kernels lists the kernel functions on points. The first is the default.
var Kernels = []Kernel{
	{
		Name: "gaussian", Formula: "exp(-|x-y|²/(2 rho²))", Parameters: []string{"rho"},
		ShiftInvariant: true, Definite: true, EntryNanos: 4,
	},
	{
		Name: "linear", Formula: "x.y", Definite: true, EntryNanos: 13,
	},
	{
		Name: "laplacian", Formula: "exp(-|x-y|/rho)", Parameters: []string{"rho"},
		ShiftInvariant: true, Definite: true, EntryNanos: 28,
	},
	{
		Name: "polynomial", Formula: "(gamma x.y + coef0)^degree", Parameters: []string{"gamma", "coef0", "degree"},
		EntryNanos: 13,
	},
	{
		Name: "sigmoid", Formula: "tanh(gamma x.y + coef0)", Parameters: []string{"gamma", "coef0"},
		EntryNanos: 28,
	},
	{
		Name: "cosine", Formula: "x.y/(|x| |y|)", Definite: true, EntryNanos: 13,
	},
}

// maxRestarts is the maximum number of restarts of a job.
const maxRestarts = 10_000

// MaxLandmarks is the maximum number of landmarks: their kernel matrix has 8 bytes per entry, and finding its
// eigenvectors takes time cubic in their number.
const MaxLandmarks = 5000

// MaxEntailed is the number of implied pairs from which constraints do not entail others by default.
const MaxEntailed = 200_000

// By default local search makes chains of SearchLength moves, unless n k exceeds a limit. A chain reads all sums S_ic.
// With a dense matrix that is little, because steps read more. On graphs steps are cheap and chains are many, so chains
// would take most of the time.
const (
	SearchLength   = 20
	MaxDenseSearch = 1 << 24
	MaxGraphSearch = 1 << 17
)

// Defaults that several algorithms share.
const (
	startsFree = "the answer without constraints, neighborhoods, then kmeans++; with --paper neighborhoods"
	runsSeeded = "1 if every cluster has seeds, else 10; with --paper 1"
)

var entailsSmall = "on " + whileFewImplied

var whileFewImplied = "while fewer than " + text.Grouped(MaxEntailed) +
	" pairs are implied and none contradict each other; off with --paper"

const helpOfK = "number of clusters, or a range such as 2..10 to choose from (default: the classes of --label-column)"

// Options lists all options, in the order of the help text.
var Options = []Option{
	{Name: "k", Field: "spec.k", Common: true, Type: Range, Min: 1, Max: math.MaxInt32, Group: RunGroup, Help: helpOfK},
	{Name: "algorithm", Common: true, Type: Choice, Values: algorithmNames(), Default: DefaultAlgorithm,
		Group: RunGroup, Help: "`NAME` of the algorithm"},

	{Name: "constraints", Field: "spec.supervision.constraints", Type: File, Group: SupervisionGroup,
		Help: "must-links and cannot-links in this `FILE` (i,j,kind[,weight])"},
	{Name: "entail", Field: "spec.supervision.entail", Type: Switch,
		Default: "on in the k-means and kernel families " + whileFewImplied, Group: SupervisionGroup,
		Defaults: map[string]string{"kernel": entailsSmall, "k-means": entailsSmall, "spectral": "off"},
		Help:     "add every pair that the constraints imply as a constraint; --entail=false turns this off"},
	{Name: "seeds", Field: "spec.supervision.seeds", Type: File, Group: SupervisionGroup,
		Help: "points of known label in this `FILE` (index,label[,probability])"},

	{Name: "objective", Field: "objective", Type: Choice,
		Values:  []string{"kernel-kmeans", "ratio-association", "ratio-cut", "normalized-cut"},
		Default: "normalized-cut on graphs and for spectral, else kernel-kmeans",
		Defaults: map[string]string{"kernel-kmeans": "normalized-cut on graphs, else kernel-kmeans",
			"spectral": "normalized-cut"}, Group: KernelGroup, Help: "what is minimized or maximized"},
	{Name: "kernel", Field: "kernel.function", Type: Choice, Values: kernelNames(), Default: "gaussian",
		Group: KernelGroup, Help: "kernel function on points"},
	{Name: "rho", Field: "kernel.rho", Type: Number, Values: []string{"auto"}, Default: "auto", Min: 1e-100, Max: 1e100,
		Group: KernelGroup,
		Help:  "width of the gaussian or laplacian kernel; auto is the median distance"},
	{Name: "gamma", Field: "kernel.gamma", Type: Number, Default: "1", Group: KernelGroup,
		Help: "factor of the polynomial or sigmoid kernel"},
	{Name: "coef0", Field: "kernel.coef0", Type: Number, Default: "0", Group: KernelGroup,
		Help: "constant of the polynomial or sigmoid kernel"},
	{Name: "degree", Field: "kernel.degree", Type: Whole, Min: 1, Max: 1000, Default: "2", Group: KernelGroup,
		Help: "degree of the polynomial kernel"},
	{Name: "affinity-diagonal", Field: "affinity_diagonal", Type: Choice, Values: []string{"zero", "keep"},
		Default: "zero", Group: KernelGroup,
		Help: "the diagonal of the affinity, if points or a kernel matrix are cut like a graph"},
	{Name: "sigma", Field: "shift", Type: Number, Values: []string{"auto"}, Min: -1e150, Max: 1e150, Default: "0",
		Group: KernelGroup,
		Help:  "diagonal shift; auto is the smallest that makes the kernel positive semidefinite"},
	{Name: "on-rise", Field: "on_rise", Type: Choice, Values: []string{"shift", "stop", "ignore"},
		Default: "ignore; with --paper shift", Group: KernelGroup,
		Help: "when a step raises the objective: shift the diagonal, stop, or ignore it and keep the best labels"},
	{Name: "local-search", Field: "local_search", Type: Whole, Max: 1000,
		Default: fmt.Sprintf("%d while n k is at most %s, on graphs %s; with --paper 0", SearchLength,
			text.Grouped(MaxDenseSearch), text.Grouped(MaxGraphSearch)), Group: KernelGroup,
		Help: "after all steps have converged, try chains of up to this many moves of single points, and keep the " +
			"best prefix of each; 0 for none"},
	{Name: "empty", Field: "on_empty", Type: Choice, Values: []string{"farthest", "keep"}, Default: "farthest",
		Group: KernelGroup,
		Help:  "an empty cluster gets the farthest point, or is kept empty"},
	{Name: "weights", Field: "weights", Type: File, Group: KernelGroup,
		Help: "point weights in this `FILE` (index,weight)"},
	{Name: "landmarks", Field: "landmarks", Type: Whole, Max: MaxLandmarks, Default: "0", Group: KernelGroup,
		Help: "approximate kernel k-means on dense points by `N` landmarks instead of the full matrix, for millions " +
			"of points; 0 uses the full matrix"},
	{Name: "storage", Field: "spec.storage", Type: Choice, Values: []string{"auto", "float32", "float16", "none"},
		Default: "auto", Group: KernelGroup,
		Help: "how workers store the matrix: as much as fits (auto), all of it (float32), all of it rounded to half " +
			"precision (float16: half the memory, different bits), or none of it, computed when needed (none)"},

	{Name: "geometry", Field: "geometry", Type: Choice, Values: []string{"euclidean", "spherical"},
		Default: "euclidean", Group: KMeansGroup,
		Help: "geometry of kmeans, seeded-, constrained- and cop-kmeans; spherical compares directions"},
	{Name: "distortion", Field: "distortion", Type: Choice,
		Values: []string{"euclidean", "cosine", "kl", "i-divergence"}, Default: "euclidean", Group: KMeansGroup,
		Help: "distance to the mean in hmrf-kmeans"},
	{Name: "metric", Field: "metric", Type: Choice, Values: []string{"identity", "diagonal", "full"},
		Default: "diagonal", Group: KMeansGroup,
		Help: "metric that m-, mpc- and hmrf-kmeans learn"},
	{Name: "penalty", Field: "penalty", Type: Choice, Values: []string{"potts", "basu2003", "bilenko2004"},
		Default: "bilenko2004; mpc-kmeans with --paper basu2003", Group: KMeansGroup,
		Defaults: map[string]string{"mpc-kmeans": "bilenko2004; with --paper basu2003", "hmrf-kmeans": "bilenko2004"},
		Help:     "what a violated constraint costs"},
	{Name: "inference", Field: "inference", Type: Choice, Values: []string{"icm", "bp", "lp", "exact"}, Default: "icm",
		Group: KMeansGroup,
		Help:  "how pc-, mpc- and hmrf-kmeans assign constrained points jointly"},
	{Name: "max-restarts", Field: "max_restarts", Type: Whole, Min: 1, Max: maxRestarts, Default: "10",
		Group: KMeansGroup,
		Help:  "random orders that cop-kmeans tries before it gives up"},

	{Name: "neighbors", Field: "neighbors", Type: Whole, Min: 1, Max: 1000, Default: "10; 30 for sparse points",
		Group: AutoGroup,
		Help:  "neighbors of each point in the nearest-neighbor graph; the default rarely needs to change"},
	{Name: "enforce", Field: "enforce", Type: Choice, Values: []string{"auto", "always", "never"}, Default: "auto",
		Group: AutoGroup,
		Help: "whether constraints and seeds hold in the answer: unless constraints contradict each other or too " +
			"many seem wrong (auto), always, or never"},
	{Name: "folds", Field: "folds", Type: Whole, Min: 2, Max: 100, Default: "3", Group: AutoGroup,
		Help: "number of parts of the constraints, each held out once to compare methods; the default rarely " +
			"needs to change"},

	{Name: "beta", Field: "beta", Type: Number, Values: []string{"auto", "paper", "strict"}, Default: "auto",
		Group: CutGroup,
		Help: "how well cuts must satisfy the constraints: chosen by held-out constraints (auto), by the paper's " +
			"rule (paper), so well that only k - 1 cuts do (strict), or a number"},
	{Name: "discretize", Field: "discretization", Type: Choice, Values: []string{"plain", "sign", "weighted"},
		Default: "plain", Group: CutGroup,
		Help: "how cuts become more than two clusters: by k-means on the cuts, on their signs, or on the cuts " +
			"divided by their costs"},
	{Name: "components", Field: "components", Type: Choice, Values: []string{"auto", "keep", "join"}, Default: "auto",
		Group: CutGroup,
		Help: "for a disconnected graph: leave out components that are too small for a cluster and attach them to " +
			"one afterward (auto), keep the graph as it is (keep), or join its components by edges of its smallest " +
			"weight (join)"},
	{Name: "beliefs", Field: "beliefs", Type: File, Group: CutGroup,
		Help: "a whole constraint matrix in this `FILE` (i,j,belief, or a matrix as .npy or .mtx; above 0 together, " +
			"below 0 apart)"},
	{Name: "source-graph", Type: File, Group: CutGroup,
		Help: "a second graph on the same vertices in this `FILE` (src,dst[,weight]) that cuts must respect"},
	{Name: "source-data", Type: File, Group: CutGroup,
		Help: "other measurements of the same objects in this `FILE` (points, row by row) that cuts must respect"},

	{Name: "knn", Field: "spec.neighbor_graph.neighbors", Type: Whole, Min: 1, Max: math.MaxInt32, Group: NeighborGroup,
		Help: "connect each row with its `N` nearest neighbors and cluster that graph instead of the rows: for very " +
			"many points, and for clusters of any shape; 10 is a good N"},
	{Name: "knn-weights", Field: "spec.neighbor_graph.weights", Type: Choice,
		Values: []string{"unweighted", "gaussian"}, Default: "unweighted", Group: NeighborGroup,
		Help: "an edge weighs 1 if each row is among the nearest of the other and 1/2 if only one is (unweighted), " +
			"or exp(-d²/(s s')), where d is their distance and s that of a row to its last neighbor (gaussian)"},

	{Name: "scale", Field: "spec.scale", Common: true, Type: Choice,
		Values:  []string{"auto", "zscore", "minmax", "robust", "none"},
		Default: "none; the algorithm auto also tries zscore; with --knn auto", Group: RunGroup,
		Defaults: map[string]string{"auto": "none, and zscore is tried as well; with --knn auto",
			"kernel": "none; with --knn auto", "k-means": "none", "spectral": "none; with --knn auto"},
		Help: "how columns are scaled: to mean 0 and variance 1 (zscore), the same if their units differ (auto), to " +
			"0..1 (minmax), to median 0 and quartiles 1 apart (robust), or not (none)"},
	{Name: "init", Field: "spec.initialization.start", Common: true, Type: Start, Group: RunGroup,
		Values: []string{"farthest-first", "random", "kmeans++", "seeds", "labels", "neighborhoods",
			"weighted-farthest-first", "centroids", "spectral", "multilevel"},
		Default: "seeds if there are any; otherwise each restart starts differently (ALGORITHMS.md); with --paper " +
			"farthest-first or kmeans++ for kernel-kmeans, random for cop-kmeans, neighborhoods for pc-, m-, mpc- " +
			"and hmrf-kmeans",
		Defaults: map[string]string{
			"kernel-kmeans": "seeds if there are any; otherwise each restart starts differently (ALGORITHMS.md); " +
				"with --paper farthest-first if there are constraints, else kmeans++",
			"k-means": "kmeans++", "seeded-kmeans": "seeds", "constrained-kmeans": "seeds",
			"pc-kmeans": startsFree, "mpc-kmeans": startsFree, "hmrf-kmeans": startsFree,
			"m-kmeans":   "neighborhoods, then kmeans++; with --paper neighborhoods",
			"cop-kmeans": "random, then kmeans++; with --paper random",
		},
		Help: "how the first clusters are chosen: the name of a `START`"},
	{Name: "initial-labels", Field: "spec.initialization.labels", NoFlag: true, Common: true, Type: File},
	{Name: "initial-centroids", Field: "spec.initialization.centroids", NoFlag: true, Common: true, Type: File},
	{Name: "farthest", Field: "spec.initialization.farthest", Type: Choice, Values: []string{"total", "mean"},
		Default: "total", Group: RunGroup,
		Help: "farthest-first by total or mean distance"},
	{Name: "restarts", Field: "spec.restarts", Common: true, Type: Whole, Min: 1, Max: maxRestarts,
		Default: "10; for kernel-kmeans on graphs 1, and 2 with constraints; with --paper 1", Group: RunGroup,
		Defaults: map[string]string{"auto": "10", "kernel": "10, on graphs 1, with constraints 2; with --paper 1",
			"k-means":       "10; with --paper 1",
			"seeded-kmeans": runsSeeded, "constrained-kmeans": runsSeeded},
		Help: "number of runs from different starts, the best of which is kept"},
	{Name: "max-iterations", Field: "spec.max_iterations", Common: true, Type: Whole, Max: math.MaxInt32,
		Default: "100", Group: RunGroup,
		Help: "iteration limit; 0 returns the start"},
	{Name: "tolerance", Field: "spec.tolerance", Common: true, Type: Number, Max: math.MaxFloat64, Default: "0",
		Group: RunGroup,
		Help:  "stop when the objective improves by at most this share; 0 disables this"},
	{Name: "seed", Field: "spec.seed", Common: true, Type: Whole, Max: math.MaxUint64, Default: "0", Group: RunGroup,
		Help: "seed of all random choices"},
	{Name: "paper", Field: "spec.paper_settings", Type: Switch, Group: RunGroup,
		Help: "use the values of the algorithm's paper instead of the defaults, to reproduce its results"},
}

// spectralOptions lists the options that differ in the spectral family, as they are there. FindOption returns them
// instead of those in Options. Their ranges are within the general ones, by which flags are checked before the
// algorithm is known.
var spectralOptions = []Option{
	{Name: "k", Field: "spec.k", Common: true, Type: Range, Min: 2, Max: math.MaxInt32, Group: RunGroup, Help: helpOfK},
	{Name: "restarts", Field: "eigenvectors.kmeans_restarts", Common: true, Type: Whole, Min: 1, Max: maxRestarts,
		Default: "10", Group: RunGroup,
		Help: "number of runs of k-means on the eigenvectors"},
	{Name: "max-iterations", Field: "eigenvectors.kmeans_max_iterations", Common: true, Type: Whole, Min: 1,
		Max: math.MaxInt32, Default: "300", Group: RunGroup,
		Help: "iteration limit of k-means on the eigenvectors"},
	{Name: "tolerance", Field: "eigenvectors.tolerance", Common: true, Type: Number, Min: 1e-14, Max: 1,
		MaxExcluded: true, Default: "1e-8", Group: RunGroup,
		Help: "the residual at which eigenvectors have converged"},
}
