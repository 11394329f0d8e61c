package bench

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/clustering/kernelkmeans"
	"github.com/cleave-project/cleave/internal/clustering/kmeans"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/data/synth"
	"github.com/cleave-project/cleave/internal/data/table"
	"github.com/cleave-project/cleave/internal/format"
)

// set is a set of points to cluster, with its name in the report.
type set struct {
	name   string
	points *dataset.Points
	truth  []int64 // nil: not known
	k      int
}

// clusterSpread is the standard deviation of synthetic clusters whose centers lie in a cube of side 20. They
// overlap, so that a run takes many iterations, as on real data.
const clusterSpread = 10

// load reads the first rows of a data set from the data folder, or makes synthetic points with as
// many rows and features.
func (b *benchmark) load(name, file, labels string, rows, features, k int) (set, error) {
	path := filepath.Join(b.Data, name, file)
	if b.Data != "" {
		points, _, err := format.LoadPoints(path)
		switch _, missing := os.Stat(path); {
		case err == nil:
			return b.known(name, filepath.Join(b.Data, name, labels), points, rows, k)
		case missing == nil:
			return set{}, err
		}
		b.Say("%s is not there: synthetic points of its shape take its place", path)
	}
	rng := rand.New(rand.NewPCG(uint64(rows), uint64(features)))
	points, truth, err := synth.Gaussians(rows, features, k, clusterSpread, rng)
	if err != nil {
		return set{}, err
	}
	s := set{name: fmt.Sprintf("synthetic %d x %d (as %s)", rows, features, name), points: points, k: k}
	for _, label := range truth {
		s.truth = append(s.truth, int64(label))
	}
	return s, nil
}

// known returns a data set that was read from files, cut to at most the given number of rows.
func (b *benchmark) known(name, labels string, points *dataset.Points, rows, k int) (set, error) {
	_, truth, err := format.LoadTable(labels, table.Labels, points.N)
	if err != nil {
		return set{}, err
	}
	if points.N > rows {
		name = fmt.Sprintf("the first %d rows of %s", rows, name)
		truth = truth[:rows]
		if points, err = dataset.NewPoints(rows, points.D, points.Values[:rows*points.D]); err != nil {
			return set{}, err
		}
	}
	return set{name: name, points: points, truth: truth, k: k}, nil
}

func (b *benchmark) loadPendigits() (set, error) {
	return b.load("pendigits", "data.csv", "labels.csv", b.pendigits, 16, 10)
}

func (b *benchmark) loadLetter() (set, error) {
	return b.load("letter", "data.csv", "labels.csv", b.letter, 16, 26)
}

func (b *benchmark) loadMnist() (set, error) {
	return b.load("mnist-10k", "data_test10k.csv.gz", "labels_test10k.csv", b.mnist, 784, 10)
}

// write makes a file in the temporary folder of the run and returns its path.
func (b *benchmark) write(name string, content any) (string, error) {
	path := filepath.Join(b.temp, name)
	return path, format.WriteFile(path, func(w io.Writer) error {
		return binary.Write(w, binary.LittleEndian, content)
	})
}

// writePoints writes points for the peers, in float32 row by row.
func (b *benchmark) writePoints(points *dataset.Points) (string, error) {
	values := make([]float32, len(points.Values))
	for i, v := range points.Values {
		values[i] = float32(v)
	}
	return b.write(fmt.Sprintf("points-%d-%d", points.N, points.D), values)
}

// readLabels reads the labels that a peer wrote.
func readLabels(path string, n int) ([]int32, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	labels := make([]int32, n)
	return labels, binary.Read(file, binary.LittleEndian, labels)
}

// agreement returns the share of points with equal labels.
func agreement(a, b []int32) float64 {
	same := 0
	for i := range a {
		if a[i] == b[i] {
			same++
		}
	}
	return float64(same) / float64(len(a))
}

// gaussian returns a problem with a gaussian kernel of width rho (0: the median distance) and the given first
// labels.
func gaussian(s set, rho float64, labels []int32, iterations int) (*kernelkmeans.Problem, error) {
	return kernelkmeans.Prepare(s.points, clustering.Spec{
		K: s.k, MaxIterations: iterations, Initialization: clustering.Initialization{
			Start: clustering.StartLabels, Labels: labels,
		},
		Algorithm: &kernelkmeans.Options{Rho: rho},
	})
}

// randomLabels returns random labels that give all clusters the same size, within one point.
func randomLabels(n, k int, seed uint64) []int32 {
	rng := rand.New(rand.NewPCG(seed, uint64(k)))
	labels := make([]int32, n)
	for i := range labels {
		labels[i] = int32(i % k)
	}
	rng.Shuffle(n, func(i, j int) { labels[i], labels[j] = labels[j], labels[i] })
	return labels
}

const (
	pointsColumns = 16
	pointsK       = 5
	pointsGoal    = 300 // MB/s
)

// measurePoints times what happens to an NPY file of float32, and to tables, before a job on them begins: they are
// read, hashed and prepared.
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
			return b.cleave(ctx, "run", "--data", file, "--k", fmt.Sprint(pointsK), "--algorithm", "kmeans",
				"--init", "random", "--restarts", "1", "--max-iterations", "0", "--quiet")
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
		K: pointsK, Initialization: clustering.Initialization{Start: clustering.StartRandom},
		Scale: clustering.ScaleAuto, Supervision: clustering.Supervision{EntailSmall: true},
		Algorithm: &kmeans.Options{Algorithm: kmeans.Kmeans},
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
