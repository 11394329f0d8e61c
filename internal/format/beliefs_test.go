package format

import (
	"bytes"
	"reflect"
	"strings"
	"testing"

	"github.com/cleave-project/cleave/internal/data/constraint"
	"github.com/cleave-project/cleave/internal/data/table"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/format/scan"
)

func TestBeliefs(t *testing.T) {
	const text = "belief,j,i\n2.5,1,0\n-1e-3,3,2\n1,4,4\n0,0,2\n"
	want := []constraint.Belief{{I: 0, J: 1, Value: 2.5}, {I: 2, J: 3, Value: -1e-3}, {I: 4, J: 4, Value: 1},
		{I: 2, J: 0, Value: 0}}
	got, err := ReadBeliefs(strings.NewReader(text), "q.csv", 5, table.Naming{})
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v", got, err)
	}
	if got, err := ReadBeliefs(strings.NewReader("i,j,belief\n"), "q.csv", 2, table.Naming{}); err != nil ||
		len(got) != 0 {
		t.Errorf("a header alone is an empty set: %+v, %v", got, err)
	}
}

func TestInvalidBeliefs(t *testing.T) {
	for _, c := range []struct {
		text, reason string
		says         []string
	}{
		{"", "MISSING_HEADER", []string{"q.csv", "i,j,belief"}},
		{"0,1,one\n", "MISSING_HEADER", []string{"line 1"}},
		{"i,j,weight\n", "UNKNOWN_COLUMN", []string{"weight", "i,j,belief"}},
		{"i,j\n", "MISSING_COLUMN", []string{`"belief"`}},
		{"i,j,belief\n0,5,1\n", "INDEX_OUT_OF_RANGE", []string{"line 2", "0..4"}},
		{"i,j,belief\n0,x,1\n", "NOT_AN_INTEGER", []string{"line 2"}},
		{"i,j,belief\n0,1,must\n", "NOT_A_NUMBER", []string{"line 2", "must"}},
		{"i,j,belief\n0,1,\n", "EMPTY_CELL", []string{"line 2"}},
		{"i,j,belief\n0,1,nan\n", "NOT_FINITE", []string{"line 2"}},
		{"i,j,belief\n0,1,-inf\n", "NOT_FINITE", nil},
		{"i,j,belief\n0,1,1\n0,1,1\n", "DUPLICATE_PAIR", []string{"line 3", "on line 2"}},
		{"i,j,belief\n0,1,1\n2,3,1\n1,0,-1\n", "DUPLICATE_PAIR", []string{"line 4", "on line 2"}},
		{"i,j,belief\n3,3,1\n3,3,1\n", "DUPLICATE_PAIR", []string{"line 3"}},
		{"i,j,belief\n0,1\n", "RAGGED_ROWS", []string{"line 2"}},
	} {
		got, err := ReadBeliefs(strings.NewReader(c.text), "q.csv", 5, table.Naming{})
		wantFault(t, c.text, err, c.reason, c.says...)
		if got != nil {
			t.Errorf("%q: got %+v beside the error", c.text, got)
		}
	}
}

