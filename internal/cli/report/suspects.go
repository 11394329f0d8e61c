package report

import (
	"io"

	"github.com/cleave-project/cleave/internal/data/table"
	"github.com/cleave-project/cleave/internal/format"
	"github.com/cleave-project/cleave/internal/render/explain"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
)

// suspectFiles returns suspects.csv if the data contradicts any seed or constraint.
func (r *Report) suspectFiles() []File {
	if len(r.Result.GetSuspects()) == 0 {
		return nil
	}
	return []File{{SuspectsFile, func(w io.Writer) error {
		t, err := table.New(r.suspectColumns())
		if err != nil {
			return err
		}
		return format.WriteTable(w, "csv", t)
	}}}
}

// suspectColumns returns the columns of suspects.csv, the clearest suspect first. Rows have their ids and labels their
// classes, as in labels.csv. A seed has no other row, and a pair has no label.
func (r *Report) suspectColumns() []table.Column {
	all := r.Result.GetSuspects()
	texts := func(name string, of func(*cleavev1.Suspect) string) table.Column {
		c := table.Column{Name: name, Type: table.Text}
		for _, s := range all {
			word := of(s)
			c.Texts = append(c.Texts, word)
			c.Empty = append(c.Empty, word == "")
		}
		return c
	}
	nameIn := func(names []string, number *uint32) string {
		if number == nil {
			return ""
		}
		return explain.NameIn(names, *number)
	}
	names := r.PointNames()
	strengths := table.Column{Name: "strength", Type: table.Number}
	for _, s := range all {
		strengths.Numbers = append(strengths.Numbers, s.GetStrength())
	}
	return []table.Column{
		texts("row", func(s *cleavev1.Suspect) string { return explain.NameIn(names, s.GetRow()) }),
		texts("other", func(s *cleavev1.Suspect) string { return nameIn(names, s.Other) }),
		texts("kind", explain.SuspectKind),
		texts("label", func(s *cleavev1.Suspect) string { return nameIn(r.Classes, s.Label) }),
		strengths,
	}
}

// suspectText says how many suspects there are, which is the clearest, and where the others are.
func (r *Report) suspectText(written bool) string {
	all := r.Result.GetSuspects()
	line := explain.SuspectCount(r.Result)
	clearest := explain.SuspectText(all[0], r.PointNames(), r.Classes)
	if len(all) == 1 {
		line += ": " + clearest
	} else {
		line += ", the clearest " + clearest
	}
	switch {
	case written:
		line += "; all in " + SuspectsFile
	case len(all) > 1:
		line += "; --out DIR lists all in " + SuspectsFile
	}
	return line
}
