// Package supervision decides what the known classes of the rows of a table become in a job: seeds, constraints, or the
// truth that its answer is compared with.
package supervision

import (
	"fmt"

	"google.golang.org/protobuf/proto"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/data/constraint"
	"github.com/cleave-project/cleave/internal/data/table"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/text"
	"github.com/cleave-project/cleave/internal/wire"
)

// UseOfLabels returns what classes are used for by default: as the truth if all are known, and otherwise as whatever
// the algorithm accepts and does not have yet. Kernel k-means gets constraints rather than seeds, because seeds are
// only its start while it respects constraints.
func UseOfLabels(p *cleavev1.JobSpec, all bool) wire.LabelUse {
	a := wire.Algorithm(p)
	s := p.GetSupervision()
	switch {
	case all:
		return wire.LabelsTruth
	case a.Takes("seeds") && s.GetSeeds() == nil && a.Name != "kernel-kmeans":
		return wire.LabelsSeeds
	case a.Takes("constraints") && s.GetConstraints() == nil:
		return wire.LabelsConstraints
	}
	return wire.LabelsTruth
}

// LabelNotices describes what the known classes of the rows of a table are used for, and which names are read as one
// class.
func LabelNotices(column string, known, rows int, classes *table.Classes, use wire.LabelUse) []string {
	notices := []string{fmt.Sprintf("column %q has %s of %s for %s: used as %s", column, text.Plural(known, "label"),
		text.Count(len(classes.Names), "class", "classes"), text.Plural(rows, "row"), use)}
	if merged := classes.Merged(); merged != "" {
		notices = append(notices, fmt.Sprintf("column %q: the class %s", column, merged))
	}
	return notices
}

// WithLabels returns a spec whose seeds or constraints include what the column of classes says, used as the spec
// wants, and notices about that. cells has one entry for every row of the table, "" if its class is unknown; nil
// means that there is no such column. Before classes become constraints, allow is called with their number, which may
// be large for a small table. p is not modified.
func WithLabels(p *cleavev1.JobSpec, column string, cells []string,
	allow func(constraints int64) error) (*cleavev1.JobSpec, []string, error) {
	use := wire.LabelUseOf(p)
	if cells == nil || use == wire.LabelsTruth && p.GetClusters() != nil {
		return p, nil, nil
	}
	var classes table.Classes
	classes.Add(cells)
	var rows, labels []int32
	for row, name := range cells {
		if name != "" {
			rows = append(rows, int32(row))
			labels = append(labels, int32(classes.Number(name)))
		}
	}
	if len(rows) == 0 {
		return nil, nil, fault.Invalid("NO_LABELS", "column %q has no class in any row", column).
			OnField(fieldLabelColumn)
	}
	if use == wire.LabelsAuto {
		use = UseOfLabels(p, len(rows) == len(cells))
	}
	notices := LabelNotices(column, len(rows), len(cells), &classes, use)
	p = proto.CloneOf(p)
	notices = append(notices, SetClusters(p, column, len(classes.Names))...)
	if use == wire.LabelsTruth {
		return p, notices, nil
	}
	wire.UseLabelsAs(p, wire.LabelsTruth) // from here on the tables contain what is used
	notices = append(notices, BeginRange(p, len(classes.Names))...)
	if err := classes.Check(int(max(p.GetK(), p.GetKRange().GetMax()))); err != nil {
		return nil, nil, wire.OnField(err, fieldLabelColumn)
	}
	a := wire.Algorithm(p)
	if use == wire.LabelsSeeds && (a.Takes("seeds") || !a.Takes("constraints")) {
		if p.Supervision.Seeds != nil {
			return nil, nil, labelsTwice("seeds")
		}
		p.Supervision.Seeds = wire.InlineTable(seedTable(rows, labels))
		return p, notices, nil
	}
	if p.Supervision.Constraints != nil {
		return nil, nil, labelsTwice("constraints")
	}
	pairs, err := constraint.OfClasses(rows, labels, allow)
	if err != nil {
		return nil, nil, wire.OnField(err, "spec.table.label_column")
	}
	p.Supervision.Constraints = wire.InlineTable(table.FromConstraints(pairs))
	return p, append(notices, fmt.Sprintf("%s become %s for %s", text.Plural(len(rows), "label"),
		text.Plural(len(pairs), "constraint"), a.Name)), nil
}

// fieldLabelColumn is the field that names the column of classes.
const fieldLabelColumn = "spec.table.label_column"

func labelsTwice(what string) error {
	return fault.Invalid("LABELS_TWICE",
		"the classes of the table would become %s, but the job already has some; give only one of the two", what).
		OnField("spec.supervision.label_as")
}

// seedTable returns a table of seeds: rows and their classes.
func seedTable(rows, labels []int32) *table.Table {
	index := table.Column{Name: "index", Type: table.Integer}
	label := table.Column{Name: "label", Type: table.Integer}
	for at, row := range rows {
		index.Integers, label.Integers = append(index.Integers, int64(row)), append(label.Integers, int64(labels[at]))
	}
	t, _ := table.New([]table.Column{index, label}) // integers are always valid
	return t
}

// SetClusters sets the number of clusters of a job that has none to the number of classes in a column of the table, if
// there are several, and returns a notice about that. It modifies p.
func SetClusters(p *cleavev1.JobSpec, column string, classes int) []string {
	if p.GetClusters() != nil || classes < 2 {
		return nil
	}
	p.Clusters = &cleavev1.JobSpec_K{K: uint32(classes)}
	return []string{fmt.Sprintf("k is %d, the number of classes in column %q", classes, column)}
}

// BeginRange raises the start of a job's range of k to the number of classes, because each needs a cluster, and
// returns a notice about that. It modifies p.
func BeginRange(p *cleavev1.JobSpec, classes int) []string {
	r := p.GetKRange()
	if classes <= int(r.GetMin()) || classes > int(r.GetMax()) {
		return nil
	}
	from := fmt.Sprintf("%d..%d", r.Min, r.Max)
	if r.Min = uint32(classes); r.Min == r.Max {
		p.Clusters = &cleavev1.JobSpec_K{K: r.GetMax()}
		return []string{fmt.Sprintf("the range of k, %s, is reduced to %d, the number of classes, because each class "+
			"needs a cluster", from, classes)}
	}
	return []string{fmt.Sprintf("the range of k, %s, now starts at %d, the number of classes, because each class "+
		"needs a cluster", from, classes)}
}
