package jobflags

import (
	"google.golang.org/protobuf/proto"

	"github.com/cleave-project/cleave/internal/data/table"
	"github.com/cleave-project/cleave/internal/wire"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
)

// rememberInputs keeps the tables of the spec before rows that are dropped are taken out of them: a coordinator that makes
// points of a table does so itself.
func (j *Job) rememberInputs() {
	if j.Table == nil || j.Filter == nil {
		return
	}
	for _, used := range wire.UsedTables(j.Spec) {
		used.Input = &cleavev1.TableInput{Source: used.Input.GetSource()} // which is replaced, never changed
		j.Table.inputs = append(j.Table.inputs, used)
	}
}

// OfRows is the job for a coordinator that makes points of the rows of a table, and that table; nil if the data are none.
func (j *Job) OfRows() (*cleavev1.JobSpec, *table.Table) {
	if j.Table == nil {
		return nil, nil
	}
	spec := proto.CloneOf(j.Spec)
	spec.Data = &cleavev1.JobSpec_Table{Table: wire.TablePointsProto(j.Table.wishes)}
	if spec.GetTable().GetLabelColumn() != "" {
		wire.UseLabelsAs(spec, wire.LabelsTruth) // the tables of the spec have what is used of them
	}
	for at, used := range wire.UsedTables(spec) {
		if j.Table.inputs != nil {
			used.Input.Source = j.Table.inputs[at].Input.GetSource()
		}
	}
	return spec, j.Table.Data
}
