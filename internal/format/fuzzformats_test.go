package format

import (
	"archive/zip"
	"bytes"
	"io"
	"testing"

	"github.com/cleave-project/cleave/internal/format/scan"
)

func FuzzNPZ(f *testing.F) {
	x := npy("<f8", false, "(2, 2)", 1.0, 2.0, 3.0, 4.0)
	f.Add([]byte(npz(f, zip.Store, "x.npy", x)))
	f.Add([]byte(npz(f, zip.Deflate, "x.npy", x, "y.npy", npy("<f4", false, "(1000000, 1000)", float32(1)))))
	f.Fuzz(func(t *testing.T, input []byte) {
		checkFuzzed(t, len(input), 64<<10, func() error { // deflate unfolds up to a thousand times
			points, _, err := ReadPoints(bytes.NewReader(input), "f.npz")
			if err == nil && len(points.Values) != points.N*points.D {
				t.Fatalf("%d values for %d x %d", len(points.Values), points.N, points.D)
			}
			return err
		})
	})
}

func FuzzGraphsOfOtherPrograms(f *testing.F) {
	for _, seed := range []string{metisText, graphMLText, gmlText, dataInDefault} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, input []byte) {
		for _, name := range []string{"f.metis", "f.graphml", "f.gml"} {
			checkFuzzed(t, len(input), graphBeyond+1024*len(input), func() error {
				graph, err := ReadGraph(bytes.NewReader(input), name, 0)
				if err == nil && int(graph.RowStart[graph.N]) != len(graph.Column) {
					t.Fatalf("rows end at %d of %d", graph.RowStart[graph.N], len(graph.Column))
				}
				return err
			})
		}
	})
}

func FuzzCompression(f *testing.F) {
	f.Add([]byte(gzipped("1,2\n3,4\n")))
	f.Add([]byte(zstdOf(f, "1,2\n3,4\n")))
	f.Add([]byte(bzip2Of12(f)))
	f.Fuzz(func(t *testing.T, input []byte) {
		checkFuzzed(t, len(input), 3*scan.MaxWindow, func() error {
			s, err := scan.Open(bytes.NewReader(input), "f.csv", scan.Options{})
			if err != nil {
				return err
			}
			n, err := io.Copy(io.Discard, s)
			if n > scan.FreeBytes+scan.MaxGrowth*int64(len(input))+scan.BufferSize {
				t.Fatalf("%d bytes of %d", n, len(input))
			}
			if err != nil {
				return s.ReadError(err)
			}
			return nil
		})
	})
}
