package recipe

import (
	"encoding/json"
	"errors"
	"runtime"
	"testing"

	"github.com/cleave-project/cleave/internal/data/table"
	"github.com/cleave-project/cleave/internal/fault"
)

// FuzzRecipe applies any recipe in JSON, which may come from a stranger, to a table: points or a fault, within memory
// that goes with both.
func FuzzRecipe(f *testing.F) {
	for _, seed := range []string{
		`{"id":"id","missing":"auto","features":[{"column":"height","fill":8},
			{"column":"color","categories":["blue","red"],"fill_category":"red"}]}`,
		`{"features":[]}`, `{"features":[{"column":""}]}`,
		`{"missing":"drop","features":[{"column":"petals","categories":["3","3"]}]}`,
		`{"id":"color","features":[{"column":"height","fill":1e999}]}`,
		`{"label":"species","features":[{"column":"species"}]}`, `null`,
		`{"missing":"auto","total_sums":true,"features":[{"column":"height","donors":[1,2],"donor_gaps":[1],"unit":2,
			"absent":[2.5]},{"column":"color","categories":["blue","other"],"other":"other","donors":[0,1],"unit":1}]}`,
		`{"total_column":"id","features":[{"column":"species","dates":"ymd"},{"column":"color","absent_texts":true}]}`,
		`{"features":[{"column":"color","categories":["blue"],"other":"green"}]}`,
	} {
		f.Add([]byte(seed))
	}
	columns := []table.Column{
		words("id", "a", "b", "c"), gaps(numbers("height", 1.5, 2.5, 0), 2), words("color", "red", "", "blue"),
		integers("petals", 3, 4, 3),
		words("species", "setosa", "", "virginica"),
	}
	of := made(f, columns...)
	f.Fuzz(func(t *testing.T, text []byte) {
		r := &Recipe{}
		if json.Unmarshal(text, r) != nil {
			return
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		p, err := r.Apply(t.Context(), of)
		runtime.ReadMemStats(&after)
		if grown := after.TotalAlloc - before.TotalAlloc; grown > 1<<20+200*uint64(len(text)) {
			t.Fatalf("%d bytes allocated for %d", grown, len(text))
		}
		if err != nil {
			if bad, ok := errors.AsType[*fault.Error](err); !ok || bad.Kind != fault.InvalidArgument {
				t.Fatalf("not a proper fault: %v", err)
			}
			return
		}
		if p.Points.D != len(p.Names) || p.Points.N > of.Rows() {
			t.Fatalf("%d columns for %d names", p.Points.D, len(p.Names))
		}
	})
}
