// Package jobflags has the flags that describe a job: their types, the rules of what goes with what, and how
// they and the files they name become a JobSpec and a data set.
package jobflags

import (
	"math"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/pflag"
	"google.golang.org/protobuf/encoding/protojson"
	"sigs.k8s.io/yaml"

	"github.com/cleave-project/cleave/internal/cli/shell"
	"github.com/cleave-project/cleave/internal/fault"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
)

// Flags are the flags that describe a job: what is clustered and how. run, submit and plan share them.
type Flags struct {
	DataFlags
	missing *Choice

	k         *Whole
	algorithm *Choice
	objective *Choice

	kernel       *Choice
	rho          *Number
	gamma, coef0 *Number
	degree       *Whole

	sigma            *Number
	onRise           *Choice
	empty            *Choice
	affinityDiagonal *Choice
	weights          string

	geometry, distortion *Choice
	metric, penalty      *Choice
	inference            *Choice
	maxRestarts          *Whole

	beta                   *Number
	discretize, components *Choice
	beliefs, sourceGraph   string
	sourceData             string

	constraints string
	entail      bool
	seeds       string

	init          *startFlag
	farthest      *Choice
	restarts      *Whole
	seed          *Whole
	tolerance     *Number
	maxIterations *Whole
	storage       *Choice

	file string
	name string
}

