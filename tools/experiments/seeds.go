package experiments

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/clustering/kmeans"
	"github.com/cleave-project/cleave/internal/data/constraint"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/numeric/metric"
	"github.com/cleave-project/cleave/internal/refusal"
)

// seedMethods are the four methods of Basu2002.
var seedMethods = []struct {
	name      string
	algorithm kmeans.Algorithm
}{
	{"constrained", kmeans.ConstrainedKmeans},
	{"seeded", kmeans.SeededKmeans},
	{"COP", kmeans.CopKmeans},
	{"random", kmeans.Kmeans},
}

func (r *runner) texts() ([]set, error) {
	var sets []set
	for _, s := range []struct{ name, file string }{
		{"News-Different-3", "different-3"}, {"News-Related-3", "related-3"}, {"News-Similar-3", "similar-3"},
	} {
		base := filepath.Join("mini-newsgroups", s.file)
		points := base + ".tfidf.svm.gz"
		if _, err := os.Stat(filepath.Join(r.Data, points)); err != nil {
			points = base + ".tfidf.svm"
		}
		loaded, err := r.load(s.name, points, base+".labels.csv")
		if err != nil {
			return nil, err
		}
		sets = append(sets, loaded)
	}
	return sets, nil
}

// studySeeds repeats Basu2002 Figures 3 and 5: mutual information against the share of seeds.
func studySeeds(ctx context.Context, r *runner) error {
	sets, err := r.texts()
	if err != nil {
		return err
	}
	shares := []int{0, 10, 25, 50, 75, 100}
	r.report.begin("seeds", "Clustering by seeding: Constrained, Seeded, COP and Random (Basu et al. 2002, section 5)",
		"Spherical k-means on text; normalized mutual information on the half of the points without seeds, mean of "+
			"%d runs (standard deviation), against the share of the other half that is seeded. COP gets the seeds as "+
			"constraints between all of them. Expected: Constrained >= Seeded >= COP >= Random.", r.Runs)
	for _, s := range sets {
		t := r.report.table(s.name, "% seeded", shares)
		for _, m := range seedMethods {
			for column, share := range shares {
				cell, err := r.seedCell(ctx, s, m.algorithm, share, 0)
				if err != nil {
					return err
				}
				t.put(m.name, column, cell)
			}
			r.Say("%s, %s: %.2f", s.name, m.name, t.cell(m.name, len(shares)-1).mean())
		}
		middle := slices.Index(shares, 50)
		t.compare("constrained", "seeded", middle)
		t.compare("seeded", "COP", middle)
		t.compare("COP", "random", middle)
	}
	return nil
}

// studyNoise repeats Basu2002 Figure 6: half of the training points are seeds, some with a wrong label.
func studyNoise(ctx context.Context, r *runner) error {
	sets, err := r.texts()
	if err != nil {
		return err
	}
	noise := []int{0, 10, 20, 30, 40, 50}
	r.report.begin("noise", "Wrong seeds (Basu et al. 2002, section 5)",
		"As above with half of the training points seeded, against the share of seeds with a wrong label; mean of %d "+
			"runs (standard deviation). Expected: Seeded, which may change the labels of its seeds, wins when they "+
			"are noisy.", r.Runs)
	for _, s := range sets {
		t := r.report.table(s.name, "% wrong", noise)
		for _, m := range seedMethods {
			if m.algorithm == kmeans.CopKmeans {
				continue // contradictory constraints have no solution
			}
			for column, share := range noise {
				cell, err := r.seedCell(ctx, s, m.algorithm, 50, share)
				if err != nil {
					return err
				}
				t.put(m.name, column, cell)
			}
			r.Say("%s, %s: %.2f", s.name, m.name, t.cell(m.name, len(noise)-1).mean())
		}
		t.compare("seeded", "constrained", len(noise)-1)
		t.compare("seeded", "random", len(noise)-1)
	}
	return nil
}

// seedCell runs one method with a share of seeds, some of them wrong; both shares are in percent.
func (r *runner) seedCell(ctx context.Context, s set, algorithm kmeans.Algorithm, share, wrong int) (numbers, error) {
	cell := numbers{}
	for run := range r.Runs {
		f := newFold(s.data.Rows(), run)
		seeds := f.seeds(s, share, wrong)
		options := &kmeans.Options{Algorithm: algorithm, Distortion: metric.Cosine}
		spec := clustering.Spec{Seed: uint64(run), Algorithm: options}
		switch {
		case algorithm == kmeans.CopKmeans:
			spec.Supervision.Constraints = constraintsOf(seeds)
		case algorithm == kmeans.Kmeans || len(seeds) == 0:
			options.Algorithm, spec.Initialization.Start = kmeans.Kmeans, clustering.StartRandom
		default:
			spec.Supervision.Seeds = seeds
		}
		o, err := r.solve(ctx, s, spec, f.test)
		if failure, is := errors.AsType[*fault.Error](refusal.Of(err)); is {
			return nil, fmt.Errorf("run %d: %s", run, failure.Message)
		}
		if err != nil {
			return nil, err
		}
		cell = append(cell, o.scores.NMI)
	}
	return cell, nil
}

// seeds returns a share of the training half with their classes, some of them wrong.
func (f fold) seeds(s set, share, wrong int) []constraint.Seed {
	order := f.rng.Perm(len(f.train))
	var seeds []constraint.Seed
	for _, at := range order[:len(order)*share/100] {
		i := f.train[at]
		label := int32(s.truth[i])
		if f.rng.IntN(100) < wrong {
			label = (label + 1 + int32(f.rng.IntN(s.k-1))) % int32(s.k)
		}
		seeds = append(seeds, constraint.Seed{Index: i, Label: label})
	}
	return seeds
}

// constraintsOf returns constraints whose closure is that of all pairs of seeds: a chain of must-links through
// each class, and a cannot-link between any two classes.
func constraintsOf(seeds []constraint.Seed) []constraint.Constraint {
	last := map[int32]int32{}
	var list []constraint.Constraint
	for _, s := range seeds {
		if before, seen := last[s.Label]; seen {
			list = append(list, constraint.Constraint{I: before, J: s.Index, Kind: constraint.MustLink})
		}
		last[s.Label] = s.Index
	}
	var classes []int32
	for label := range last {
		classes = append(classes, label)
	}
	slices.Sort(classes)
	for a := range classes {
		for _, b := range classes[:a] {
			list = append(list, constraint.Constraint{I: last[b], J: last[classes[a]], Kind: constraint.CannotLink})
		}
	}
	return list
}
