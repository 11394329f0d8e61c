package coordinatortest

import (
	"fmt"
	"math/rand/v2"
	"testing"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/data/constraint"
	"github.com/cleave-project/cleave/internal/data/table"
	"github.com/cleave-project/cleave/internal/wire"
	"github.com/cleave-project/cleave/test/tabletest"
)

// Constraints is a table of constraints such as "must 0 7".
func Constraints(list ...string) *cleavev1.TableInput {
	columns := []table.Column{{Name: "i", Type: table.Integer}, {Name: "j", Type: table.Integer},
		{Name: "kind", Type: table.Text}}
	for _, text := range list {
		var kind string
		var i, j int64
		if _, err := fmt.Sscan(text, &kind, &i, &j); err != nil {
			panic(err)
		}
		columns[0].Integers = append(columns[0].Integers, i)
		columns[1].Integers = append(columns[1].Integers, j)
		columns[2].Texts = append(columns[2].Texts, kind)
	}
	t, err := table.New(columns)
	if err != nil {
		panic(err)
	}
	return wire.InlineTable(t)
}

// Seeds is a table of points and their labels.
func Seeds(list ...[2]int32) *cleavev1.TableInput {
	var seeds []constraint.Seed
	for _, pair := range list {
		seeds = append(seeds, constraint.Seed{Index: pair[0], Label: pair[1]})
	}
	return wire.InlineTable(tabletest.Seeds(seeds))
}

// Store uploads an inline table and names it by its id.
func (c *Clients) Store(input *cleavev1.TableInput) *cleavev1.TableInput {
	c.T.Helper()
	t, err := wire.TableRows(input.GetInline())
	if err != nil {
		c.T.Fatal(err)
	}
	return &cleavev1.TableInput{Source: &cleavev1.TableInput_TableId{TableId: c.StoreTable(t)}}
}

// StoreTable uploads a table.
func (c *Clients) StoreTable(t *table.Table) string {
	c.T.Helper()
	stored, err := wire.SendTable(c.T.Context(), c.Tables, "some", t, wire.UploadStart{})
	if err != nil {
		c.T.Fatal(err)
	}
	return stored.GetTableId()
}

// Plants is a table as people have it: three kinds of plants, with ids, a category and gaps.
func Plants(t testing.TB, rows int) *table.Table {
	rng := rand.New(rand.NewPCG(5, 5))
	id := table.Column{Name: "id", Type: table.Text}
	height := table.Column{Name: "height", Type: table.Number, Empty: make([]bool, rows)}
	petals := table.Column{Name: "petals", Type: table.Integer}
	color := table.Column{Name: "color", Type: table.Text}
	for row := range rows {
		kind := row % 3
		id.Texts = append(id.Texts, fmt.Sprintf("plant-%03d", (row*7919+13)%10007))
		height.Numbers = append(height.Numbers, 10*float64(kind)+rng.NormFloat64())
		height.Empty[row] = row%10 == 9
		petals.Integers = append(petals.Integers, int64(3+2*kind+rng.IntN(2)))
		color.Texts = append(color.Texts, []string{"red", "white", "blue"}[(kind+rng.IntN(4)/3)%3])
	}
	made, err := table.New([]table.Column{id, height, petals, color})
	if err != nil {
		t.Fatal(err)
	}
	return made
}
