package format

import (
	"archive/zip"
	"bytes"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/cleave-project/cleave/internal/data/dataset"
)

// sparseFile is a file as scipy.sparse.save_npz writes it: names and contents of arrays by turns, beside its format
// and a shape of 3 x 3.
func sparseFile(t testing.TB, layout string, arrays ...string) string {
	return npz(t, zip.Deflate, append(arrays, "format.npy", npy("|S3", false, "()", []byte(layout)), "shape.npy",
		npy("<i8", false, "(2,)", int64(3), int64(3)))...)
}

// triangle is the path 0-1-2 with weights 5 and 7, as csr.
func triangle(t testing.TB) string {
	return sparseFile(t, "csr",
		"indices.npy", npy("<i4", false, "(4,)", []int32{1, 2, 0, 1}), "indptr.npy",
		npy("<i4", false, "(4,)", []int32{0, 1, 3, 4}),
		"data.npy", npy("<f8", false, "(4,)", []float64{5, 7, 5, 7}))
}

// Files that scipy 1.10 wrote.
func TestSparseNPZOfScipy(t *testing.T) {
	for _, name := range []string{"testdata/scipy-csr.npz", "testdata/scipy-csc.npz", "testdata/scipy-coo.npz"} {
		content, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, in := range []Input{{Path: name}, {Path: "-", Stdin: Peekable(bytes.NewReader(content))}} {
			if kind, err := in.Kind(); err != nil || kind != InputSparse {
				t.Errorf("%s, %s: kind %v, %v", name, in.Path, kind, err)
			}
			points, err := in.LoadSparsePoints(0)
			if err != nil {
				t.Errorf("%s, %s: %v", name, in.Path, err)
				continue
			}
			if points.N != 4 || points.D != 3 || !slices.Equal(points.RowStart, []int64{0, 1, 2, 2, 4}) ||
				!slices.Equal(points.Column, []int32{1, 0, 1, 2}) ||
				!slices.Equal(points.Value, []float64{1.5, 2, -3, 4}) {
				t.Errorf("%s, %s: got %+v", name, in.Path, points)
			}
		}
	}
}

func TestSparseNPZ(t *testing.T) {
	wide, err := ReadSparsePoints(strings.NewReader(triangle(t)), "f.npz", 5)
	if err != nil || wide.D != 5 {
		t.Errorf("got %+v, %v", wide, err)
	}
	twice := sparseFile(t, "coo", "row.npy", npy("<i4", false, "(3,)", []int32{2, 0, 2}), "col.npy",
		npy("<i4", false, "(3,)", []int32{1, 2, 1}),
		"data.npy", npy("<i8", false, "(3,)", []int64{3, 4, 8}))
	points, err := ReadSparsePoints(strings.NewReader(twice), "f.npz", 0)
	if err != nil || !slices.Equal(points.RowStart, []int64{0, 1, 1, 2}) ||
		!slices.Equal(points.Value, []float64{4, 11}) {
		t.Errorf("values of one place are added up: got %+v, %v", points, err)
	}
	graph, err := ReadGraph(strings.NewReader(triangle(t)), "f.npz", 0)
	want, wantErr := dataset.GraphOf(3,
		[]dataset.Edges{dataset.EdgesOf([]dataset.Edge{{Source: 0, Target: 1, Weight: 5},
			{Source: 1, Target: 2, Weight: 7}})})
	if err != nil || wantErr != nil || !slices.Equal(graph.Column, want.Column) ||
		!slices.Equal(graph.Weight, want.Weight) {
		t.Errorf("got %+v, %v; want %+v", graph, err, want)
	}
	// An array of a file may be asked for by its name.
	in := Input{Path: "-", Array: "data", Stdin: Peekable(strings.NewReader(triangle(t)))}
	if kind, err := in.Kind(); err != nil || kind != InputDense {
		t.Errorf("kind %v, %v", kind, err)
	}
}

