package resultpage

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/cleave-project/cleave/internal/cli/report"
	"github.com/cleave-project/cleave/internal/data/constraint"
	"github.com/cleave-project/cleave/internal/numeric/choose"
	"github.com/cleave-project/cleave/internal/render/explain"
	"github.com/cleave-project/cleave/internal/render/page"
	"github.com/cleave-project/cleave/internal/text"
	"github.com/cleave-project/cleave/internal/wire"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
)

const (
	maxShownPairs   = 50
	maxShownClasses = 40
)

// constraints lists the violated constraints, and what they cost.
func (b *builder) constraints() *page.Section {
	c := b.Result.GetConstraints()
	if c.GetTotal() == 0 && len(b.pairs) == 0 {
		return nil
	}
	section := &page.Section{ID: "constraints", Title: "Constraints", Text: []string{explain.Satisfied(c)}}
	if cost := b.costText(); cost != "" {
		section.Text = append(section.Text, cost)
	}
	violated := slices.DeleteFunc(slices.Clone(b.pairs), func(p constraint.Pair) bool { return !p.Violates(b.Labels) })
	if len(violated) == 0 {
		return section
	}
	slices.SortStableFunc(violated, func(x, y constraint.Pair) int { return cmp.Compare(y.Weight, x.Weight) })
	heavy := slices.ContainsFunc(violated, func(p constraint.Pair) bool { return p.Weight != violated[0].Weight })
	t := page.NewTable("Violated constraints", "one", "other", "kind", "cluster of one", "cluster of the other")
	if heavy {
		t.Numbers("weight")
		t.Caption += ", the heaviest first"
	}
	for _, p := range violated[:min(len(violated), maxShownPairs)] {
		row := []page.Cell{page.Named(b.name(p.I)), page.Named(b.name(p.J)), page.Text(p.Kind.String()),
			b.clusterOf(p.I), b.clusterOf(p.J)}
		if heavy {
			row = append(row, page.Text(page.Number(p.Weight)))
		}
		t.Add(row...)
	}
	if len(violated) > maxShownPairs {
		t.Note = fmt.Sprintf("Shown: %d of %s.", maxShownPairs, text.Grouped(len(violated)))
	}
	section.Tables = []*page.Table{t}
	return section
}

// costText says what violated constraints add to the objective, "" if that is not known.
func (b *builder) costText() string {
	r := b.Result
	if h := r.GetHistory(); len(h) > 0 {
		if parts := h[len(h)-1].GetParts(); parts != nil {
			cost := parts.GetMustLink() + parts.GetCannotLink()
			if cost == 0 {
				return ""
			}
			return fmt.Sprintf("The violated ones add %s to the objective, %s for must-links and %s for "+
				"cannot-links. Distances to centroids add %s.",
				page.Number(cost), page.Number(parts.GetMustLink()), page.Number(parts.GetCannotLink()),
				page.Number(parts.GetDistortion()))
		}
	}
	if r.PlainObjective != nil && r.GetPlainObjective() != r.GetObjective() {
		return fmt.Sprintf("The objective is %s on the data alone, and %s with rewards and penalties for constraints.",
			page.Number(r.GetPlainObjective()), page.Number(r.GetObjective()))
	}
	return ""
}

// countClasses counts the true classes of the scored points of each cluster.
func (b *builder) countClasses() [][]int {
	counts := make([][]int, b.k)
	for cluster := range counts {
		counts[cluster] = make([]int, len(b.classNames))
	}
	for i, rank := range b.trueClass {
		if rank >= 0 {
			counts[b.Labels[i]][rank]++
		}
	}
	return counts
}

