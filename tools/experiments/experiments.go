// Package experiments repeats the experiments of the papers on real data and writes their tables:
// `make experiments DATA=folder`. What its specs leave open has the papers' values, as by --paper. It may import any
// package; none imports it.
package experiments

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/data/table"
	"github.com/cleave-project/cleave/internal/format"
	"github.com/cleave-project/cleave/tools/measure"
)

// Config says which studies to run.
type Config struct {
	measure.Setup
	Runs int // for every cell of a table; 0: the default of each study
}

// Suite returns the suite of `make experiments`.
func Suite() measure.Suite {
	return measure.Suite{
		Name: "experiments", About: "repeats the experiments of the papers", Parts: measure.Names(studies),
		Define: func(flags *flag.FlagSet) func(context.Context, measure.Setup) error {
			var cfg Config
			flags.IntVar(&cfg.Runs, "runs", 0,
				"runs of every cell of a table (default as many as each study usually has)")
			return func(ctx context.Context, setup measure.Setup) error {
				cfg.Setup = setup
				if cfg.Data == "" {
					return errors.New("name the folder of data sets: make experiments DATA=folder")
				}
				report, err := Run(ctx, cfg)
				if err != nil {
					return err
				}
				return report.Write(cfg.Setup, time.Now())
			}
		},
	}
}

// study is one experiment.
type study struct {
	name string
	runs int // the default of Config.Runs
	run  func(ctx context.Context, r *runner) error
}

var studies = []study{
	{"constraints", 40, studyConstraints},
	{"inference", 40, studyInference},
	{"seeds", 40, studySeeds},
	{"noise", 40, studyNoise},
	{"moons", 500, studyMoons},
	{"cuts", 100, studyCuts},
	{"sparse", 20, studySparse},
	{"graphs", 40, studyGraphs},
}

// PartName returns the name that selects the study.
func (s study) PartName() string { return s.name }

// Run runs the studies and reports what they found.
func Run(ctx context.Context, cfg Config) (*Report, error) {
	chosen, err := measure.Choose(studies, cfg.Parts)
	if err != nil {
		return nil, err
	}
	r := &runner{Config: cfg, report: &Report{}}
	for _, s := range chosen {
		if r.Runs = cfg.Runs; r.Runs == 0 {
			r.Runs = s.runs
		}
		if err := s.run(ctx, r); err != nil {
			return nil, fmt.Errorf("%s: %w", s.name, err)
		}
	}
	return r.report, nil
}

// runner is what the studies share.
type runner struct {
	Config
	report *Report
}

// set is a data set whose classes are known.
type set struct {
	name  string
	data  dataset.Dataset
	truth []int64
	k     int
}

// load reads points, dense or sparse, and their classes.
func (r *runner) load(name, points, labels string) (set, error) {
	s := set{name: name}
	path := filepath.Join(r.Data, points)
	var err error
	if format.IsSparse(path) {
		s.data, err = format.Input{Path: path}.LoadSparsePoints(0)
	} else {
		var dense *dataset.Points
		dense, _, err = format.LoadPoints(path)
		s.data = dense
	}
	if err != nil {
		return s, err
	}
	if _, s.truth, err = format.LoadTable(filepath.Join(r.Data, labels), table.Labels, s.data.Rows()); err != nil {
		return s, err
	}
	if sparse, is := s.data.(*dataset.SparsePoints); is {
		if err := s.dropEmpty(sparse); err != nil {
			return s, err
		}
	}
	classes := slices.Clone(s.truth)
	slices.Sort(classes)
	s.k = len(slices.Compact(classes))
	return s, nil
}

// dropEmpty removes texts without a word of the vocabulary, which have no direction.
func (s *set) dropEmpty(points *dataset.SparsePoints) error {
	starts := []int64{0}
	truth := []int64{}
	for i := range points.N {
		if columns, _ := points.Row(i); len(columns) > 0 {
			starts = append(starts, points.RowStart[i+1])
			truth = append(truth, s.truth[i])
		}
	}
	kept, err := dataset.NewSparsePoints(len(truth), points.D, starts, points.Column, points.Value)
	s.data, s.truth = kept, truth
	return err
}

// vectors returns the dense data sets of Basu2003 and Bilenko2004.
func (r *runner) vectors() ([]set, error) {
	var sets []set
	for _, s := range []struct{ name, folder string }{
		{"Iris", "iris"}, {"Wine", "wine"}, {"Digits 3, 8, 9", "pendigits-389"}, {"Letters I, J, L", "letter-ijl"},
	} {
		loaded, err := r.load(s.name, filepath.Join(s.folder, "data.csv"), filepath.Join(s.folder, "labels.csv"))
		if err != nil {
			return nil, err
		}
		sets = append(sets, loaded)
	}
	return sets, nil
}
