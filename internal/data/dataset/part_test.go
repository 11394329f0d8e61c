package dataset

import (
	"bytes"
	"io"
	"math/rand/v2"
	"reflect"
	"testing"

	"pgregory.net/rapid"
)

// reading returns a function that opens bytes at an offset.
func reading(b []byte) func(int64) io.Reader {
	return func(offset int64) io.Reader { return bytes.NewReader(b[min(offset, int64(len(b))):]) }
}

// randomPart returns points and some of their rows, as a part and as they should be read.
func randomPart(t *rapid.T, random *rand.Rand, n, d int) (all Dataset, part Part, want Dataset) {
	from := rapid.IntRange(0, n-1).Draw(t, "from")
	to := rapid.IntRange(from+1, n).Draw(t, "to")
	part = Part{N: n, D: d, From: from, To: to}
	if rapid.Bool().Draw(t, "dense") {
		p := &Points{N: n, D: d, Values: make([]float64, n*d)}
		for at := range p.Values {
			p.Values[at] = random.NormFloat64()
		}
		return p, part, &Points{N: to - from, D: d, Values: p.Values[from*d : to*d]}
	}
	p := &SparsePoints{N: n, D: d, RowStart: []int64{0}, Column: []int32{}, Value: []float64{}}
	for range n {
		for f := range d {
			if random.IntN(3) == 0 {
				p.Column, p.Value = append(p.Column, int32(f)), append(p.Value, random.NormFloat64())
			}
		}
		p.RowStart = append(p.RowStart, int64(len(p.Column)))
	}
	part.Entries = &Entries{p.RowStart[from], p.RowStart[to], int64(len(p.Column))}
	rows := &SparsePoints{N: to - from, D: d, Column: p.Column[part.Entries.From:part.Entries.To],
		Value: p.Value[part.Entries.From:part.Entries.To]}
	for _, start := range p.RowStart[from : to+1] {
		rows.RowStart = append(rows.RowStart, start-part.Entries.From)
	}
	return p, part, rows
}

// The rows of a part are read from the bytes of its spans alone, encoded or in memory.
func TestPartsAreReadFromTheirSpans(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		random := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		all, part, want := randomPart(t, random, rapid.IntRange(1, 300).Draw(t, "n"),
			rapid.IntRange(1, 20).Draw(t, "d"))
		encoded, err := Marshal(all)
		if err != nil {
			t.Fatal(err)
		}
		if part.Bytes() != int64(len(encoded)) {
			t.Fatalf("%d bytes instead of %d", part.Bytes(), len(encoded))
		}
		known := bytes.Repeat([]byte{0xff}, len(encoded)) // NaN and entries that there are not
		for _, s := range part.Spans() {
			copy(known[s.Offset:][:s.Length], encoded[s.Offset:])
		}
		for name, open := range map[string]func(int64) io.Reader{
			"its spans": reading(known),
			"memory":    func(offset int64) io.Reader { return NewReader(all, offset) },
		} {
			got, err := part.Read(open)
			if err != nil || !reflect.DeepEqual(got, want) {
				t.Fatalf("from %s: %+v, %v; want %+v", name, got, err, want)
			}
		}
	})
}

// Bytes that are not those of the part are refused.
func TestPartsThatAreWrong(t *testing.T) {
	p, err := NewSparsePoints(3, 4, []int64{0, 2, 3, 5}, []int32{0, 3, 1, 0, 2}, []float64{1, 2, 3, 4, 5})
	if err != nil {
		t.Fatal(err)
	}
	encoded, err := Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	part := Part{N: 3, D: 4, From: 1, To: 3, Entries: &Entries{2, 5, 5}}
	if _, err := part.Read(reading(encoded)); err != nil {
		t.Fatal(err)
	}
	spans := part.Spans()
	for name, change := range map[string]func(b []byte) []byte{
		"no bytes":       func([]byte) []byte { return nil },
		"fewer values":   func(b []byte) []byte { return b[:len(b)-1] },
		"another start":  func(b []byte) []byte { b[spans[0].Offset]++; return b },
		"another end":    func(b []byte) []byte { b[spans[0].Offset+16]--; return b },
		"starts descend": func(b []byte) []byte { b[spans[0].Offset+8] = 9; return b },
		"a column":       func(b []byte) []byte { b[spans[1].Offset] = 7; return b },
		"a zero":         func(b []byte) []byte { clear(b[spans[2].Offset:][:8]); return b },
	} {
		if got, err := part.Read(reading(change(bytes.Clone(encoded)))); err == nil {
			t.Errorf("%s: %+v", name, got)
		}
	}
}