// truth compares clusters with true classes.
func (b *builder) truth() *page.Section {
	evaluation := b.Run.GetEvaluation()
	if evaluation == nil {
		return nil
	}
	section := &page.Section{ID: "truth", Title: "Against the truth", Facts: []page.Fact{
		{Name: "adjusted Rand index", Value: fmt.Sprintf("%.4f: pairs that are grouped alike, beyond chance",
			evaluation.GetAri())},
		{Name: "NMI", Value: fmt.Sprintf("%.4f: normalized mutual information", evaluation.GetNmi())},
		{Name: "pairwise F", Value: fmt.Sprintf("%.4f: precision %.4f, recall %.4f", evaluation.GetPairwiseF(),
			evaluation.GetPairwisePrecision(), evaluation.GetPairwiseRecall())},
		{Name: "purity", Value: fmt.Sprintf("%.4f: the share of %s in the most frequent class of their cluster",
			evaluation.GetPurity(), b.plural())},
	}}
	if len(b.trueClass) == 0 {
		return section
	}
	counts := b.countClasses()
	total := func(class int) (n int) {
		for _, row := range counts {
			n += row[class]
		}
		return n
	}
	order := slices.DeleteFunc(choose.All[int](len(b.classNames)), func(class int) bool { return total(class) == 0 })
	t := page.NewTable(upperFirst(b.plural())+" of each cluster (down) by their true class (across)", "cluster")
	t.Wide = true
	if len(order) > maxShownClasses {
		slices.SortStableFunc(order, func(x, y int) int { return cmp.Compare(total(y), total(x)) })
		t.Note = fmt.Sprintf("Shown: the %d largest of %s classes.", maxShownClasses, text.Grouped(len(order)))
		order = order[:maxShownClasses]
	}
	for _, class := range order {
		t.Numbers(page.Short(b.classNames[class], 60))
	}
	for cluster, row := range counts {
		if cluster == maxShownPairs*2 {
			t.Note = strings.TrimSpace(t.Note + fmt.Sprintf(" Shown: the first %d clusters.", cluster))
			break
		}
		size, most := 0, 0
		for _, count := range row {
			size, most = size+count, max(most, count)
		}
		cells := []page.Cell{b.ofCluster(cluster)}
		for _, class := range order {
			cell := page.Text(text.Grouped(row[class])).Shaded(float64(row[class]) / float64(max(1, size)))
			cell.Strong = row[class] == most && most > 0
			cells = append(cells, cell)
		}
		t.Add(cells...)
	}
	section.Tables = []*page.Table{t}
	return section
}

// methods compares the methods that auto tried.
func (b *builder) methods() *page.Section {
	choice := b.Result.GetChoice()
	if choice == nil {
		return nil
	}
	section := &page.Section{ID: "methods", Title: "Why this method", Text: []string{
		fmt.Sprintf("Auto chose %q.", explain.MethodText(choice.GetChosen())),
	}}
	if reason := choice.GetReason(); reason != "" {
		section.Text = append(section.Text, explain.Sentence(reason))
	}
	if len(choice.GetTried()) == 0 {
		return section
	}
	table := page.NewTable("Methods that were tried", "method", "held-out accuracy").
		Numbers("must-links right", "cannot-links right", "advantage (standard errors)")
	table.Note = "Held-out accuracy is the agreement with constraints that a method was not given: 1 if all are " +
		"right, 0 if no more than by chance. The advantage is over the method that would be used without constraints."
	for _, t := range report.BestMethods(choice, len(choice.GetTried())) {
		name := page.Text(explain.MethodText(t.GetMethod()))
		if explain.SameMethod(t.GetMethod(), choice.GetChosen()) {
			name.Text += " (chosen)"
		}
		table.Add(
			name, page.ShareBar(fmt.Sprintf("%.2f", t.GetAgreement()), t.GetAgreement()),
			page.Text(fmt.Sprintf("%d of %d", t.GetMustLinksRight(), t.GetMustLinks())),
			page.Text(fmt.Sprintf("%d of %d", t.GetCannotLinksRight(), t.GetCannotLinks())),
			page.Text(page.Signed(t.GetAdvantage(), 1)),
		)
	}
	section.Tables = []*page.Table{table}
	return section
}

// howMany shows how the number of clusters was found. It returns nil if it was given.
func (b *builder) howMany() *page.Section {
	h := b.Result.GetKSelection()
	if h == nil {
		return nil
	}
	scores := h.GetScores()
	section := &page.Section{ID: "many", Title: "How many clusters", Text: []string{
		fmt.Sprintf("%d clusters are proposed (%s): %s.", h.GetProposed(), report.ConfidenceOfK(h),
			strings.TrimSuffix(h.GetReason(), ".")),
	}}
	if len(scores) == 0 {
		return section
	}
	columns := report.KColumns(h)
	t := page.NewTable("Scores of every number of clusters, 1 at best", "clusters")
	for _, c := range columns {
		t.Words(kNames[c.Name])
	}
	spaces := scores[0].GetSpace() != cleavev1.Space_SPACE_UNSPECIFIED
	if spaces {
		t.Words("compared by")
	}
	for _, score := range scores {
		name := page.Text(text.Grouped(int(score.GetK())))
		if score.GetK() == h.GetProposed() {
			name.Text += " (proposed)"
		}
		row := []page.Cell{name}
		for _, c := range columns {
			if v := c.Of(score); v != nil {
				row = append(row, page.ShareBar(page.Fixed(*v, 2), *v))
			} else {
				row = append(row, page.Text(""))
			}
		}
		if spaces {
			row = append(row, page.Text(wire.EnumWord(score.GetSpace())))
		}
		t.Add(row...)
	}
	section.Tables = []*page.Table{t}
	return section
}
