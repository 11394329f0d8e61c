package bench

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"time"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/clustering/kernelkmeans"
	"github.com/cleave-project/cleave/internal/clustering/spectral"
	"github.com/cleave-project/cleave/internal/data/constraint"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/data/evaluate"
	"github.com/cleave-project/cleave/internal/data/synth"
)

// The goals of eigenvectors.
const (
	spectralGoal          = 8       // times as fast as scikit-learn's SpectralClustering on the same affinity
	constrainedGoal       = 3       // times as long as spectral clustering, at most
	spectralConstraints   = 300     // of constrained-spectral on a dense affinity
	verticesPerConstraint = 100     // of the large graph
	sparseSeconds         = 600     // the goal is "minutes"
	sparseMemory          = 8 << 30 // bytes
)

// measureSpectral compares spectral clustering of a dense affinity with scikit-learn, and constrained with
// plain spectral clustering; then it measures a constrained cut of a large sparse graph.
func measureSpectral(ctx context.Context, b *benchmark) error {
	if err := b.measureDense(ctx); err != nil {
		return err
	}
	return b.measureSparse(ctx)
}

// spectralRun is a spectral problem whose matrix is built.
type spectralRun struct {
	problem *spectral.Problem
	local   kernelkmeans.Executor
	result  *clustering.Result
}

func (b *benchmark) newSpectralRun(ctx context.Context, data dataset.Dataset,
	spec clustering.Spec) (*spectralRun, error) {
	problem, err := spectral.Prepare(data, spec)
	if err != nil {
		return nil, err
	}
	local, err := kernelkmeans.NewLocal(ctx, problem.Problem, data, b.Threads)
	return &spectralRun{problem: problem, local: local}, err
}

// run measures the time from the built matrix to labels.
func (e *spectralRun) run(ctx context.Context) (float64, error) {
	return stopwatch(func() (err error) {
		e.result, err = e.problem.RunAndScore(ctx, e.local, clustering.NopObserver{})
		return err
	})
}

func (b *benchmark) measureDense(ctx context.Context) error {
	s, err := b.load("pendigits", "data.csv", "labels.csv", b.spectralRows, 16, 10)
	if err != nil {
		return err
	}
	pairs, err := synth.Constraints(toInt32(s.truth), spectralConstraints, rand.New(rand.NewPCG(6, 6)))
	if err != nil {
		return err
	}
	plain, err := b.newSpectralRun(ctx, s.points,
		clustering.Spec{K: s.k, Algorithm: &spectral.Options{Algorithm: spectral.Spectral}})
	if err != nil {
		return err
	}
	constrained, err := b.newSpectralRun(ctx, s.points, clustering.Spec{
		K: s.k, Supervision: clustering.Supervision{Constraints: pairs}, Algorithm: &spectral.Options{
			Algorithm: spectral.Constrained, BetaRule: spectral.BetaPaper,
		},
	})
	if err != nil {
		return err
	}
	var ours, cuts, theirs times
	measurements := []measurement{
		{func() (float64, error) { return plain.run(ctx) }, &ours},
		{func() (float64, error) { return constrained.run(ctx) }, &cuts},
	}
	out := filepath.Join(b.temp, "precomputed-labels")
	if b.peer != nil {
		path, err := b.writePoints(s.points)
		if err != nil {
			return err
		}
		if err := b.peer.ask(map[string]any{
			"do": "affinity", "points": path, "n": s.points.N, "d": s.points.D, "rho": plain.problem.Matrix.Rho,
		}, &struct{}{}); err != nil {
			return err
		}
		measurements = append(measurements, measurement{func() (float64, error) {
			seconds, err := b.peer.seconds(map[string]any{"do": "precomputed", "k": s.k, "out": out})
			b.Say("scikit-learn took %s", duration(seconds))
			return seconds, err
		}, &theirs})
	}
	if err := b.interleave(b.longRounds, measurements...); err != nil {
		return err
	}
	what := fmt.Sprintf("%s, k = %d: ", s.name, s.k)
	b.report.compare(what+"spectral, affinity in memory", ours, theirs, ours.String(),
		"SpectralClustering, precomputed: "+theirs.String(), spectralGoal)
	ratio := cuts.best() / ours.best()
	b.report.add(Row{
		What: fmt.Sprintf("%sconstrained-spectral, %d constraints", what, spectralConstraints), Ours: cuts.String(),
		Peer:  "spectral: " + ours.String(),
		Ratio: fmt.Sprintf("%.2fx (%.2fx) the time", ratio, cuts.median()/ours.median()),
		Goal:  fmt.Sprintf("<= %dx", constrainedGoal), Verdict: b.report.verdict(ratio <= constrainedGoal),
	})
	b.report.note("from the affinity in memory to labels, k-means on the eigenvectors (10 starts) counted on both "+
		"sides; scikit-learn has its default eigensolver and tolerance. spectral multiplied the matrix with %d "+
		"vectors, constrained-spectral with %d.",
		plain.result.Spectral.Eigen.Products, constrained.result.Spectral.Eigen.Products)
	if err := b.noteSpectralQuality(s, plain, constrained, out, len(theirs) > 0); err != nil {
		return err
	}
	return b.peer.free()
}

