package resultpage

import (
	"fmt"
	"slices"

	"github.com/cleave-project/cleave/internal/cli/report"
	"github.com/cleave-project/cleave/internal/render/explain"
	"github.com/cleave-project/cleave/internal/render/page"
	"github.com/cleave-project/cleave/internal/text"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
)

const (
	fewSuspects = 20     // that the page shows without scrolling
	maxSuspects = 10_000 // that the page has; suspects.csv has them all
)

// suspects lists what the data contradicts, and says what to do about it.
func (b *builder) suspects() *page.Section {
	suspects := b.Result.GetSuspects()
	if len(suspects) == 0 {
		return nil
	}
	what := explain.SuspectNoun(suspects)
	section := &page.Section{ID: "suspects", Title: "What the data contradicts", Text: []string{
		fmt.Sprintf("%s The strength is the share of all %s that are less clearly inside their cluster.", explain.Contradicted(b.Result), b.plural()),
		b.suspectsHeld(),
		"Remove or correct what is wrong. " + b.enforcement(),
	}}
	t := &page.Table{Caption: upperFirst(what) + " that the data contradicts, the clearest first", Tall: len(suspects) > fewSuspects}
	pairs := slices.ContainsFunc(suspects, func(suspect *cleavev1.Suspect) bool { return suspect.Other != nil })
	seeds := slices.ContainsFunc(suspects, func(suspect *cleavev1.Suspect) bool { return suspect.Other == nil })
	column := func(when bool, name string) {
		if when {
			t.Words(name)
		}
	}
	column(true, b.idHeading())
	column(pairs, "other")
	column(pairs, "kind")
	column(seeds, "given label")
	column(true, "cluster")
	column(pairs, "cluster of the other")
	column(true, "strength")
	for _, suspect := range suspects[:min(len(suspects), maxSuspects)] {
		t.Add(b.suspectRow(suspect, pairs, seeds)...)
	}
	if len(suspects) > maxSuspects {
		t.Note = fmt.Sprintf("Shown: the clearest %s of %s; %s has all.", text.Grouped(maxSuspects), text.Grouped(len(suspects)), report.SuspectsFile)
	}
	section.Tables = []*page.Table{t}
	return section
}

// suspectRow describes a suspect in the columns of the table: those of pairs and those of seeds are there only if any
// suspect is one.
func (b *builder) suspectRow(s *cleavev1.Suspect, pairs, seeds bool) []page.Cell {
	row, other, none := int32(s.GetRow()), int32(s.GetOther()), page.Named("")
	cells := []page.Cell{page.Named(b.name(row))}
	if pairs && s.Other != nil {
		cells = append(cells, page.Named(b.name(other)), page.Text(explain.SuspectKind(s)+"-link"))
	} else if pairs {
		cells = append(cells, none, page.Text(explain.SuspectKind(s)))
	}
	if seeds && s.Label != nil {
		cells = append(cells, b.ofCluster(int(s.GetLabel())))
	} else if seeds {
		cells = append(cells, none)
	}
	cells = append(cells, b.clusterOf(row))
	if pairs && s.Other != nil {
		cells = append(cells, b.clusterOf(other))
	} else if pairs {
		cells = append(cells, none)
	}
	return append(cells, page.ShareBar(fmt.Sprintf("%.2f", s.GetStrength()), s.GetStrength()))
}

// clusterOf returns a cell that names the cluster of a point.
func (b *builder) clusterOf(point int32) page.Cell {
	if int(point) >= len(b.Labels) {
		return page.Named("")
	}
	return b.ofCluster(int(b.Labels[point]))
}

// suspectsHeld says how many of the suspects hold in the answer, and how many of all constraints do.
func (b *builder) suspectsHeld() string {
	all, held := b.Result.GetSuspects(), 0
	for _, s := range all {
		row, other := int(s.GetRow()), int(s.GetOther())
		switch {
		case max(row, other) >= len(b.Labels):
		case s.Other == nil && uint32(b.Labels[row]) == s.GetLabel(), s.Other != nil && (b.Labels[row] == b.Labels[other]) == s.GetMustLink():
			held++
		}
	}
	says := fmt.Sprintf("The answer agrees with %s of these %s.", text.Grouped(held), text.Grouped(len(all)))
	if len(all) == 1 {
		says = map[int]string{0: "The answer overrules it.", 1: "The answer agrees with it nevertheless."}[held]
	}
	if c := b.Result.GetConstraints(); c.GetTotal() > 0 {
		says += " " + explain.Satisfied(c)
	}
	return says
}

// enforcement says which option lets the data decide.
func (b *builder) enforcement() string {
	if b.spec().GetAuto().GetEnforce() == cleavev1.Enforcement_ENFORCEMENT_NEVER {
		return "In this run, the data could overrule what you gave (--enforce never)."
	}
	return "To let the data overrule what you gave, use --enforce never."
}
