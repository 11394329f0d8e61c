package format

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestMatrixMarketAsPoints(t *testing.T) {
	for what, c := range map[string]struct {
		text string
		want []float64
	}{
		"array": {"%%MatrixMarket matrix array real general\n% a comment\n\n2 2\n1\n2\n3\n4.5\n",
			[]float64{1, 3, 2, 4.5}},
		"array, symmetric": {"%%MatrixMarket matrix array integer symmetric\n2 2\n1\n2\n3\n", []float64{1, 2, 2, 3}},
		"coordinate": {"%%MatrixMarket matrix coordinate real general\r\n2 2 3\r\n1 2 5\r\n2 1 7\r\n1 2 0.5\r\n",
			[]float64{0, 5.5, 7, 0}},
		"symmetric": {"%%matrixmarket MATRIX Coordinate Real Symmetric\n2 2 2\n1 1 4\n2 1 7\n", []float64{4, 7, 7, 0}},
		"pattern":   {"%%MatrixMarket matrix coordinate pattern general\n2 2 1\n2   1\n", []float64{0, 0, 1, 0}},
	} {
		points, header, err := ReadPoints(strings.NewReader(c.text), "p.mtx")
		if err != nil || header != nil || points.N != 2 || !slices.Equal(points.Values, c.want) {
			t.Errorf("%s: %+v, %v", what, points, err)
		}
	}
}

func TestMatrixMarketAsGraph(t *testing.T) {
	type triple struct {
		i, j   int
		weight float64
	}
	for what, c := range map[string]struct {
		text string
		want []triple // i <= j
	}{
		"symmetric lists each edge once": {
			"%%MatrixMarket matrix coordinate real symmetric\n4 4 3\n2 1 0.5\n3 3 2\n3 2 1\n",
			[]triple{{0, 1, 0.5}, {1, 2, 1}, {2, 2, 2}}},
		"general and symmetric is the matrix itself": {
			"%%MatrixMarket matrix coordinate real general\n4 4 5\n2 1 0.5\n1 2 0.5\n3 3 2\n3 2 1\n2 3 1\n",
			[]triple{{0, 1, 0.5}, {1, 2, 1}, {2, 2, 2}}},
		"general and directed is a list of edges": {
			"%%MatrixMarket matrix coordinate real general\n4 4 4\n2 1 0.5\n1 2 0.25\n3 3 2\n3 2 1\n",
			[]triple{{0, 1, 0.75}, {1, 2, 1}, {2, 2, 2}}},
		"pattern": {
			"%%MatrixMarket matrix coordinate pattern symmetric\n4 4 2\n2 1\n4 3\n",
			[]triple{{0, 1, 1}, {2, 3, 1}}},
	} {
		graph, err := ReadGraph(strings.NewReader(c.text), "g.mtx", 0)
		if err != nil {
			t.Errorf("%s: %v", what, err)
			continue
		}
		var got []triple
		for i := range graph.N {
			neighbors, weights := graph.Row(i)
			for at, j := range neighbors {
				if int(j) >= i {
					got = append(got, triple{i, int(j), weights[at]})
				}
			}
		}
		if graph.N != 4 || !slices.Equal(got, c.want) {
			t.Errorf("%s: %d vertices, %v", what, graph.N, got)
		}
	}
}

func TestInvalidMatrixMarket(t *testing.T) {
	const coordinate = "%%MatrixMarket matrix coordinate real general\n"
	const array = "%%MatrixMarket matrix array real general\n"
	for _, c := range []struct {
		text, reason string
		says         []string
	}{
		{"", "EMPTY_DATA", nil},
		{"1 2 3\n", "NOT_MATRIX_MARKET", []string{"m.mtx, line 1"}},
		{"%%MatrixMarket vector coordinate real general\n", "NOT_MATRIX_MARKET", nil},
		{"%%MatrixMarket matrix coordinate complex general\n", "UNSUPPORTED_MATRIX", []string{"complex"}},
		{"%%MatrixMarket matrix array pattern general\n", "UNSUPPORTED_MATRIX", []string{"pattern"}},
		{"%%MatrixMarket matrix array real hermitian\n", "UNSUPPORTED_MATRIX", []string{"hermitian"}},
		{"%%MatrixMarket matrix blocks real general\n", "UNSUPPORTED_MATRIX", []string{"blocks"}},
		{coordinate + "% only this\n", "TRUNCATED_FILE", nil},
		{coordinate + "2 2\n", "BAD_SIZE_LINE", []string{"line 2"}},
		{array + "2 -2\n", "BAD_SIZE_LINE", nil},
		{array + "99999999999 99999999999\n", "SIZE_OVERFLOW", nil},
		{array + "2000000000 2000000000\n1\n", "SIZE_OVERFLOW", nil},
		{array + "2000000 2000000\n1\n", "TRUNCATED_FILE", []string{"after 1"}},
		{array + "2 2\n1\n2\n3\n", "TRUNCATED_FILE", []string{"4 values", "after 3"}},
		{array + "1 1\n1\n2\n", "TRAILING_DATA", []string{"line 4"}},
		{array + "0 3\n", "EMPTY_DATA", nil},
		{array + "1 2\n1\nnan\n", "NOT_FINITE", []string{"line 4"}},
		{array + "1 2\n1\nx\n", "NOT_A_NUMBER", []string{"line 4"}},
		{"%%MatrixMarket matrix array real symmetric\n2 3\n", "NOT_SQUARE", nil},
		{coordinate + "2 2 2\n1 1 1\n", "TRUNCATED_FILE", []string{"2 entries", "after 1"}},
		{coordinate + "2 2 1\n1 1 1\n2 2 1\n", "TRAILING_DATA", []string{"line 4"}},
		{coordinate + "2 2 1\n0 1 1\n", "INDEX_OUT_OF_RANGE", []string{"line 3", "start at 1"}},
		{coordinate + "2 2 1\n1 3 1\n", "INDEX_OUT_OF_RANGE", nil},
		{coordinate + "2 2 1\n1 1\n", "RAGGED_ROWS", []string{"line 3"}},
		{coordinate + "2 2 1\n1 1 inf\n", "NOT_FINITE", []string{"line 3"}},
		{coordinate + "2000000000 2000000000 1\n1 1 1\n", "TOO_SPARSE", nil},
		{coordinate + "2 2 9000000000000000000\n1 1 1\n", "TRUNCATED_FILE", nil},
	} {
		var err error
		bytes := allocated(func() { _, _, err = ReadPoints(strings.NewReader(c.text), "m.mtx") })
		wantFault(t, fmt.Sprintf("%q", c.text), err, c.reason, c.says...)
		if bytes > 4<<20 {
			t.Errorf("%q: allocated %d bytes", c.text, bytes)
		}
	}
	for _, c := range []struct {
		text, reason string
		vertices     int
	}{
		{array + "2 2\n1\n2\n2\n1\n", "UNSUPPORTED_MATRIX", 0},
		{coordinate + "2 3 0\n", "NOT_SQUARE", 0},
		{coordinate + "3 3 0\n", "SIZE_MISMATCH", 4},
		{coordinate + "2000000000 2000000000 1\n1 2 1\n", "TOO_MANY_VERTICES", 0},
	} {
		_, err := ReadGraph(strings.NewReader(c.text), "m.mtx", c.vertices)
		wantFault(t, fmt.Sprintf("%q", c.text), err, c.reason, "m.mtx")
	}
}
