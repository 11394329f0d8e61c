package format

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/cleave-project/cleave/internal/fault"
)

func TestCompletePoints(t *testing.T) {
	nan := math.NaN()
	for _, c := range []struct {
		name, text string
		values     []float64
		incomplete []int32
	}{
		{"p.csv", "x,y\n1,2\n3,\n?,4\n5,6\nNA,7\n8,nAn\nn/a,null\n", []float64{1, 2, 5, 6}, []int32{1, 2, 4, 5, 6}},
		{"p.csv", "?,1\n1,2\n", []float64{1, 2}, []int32{0}},
		{"p.csv", "1,2\n3,4\n", []float64{1, 2, 3, 4}, nil},
		{"p.tsv", "\t1\n1\t2\n", []float64{1, 2}, []int32{0}},
		{"p.npy", npy("<f8", false, "(3, 2)", 1.0, nan, 3.0, 4.0, nan, nan), []float64{3, 4}, []int32{0, 2}},
		{"p.npy", npy("<f8", true, "(2, 2)", 1.0, 2.0, nan, 4.0), []float64{2, 4}, []int32{0}},
		{"p.mtx", "%%MatrixMarket matrix array real general\n2 2\n1\n2\nNaN\n4\n", []float64{2, 4}, []int32{0}},
		{"p.mtx", "%%MatrixMarket matrix coordinate real general\n2 2 2\n1 1 nan\n2 2 4\n", []float64{0, 4},
			[]int32{0}},
	} {
		points, _, incomplete, err := ReadCompletePoints(strings.NewReader(c.text), c.name)
		if err != nil || points.N*points.D != len(c.values) || !slices.Equal(points.Values, c.values) ||
			!slices.Equal(incomplete, c.incomplete) {
			t.Errorf("%s: %+v without %v, %v", c.text, points, incomplete, err)
		}
	}
}

func TestCompletePointsRefuseOtherFaults(t *testing.T) {
	for _, c := range []struct{ name, text, reason, says string }{
		{"p.csv", "?,1\n2,NA\n", "EMPTY_DATA", "p.csv: no row is left: all 2 rows have missing values"},
		{"p.csv", "1,2\n?,four\n", "NOT_A_NUMBER", "row 1, column 1"},
		{"p.csv", "1,?\n2,Inf\n", "NOT_FINITE", "row 1, column 1"},
		{"p.csv", "1,?\n2\n", "RAGGED_ROWS", "line 2"},
		{"p.npy", npy("<f8", false, "(2, 1)", math.NaN(), math.Inf(-1)), "NOT_FINITE",
			"p.npy: row 1, column 0 is -Inf"},
	} {
		if points, _, _, err := ReadCompletePoints(strings.NewReader(c.text), c.name); points != nil ||
			!fault.Is(err, c.reason) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", c.text, err)
		}
	}
	for _, c := range []struct{ text, reason string }{{"1 1:?\n", "EMPTY_DATA"}, {"1:inf\n2:?\n", "NOT_FINITE"},
		{"1:x\n", "NOT_A_NUMBER"}} {
		if points, _, err := ReadCompleteSparsePoints(strings.NewReader(c.text), "p.svm"); points != nil ||
			!fault.Is(err, c.reason) {
			t.Errorf("%s: %v", c.text, err)
		}
	}
}

// The result is that of a file without the incomplete rows.
func TestCompleteSparsePointsAreThoseOfAReducedFile(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		whole, reduced := "0 1:1 9:1\n", "0 1:1 9:1\n" // both have nine features
		var want []int32
		for i := range 1 + rng.IntN(8) {
			line := fmt.Sprint(rng.IntN(3))
			gap := false
			for feature := range 9 {
				switch rng.IntN(8) {
				case 0, 1, 2:
					line += fmt.Sprintf(" %d:%d", feature+1, rng.IntN(5))
				case 3:
					if rng.IntN(3) == 0 {
						line += fmt.Sprintf(" %d:%s", feature+1, []string{"?", "NaN", "na", ""}[rng.IntN(4)])
						gap = true
					}
				}
			}
			whole += line + "\n"
			if gap {
				want = append(want, int32(i)+1)
			} else {
				reduced += line + "\n"
			}
		}
		got, incomplete, err := ReadCompleteSparsePoints(strings.NewReader(whole), "p.svm")
		same, err2 := ReadSparsePoints(strings.NewReader(reduced), "p.svm", 0)
		if err != nil || err2 != nil || !reflect.DeepEqual(got, same) || !slices.Equal(incomplete, want) {
			t.Fatalf("%s: %+v without %v, %v; want %+v without %v, %v", whole, got, incomplete, err, same, want, err2)
		}
	}
}

func FuzzCompletePoints(f *testing.F) {
	for _, seed := range []string{"x,y\n1,?\n3,4\n", "1,\n2,3\n", "nan\n1\n", "?,?\n"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, input []byte) {
		checkFuzzed(t, len(input), 0, func() error {
			points, _, incomplete, err := ReadCompletePoints(bytes.NewReader(input), "f.csv")
			if err == nil && len(points.Values) != points.N*points.D {
				t.Fatalf("%d values for %d x %d without %v", len(points.Values), points.N, points.D, incomplete)
			}
			return err
		})
	})
}
