package csv

import (
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"testing"

	"github.com/cleave-project/cleave/internal/data/table"
	"github.com/cleave-project/cleave/internal/format/scan"
)

// input is a text that is read in blocks of a size.
type input struct {
	text  string
	block int
}

func (input) Name() string { return "t.csv" }
func (input) Lost() bool   { return false }
func (input) Close()       {}

func (in input) Open() (*scan.Source, error) {
	s, err := scan.Open(strings.NewReader(in.text), in.Name(), scan.Options{})
	if err == nil && in.block > 0 {
		s.BlockSize = in.block
	}
	return s, err
}

// readAll reads all rows of a text.
func readAll(t *testing.T, in input) *table.Table {
	t.Helper()
	r, err := Open(in, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var parts []*table.Table
	for {
		part, err := r.Next()
		switch {
		case errors.Is(err, ErrRestarted):
			parts = nil
		case errors.Is(err, io.EOF):
			all, err := table.Join(parts)
			if err != nil {
				t.Fatal(err)
			}
			return all
		case err != nil:
			t.Fatalf("in blocks of %d: %v", in.block, err)
		default:
			parts = append(parts, part)
		}
	}
}

// Where blocks are cut makes no difference.
func TestBlocksOfTables(t *testing.T) {
	var text strings.Builder
	text.WriteString("a,b,c\n")
	for row := range 500 {
		fmt.Fprintf(&text, "%d,\"x\n%d\"\"y\",%v\n", row, row, float64(row)/7)
	}
	want := readAll(t, input{text: text.String()})
	if want.Rows() != 500 {
		t.Fatalf("%d rows", want.Rows())
	}
	for _, size := range []int{7, 64, 333} {
		got := readAll(t, input{text.String(), size})
		if !reflect.DeepEqual(got.Columns, want.Columns) || got.Place(400) != want.Place(400) {
			t.Fatalf("in blocks of %d: other rows", size)
		}
	}
}

// Rows of empty cells that other rows follow are read in tables of a limited size.
func TestManyEmptyRows(t *testing.T) {
	r, err := Open(input{"a,b\n1,2\n" + strings.Repeat(",\n", 200_000) + "3,4\n", 4096}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	rows, largest, place := 0, 0, ""
	for {
		part, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		rows += part.Rows()
		largest = max(largest, part.Rows())
		place = part.Place(part.Rows() - 1)
	}
	if rows != 200_002 || place != "on line 200003" {
		t.Errorf("%d rows, the last is %s", rows, place)
	}
	if largest > maxEmptyRows {
		t.Errorf("a table has %d rows", largest)
	}
}

// Latin-1 is recognized even if the ends of cells and the beginnings of the next ones are valid together.
func TestLatinAcrossCells(t *testing.T) {
	ascii := 2 * scan.Sniffed / len("1,x\n") // rows before the first other character, which the sniffing does not see
	all := readAll(t, input{text: "a,b\n" + strings.Repeat("1,x\n", ascii) + "1,JO\xc3\n2,\xa9x\n"})
	if got := all.Columns[1].Texts[ascii:]; !reflect.DeepEqual(got, []string{"JOÃ", "©x"}) {
		t.Errorf("the cells are %q", got)
	}
}

// A header and rows that are longer than what is usually examined are found all the same.
func TestLongHeaders(t *testing.T) {
	const columns = 8000
	var text strings.Builder
	for at := range columns {
		fmt.Fprintf(&text, "the_measurement_of_the_quantity_number_%05d,", at)
	}
	text.WriteString("last\n")
	for row := range 3 {
		fmt.Fprintf(&text, "%s%d\n", strings.Repeat("1234567.890123456789012345678901234567890,", columns), row)
	}
	got := readAll(t, input{text: text.String()})
	if len(got.Columns) != columns+1 || got.Rows() != 3 || got.Columns[columns].Name != "last" ||
		got.Columns[columns].Integers[2] != 2 {
		t.Errorf("got %d columns and %d rows, the last column %q", len(got.Columns), got.Rows(),
			got.Columns[len(got.Columns)-1].Name)
	}
}

// A row of empty cells is where it is, also after a blank line.
func TestLinesOfEmptyRows(t *testing.T) {
	all := readAll(t, input{text: "a,b,c\n1,2,3\n\n,,\n,,\n4,5,6\n"})
	for row, want := range []string{"on line 2", "on line 4", "on line 5", "on line 6"} {
		if got := all.Place(row); got != want {
			t.Errorf("row %d is %s, want %s", row, got, want)
		}
	}
}