func TestBadSparseNPZ(t *testing.T) {
	data := npy("<f8", false, "(2,)", 1.0, 2.0)
	places := npy("<i4", false, "(2,)", []int32{0, 1})
	whole := triangle(t)
	for what, c := range map[string]struct{ content, reason, says string }{
		"other layout": {sparseFile(t, "bsr", "data.npy", data), "UNSUPPORTED_MATRIX",
			`stored as "bsr"; only csr, csc and coo are supported`},
		"no places": {sparseFile(t, "csr", "data.npy", data), "NO_SUCH_ARRAY", `no array "indices"`},
		"too few": {sparseFile(t, "coo", "data.npy", data, "row.npy", npy("<i4", false, "(1,)", int32(1))),
			"SIZE_MISMATCH", "array row has 1 numbers for 2 values"},
		"outside": {sparseFile(t, "coo", "data.npy", data, "row.npy", npy("<i4", false, "(2,)", []int32{0, 3})),
			"INDEX_OUT_OF_RANGE", "array row has 3 at position 1; it must be 0 to 2"},
		"no steps": {sparseFile(t, "csc", "data.npy", data, "indices.npy", places, "indptr.npy", places),
			"BAD_ROW_STARTS", "ascend from 0 to 2"},
		"no number": {sparseFile(t, "coo", "data.npy", npy("<f8", false, "(1,)", nan()), "row.npy",
			npy("|u1", false, "(1,)", byte(0)), "col.npy", npy("|u1", false, "(1,)", byte(2))), "NOT_FINITE",
			"row 0, column 2"},
		"half":  {whole[:len(whole)/2], "CORRUPT_FILE", "cut short"},
		"dense": {npz(t, zip.Store, "x.npy", data), "NOT_SPARSE", "scipy.sparse.save_npz"},
		"format": {npz(t, zip.Store, "format.npy", data, "shape.npy", data, "data.npy", data), "UNSUPPORTED_DTYPE",
			"a string is expected"},
		"promises": {npz(t, zip.Store, "format.npy", npy("|S3", false, "()", []byte("coo")), "shape.npy",
			npy("<i8", false, "(2,)", int64(1)<<30, int64(1)<<30),
			"data.npy", data, "row.npy", places, "col.npy", places), "SIZE_OVERFLOW",
			"claims 1073741824 x 1073741824 values but has only 2"},
	} {
		var err error
		bytes := allocated(func() { _, err = ReadSparsePoints(strings.NewReader(c.content), "f.npz", 0) })
		wantFault(t, what, err, c.reason, "f.npz", c.says)
		if bytes > 4<<20 {
			t.Errorf("%s: allocated %d bytes", what, bytes)
		}
	}
	_, err := ReadKernel(strings.NewReader(whole), "f.npz")
	wantFault(t, "kernel", err, "SPARSE_MATRIX", "--data or --graph")
	_, err = ReadSparsePoints(strings.NewReader(whole), "f.npz", 2)
	wantFault(t, "wide", err, "SIZE_MISMATCH", "has 3 columns; 2 are expected")
	one := npy("|u1", false, "(1,)", byte(1))
	oblong := npz(t, zip.Store, "format.npy", npy("|S3", false, "()", []byte("coo")), "shape.npy",
		npy("<i8", false, "(2,)", int64(2), int64(3)),
		"data.npy", npy("<f8", false, "(1,)", nan()), "row.npy", one, "col.npy", one)
	_, err = ReadGraph(strings.NewReader(oblong), "f.npz", 0) // before its entries are looked at
	wantFault(t, "oblong", err, "NOT_SQUARE", "2 rows and 3 columns")
}

func FuzzSparseNPZ(f *testing.F) {
	f.Add([]byte(triangle(f)))
	f.Add([]byte(sparseFile(f, "coo", "row.npy", npy("<i4", false, "(1,)", int32(2)), "col.npy",
		npy("<i4", false, "(1,)", int32(1)), "data.npy", npy("<f4", false, "(1,)", float32(3)))))
	f.Fuzz(func(t *testing.T, input []byte) {
		checkFuzzed(t, len(input), graphBeyond+64<<10, func() error {
			points, err := ReadSparsePoints(bytes.NewReader(input), "f.npz", 0)
			if err == nil && int(points.RowStart[points.N]) != len(points.Column) {
				t.Fatalf("rows end at %d of %d", points.RowStart[points.N], len(points.Column))
			}
			return err
		})
		checkFuzzed(t, len(input), graphBeyond+64<<10, func() error {
			_, err := ReadGraph(bytes.NewReader(input), "f.npz", 0)
			return err
		})
	})
}