// Of a whole matrix each pair is taken once.
func TestBeliefsOfAMatrix(t *testing.T) {
	const head = "%%MatrixMarket matrix coordinate real "
	for text, want := range map[string][]constraint.Belief{
		head + "symmetric\n3 3 3\n1 1 2\n2 1 -0.5\n3 2 1\n": {{I: 0, J: 0, Value: 2},
			{I: 0, J: 1, Value: -0.5}, {I: 1, J: 2, Value: 1}},
		head + "general\n3 3 3\n1 2 -0.5\n2 1 -0.5\n3 3 1\n": {{I: 0, J: 1, Value: -0.5},
			{I: 2, J: 2, Value: 1}},
		"%%MatrixMarket matrix array real general\n3 3\n0\n0\n0\n0\n4\n0\n0\n0\n0\n": {{I: 1, J: 1, Value: 4}},
		"%%MatrixMarket matrix array real general\n3 3\n0\n1\n0\n1\n0\n0\n0\n0\n0\n": {{I: 0, J: 1, Value: 1}},
	} {
		if got, err := ReadBeliefs(strings.NewReader(text), "q.mtx", 3, table.Naming{}); err != nil ||
			!reflect.DeepEqual(got, want) {
			t.Errorf("%q: got %+v, %v", text, got, err)
		}
	}
	for text, reason := range map[string]string{
		head + "general\n3 3 1\n1 2 1\n":                  "NOT_SYMMETRIC",
		head + "general\n3 3 2\n1 2 1\n2 1 2\n":           "NOT_SYMMETRIC",
		head + "symmetric\n2 2 1\n2 1 1\n":                "BELIEF_ROWS",
		head + "general\n3 2 1\n2 1 1\n":                  "BELIEF_ROWS",
		head + "general\n3 3 1\n2 1 nan\n":                "NOT_FINITE",
		"%%MatrixMarket matrix array real general\n3 3\n": "",
	} {
		got, err := ReadBeliefs(strings.NewReader(text), "q.mtx", 3, table.Naming{})
		if err == nil || got != nil || reason != "" && !fault.Is(err, reason) {
			t.Errorf("%q: got %+v, %v", text, got, err)
		}
	}
}

func FuzzBeliefMatrix(f *testing.F) {
	f.Add([]byte("%%MatrixMarket matrix coordinate real symmetric\n3 3 2\n1 1 2\n2 1 -0.5\n"))
	f.Add([]byte("%%MatrixMarket matrix array real general\n2 2\n0\n1\n1\n0\n"))
	f.Fuzz(func(t *testing.T, input []byte) {
		const points = 3
		var beliefs []constraint.Belief
		read := func() (err error) {
			beliefs, err = ReadBeliefs(bytes.NewReader(input), "f.mtx", points, table.Naming{})
			return err
		}
		if !checkFuzzed(t, len(input), 8*points*points, read) {
			return
		}
		for _, b := range beliefs {
			if b.I < 0 || b.I > b.J || b.J >= points || !scan.IsFinite(b.Value) || b.Value == 0 {
				t.Fatalf("took %+v", b)
			}
		}
	})
}

func FuzzBeliefs(f *testing.F) {
	for _, seed := range []string{"i,j,belief\n0,1,.5\n1,1,-2\n", "belief,i,j\n1,2,3\n1,3,2\n", "i,j,belief\n",
		"0,1,1\n"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, input []byte) {
		const points = 50
		var beliefs []constraint.Belief
		read := func() (err error) {
			beliefs, err = ReadBeliefs(bytes.NewReader(input), "f.csv", points, table.Naming{})
			return err
		}
		if !checkFuzzed(t, len(input), 0, read) {
			return
		}
		seen := map[[2]int32]bool{}
		for _, b := range beliefs {
			if min(b.I, b.J) < 0 || max(b.I, b.J) >= points || !scan.IsFinite(b.Value) || seen[[2]int32{b.I, b.J}] {
				t.Fatalf("took %+v", b)
			}
			seen[[2]int32{b.I, b.J}], seen[[2]int32{b.J, b.I}] = true, true
		}
	})
}

func TestWriteEmbedding(t *testing.T) {
	var got bytes.Buffer
	if err := WriteEmbedding(&got, nil, nil, 2, []float64{1, -0.5, 1.0 / 3, 0}); err != nil ||
		got.String() != "index,u0,u1\n0,1,-0.5\n1,0.3333333333333333,0\n" {
		t.Errorf("wrote %q, %v", got.String(), err)
	}
	got.Reset()
	if err := WriteEmbedding(&got, nil, []int32{4, 9}, 1, []float64{1, 2}); err != nil ||
		got.String() != "index,u0\n4,1\n9,2\n" {
		t.Errorf("wrote %q, %v", got.String(), err)
	}
	got.Reset()
	if err := WriteEmbedding(&got, []string{"a", "b", "c, d"}, []int32{0, 2}, 1, []float64{1, 2}); err != nil ||
		got.String() != "id,u0\na,1\n\"c, d\",2\n" {
		t.Errorf("wrote %q, %v", got.String(), err)
	}
}
