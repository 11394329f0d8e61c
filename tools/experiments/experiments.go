// Package experiments repeats the experiments of the papers on real data and writes their tables:
// `make experiments DATA=folder`. What its specs leave open has the papers' values, as by --paper. It may import any
// package; none imports it.
package experiments

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"slices"

	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/data/table"
	"github.com/cleave-project/cleave/internal/format"
)

// Config says which studies to run, on what data.
type Config struct {
	Data     string   // a folder of data sets
	Studies  []string // empty: all
	Runs     int      // for every cell of a table; 0: the default of each study
	Threads  int
	Progress io.Writer
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

// StudyNames are the names that Config.Studies takes.
func StudyNames() []string {
	var names []string
	for _, s := range studies {
		names = append(names, s.name)
	}
	return names
}

// Run runs the studies and reports what they found.
func Run(ctx context.Context, cfg Config) (*Report, error) {
	for _, name := range cfg.Studies {
		if !slices.Contains(StudyNames(), name) {
			return nil, fmt.Errorf("there is no study %q; there are %v", name, StudyNames())
		}
	}
	r := &runner{Config: cfg, report: &Report{}}
	for _, s := range studies {
		if len(cfg.Studies) > 0 && !slices.Contains(cfg.Studies, s.name) {
			continue
		}
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

func (r *runner) progress(format string, arguments ...any) {
	fmt.Fprintf(r.Progress, "  "+format+"\n", arguments...)
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
		s.data, err = format.LoadSparsePoints(path, 0)
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
	starts, truth := []int64{0}, []int64{}
	for i := range points.N {
		if columns, _ := points.Row(i); len(columns) > 0 {
			starts, truth = append(starts, points.RowStart[i+1]), append(truth, s.truth[i])
		}
	}
	kept, err := dataset.NewSparsePoints(len(truth), points.D, starts, points.Column, points.Value)
	s.data, s.truth = kept, truth
	return err
}

// vectors are the dense data sets of Basu2003 and Bilenko2004.
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
