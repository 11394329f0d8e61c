package bench

import (
	"context"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"strconv"

	"github.com/cleave-project/cleave/internal/data/evaluate"
	"github.com/cleave-project/cleave/internal/data/table"
	"github.com/cleave-project/cleave/internal/format"
	"github.com/cleave-project/cleave/tools/measure"
)

// endToEndGoal is how many times as fast as scikit-learn's SpectralClustering the program should be.
const endToEndGoal = 50

// measureEndToEnd runs the cleave program on a file, and scikit-learn on the same file.
func measureEndToEnd(ctx context.Context, b *benchmark) error {
	s, err := b.loadPendigits()
	if err != nil {
		return err
	}
	what := fmt.Sprintf("%s, k = %d: kernel k-means, file to labels", s.name, s.k)
	if b.Cleave == "" {
		b.report.add(Row{What: what, Ours: "missing: the cleave program", Goal: fmt.Sprintf(">= %dx", endToEndGoal),
			Verdict: Missing})
		return nil
	}
	problem, err := gaussian(s, 0, make([]int32, s.points.N), 0)
	if err != nil {
		return err
	}
	file := filepath.Join(b.temp, "points.csv")
	header := make([]string, s.points.D)
	for i := range header {
		header[i] = fmt.Sprintf("f%d", i)
	}
	if err := format.WriteFile(file, func(w io.Writer) error {
		return format.WritePoints(w, header, s.points)
	}); err != nil {
		return err
	}
	out := filepath.Join(b.temp, "out")
	theirOut := filepath.Join(b.temp, "spectral-labels")
	var ours, theirs times
	measurements := []measurement{{func() (float64, error) {
		return b.runCleave(ctx, file, s.k, problem.Matrix.Rho, out)
	}, &ours}}
	if b.peer != nil {
		measurements = append(measurements, measurement{func() (float64, error) {
			seconds, err := b.peer.seconds(map[string]any{"do": "spectral", "csv": file, "k": s.k,
				"rho": problem.Matrix.Rho, "out": theirOut})
			b.Say("scikit-learn took %s", duration(seconds))
			return seconds, err
		}, &theirs})
	}
	if err := b.interleave(b.longRounds, measurements...); err != nil {
		return err
	}
	b.report.compare(what, ours, theirs, ours.String(), "SpectralClustering, rbf: "+theirs.String(), endToEndGoal)
	b.report.note("cleave runs as its own process, and its start, reading and pictures count; for scikit-learn, " +
		"reading, fitting and writing count, but not the start of Python and its imports.")
	return b.noteQuality(s, out, theirOut, len(theirs) > 0)
}

// runCleave times one run of the program.
func (b *benchmark) runCleave(ctx context.Context, file string, k int, rho float64, out string) (float64, error) {
	return b.cleave(ctx, "run", "--data", file, "--k", strconv.Itoa(k), "--algorithm", "kernel-kmeans",
		"--kernel", "gaussian",
		"--rho", strconv.FormatFloat(rho, 'g', -1, 64), "--max-iterations", strconv.Itoa(iterationLimit), "--out",
		out, "--quiet")
}

// cleave times one run of the program from its start to its end.
func (b *benchmark) cleave(ctx context.Context, arguments ...string) (float64, error) {
	usage, err := measure.Run(exec.CommandContext(ctx, b.Cleave, arguments...))
	return usage.Seconds, err
}

// noteQuality compares the labels of both with the truth: they are not the same algorithm.
func (b *benchmark) noteQuality(s set, out, theirOut string, haveTheirs bool) error {
	if s.truth == nil {
		return nil
	}
	_, labels, err := format.LoadTable(filepath.Join(out, "labels.csv"), table.Labels, s.points.N)
	if err != nil {
		return err
	}
	scores, err := evaluate.Compare(labels, s.truth, nil)
	if err != nil {
		return err
	}
	note := fmt.Sprintf("mutual information with the true classes (NMI): cleave %.3f", scores.NMI)
	if haveTheirs {
		labels, err := readLabels(theirOut, s.points.N)
		if err != nil {
			return err
		}
		scores, err := evaluate.Compare(labels, s.truth, nil)
		if err != nil {
			return err
		}
		note += fmt.Sprintf(", scikit-learn %.3f", scores.NMI)
	}
	b.report.note("%s. Spectral clustering solves another, relaxed problem; the goal is about time only.", note)
	return nil
}
