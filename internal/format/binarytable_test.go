package format

import (
	"bytes"
	"strings"
	"testing"

	"github.com/cleave-project/cleave/internal/data/table"
	"github.com/cleave-project/cleave/internal/format/csv"
)

// Columns of one name are told apart, in Parquet as in CSV.
func TestColumnsOfOneName(t *testing.T) {
	made, err := table.New([]table.Column{{Name: "first", Type: table.Integer, Integers: []int64{1, 2}},
		{Name: "again", Type: table.Integer, Integers: []int64{3, 4}}})
	if err != nil {
		t.Fatal(err)
	}
	var file bytes.Buffer
	if err := WriteTable(&file, "parquet", made); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"t.parquet": strings.ReplaceAll(file.String(), "again", "first"),
		"t.csv": "first,first\n1,3\n2,4\n"} {
		got, says, err := readText(t, name, text, csv.Options{})
		if err != nil || show(got) != "first:i=1|2 first.1:i=3|4" ||
			!strings.HasSuffix(says,
				`t.`+name[2:]+`: there are several columns "first"; column 2 is renamed to "first.1"`) {
			t.Errorf("%s: got %v, %q, %v", name, got, says, err)
		}
	}
}
