package catalog

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

// request reads "algorithm data option=value option=value".
func request(text string) Request {
	words := strings.Fields(text)
	r := Request{Algorithm: words[0], Data: strings.ReplaceAll(words[1], "-", " "), Values: map[string]string{}}
	for _, word := range words[2:] {
		option, value, _ := strings.Cut(word, "=")
		r.Values[option] = value
	}
	return r
}

func TestWhatGoesTogether(t *testing.T) {
	for _, text := range []string{
		"auto sparse-points k=2 constraints=c.csv seeds=s.csv entail=true restarts=3",
		"auto kernel-matrix k=2 max-iterations=3 storage=auto",
		"kernel-kmeans points k=2",
		"kernel-kmeans points k=2 kernel=polynomial gamma=0.5 coef0=-1 degree=3 storage=none",
		"kernel-kmeans graph k=2 constraints=c.csv farthest=mean entail=true affinity-diagonal=keep",
		"kernel-kmeans kernel-matrix k=2 objective=ratio-cut affinity-diagonal=zero sigma=auto",
		"kernel-kmeans points k=2 init=labels initial-labels=given weights=w.csv",
		"kmeans sparse-points k=2 geometry=spherical distortion=cosine metric=identity empty=farthest storage=auto",
		"seeded-kmeans points k=2 seeds=s.csv init=seeds",
		"hmrf-kmeans points k=2 distortion=kl metric=identity",
		"hmrf-kmeans points k=2 distortion=cosine geometry=spherical",
		"spectral points k=2 rho=auto tolerance=1e-6 restarts=3 scale=zscore",
		"kmeans sparse-points k=2 scale=none",
		"hmrf-kmeans points k=2 distortion=cosine scale=auto",
		"constrained-spectral graph k=2 seeds=s.csv beta=-3.5 components=join",
		"constrained-spectral points k=2 source-data=d.csv beta=strict",
	} {
		if err := request(text).Check(); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestWhatDoesNotGoTogether(t *testing.T) {
	for _, c := range []struct{ text, reason, field, says string }{
		{"kmedoids points k=2", "BAD_ALGORITHM", "spec.algorithm", "use auto, kernel-kmeans, kmeans"},
		{"auto points k=2 max-iterations=0", "BAD_MAX_ITERATIONS", "spec.max_iterations", "at least 1"},
		{"auto points k=2 init=neighborhoods", notApplicable, "spec.initialization.start",
			"starts of its own; it applies to pc-kmeans, mpc-kmeans"},
		{"auto points k=2 storage=float16", notApplicable, "spec.storage", "always auto"},
		{"auto points k=2 rho=1", notApplicable, "spec.auto.kernel.rho", "only to kernel-kmeans"},
		{"kmeans graph k=2", notApplicable, "spec.algorithm",
			"kmeans takes points or sparse points, not a graph; use algorithm auto, kernel-kmeans"},
		{"spectral points k=1", "BAD_K", "spec.k", "k is 1; it must be at least 2"},
		{"kernel-kmeans points k=0", "BAD_K", "spec.k", "at least 1"},
		{"kernel-kmeans points k=2 rho=-1", "BAD_RHO", "spec.kernel_kmeans.kernel.rho", "greater than 0"},
		{"spectral points k=2 rho=NaN", "BAD_RHO", "spec.spectral.kernel.rho", "a finite number or auto"},
		{"kernel-kmeans points k=2 kernel=linear rho=1", notApplicable, "spec.kernel_kmeans.kernel.rho",
			"rho does not apply to the linear kernel, only to gaussian"},
		{"spectral-learning points k=2 gamma=1", notApplicable, "spec.spectral_learning.kernel.gamma",
			"gaussian kernel, only to polynomial"},
		{"kernel-kmeans points k=2 kernel=polynomial degree=0", "BAD_DEGREE", "spec.kernel_kmeans.kernel.degree",
			"1 to 1000"},
		{"kernel-kmeans graph k=2 kernel=linear", notApplicable, "spec.kernel_kmeans.kernel.function",
			"its own affinity"},
		{"kernel-kmeans kernel-matrix k=2 rho=1", notApplicable, "spec.kernel_kmeans.kernel.rho",
			"which is the kernel"},
		{"kernel-kmeans points k=2 objective=ratio-cut weights=w.csv", notApplicable, "spec.kernel_kmeans.weights",
			"the ratio-cut sets the weights itself"},
		{"kernel-kmeans graph k=2 landmarks=100", notApplicable, "spec.kernel_kmeans.landmarks",
			"does not apply to a graph, only to dense points"},
		{"kernel-kmeans sparse-points k=2 landmarks=100", notApplicable, "spec.kernel_kmeans.landmarks",
			"only to dense points"},
		{"kernel-kmeans points k=2 landmarks=100 objective=ratio-cut", notApplicable, "spec.kernel_kmeans.landmarks",
			"a ratio-cut needs the whole matrix"},
		{"kernel-kmeans points k=2 landmarks=100 weights=w.csv", notApplicable, "spec.kernel_kmeans.weights",
			"weights cannot be combined with landmarks"},
		{"kernel-kmeans points k=2 landmarks=100 sigma=1", notApplicable, "spec.kernel_kmeans.shift",
			"sigma cannot be combined with landmarks"},
		{"kernel-kmeans points k=2 landmarks=100 paper=true", notApplicable, "spec.paper_settings",
			"paper cannot be combined with landmarks"},
		{"kernel-kmeans points k=2 landmarks=100 storage=none", notApplicable, "spec.storage", "no matrix to store"},
		{"kernel-kmeans points k=2 landmarks=100 init=spectral", notApplicable, "spec.initialization.start",
			"use kmeans++"},
		{"kernel-kmeans points k=2 landmarks=100000", "BAD_LANDMARKS", "spec.kernel_kmeans.landmarks", "0 to 5000"},
		{"kernel-kmeans points k=2 affinity-diagonal=zero", notApplicable, "spec.kernel_kmeans.affinity_diagonal",
			"here the diagonal is kept"},
		{"kernel-kmeans points k=2 tolerance=-1", "BAD_TOLERANCE", "spec.tolerance", "at least 0"},
		{"spectral points k=2 tolerance=0", "BAD_TOLERANCE", "spec.spectral.eigenvectors.tolerance",
			"1e-14 or more and below 1"},
		{"kernel-kmeans points k=2 scale=wide", "BAD_SCALE", "spec.scale", "use auto, zscore, minmax, robust or none"},
		{"spectral graph k=2 scale=auto", notApplicable, "spec.scale",
			"scale auto does not apply to a graph: only dense points have columns to scale"},
		{"kernel-kmeans kernel-matrix k=2 scale=zscore", notApplicable, "spec.scale", "a kernel matrix"},
		{"kmeans sparse-points k=2 scale=zscore", notApplicable, "spec.scale", "does not apply to sparse points"},
		{"hmrf-kmeans points k=2 distortion=kl scale=zscore", notApplicable, "spec.scale", "scaling moves the 0"},
		{"spectral graph k=2 scale=robust", notApplicable, "spec.scale", "scale robust does not apply to a graph"},
		{"kmeans points k=2 knn=10", notApplicable, "spec.neighbor_graph.neighbors",
			"knn does not apply to kmeans, only to auto, kernel-kmeans, spectral, "},
		{"auto points k=2 knn=0", "BAD_KNN", "spec.neighbor_graph.neighbors", "at least 1"},
		{"auto graph k=2 knn=10", notApplicable, "spec.neighbor_graph.neighbors",
			"does not apply to a graph, which has edges"},
		{"auto points k=2 knn-weights=gaussian", notApplicable, "spec.neighbor_graph.weights", "requires knn"},
		{"auto points k=2 knn=10 neighbors=7", notApplicable, "spec.auto.neighbors",
			"neighbors cannot be combined with knn"},
		{"spectral points k=2 knn=10 rho=1", notApplicable, "spec.spectral.kernel.rho",
			"the graph of neighbors is its own affinity"},
		{"kernel-kmeans points k=2 knn=10 weights=w.csv", notApplicable, "spec.kernel_kmeans.weights",
			"the normalized-cut sets the weights itself"},
		{"kernel-kmeans points k=2 knn=10 storage=none", notApplicable, "spec.storage", "only its edges are stored"},
		{"kernel-kmeans sparse-points k=2 knn=10 scale=zscore", notApplicable, "spec.scale",
			"does not apply to sparse points"},
		{"kernel-kmeans points k=2 restarts=20000", "BAD_RESTARTS", "spec.restarts", "1 to 10000"},
		{"kmeans points k=2 constraints=c.csv", notApplicable, "spec.supervision.constraints",
			"only to auto, kernel-kmeans, pc-kmeans"},
		{"kmeans points k=2 seeds=s.csv", notApplicable, "spec.supervision.seeds", "seeded-kmeans"},
		{"seeded-kmeans points k=2", "NO_SEEDS", "spec.supervision.seeds", "needs seeds"},
		{"pc-kmeans points k=2 metric=full", notApplicable, "spec.pc_kmeans.metric",
			"always identity; it applies to mpc-kmeans, hmrf-kmeans"},
		{"hmrf-kmeans points k=2 distortion=kl metric=full", notApplicable, "spec.hmrf_kmeans.metric",
			"nothing is learned for the distortion kl"},
		{"m-kmeans points k=2 penalty=potts", notApplicable, "spec.m_kmeans.penalty", "only to mpc-kmeans"},
		{"kmeans points k=2 inference=bp", notApplicable, "spec.kmeans.inference", ""},
		{"kmeans points k=2 storage=float16", notApplicable, "spec.storage", "always auto"},
		{"kmeans points k=2 init=farthest-first", notApplicable, "spec.initialization.start",
			"use kmeans++, random, labels or centroids"},
		{"spectral points k=2 init=random", notApplicable, "spec.initialization.start", "need no starting point"},
		{"kernel-kmeans points k=2 init=seeds", "BAD_START", "spec.supervision.seeds", ""},
		{"kernel-kmeans points k=2 init=random seeds=s.csv", notApplicable, "spec.supervision.seeds",
			"no effect with init random"},
		{"kernel-kmeans points k=2 init=labels", "BAD_START", "spec.initialization.labels", "give both or neither"},
		{"kmeans points k=2 initial-centroids=given", "BAD_START", "spec.initialization.centroids",
			"give both or neither"},
		{"kernel-kmeans points k=2 farthest=mean", notApplicable, "spec.initialization.farthest", ""},
		{"kernel-kmeans points k=2 entail=true", notApplicable, "spec.supervision.entail", ""},
		{"kernel-kmeans graph k=2 storage=none", notApplicable, "spec.storage", "its edges"},
		{"kernel-kmeans kernel-matrix k=2 storage=none", notApplicable, "spec.storage", "cannot be computed again"},
		{"spectral points k=2 storage=float16", notApplicable, "spec.storage", "another matrix"},
		{"spectral points k=2 objective=ratio-cut", notApplicable, "spec.spectral.objective",
			"only normalized-cut or ratio-association"},
		{"spectral points k=2 beta=1", notApplicable, "spec.spectral.beta", "only to constrained-spectral"},
		{"constrained-spectral points k=2 seeds=s.csv beta=Inf", "BAD_BETA", "spec.constrained_spectral.beta",
			"a finite number, auto, paper or strict"},
		{"constrained-spectral points k=2 seeds=s.csv components=join", notApplicable,
			"spec.constrained_spectral.components", "for graphs"},
		{"constrained-spectral points k=2", "NO_BELIEFS", "spec.supervision.constraints",
			"needs constraints, seeds or beliefs"},
		{"constrained-spectral points k=2 beliefs=b.csv seeds=s.csv", notApplicable,
			"spec.constrained_spectral.beliefs", "whole constraint matrix"},
		{"constrained-spectral points k=2 beliefs=b.csv source-data=s.csv", notApplicable, "spec.source_data",
			"give one of them"},
	} {
		misuse, is := errors.AsType[*Misuse](request(c.text).Check())
		if !is || misuse.Reason != c.reason || misuse.Field() != c.field ||
			!strings.Contains(misuse.Error(), c.says) {
			t.Errorf("%s: got %+v, want %s on %s saying %q", c.text, misuse, c.reason, c.field, c.says)
		}
	}
}

// A misuse uses the names that its reader knows.
func TestMisusesUseTheReadersNames(t *testing.T) {
	misuse, _ := errors.AsType[*Misuse](request("kernel-kmeans points k=2 init=random seeds=s.csv").Check())
	if got := misuse.Text(func(option string) string {
		return "--" + option
	}); got != "--seeds are where the run starts; they have no effect with --init random" {
		t.Error(got)
	}
}

// The tables refer to options and values that exist.
func TestTheTablesAgree(t *testing.T) {
	for _, a := range Algorithms {
		for _, option := range slices.Concat(a.Options, a.Needs) {
			if !a.Takes(option) {
				t.Errorf("%s has the option %s, which does not exist", a.Name, option)
			}
		}
		for option, value := range a.Implied {
			o, known := FindOption(option, a)
			if _, err := o.Parse(value); !known || err != nil || a.Takes(option) {
				t.Errorf("%s implies %s %s", a.Name, option, value)
			}
		}
		starts, _ := FindOption("init", a)
		for _, start := range a.Starts {
			if _, err := starts.Parse(start); err != nil {
				t.Errorf("%s starts by %s", a.Name, start)
			}
		}
	}
	for _, k := range Kernels {
		for _, parameter := range k.Parameters {
			if !slices.Contains(kernelOptions, parameter) {
				t.Errorf("%s has the parameter %s, which does not exist", k.Name, parameter)
			}
		}
	}
	for _, o := range Options {
		if got, known := OptionAt(o.Path(Algorithms[0])); o.Field != "" && (!known || got.Name != o.Name) {
			t.Errorf("%s stands at %s, where %s is found", o.Name, o.Path(Algorithms[0]), got.Name)
		}
		if !o.NoFlag && (o.Help == "" || !slices.Contains(Groups, o.Group)) {
			t.Errorf("%s has no help or no group", o.Name)
		}
	}
}

// What an algorithm of the spectral family accepts, the flag accepts, too, which does not know the algorithm.
func TestFlagsAcceptWhatTheSpectralFamilyDoes(t *testing.T) {
	spectral, _ := FindAlgorithm("spectral")
	for _, own := range spectralOptions {
		general, known := find(Options, func(o Option) bool { return o.Name == own.Name })
		if !known || own.Type != general.Type || own.Group != general.Group || own.Min < general.Min ||
			own.Max > general.Max {
			t.Errorf("%+v does not agree with %+v", own, general)
		}
		if got, _ := FindOption(own.Name, spectral); got.Field != own.Field || got.Min != own.Min {
			t.Errorf("%s of spectral is %+v", own.Name, got)
		}
		if got, _ := OptionAt(own.Path(spectral)); got.Name != own.Name {
			t.Errorf("%s stands at %s, where %q is found", own.Name, own.Path(spectral), got.Name)
		}
	}
}

// The page of an algorithm has its own defaults, and those of no other.
func TestDefaultsOfOneAlgorithm(t *testing.T) {
	used := map[string]bool{}
	for _, a := range Algorithms {
		used[a.Name], used[string(a.Family)] = true, true
		for _, general := range Options {
			o, _ := FindOption(general.Name, a)
			if !a.Takes(o.Name) || o.Name == "algorithm" || o.Type == Start && len(a.Starts) == 0 {
				continue
			}
			for word := range strings.FieldsSeq(strings.NewReplacer(",", " ", ";", " ").Replace(o.Default)) {
				if _, other := FindAlgorithm(word); other && word != a.Name && !slices.Contains(o.Values, word) {
					t.Errorf("--%s of %s has a default of %s: %s", o.Name, a.Name, word, o.Default)
				}
			}
		}
	}
	for _, o := range Options {
		for name := range o.Defaults {
			if !used[name] {
				t.Errorf("--%s has a default for %s, which is neither an algorithm nor a family", o.Name, name)
			}
		}
	}
}
