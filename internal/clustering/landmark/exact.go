package landmark

import (
	"context"
	"runtime"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/clustering/kernelkmeans"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/data/evaluate"
)

// exactRows is the maximum number of points for which the full matrix is run too, for comparison. It takes seconds.
const exactRows = 5000

// compare reports how close the labels are to those of the same job with the full matrix, which it runs in this
// process. With constraints, it reports no objective, because penalties differ from those on features.
func (p *Problem) compare(ctx context.Context, labels []int32, report *clustering.LandmarkReport) error {
	if p.points == nil {
		return nil
	}
	spec, options := p.spec, *p.spec.Algorithm.(*kernelkmeans.Options)
	options.Landmarks = 0
	spec.Algorithm = &options
	exact, err := solve(ctx, p.points, spec)
	if err != nil {
		return err
	}
	scores, err := evaluate.Compare(labels, exact.Labels, nil)
	if err != nil {
		return err
	}
	report.ExactNMI = &scores.NMI
	if len(spec.Constraints) == 0 {
		report.ExactObjective = &exact.Objective
	}
	return nil
}

func solve(ctx context.Context, points *dataset.Points, spec clustering.Spec) (*clustering.Result, error) {
	p, err := kernelkmeans.Prepare(points, spec)
	if err != nil {
		return nil, err
	}
	x, err := kernelkmeans.NewLocal(ctx, p, points, runtime.GOMAXPROCS(0))
	if err != nil {
		return nil, err
	}
	return kernelkmeans.Run(ctx, p, x, clustering.NopObserver{})
}
