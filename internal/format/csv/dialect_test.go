package csv

import (
	"errors"
	"strings"
	"testing"

	"github.com/cleave-project/cleave/internal/data/table"
)

// A row is split in time proportional to its length, also if carriage returns are the cells between spaces. Looking
// for the end of the row at every cell would take hours here.
func TestSplitIsLinear(t *testing.T) {
	const count = table.MaxColumns
	row := []byte(strings.Repeat("\r ", count) + strings.Repeat("\r", 16<<20) + "x\n1 2\n")
	cells, after, err := dialect{' '}.split(row, 0, nil)
	if err != nil || len(cells) != count+1 || string(cells[count]) != "x" || string(row[after:]) != "1 2\n" {
		t.Fatalf("%d cells, %d bytes read, error %v", len(cells), after, err)
	}
	if _, _, err := (dialect{' '}).split([]byte(strings.Repeat("\r ", table.MaxColumns+1)+"x\n"), 0,
		nil); !errors.Is(err, errTooWide) {
		t.Errorf("error %v for a row of too many cells", err)
	}
}

// A separator is tried once, however often it occurs in the first line.
func TestSeparatorOfNamesTriesEachOnce(t *testing.T) {
	text := []byte(strings.Repeat("a,b;", 200) + "c\n" + strings.Repeat("1,2;", 200) + "3\n")
	names := []string{"missing"}
	once := testing.AllocsPerRun(1, func() {
		for _, separator := range []byte(",;") {
			sniffRows(text, dialect{separator}).has(names)
		}
	})
	all := testing.AllocsPerRun(1, func() {
		if got := separatorOfNames(text, ',', names); got != ',' {
			t.Errorf("separator %q", got)
		}
	})
	if all > 2*once {
		t.Errorf("%v allocations, %v for trying both separators", all, once)
	}
}
