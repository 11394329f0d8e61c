package format

import (
	"math"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/fault"
)

// What is written is read back to the last bit.
func TestGraphsAreReadBackAsTheyWere(t *testing.T) {
	g, err := dataset.NewGraph(5, []dataset.Edge{
		{Source: 0, Target: 3, Weight: 1.0 / 3}, {Source: 4, Target: 3, Weight: math.Nextafter(0.5, 1)},
		{Source: 1, Target: 2, Weight: 1e-6},
		{Source: 2, Target: 2, Weight: 7}, {Source: 1, Target: 4, Weight: 5e-324},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"g.csv", "g.mtx"} {
		write, err := GraphWriter(name)
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(t.TempDir(), name)
		file, err := os.Create(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := write(file, g); err != nil {
			t.Fatal(err)
		}
		if err := file.Close(); err != nil {
			t.Fatal(err)
		}
		if again, err := LoadGraph(path, 0); err != nil || !reflect.DeepEqual(again, g) {
			t.Errorf("%s: read back as %v, %v; want %v", name, again, err, g)
		}
	}
	if _, err := GraphWriter("g.npy"); !fault.Is(err, "UNKNOWN_FORMAT") {
		t.Errorf("a graph as .npy: %v", err)
	}
}
