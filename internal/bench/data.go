package bench

import (
	"encoding/binary"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/clustering/kernelkmeans"
	"github.com/cleave-project/cleave/internal/dataset"
	"github.com/cleave-project/cleave/internal/format"
	"github.com/cleave-project/cleave/internal/synth"
)

// set is points to cluster, and what they are called in the report.
type set struct {
	name   string
	points *dataset.Points
	truth  []int64 // nil: not known
	k      int
}

// overlap is the spread of synthetic clusters whose centres lie in a cube of side 20: they overlap, so
// that a run takes many iterations, as it does on real data.
const overlap = 10

// load reads at most so many rows of a known set from the data folder, or makes points of its shape.
func (b *run) load(name, file, labels string, rows, features, k int) (set, error) {
	path := filepath.Join(b.Data, name, file)
	if b.Data != "" {
		points, _, err := format.LoadPoints(path)
		switch _, missing := os.Stat(path); {
		case err == nil:
			return b.known(name, filepath.Join(b.Data, name, labels), points, rows, k)
		case missing == nil:
			return set{}, err
		}
		b.progress("%s is not there: synthetic points of its shape take its place", path)
	}
	rng := rand.New(rand.NewPCG(uint64(rows), uint64(features)))
	points, truth, err := synth.Gaussians(rows, features, k, overlap, rng)
	if err != nil {
		return set{}, err
	}
	s := set{name: fmt.Sprintf("synthetic %d x %d (as %s)", rows, features, name), points: points, k: k}
	for _, label := range truth {
		s.truth = append(s.truth, int64(label))
	}
	return s, nil
}

// known cuts a set that was read to the rows of this run.
func (b *run) known(name, labels string, points *dataset.Points, rows, k int) (set, error) {
	truth, err := format.LoadLabels(labels, points.N)
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

func (b *run) loadPendigits() (set, error) {
	return b.load("pendigits", "data.csv", "labels.csv", b.pendigits, 16, 10)
}

func (b *run) loadLetter() (set, error) {
	return b.load("letter", "data.csv", "labels.csv", b.letter, 16, 26)
}

func (b *run) loadMnist() (set, error) {
	return b.load("mnist-10k", "data_test10k.csv.gz", "labels_test10k.csv", b.mnist, 784, 10)
}

// write makes a file in the run's temporary folder and tells its path.
func (b *run) write(name string, content any) (string, error) {
	path := filepath.Join(b.temp, name)
	return path, format.WriteFile(path, func(w io.Writer) error { return binary.Write(w, binary.LittleEndian, content) })
}

// writePoints writes points as the peers read them, in float32 row by row.
func (b *run) writePoints(points *dataset.Points) (string, error) {
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

// agreement is the share of points with equal labels.
func agreement(a, b []int32) float64 {
	same := 0
	for i := range a {
		if a[i] == b[i] {
			same++
		}
	}
	return float64(same) / float64(len(a))
}

// gaussian is a problem with this kernel width (0: the median distance) and the given first labels.
func gaussian(s set, rho float64, labels []int32, iterations int) (*kernelkmeans.Problem, error) {
	return kernelkmeans.Prepare(s.points, clustering.Spec{
		K: s.k, MaxIterations: iterations, Start: clustering.StartLabels, InitialLabels: labels,
		Algorithm: &kernelkmeans.Options{Rho: rho},
	})
}

// randomLabels gives every cluster its share of the points.
func randomLabels(n, k int, seed uint64) []int32 {
	rng := rand.New(rand.NewPCG(seed, uint64(k)))
	labels := make([]int32, n)
	for i := range labels {
		labels[i] = int32(i % k)
	}
	rng.Shuffle(n, func(i, j int) { labels[i], labels[j] = labels[j], labels[i] })
	return labels
}
