package wire

import (
	"fmt"
	"slices"

	"google.golang.org/protobuf/proto"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/clustering/catalog"
	"github.com/cleave-project/cleave/internal/data/constraint"
	"github.com/cleave-project/cleave/internal/data/table"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/text"
)

// LabelUse is what the known classes of the rows of a table are used for.
type LabelUse string

// The uses.
const (
	LabelsAuto        LabelUse = "auto"        // see UseOfLabels
	LabelsSeeds       LabelUse = "seeds"       // to start from and to keep
	LabelsConstraints LabelUse = "constraints" // pairs to respect
	LabelsTruth       LabelUse = "truth"       // not part of the job
)

// LabelUses returns the words of all uses.
func LabelUses() []string {
	return []string{string(LabelsAuto), string(LabelsSeeds), string(LabelsConstraints), string(LabelsTruth)}
}

// UseLabelsAs sets what the classes in the table of a job are used for.
func UseLabelsAs(p *cleavev1.JobSpec, use LabelUse) {
	if p.Supervision == nil {
		p.Supervision = &cleavev1.Supervision{}
	}
	p.Supervision.LabelAs = enumValue[cleavev1.LabelUse](string(use))
}

// labelUse returns what a spec wants classes to be used for.
func labelUse(p *cleavev1.JobSpec) LabelUse {
	s := p.GetSupervision()
	use := LabelUse(EnumWord(s.GetLabelAs()))
	switch {
	case p.GetTable().GetLabelColumn() == "":
		return LabelsTruth
	case use != "":
		return use
	case s.GetSeeds() != nil || s.GetConstraints() != nil: // the classes may be in them
		return LabelsTruth
	}
	return LabelsAuto
}

// UseOfLabels returns what classes are used for by default: as the truth if all are known, and otherwise as whatever
// the algorithm accepts and does not have yet. Kernel k-means gets constraints rather than seeds, because seeds are
// only its start while it respects constraints.
func UseOfLabels(p *cleavev1.JobSpec, all bool) LabelUse {
	a, s := Algorithm(p), p.GetSupervision()
	switch {
	case all:
		return LabelsTruth
	case a.Takes("seeds") && s.GetSeeds() == nil && a.Name != "kernel-kmeans":
		return LabelsSeeds
	case a.Takes("constraints") && s.GetConstraints() == nil:
		return LabelsConstraints
	}
	return LabelsTruth
}

// LabelNotices describes what the known classes of the rows of a table are used for, and which names are read as one
// class.
func LabelNotices(column string, known, rows int, classes *table.Classes, use LabelUse) []string {
	notices := []string{fmt.Sprintf("column %q has %s of %s for %s: used as %s", column, text.Plural(known, "label"),
		text.Count(len(classes.Names), "class", "classes"), text.Plural(rows, "row"), use)}
	if merged := classes.Merged(); merged != "" {
		notices = append(notices, fmt.Sprintf("column %q: the class %s", column, merged))
	}
	return notices
}

// ExpectLabels adds what classes will become to r.Values, as far as that is known before they are read.
func ExpectLabels(r catalog.Request, use LabelUse) {
	a, known := catalog.FindAlgorithm(r.Algorithm)
	switch {
	case use == LabelsConstraints, use == LabelsSeeds && known && !a.Takes("seeds") && a.Takes("constraints"):
		r.Values["constraints"] = "given"
	case use == LabelsSeeds, use == LabelsAuto && slices.Contains(a.Needs, "seeds"):
		r.Values["seeds"] = "given"
	}
}

// WithLabels returns a spec whose seeds or constraints include what the column of classes says, used as the spec
// wants, and notices about that. cells has one entry for every row of the table, "" if its class is unknown; nil
// means that there is no such column. Before classes become constraints, allow is called with their number, which may be
// large for a small table. p is not modified.
func WithLabels(p *cleavev1.JobSpec, column string, cells []string, allow func(constraints int64) error) (*cleavev1.JobSpec, []string, error) {
	use := labelUse(p)
	if cells == nil || use == LabelsTruth && p.GetClusters() != nil {
		return p, nil, nil
	}
	var classes table.Classes
	classes.Add(cells)
	var rows, labels []int32
	for row, name := range cells {
		if name != "" {
			rows, labels = append(rows, int32(row)), append(labels, int32(classes.Number(name)))
		}
	}
	if len(rows) == 0 {
		return nil, nil, fault.Invalid("NO_LABELS", "column %q has no class in any row", column).OnField(fieldTable + ".label_column")
	}
	if use == LabelsAuto {
		use = UseOfLabels(p, len(rows) == len(cells))
	}
	notices := LabelNotices(column, len(rows), len(cells), &classes, use)
	p = proto.CloneOf(p)
	notices = append(notices, SetClusters(p, column, len(classes.Names))...)
	if use == LabelsTruth {
		return p, notices, nil
	}
	UseLabelsAs(p, LabelsTruth) // from here on the tables contain what is used
	notices = append(notices, BeginRange(p, len(classes.Names))...)
	if err := classes.Check(int(max(p.GetK(), p.GetKRange().GetMax()))); err != nil {
		return nil, nil, OnField(err, fieldTable+".label_column")
	}
	a := Algorithm(p)
	if use == LabelsSeeds && (a.Takes("seeds") || !a.Takes("constraints")) {
		if p.Supervision.Seeds != nil {
			return nil, nil, labelsTwice("seeds")
		}
		p.Supervision.Seeds = InlineTable(seedTable(rows, labels))
		return p, notices, nil
	}
	if p.Supervision.Constraints != nil {
		return nil, nil, labelsTwice("constraints")
	}
	pairs, err := constraint.OfClasses(rows, labels, allow)
	if err != nil {
		return nil, nil, OnField(err, fieldTable+".label_column")
	}
	p.Supervision.Constraints = InlineTable(table.FromConstraints(pairs))
	return p, append(notices, fmt.Sprintf("%s become %s for %s", text.Plural(len(rows), "label"), text.Plural(len(pairs), "constraint"), a.Name)), nil
}

func labelsTwice(what string) error {
	return fault.Invalid("LABELS_TWICE", "the classes of the table would become %s, but the job already has some; give only one of the two", what).
		OnField("spec.supervision.label_as")
}

// seedTable returns a table of seeds: rows and their classes.
func seedTable(rows, labels []int32) *table.Table {
	index, label := table.Column{Name: "index", Type: table.Integer}, table.Column{Name: "label", Type: table.Integer}
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
		return []string{fmt.Sprintf("the range of k, %s, is reduced to %d, the number of classes, because each class needs a cluster", from, classes)}
	}
	return []string{fmt.Sprintf("the range of k, %s, now starts at %d, the number of classes, because each class needs a cluster", from, classes)}
}
