package format

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/cleave-project/cleave/internal/data/table"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/format/csv"
)

// FuzzTable reads a table of any bytes from standard input. Tables that are read fit together; nothing else but a fault
// is answered, within memory that goes with the input.
func FuzzTable(f *testing.F) {
	for _, seed := range []string{
		"id;x;color\na;1,5;red\nb;;blue\n", "x,y\n1,2\n3,four\n", "\"a\nb\",c\r\n\"1\"\"\",2\n",
		"\xFF\xFEa\x00,\x00b\x00\n\x00", "caf\xe9,1\nx,2\n",
		"2001,2002\n1,2\n", "\n\na|b\n1|2\n\n", "a,a,,\n1,2,3,4\n", "a\tb\nr\t1\t2\n", "\"", ",,\n;;\n",
		"007,1\n-0,+2\n1e400,3\n", strings.Repeat("x,", 3000) + "\n1\n",
		"a,b\n\"$1,234.50\",12 %\n-$3,-\n", "a;b\n1.234,5;1'000\n2;3 \u20ac\n", " x  y\n 1  2 \n\"3\" 4\n",
		"# made by\n\na,b,c\n1,2,3\n", "a,b\r1,2\r3,4\r",
	} {
		f.Add([]byte(seed), byte(0), byte(0))
		f.Add([]byte(seed), byte(';'), byte(1))
	}
	f.Fuzz(func(t *testing.T, input []byte, delimiter, header byte) {
		switch delimiter {
		case ',', ';', '\t', '|', ' ':
		default:
			delimiter = 0
		}
		var all *table.Table
		var err error
		grown := allocated(func() {
			var r *TableReader
			o := csv.Options{Format: "csv", Delimiter: delimiter, Header: []string{"auto", "yes", "no"}[header%3],
				Stdin: bytes.NewReader(input)}
			if r, err = OpenTable([]string{"-"}, o); err == nil {
				all, err = r.ReadAll()
				r.Close()
			}
		})
		if grown > uint64(8<<20+512*len(input)) {
			t.Fatalf("allocated %d bytes for an input of %d", grown, len(input))
		}
		if err != nil {
			if bad, ok := errors.AsType[*fault.Error](err); !ok || bad.Kind != fault.InvalidArgument ||
				bad.Reason == "" {
				t.Fatalf("not a proper fault: %v", err)
			}
			return
		}
		if checked, err := table.New(all.Columns); err != nil || checked.Rows() != all.Rows() || all.Rows() == 0 {
			t.Fatalf("%d rows: %v", all.Rows(), err)
		}
	})
}

// FuzzNamedGraph reads a list of edges between names.
func FuzzNamedGraph(f *testing.F) {
	for _, seed := range []string{"src,dst\nann,bob\n", "ann,bob,1.5\nbob,cat,\n", "who,whom\na,b\nb,c\n", "a\n", "\"",
		"src,dst,weight\na,b,x\n", ",\n"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, input []byte) {
		var g *NamedGraph
		read := func() (err error) {
			g, err = inputOf(bytes.NewReader(input), "f.csv").graphByNames(GraphOptions{})
			return err
		}
		if checkFuzzed(t, len(input), 1<<20, read) && len(g.Names) != g.N {
			t.Fatalf("%d names for %d vertices", len(g.Names), g.N)
		}
	})
}
