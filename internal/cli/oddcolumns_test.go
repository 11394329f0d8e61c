package cli

import (
	"bytes"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"

	"github.com/cleave-project/cleave/test/clitest"
)

// place is a row with a column of bytes and one of lists, which cannot be clustered by.
type place struct {
	Name  string    `parquet:"name"`
	X     float64   `parquet:"x"`
	Shape []byte    `parquet:"shape"`
	Track []float64 `parquet:"track,list"`
}

// --columns says enough: nothing else is asked of the other columns, neither then nor when new rows are labeled.
func TestColumnsThatNoTableHas(t *testing.T) {
	t.Chdir(t.TempDir())
	var b bytes.Buffer
	w := parquet.NewGenericWriter[place](&b)
	for i := range 20 {
		row := place{Name: string(rune('a' + i)), X: float64(100*(i%2) + i), Shape: []byte{0xFF, byte(i)},
			Track: []float64{1}}
		if _, err := w.Write([]place{row}); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	clitest.Write(t, "places.parquet", b.String())
	for flags, want := range map[string]string{"": `column "track" is nested`,
		"--ignore track": `column "shape": "\xff\x00" is not a text`} {
		if r := invoke(t, "run --data places.parquet --k 2 --out o "+flags); r.code != 2 ||
			!strings.Contains(r.stderr, want) || !strings.Contains(r.stderr, "--ignore") {
			t.Errorf("%q: %+v", flags, r)
		}
	}
	succeed(t, "run --data places.parquet --columns x --k 2 --quiet --out o")
	if labels := clitest.Read(t, "o/labels.csv"); !strings.Contains(labels, "\nb,") {
		t.Errorf("rows are not called by their names:\n%s", labels)
	}
	succeed(t, "predict --model o --data places.parquet --out p.csv")
	succeed(t, "rerun o")
}
