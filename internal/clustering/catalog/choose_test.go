package catalog

import (
	"errors"
	"strings"
	"testing"
)

// "- points option=value" names no algorithm.
func TestChooseAlgorithm(t *testing.T) {
	for _, c := range []struct{ text, want, because string }{
		{"- points k=2", "auto", ""},
		{"- graph k=2 constraints=c.csv seed=3 restarts=5 max-iterations=7 tolerance=0.1", "auto", ""},
		{"- sparse-points k=2 seeds=s.csv", "auto", ""},
		{"- points k=2 constraints=c.csv entail=true storage=auto", "auto", ""}, // which it always has
		{"- points k=2 rho=3", "kernel-kmeans", "rho"},
		{"- points k=2 knn=10 scale=zscore knn-weights=gaussian", "auto", ""},
		{"- kernel-matrix k=2 knn=10 objective=ratio-cut", "kernel-kmeans", "objective"},
		{"- sparse-points k=2 knn=10 components=join", "spectral", "components"},
		{"- points k=2 kernel=linear constraints=c.csv", "kernel-kmeans", "kernel"},
		{"- points k=2 storage=float32 seeds=s.csv", "kernel-kmeans", "storage"},
		{"- graph k=2 objective=ratio-cut sigma=1", "kernel-kmeans", "objective sigma"},
		{"- points k=2 weights=w.csv", "kernel-kmeans", "weights"},
		{"- points k=2 geometry=spherical", "kmeans", "geometry"},
		{"- points k=2 geometry=spherical distortion=cosine", "kmeans", "geometry distortion"},
		{"- points k=2 geometry=spherical seeds=s.csv", "seeded-kmeans", "geometry"},
		{"- points k=2 geometry=spherical constraints=c.csv", "cop-kmeans", "geometry"},
		{"- points k=2 inference=bp", "pc-kmeans", "inference"},
		{"- points k=2 metric=full constraints=c.csv", "mpc-kmeans", "metric"},
		{"- points k=2 metric=identity", "mpc-kmeans", "metric"}, // kmeans always has it, but has no such option
		{"- points k=2 penalty=potts inference=bp", "mpc-kmeans", "penalty inference"},
		{"- points k=2 distortion=kl inference=bp", "hmrf-kmeans", "distortion inference"},
		{"- points k=2 max-restarts=3", "cop-kmeans", "max-restarts"},
		{"- points k=2 beta=strict constraints=c.csv", "constrained-spectral", "beta"},
		{"- points k=2 rho=1 beliefs=b.csv", "constrained-spectral", "rho beliefs"},
		{"- points k=2 init=farthest-first", "kernel-kmeans", "init"},
		{"- points k=2 init=random", "kernel-kmeans", "init"},
		{"- sparse-points k=2 init=random", "kernel-kmeans", "init"},
		{"- graph k=2 components=keep", "spectral", "components"},
		{"- points k=2 init=centroids initial-centroids=given", "kmeans", "init"},
		{"- points k=2 init=seeds seeds=s.csv", "kernel-kmeans", "init"},
		{"- points k=2 init=neighborhoods", "pc-kmeans", "init"},
		{"- graph k=2 init=centroids initial-centroids=given", "kmeans", "init"}, // which is refused for its data
	} {
		chosen, because, err := request(c.text).ChooseAlgorithm()
		if err != nil || chosen.Name != c.want || strings.Join(because, " ") != c.because {
			t.Errorf("%s: %s because of %v, %v; want %s because of %s", c.text, chosen.Name, because, err,
				c.want, c.because)
		}
	}
}

// What is chosen passes the check, unless something is missing or the data does not suit.
func TestTheChosenAlgorithmPassesTheCheck(t *testing.T) {
	for _, a := range Algorithms {
		for _, option := range a.Options {
			r := Request{Values: map[string]string{"k": "2", option: ""}}
			o, _ := FindOption(option, a)
			switch {
			case len(o.Values) > 0:
				r.Values[option] = o.Values[0]
			case o.Type == Number || o.Type == Whole:
				r.Values[option] = "2"
			case o.Type == Switch:
				r.Values[option] = "true"
			}
			chosen, _, err := r.ChooseAlgorithm()
			if err != nil {
				t.Errorf("%v: %v", r.Values, err)
				continue
			}
			r.Algorithm = chosen.Name
			if misuse := r.checkScope(chosen); misuse != nil {
				t.Errorf("%v: %v", r.Values, misuse)
			}
		}
	}
}

func TestNoAlgorithmTakesAll(t *testing.T) {
	for _, c := range []struct{ text, field, says string }{
		{"- points k=2 rho=1 restarts=3 geometry=spherical", "geometry",
			"no algorithm takes rho and geometry together: rho applies to kernel-kmeans, spectral, "},
		{"- points k=2 seeds=s.csv metric=full constraints=c.csv", "metric",
			"no algorithm takes seeds and metric together: "},
		{"- points k=2 inference=bp beta=1 rho=1", "beta", "no algorithm takes inference and beta together: "},
		{"- points k=2 init=neighborhoods objective=ratio-cut", "init",
			"no algorithm takes objective and init neighborhoods together: "},
	} {
		chosen, _, err := request(c.text).ChooseAlgorithm()
		misuse, is := errors.AsType[*Misuse](err)
		if !is || misuse.Option != c.field || !strings.HasPrefix(misuse.Error(), c.says) {
			t.Errorf("%s: %s, %+v, want %s saying %q", c.text, chosen.Name, misuse, c.field, c.says)
		}
	}
}