// Add declares the flags. A flag that is not given leaves its field of the JobSpec unset, which means the
// service's default.
func Add(set *pflag.FlagSet) *Flags {
	f := &Flags{
		DataFlags:        newDataFlags(set),
		missing:          NewChoice("error", "error", "drop"),
		k:                &Whole{Min: 1, Max: math.MaxInt32},
		algorithm:        NewChoice(kernelKmeans, algorithmNames()...),
		objective:        NewChoice("", "kernel-kmeans", "ratio-association", "ratio-cut", "normalized-cut"),
		kernel:           NewChoice("", "linear", "gaussian", "laplacian", "polynomial", "sigmoid", "cosine"),
		rho:              NewNumber(0, "auto"),
		gamma:            NewNumber(1),
		coef0:            NewNumber(0),
		degree:           &Whole{Value: 2, Min: 1, Max: math.MaxUint32},
		sigma:            NewNumber(0, "auto"),
		onRise:           NewChoice("shift", "shift", "stop", "ignore"),
		empty:            NewChoice("farthest", "farthest", "keep"),
		affinityDiagonal: NewChoice("", "zero", "keep"),
		geometry:         NewChoice("", "euclidean", "spherical"),
		distortion:       NewChoice("", "euclidean", "cosine", "kl", "i-divergence"),
		metric:           NewChoice("", "identity", "diagonal", "full"),
		penalty:          NewChoice("", "potts", "basu2003", "bilenko2004"),
		inference:        NewChoice("", "icm", "bp", "lp", "exact"),
		maxRestarts:      &Whole{Value: 10, Min: 1, Max: math.MaxInt32},
		beta:             NewNumber(0, "auto", "strict"),
		discretize:       NewChoice("", "plain", "sign", "weighted"),
		components:       NewChoice("", "keep", "join"),
		init:             newStartFlag(),
		farthest:         NewChoice("total", "total", "mean"),
		restarts:         &Whole{Value: 1, Min: 1, Max: math.MaxUint32},
		seed:             &Whole{Max: math.MaxUint64},
		tolerance:        NewNumber(0),
		maxIterations:    &Whole{Value: 100, Max: math.MaxUint32},
		storage:          &Choice{Value: "auto", options: []string{"auto", "float32", "float16", "none"}},
	}
	f.rho.Keyword, f.beta.Keyword = "auto", "auto"
	f.rho.Min, f.rho.MinExcluded = 0, true
	f.tolerance.Min = 0

	set.StringVar(&f.data, "data", "", "cluster the points in this `FILE` (.csv, .tsv, .npy, .mtx; sparse: .svm, .svmlight, .libsvm; also .gz)")
	set.Var(f.missing, "missing", "rows of --data with missing values, or of zeros where directions are compared: an error, or dropped (label -1)")
	set.StringVar(&f.graph, "graph", "", "cluster the vertices of the graph in this `FILE` (.csv, .tsv, .mtx; also .gz)")
	set.Var(f.vertices, "vertices", "vertices of the graph, when some of the last have no edge")
	set.StringVar(&f.kernelMatrix, "kernel-matrix", "", "cluster by the kernel matrix in this `FILE` (.csv, .npy, .mtx; also .gz)")
	set.Var(f.k, "k", "number of clusters")
	set.Var(f.algorithm, "algorithm", "`NAME` of the algorithm: "+joinOr(f.algorithm.options))
	set.Var(f.objective, "objective", "objective (default: normalized-cut on graphs, else kernel-kmeans)")
	set.Var(f.kernel, "kernel", "kernel function on points (default gaussian)")
	set.Var(f.rho, "rho", "width of the gaussian or laplacian kernel; auto is the median distance")
	set.Var(f.gamma, "gamma", "factor of the polynomial or sigmoid kernel")
	set.Var(f.coef0, "coef0", "constant of the polynomial or sigmoid kernel")
	set.Var(f.degree, "degree", "degree of the polynomial kernel")
	set.Var(f.sigma, "sigma", "diagonal shift; auto is the least that makes the kernel positive semidefinite")
	set.Var(f.onRise, "on-rise", "when a step raises the objective: shift the diagonal, stop, or ignore it")
	set.Var(f.empty, "empty", "an empty cluster gets the farthest point, or is kept empty")
	set.Var(f.affinityDiagonal, "affinity-diagonal", "the diagonal of the affinity, for graph objectives on points (default zero)")
	set.StringVar(&f.weights, "weights", "", "point weights in this `FILE` (index,weight)")
	set.Var(f.geometry, "geometry", "of kmeans and the seeded, constrained and COP variants; spherical compares directions (default euclidean)")
	set.Var(f.distortion, "distortion", "distance to the mean of hmrf-kmeans (default euclidean)")
	set.Var(f.metric, "metric", "what is learned by m-, mpc- and hmrf-kmeans (default diagonal)")
	set.Var(f.penalty, "penalty", "what a violated constraint costs (default: mpc-kmeans basu2003, hmrf-kmeans bilenko2004)")
	set.Var(f.inference, "inference", "how pc-, mpc- and hmrf-kmeans assign constrained points together (default icm)")
	set.Var(f.maxRestarts, "max-restarts", "random orders that cop-kmeans tries in a dead end")
	set.StringVar(&f.constraints, "constraints", "", "must-links and cannot-links in this `FILE` (i,j,kind[,weight])")
	set.BoolVar(&f.entail, "entail", false, "turn every pair that the constraints imply into a constraint")
	set.StringVar(&f.seeds, "seeds", "", "points of known label in this `FILE` (index,label[,probability])")
	set.Var(f.beta, "beta", "how well constrained-spectral must satisfy the constraints: at least as the paper's rule says (auto), so well that only k - 1 vectors do (strict), or by this lower bound")
	set.Var(f.discretize, "discretize", "how constrained-spectral makes more than two clusters of its vectors: k-means on them, on their signs, or on them by their costs (default plain)")
	set.StringVar(&f.beliefs, "beliefs", "", "a whole constraint matrix for constrained-spectral in this `FILE` (i,j,belief, or a matrix as .npy or .mtx; above 0 together, below 0 apart)")
	set.StringVar(&f.sourceGraph, "source-graph", "", "a graph on the same vertices in this `FILE` (src,dst[,weight]) that constrained-spectral respects")
	set.StringVar(&f.sourceData, "source-data", "", "other measurements of the same objects in this `FILE` (points, row by row): constrained-spectral respects their gaussian affinities")
	set.Var(f.components, "components", "of a graph in pieces: constrained-spectral keeps them, or joins them by the lightest edges (default keep)")
	set.Var(f.init, "init", "how to `START`: "+joinOr(f.init.options)+" (default of kernel-kmeans: seeds, else farthest-first with constraints, else kmeans++; of kmeans kmeans++; of cop-kmeans random; of pc-, m-, mpc- and hmrf-kmeans neighborhoods)")
	set.Var(f.farthest, "farthest", "farthest-first by total or mean distance")
	set.Var(f.restarts, "restarts", "runs from different starts, the best of which wins; of the spectral family those of k-means on the eigenvectors (there 10 unless given)")
	set.Var(f.seed, "seed", "seed of all random choices")
	set.Var(f.tolerance, "tolerance", "stop when the objective improves by at most this share; 0 never; of the spectral family what the residuals of eigenvectors come down to, above 0 and below 1 (there 1e-8 unless given)")
	set.Var(f.maxIterations, "max-iterations", "iteration limit; 0 only makes the start; of the spectral family that of k-means on the eigenvectors, at least 1 (there 300 unless given)")
	set.Var(f.storage, "storage", "how workers hold the matrix: what fits, all of it, all of it rounded to half precision (half the memory, other bits), or none (computed again when needed)")
	set.StringVarP(&f.file, "file", "f", "", "job `FILE` in YAML or JSON with the fields of the API's JobSpec; flags override it")
	set.StringVar(&f.name, "name", "", "a name for people (default: the data file's)")
	return f
}

// displayName is the name of the job and its data: the one given, or that of the data file. File names may
// be any bytes, but the API takes only valid UTF-8.
func (f *Flags) displayName() string {
	name := f.name
	for _, path := range []string{f.data, f.graph, f.kernelMatrix} {
		if name == "" && path != "" {
			name = filepath.Base(path)
		}
	}
	return strings.ToValidUTF8(name, "?")
}

// readJobFile reads a JobSpec from YAML or JSON with the field names of the API.
func readJobFile(path string) (*cleavev1.JobSpec, error) {
	spec := &cleavev1.JobSpec{}
	if path == "" {
		return spec, nil
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fault.Invalid("FILE_NOT_READABLE", "%s: the job file cannot be read: %v", path, shell.WithoutPath(err))
	}
	document, err := yaml.YAMLToJSONStrict(text)
	if err != nil {
		return nil, fault.Invalid("BAD_JOB_FILE", "%s: %v", path, err)
	}
	if strings.TrimSpace(string(document)) == "null" {
		return spec, nil
	}
	if err := protojson.Unmarshal(document, spec); err != nil {
		return nil, fault.Invalid("BAD_JOB_FILE", "%s: this is no job: %s", path, strings.TrimPrefix(err.Error(), "proto: "))
	}
	return spec, nil
}
