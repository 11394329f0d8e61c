package report

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/cleave-project/cleave/internal/render/explain"
	"github.com/cleave-project/cleave/internal/render/picture"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
)

// triedText says which way was tried, and on which of the constraints.
func triedText(t *cleavev1.WayTried) string {
	line := "tried " + explain.WayText(t.GetWay())
	if t.GetFold() > 0 {
		line += fmt.Sprintf(": fold %d of %d", t.GetFold(), t.GetFolds())
	}
	return line
}

// triedLine also says what it had right.
func triedLine(t *cleavev1.WayTried) string {
	line := triedText(t)
	for _, kind := range []struct {
		name       string
		all, right uint32
	}{{"must-links", t.GetMustLinks(), t.GetMustLinksRight()}, {"cannot-links", t.GetCannotLinks(), t.GetCannotLinksRight()}} {
		if kind.all > 0 {
			line += fmt.Sprintf(", %d of %d %s right", kind.right, kind.all, kind.name)
		}
	}
	return line
}

// shownWays is how many ways a summary lists.
const shownWays = 6

// summarizeChoice writes which way was taken and why, and how well the best ways agree with constraints that they were
// not shown; the way that would be taken without constraints is always among them.
func summarizeChoice(line func(name, format string, args ...any), c *cleavev1.Choice) {
	line("method", "%s", explain.MethodText(c.GetChosen()))
	if c.GetReason() != "" {
		line("why", "%s", c.GetReason())
	}
	name := "agreement"
	for _, t := range bestWays(c, shownWays) {
		mark := ""
		if sameWay(t.GetWay(), c.GetChosen()) {
			mark = " (chosen)"
		}
		line(name, "%.2f %s%s", t.GetAgreement(), explain.WayText(t.GetWay()), mark)
		name = ""
	}
}

// bestWays are the ways that agree best, at most so many. The way that is taken, and the one that the others
// are compared with, are among them, however badly they agree.
func bestWays(c *cleavev1.Choice, limit int) []*cleavev1.TriedWay {
	ways := slices.Clone(c.GetTried())
	slices.SortStableFunc(ways, func(a, b *cleavev1.TriedWay) int { return cmp.Compare(b.GetAgreement(), a.GetAgreement()) })
	base := slices.IndexFunc(c.GetTried(), func(t *cleavev1.TriedWay) bool {
		return t.GetWay().GetUse() == cleavev1.Use_USE_NONE && t.GetAdvantage() == 0
	})
	for at := len(ways) - 1; at >= 0 && len(ways) > limit; at-- {
		if t := ways[at]; !sameWay(t.GetWay(), c.GetChosen()) && (base < 0 || t != c.GetTried()[base]) {
			ways = slices.Delete(ways, at, at+1)
		}
	}
	return ways
}

func sameWay(a, b *cleavev1.Way) bool {
	return a.GetSpace() == b.GetSpace() && a.GetUse() == b.GetUse()
}

// drawWays draws how well the ways agree, the best first.
func (r *Report) drawWays(w io.Writer, title string) error {
	choice := r.Result.GetChoice()
	plot := picture.BarsPlot{Title: titled(title, "the ways that were tried"), Subtitle: strings.TrimSuffix(explain.ReasonText(choice.GetReason()), "."), Axis: "agreement with constraints that were held out (0: by chance)"}
	for _, t := range bestWays(choice, len(choice.GetTried())) {
		plot.Bars = append(plot.Bars, picture.Bar{Name: explain.WayText(t.GetWay()), Share: min(1, max(0, t.GetAgreement())), Bold: sameWay(t.GetWay(), choice.GetChosen())})
	}
	return picture.Bars(w, plot)
}
