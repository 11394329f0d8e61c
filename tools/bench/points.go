package bench

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os/exec"
	"path/filepath"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/clustering/kmeans"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/data/synth"
	"github.com/cleave-project/cleave/internal/format"
)

const (
	pointsColumns = 16
	pointsK       = 5
	pointsGoal    = 300 // MB/s
)

// measurePoints times what happens to an NPY file of float32, and to tables, before a job on them begins: they are read, hashed and
// prepared.
func measurePoints(ctx context.Context, b *benchmark) error {
	points, _, err := synth.Gaussians(b.pointsRows, pointsColumns, pointsK, clusterSpread, rand.New(rand.NewPCG(6, 6)))
	if err != nil {
		return err
	}
	file := filepath.Join(b.temp, "points.npy")
	if err := format.WriteFile(file, func(w io.Writer) error { return writeNPY(w, points) }); err != nil {
		return err
	}
	var read, started, answered times
	measurements := []measurement{
		{func() (float64, error) {
			return stopwatch(func() error { _, _, err := format.LoadPoints(file); return err })
		}, &read},
		{func() (float64, error) { return stopwatch(func() error { return startJob(file) }) }, &started},
	}
	if b.Cleave != "" {
		measurements = append(measurements, measurement{func() (float64, error) {
			return b.timeProcess(exec.CommandContext(ctx, b.Cleave, "run", "--data", file, "--k", fmt.Sprint(pointsK), "--algorithm", "kmeans",
				"--init", "random", "--restarts", "1", "--max-iterations", "0", "--quiet"))
		}, &answered})
	}
	if err := b.interleave(b.rounds, measurements...); err != nil {
		return err
	}
	megabytes := float64(4*len(points.Values)) / 1e6
	what := fmt.Sprintf("NPY, %d x %d float32, %.0f MB", points.N, points.D, megabytes)
	b.report.add(Row{What: what + ": file to points", Ours: rate(megabytes, read, "MB/s")})
	b.report.add(Row{
		What: what + ": file to the start of a job", Ours: rate(megabytes, started, "MB/s"),
		Goal: fmt.Sprintf(">= %d MB/s", pointsGoal), Verdict: b.report.verdict(megabytes/started.best() >= pointsGoal),
	})
	if len(answered) > 0 {
		b.report.add(Row{What: what + ": the program, with the first labels of k-means", Ours: answered.String()})
	}
	return b.measureTables(points)
}

// startJob does what is done with a file until a job on it begins.
func startJob(file string) error {
	points, _, err := format.LoadPoints(file)
	if err != nil {
		return err
	}
	return prepareJob(points)
}

// prepareJob does what is done with points until a job on them begins.
func prepareJob(points *dataset.Points) error {
	if _, err := dataset.ID(points); err != nil {
		return err
	}
	_, err := kmeans.Prepare(points, clustering.Spec{
		K: pointsK, Start: clustering.StartRandom, Scale: clustering.ScaleAuto, EntailSmall: true, Algorithm: &kmeans.Options{Algorithm: kmeans.Kmeans},
	})
	return err
}

// writeNPY writes points as float32.
func writeNPY(w io.Writer, points *dataset.Points) error {
	header := fmt.Sprintf("{'descr': '<f4', 'fortran_order': False, 'shape': (%d, %d), }\n", points.N, points.D)
	bytes := append([]byte("\x93NUMPY\x01\x00"), byte(len(header)), 0)
	bytes = append(bytes, header...)
	for _, v := range points.Values {
		bytes = binary.LittleEndian.AppendUint32(bytes, math.Float32bits(float32(v)))
	}
	_, err := w.Write(bytes)
	return err
}