// noteSpectralQuality compares the labels of all with the truth.
func (b *benchmark) noteSpectralQuality(s set, plain, constrained *spectralRun, out string, haveTheirs bool) error {
	if s.truth == nil {
		return nil
	}
	truth := toInt32(s.truth)
	score := func(labels []int32) (float64, error) {
		scores, err := evaluate.Compare(labels, truth, nil)
		return scores.NMI, err
	}
	first, err := score(plain.result.Labels)
	if err != nil {
		return err
	}
	second, err := score(constrained.result.Labels)
	if err != nil {
		return err
	}
	note := fmt.Sprintf("mutual information with the true classes (NMI): spectral %.3f, constrained-spectral %.3f",
		first, second)
	if haveTheirs {
		labels, err := readLabels(out, s.points.N)
		if err != nil {
			return err
		}
		theirs, err := score(labels)
		if err != nil {
			return err
		}
		note += fmt.Sprintf(", scikit-learn %.3f", theirs)
	}
	b.report.note("%s.", note)
	return nil
}

// measureSparse cuts a large graph of two blocks into two clusters, under constraints.
func (b *benchmark) measureSparse(ctx context.Context) error {
	neighbors := 2 * b.edgesPerVertex
	b.Say("drawing a graph of %d vertices", b.spectralVertices)
	edges, truth, err := synth.Blocks(b.spectralVertices, 2, insideShare*neighbors, (1-insideShare)*neighbors,
		rand.New(rand.NewPCG(7, 7)))
	if err != nil {
		return err
	}
	count := len(edges)
	graph, err := dataset.NewGraph(b.spectralVertices, edges)
	if err != nil {
		return err
	}
	var pairs []constraint.Constraint
	if pairs, err = synth.Constraints(truth, b.spectralVertices/verticesPerConstraint,
		rand.New(rand.NewPCG(8, 8))); err != nil {
		return err
	}
	what := fmt.Sprintf("constrained-spectral, %d vertices, %d edges, k = 2, %d constraints", graph.N,
		count, len(pairs))
	// A run that takes far longer than the goal need not end.
	limited, cancel := context.WithTimeout(ctx, 3*sparseSeconds/2*time.Second)
	defer cancel()
	var result *clustering.Result
	var seconds float64
	_, peak, err := peakMemory(func() error {
		seconds, err = stopwatch(func() error {
			e, err := b.newSpectralRun(limited, graph, clustering.Spec{
				K: 2, Supervision: clustering.Supervision{Constraints: pairs}, Algorithm: &spectral.Options{
					Algorithm: spectral.Constrained, BetaRule: spectral.BetaPaper,
				},
			})
			if err != nil {
				return err
			}
			_, err = e.run(limited)
			result = e.result
			return err
		})
		return err
	})
	late := errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil
	if err != nil && !late {
		return err
	}
	took := duration(seconds)
	if late {
		took = "not done after " + took
	}
	b.report.add(Row{
		What: what, Ours: took, Goal: fmt.Sprintf("minutes (<= %d s)", sparseSeconds),
		Verdict: b.report.verdict(!late && seconds <= sparseSeconds),
	})
	b.report.add(Row{
		What: what + ": peak memory", Ours: fmt.Sprintf("%s GiB", threeDigits(float64(peak)/(1<<30))),
		Goal: fmt.Sprintf("<= %d GiB", sparseMemory>>30), Verdict: b.report.verdict(peak <= sparseMemory),
	})
	if late {
		return nil
	}
	scores, err := evaluate.Compare(result.Labels, truth, nil)
	if err != nil {
		return err
	}
	b.report.note("the large graph is cut from memory, with %d products and residuals of %.2g; peak memory is that "+
		"of the whole process, including the graph; NMI with the blocks %.3f.",
		result.Spectral.Eigen.Products, result.Spectral.Eigen.Residuals[0], scores.NMI)
	return nil
}

// toInt32 converts true labels, which are small numbers.
func toInt32(truth []int64) []int32 {
	labels := make([]int32, len(truth))
	for i, label := range truth {
		labels[i] = int32(label)
	}
	return labels
}
