package jobflags

import (
	"os/exec"
	"testing"

	"github.com/spf13/pflag"

	"github.com/cleave-project/cleave/internal/data/recipe"
	"github.com/cleave-project/cleave/internal/data/table"
)

// What a notice says to type for a column leads through the shell and the flag to that column.
func TestTypedColumnsAreFound(t *testing.T) {
	names := []string{"a", "price, EUR", `5" pipe`, "it's", "two words", "x[1]", "{y}", "$z", "a=b", "50%",
		"two\nlines", "back\\slash", "column 13", "2", "3", "14"}
	of := &table.Table{}
	for _, name := range names {
		of.Columns = append(of.Columns, table.Column{Name: name})
	}
	for at, name := range names {
		typed := table.TypedInList(name, at)
		argument, err := exec.Command("sh", "-c", "printf %s "+typed).Output()
		if err != nil {
			t.Fatalf("%q: %v", typed, err)
		}
		set := pflag.NewFlagSet("", pflag.ContinueOnError)
		var f tableFlags
		f.add(set)
		if err := set.Parse([]string{"--keep", string(argument)}); err != nil || len(f.columns.Keep) != 1 {
			t.Errorf("column %q, typed %s: %q, %v", name, typed, f.columns.Keep, err)
			continue
		}
		if found, err := recipe.Find(of, f.columns.Keep[0]); err != nil || found != at {
			t.Errorf("column %q, typed %s: column %d, %v", name, typed, found, err)
		}
	}
}
