package catalog

import "slices"

var (
	onPoints = []string{Points, SparsePoints}
	onMatrix = []string{Points, Graph, KernelMatrix}

	kernelOptions   = []string{"kernel", "rho", "gamma", "coef0", "degree"}
	affinityOptions = slices.Concat(kernelOptions, []string{"affinity-diagonal", "storage", "constraints", "entail"})

	neighborhoodStarts = []string{"neighborhoods", "weighted-farthest-first", "random", "kmeans++", "labels", "centroids"}
)

// Options that have a fixed value in some algorithms. An empty cluster is filled by k-means and its seeded variants,
// which also cluster the rows of eigenvectors, and keeps its mean in all others. Storage is about the matrix, which k-means
// and its relatives do not have.
var (
	impliedByKmeans   = map[string]string{"metric": "identity", "empty": "farthest", "storage": "auto"}
	impliedByCop      = map[string]string{"metric": "identity", "empty": "keep", "storage": "auto"}
	impliedByPC       = map[string]string{"geometry": "euclidean", "distortion": "euclidean", "metric": "identity", "penalty": "potts", "empty": "keep", "storage": "auto"}
	impliedByMPC      = map[string]string{"geometry": "euclidean", "distortion": "euclidean", "empty": "keep", "storage": "auto"}
	impliedByHMRF     = map[string]string{"empty": "keep", "storage": "auto"}
	impliedBySpectral = map[string]string{"empty": "farthest", "discretize": "plain", "components": "keep"}
	impliedByCuts     = map[string]string{"empty": "farthest", "objective": "normalized-cut"}
)

// DefaultAlgorithm runs when a job names no algorithm.
const DefaultAlgorithm = "kernel-kmeans"

// Algorithms are all algorithms. The message of an algorithm in the API has its name, with underscores.
var Algorithms = []Algorithm{
	{
		Name: "kernel-kmeans", Family: KernelFamily, Paper: "Kulis et al. 2009", Supervision: "pairs, or seeds",
		About: "kernel k-means; ratio association, ratio cut and normalized cut on graphs",
		Data:  onMatrix,
		Options: slices.Concat([]string{"objective"}, affinityOptions,
			[]string{"sigma", "on-rise", "empty", "weights", "farthest", "seeds"}),
		Starts: []string{"seeds", "farthest-first", "kmeans++", "random", "labels", "spectral"},
	},
	{
		Name: "kmeans", Family: CentroidFamily, Supervision: "none",
		About: "k-means, also spherical",
		Data:  onPoints, Options: []string{"geometry"}, Implied: impliedByKmeans,
		Starts: []string{"kmeans++", "random", "labels", "centroids"},
	},
	{
		Name: "seeded-kmeans", Family: CentroidFamily, Paper: "Basu et al. 2002", Supervision: "seeds",
		About: "k-means from the means of known labels, which it may change",
		Data:  onPoints, Options: []string{"geometry", "seeds"}, Implied: impliedByKmeans,
		Starts: []string{"seeds"}, Needs: []string{"seeds"},
	},
	{
		Name: "constrained-kmeans", Family: CentroidFamily, Paper: "Basu et al. 2002", Supervision: "seeds",
		About: "k-means from the means of known labels, which it never changes",
		Data:  onPoints, Options: []string{"geometry", "seeds"}, Implied: impliedByKmeans,
		Starts: []string{"seeds"}, Needs: []string{"seeds"},
	},
	{
		Name: "cop-kmeans", Family: CentroidFamily, Supervision: "pairs",
		About: "k-means under hard constraints",
		Data:  onPoints, Options: []string{"geometry", "max-restarts", "constraints", "entail"}, Implied: impliedByCop,
		Starts: []string{"random", "kmeans++", "labels", "centroids"},
	},
	{
		Name: "pc-kmeans", Family: CentroidFamily, Paper: "Basu et al. 2003", Supervision: "pairs",
		About: "k-means that pays for violated constraints",
		Data:  onPoints, Options: []string{"inference", "constraints", "entail"}, Implied: impliedByPC,
		Starts: neighborhoodStarts,
	},
	{
		Name: "m-kmeans", Family: CentroidFamily, Paper: "Basu et al. 2003", Supervision: "pairs, for the start only",
		About: "k-means with a learned metric",
		Data:  onPoints, Options: []string{"metric", "constraints", "entail"}, Implied: impliedByMPC,
		Starts: neighborhoodStarts,
	},
	{
		Name: "mpc-kmeans", Family: CentroidFamily, Paper: "Basu et al. 2003", Supervision: "pairs",
		About: "k-means with a learned metric that pays for violated constraints",
		Data:  onPoints, Options: []string{"metric", "penalty", "inference", "constraints", "entail"}, Implied: impliedByMPC,
		Starts: neighborhoodStarts,
	},
	{
		Name: "hmrf-kmeans", Family: CentroidFamily, Paper: "Bilenko and Basu 2004", Supervision: "pairs",
		About: "the same on a hidden Markov random field: also cosines and divergences",
		Data:  onPoints, Options: []string{"distortion", "metric", "penalty", "inference", "constraints", "entail"}, Implied: impliedByHMRF,
		Starts: neighborhoodStarts,
	},
	{
		Name: "spectral", Family: SpectralFamily, Paper: "Kulis et al. 2009", Supervision: "pairs",
		About: "k-means on the leading eigenvectors of the affinity",
		Data:  onMatrix, Options: slices.Concat([]string{"objective"}, affinityOptions), Implied: impliedBySpectral,
	},
	{
		Name: "spectral-learning", Family: SpectralFamily, Paper: "Kamvar et al. 2003", Supervision: "pairs",
		About: "the same, with affinities of 1 and 0 where there are constraints",
		Data:  onMatrix, Options: affinityOptions, Implied: impliedBySpectral,
	},
	{
		Name: "constrained-spectral", Family: SpectralFamily, Paper: "Wang et al. 2014",
		Supervision: "pairs, labels, beliefs, or another graph or metric",
		About:       "the cheapest cuts that satisfy constraints to a given degree",
		Data:        onMatrix,
		Options: slices.Concat(affinityOptions,
			[]string{"seeds", "beta", "discretize", "beliefs", "source-graph", "source-data", "components"}),
		Implied: impliedByCuts,
	},
}
