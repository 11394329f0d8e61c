package bench

import (
	"io"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"

	"github.com/cleave-project/cleave/internal/data/synth"
	"github.com/cleave-project/cleave/internal/format"
)

// Arrays that are written for both programs are read as they were.
func TestWriteDoubles(t *testing.T) {
	points, _, err := synth.Gaussians(137, 5, 3, 1, rand.New(rand.NewPCG(1, 1)))
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "points.npy")
	if err := format.WriteFile(file, func(w io.Writer) error { return writeDoubles(w, points) }); err != nil {
		t.Fatal(err)
	}
	read, _, err := format.LoadPoints(file)
	if err != nil {
		t.Fatal(err)
	}
	if read.N != points.N || read.D != points.D || !slices.Equal(read.Values, points.Values) {
		t.Errorf("%d x %d points are read back as %d x %d", points.N, points.D, read.N, read.D)
	}
}
