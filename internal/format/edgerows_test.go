package format

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/cleave-project/cleave/internal/format/scan"
)

// What is wrong with the bytes of a file is told after what is wrong with the lines before, and long lines are refused.
func TestFilesThatBreakOff(t *testing.T) {
	broken := func(text string) error {
		_, err := ReadGraph(io.MultiReader(strings.NewReader(text), iotest.ErrReader(errors.New("the disk is gone"))),
			"f.csv", 0)
		return err
	}
	if err := broken("0,1\n2,3\n4,"); err == nil || err.Error() != "f.csv: the disk is gone" {
		t.Errorf("told %v", err)
	}
	wantFault(t, "a mistake before the end", broken("0,1\n2,x\n4,"), "NOT_AN_INDEX", "line 2")
	zipped := gzipped(strings.Repeat("0,1\n", 1<<20))
	_, err := ReadGraph(strings.NewReader(zipped[:len(zipped)-12]), "f.csv.gz", 0)
	wantFault(t, "cut short", err, "CORRUPT_FILE", "f.csv.gz")
	_, err = ReadGraph(io.MultiReader(strings.NewReader("0,1\n0,2\n"),
		strings.NewReader(strings.Repeat("1", scan.MaxLine+2*scan.BlockSize))), "f.csv", 0)
	wantFault(t, "a long line", err, "LINE_TOO_LONG", "line 3")
}

// A file of many blocks, with a mistake in one of the last, names its line.
func TestLineNumbersOfManyBlocks(t *testing.T) {
	var b strings.Builder
	const count = 300_000
	for i := range count {
		fmt.Fprintf(&b, "%d,%d\n", i%1000, i%777)
	}
	graph, err := ReadGraph(strings.NewReader(b.String()), "f.csv", 0)
	if err != nil || graph.N != 1000 {
		t.Fatalf("%v", err)
	}
	_, err = ReadGraph(strings.NewReader(b.String()+"1,one\n"+b.String()+"x\n"), "f.csv", 0)
	wantFault(t, "a mistake in the middle", err, "NOT_AN_INDEX", fmt.Sprintf("f.csv, line %d:", count+1), `"one"`)
}
