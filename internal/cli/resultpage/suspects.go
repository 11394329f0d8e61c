package resultpage

import (
	"fmt"

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
		explain.Contradicted(b.Result) + b.strengths(),
		b.suspectsHeld(),
		"Remove or correct what is wrong. " + b.enforcement(),
	}}
	t := page.NewTable(upperFirst(what)+" that the data contradicts, the clearest first", b.idHeading(), "other",
		"kind", "given label", "cluster", "cluster of the other", "strength")
	t.Tall = len(suspects) > fewSuspects
	for _, suspect := range suspects[:min(len(suspects), maxSuspects)] {
		t.Add(b.suspectRow(suspect)...)
	}
	if what == "constraints" {
		t.Drop("given label")
	}
	if what == "seeds" {
		t.Drop("other", "kind", "cluster of the other")
	}
	if len(suspects) > maxSuspects {
		t.Note = fmt.Sprintf("Shown: the clearest %s of %s; %s has all.", text.Grouped(maxSuspects),
			text.Grouped(len(suspects)), report.SuspectsFile)
	}
	section.Tables = []*page.Table{t}
	return section
}

// strengths says what the strength of a suspect is.
func (b *builder) strengths() (sentences string) {
	what := explain.SuspectNoun(b.Result.GetSuspects())
	if what != "constraints" {
		sentences = " The strength of a seed is how often it is separated from the others of its class when " +
			"it is held out."
	}
	if what != "seeds" {
		sentences += fmt.Sprintf(" The strength of a constraint is the share of all %s that are less clearly inside "+
			"their cluster.", b.plural())
	}
	return sentences
}

// suspectRow describes a suspect: a seed, which has no other row, or a pair, which has no label.
func (b *builder) suspectRow(s *cleavev1.Suspect) []page.Cell {
	row := int32(s.GetRow())
	kind := explain.SuspectKind(s)
	other := page.Named("")
	label := page.Named("")
	otherCluster := page.Named("")
	if s.Other != nil {
		other = page.Named(b.name(int32(s.GetOther())))
		kind += "-link"
		otherCluster = b.clusterOf(int32(s.GetOther()))
	}
	if s.Label != nil {
		label = b.ofCluster(int(s.GetLabel()))
	}
	return []page.Cell{
		page.Named(b.name(row)), other, page.Text(kind), label, b.clusterOf(row), otherCluster,
		page.ShareBar(fmt.Sprintf("%.2f", s.GetStrength()), s.GetStrength()),
	}
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
	all := b.Result.GetSuspects()
	held := 0
	for _, s := range all {
		row := int(s.GetRow())
		other := int(s.GetOther())
		switch {
		case max(row, other) >= len(b.Labels):
		case s.Other == nil && uint32(b.Labels[row]) == s.GetLabel(),
			s.Other != nil && (b.Labels[row] == b.Labels[other]) == s.GetMustLink():
			held++
		}
	}
	line := fmt.Sprintf("The answer agrees with %s of these %s.", text.Grouped(held), text.Grouped(len(all)))
	if len(all) == 1 {
		line = map[int]string{0: "The answer overrules it.", 1: "The answer agrees with it nevertheless."}[held]
	}
	if c := b.Result.GetConstraints(); c.GetTotal() > 0 {
		line += " " + explain.Satisfied(c)
	}
	return line
}

// enforcement says which option lets the data decide.
func (b *builder) enforcement() string {
	if b.spec().GetAuto().GetEnforce() == cleavev1.Enforcement_ENFORCEMENT_NEVER {
		return "In this run, the data could overrule what you gave (--enforce never)."
	}
	return "To let the data overrule what you gave, use --enforce never."
}
