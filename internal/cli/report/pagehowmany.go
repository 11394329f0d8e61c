package report

import (
	"fmt"
	"strings"

	"github.com/cleave-project/cleave/internal/render/page"
	"github.com/cleave-project/cleave/internal/wire"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
)

// howMany shows how the number of clusters was found, nil if it was given.
func (b *pageBuilder) howMany() *page.Section {
	h := b.Result.GetHowMany()
	if h == nil {
		return nil
	}
	scores := h.GetScores()
	s := &page.Section{Text: []string{fmt.Sprintf("%d clusters are proposed (%s): %s.", h.GetProposed(), sureText(h), strings.TrimSuffix(h.GetReason(), "."))}}
	if len(scores) == 0 {
		return s
	}
	columns := kColumns(h)
	t := &page.Table{Caption: "Scores of every number of clusters, 1 at best", Columns: []page.Column{{Name: "clusters"}}}
	for _, c := range columns {
		t.Columns = append(t.Columns, page.Column{Name: kNames[c.name]})
	}
	spaces := scores[0].GetSpace() != cleavev1.Space_SPACE_UNSPECIFIED
	if spaces {
		t.Columns = append(t.Columns, page.Column{Name: "compared by"})
	}
	for _, score := range scores {
		name := page.Text(page.Count(int(score.GetK())))
		if score.GetK() == h.GetProposed() {
			name.Text += " (proposed)"
		}
		row := []page.Cell{name}
		for _, c := range columns {
			if v := c.of(score); v != nil {
				row = append(row, page.ShareBar(page.Fixed(*v, 2), *v))
			} else {
				row = append(row, page.Text(""))
			}
		}
		if spaces {
			row = append(row, page.Text(wire.EnumWord(score.GetSpace())))
		}
		t.Rows = append(t.Rows, row)
	}
	s.Table = t
	return s
}
