package bench

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"strconv"

	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/data/synth"
	"github.com/cleave-project/cleave/internal/format"
)

// How many times as fast as scikit-learn's k-means of ten starts the program should be on many rows by its defaults, and how
// much memory it may take.
const (
	millionGoal      = 1
	millionGoalBytes = 500 << 20
)

// measureMillion runs the cleave program by its defaults on a file of many rows, and scikit-learn's k-means from ten
// starts on the same file.
func measureMillion(ctx context.Context, b *benchmark) error {
	const d, k = 8, 8
	n := b.millionRows
	what := fmt.Sprintf("%d x %d, k = %d: by the defaults, file to labels", n, d, k)
	if b.Cleave == "" {
		b.report.add(Row{What: what, Ours: "missing: the cleave program", Goal: fmt.Sprintf(">= %dx", millionGoal), Verdict: Missing})
		return nil
	}
	points, _, err := synth.Gaussians(n, d, k, clusterSpread, rand.New(rand.NewPCG(6, 6)))
	if err != nil {
		return err
	}
	file, out := filepath.Join(b.temp, "million.npy"), filepath.Join(b.temp, "million")
	if err := format.WriteFile(file, func(w io.Writer) error { return writeDoubles(w, points) }); err != nil {
		return err
	}
	var ours, theirs times
	var peak int64
	measurements := []measurement{{func() (float64, error) {
		process := exec.CommandContext(ctx, b.Cleave, "run", "--data", file, "--k", strconv.Itoa(k), "--out", out, "--quiet")
		seconds, err := b.timeProcess(process)
		if err == nil {
			peak = max(peak, peakBytes(process.ProcessState))
		}
		return seconds, err
	}, &ours}}
	if b.peer.has("sklearn") {
		measurements = append(measurements, measurement{func() (float64, error) {
			return b.peer.seconds(map[string]any{"do": "kmeans_starts", "npy": file, "k": k})
		}, &theirs})
	}
	if err := b.interleave(b.longRounds, measurements...); err != nil {
		return err
	}
	b.report.compare(what, ours, theirs, ours.String(), "KMeans, n_init = 10: "+theirs.String(), millionGoal)
	if peak > 0 {
		b.report.add(Row{
			What: what + ", memory", Ours: fmt.Sprintf("%d MiB", peak>>20), Goal: fmt.Sprintf("<= %d MiB", int64(millionGoalBytes)>>20),
			Verdict: b.report.verdict(peak <= millionGoalBytes),
		})
	}
	b.report.note("cleave is a process of its own with its start, its reading and its pictures counted, and the memory is its largest resident set; of scikit-learn reading and fitting count, but not the start of Python and its imports.")
	return nil
}

// writeDoubles writes points as an array of NumPy in float64.
func writeDoubles(w io.Writer, points *dataset.Points) error {
	header := fmt.Sprintf("{'descr': '<f8', 'fortran_order': False, 'shape': (%d, %d), }", points.N, points.D)
	const fixed = 10 // bytes before the header
	padded := append([]byte(header), bytes.Repeat([]byte{' '}, 63-(fixed+len(header))%64)...)
	padded = append(padded, '\n')
	if _, err := io.WriteString(w, "\x93NUMPY\x01\x00"); err != nil {
		return err
	}
	for _, part := range []any{uint16(len(padded)), padded, points.Values} {
		if err := binary.Write(w, binary.LittleEndian, part); err != nil {
			return err
		}
	}
	return nil
}
