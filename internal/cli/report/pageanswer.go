package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/render/explain"
	"github.com/cleave-project/cleave/internal/render/page"
	"github.com/cleave-project/cleave/internal/wire"
)

// answer describes what was found in a few sentences.
func (b *pageBuilder) answer() string {
	r := b.Result
	if len(b.Labels) == 0 {
		return "The run was stopped before it had labels."
	}
	sentences := []string{b.sizeSentence()}
	if h := r.GetKSelection(); h != nil && b.spec().GetKRange() != nil {
		sentences = append(sentences, fmt.Sprintf("This number was proposed out of %s (%s).", b.askedClusters(), confidenceOfK(h)))
	}
	if c := r.GetConstraints(); c.GetTotal() > 0 {
		sentences = append(sentences, fmt.Sprintf("%s of %s constraints are satisfied.", page.Count(int(c.GetSatisfied())), page.Count(int(c.GetTotal()))))
	}
	if e := b.Run.GetEvaluation(); e != nil {
		sentences = append(sentences, fmt.Sprintf("Compared with the truth, the adjusted Rand index is %.3f (1 is the same grouping, 0 is chance).", e.GetAri()))
	}
	if mean, ok := b.meanSilhouette(); ok {
		sentences = append(sentences, fmt.Sprintf("The clusters %s (mean silhouette %.2f).", separationWords(mean), mean))
	}
	switch r.GetStopReason() {
	case cleavev1.StopReason_STOP_REASON_TIME_LIMIT:
		sentences = append(sentences, "The time limit ended the run; these are its labels so far.")
	case cleavev1.StopReason_STOP_REASON_CANCELLED:
		sentences = append(sentences, "The run was canceled; these are its labels so far.")
	}
	return strings.Join(sentences, " ")
}

// sizeSentence says how many clusters there are and how large they are.
func (b *pageBuilder) sizeSentence() string {
	sizes := slices.DeleteFunc(b.sizesOf(), func(size int) bool { return size == 0 })
	all := b.counted(len(b.Labels))
	if len(sizes) == 1 {
		return all + " are one cluster."
	}
	slices.SortFunc(sizes, func(x, y int) int { return y - x })
	how := "fall"
	if c := b.Result.GetChoice().GetChosen(); c != nil {
		how = "compared by " + b.comparedBy(c.GetSpace()) + ", fall"
	}
	const listed = 6
	switch largest, smallest := sizes[0], sizes[len(sizes)-1]; {
	case largest == smallest:
		return fmt.Sprintf("%s%s into %d clusters of %s each.", all, comma(how), len(sizes), b.counted(largest))
	case len(sizes) > listed:
		return fmt.Sprintf("%s%s into %d clusters of %s to %s.", all, comma(how), len(sizes), page.Count(smallest), b.counted(largest))
	}
	words := b.sizeWords()
	last := len(words) - 1
	return fmt.Sprintf("%s%s into %d clusters of %s and %s %s.", all, comma(how), len(sizes), strings.Join(words[:last], ", "), words[last], b.plural())
}

// comma returns how with the separator before it: a comma and a space if how has a comma itself, else a space.
func comma(how string) string {
	if strings.Contains(how, ",") {
		return ", " + how
	}
	return " " + how
}

// comparedBy says what the chosen method compared rows by.
func (b *pageBuilder) comparedBy(space cleavev1.Space) string {
	_, matrix := b.scene.Data.(*dataset.Kernel)
	return explain.ComparedBy(space, matrix || explain.OfKernelMatrix(b.Run))
}

// separationWords describes a mean silhouette as is usual (Kaufman and Rousseeuw 1990).
func separationWords(mean float64) string {
	switch {
	case mean > 0.7:
		return "are far apart"
	case mean > 0.5:
		return "are clearly separated"
	case mean > 0.25:
		return "overlap in part"
	}
	return "are hardly separated"
}

// meanSilhouette returns the mean over all rows that have a silhouette.
func (b *pageBuilder) meanSilhouette() (mean float64, ok bool) {
	if b.space == nil || len(b.space.silhouettes) == 0 || b.k < 2 {
		return 0, false
	}
	for _, v := range b.space.silhouettes {
		mean += v / float64(len(b.space.silhouettes))
	}
	return mean, true
}

// figures returns the numbers that matter most.
func (b *pageBuilder) figures() []page.Fact {
	facts := []page.Fact{{Name: "clusters", Value: page.Count(b.k)}, {Name: b.plural(), Value: page.Count(len(b.Labels))}}
	if c := b.Result.GetConstraints(); c.GetTotal() > 0 {
		facts = append(facts, page.Fact{Name: "constraints satisfied", Value: page.Count(int(c.GetSatisfied())) + " of " + page.Count(int(c.GetTotal()))})
	}
	if e := b.Run.GetEvaluation(); e != nil {
		facts = append(facts, page.Fact{Name: "adjusted Rand index", Value: fmt.Sprintf("%.3f", e.GetAri())})
	}
	if mean, ok := b.meanSilhouette(); ok {
		facts = append(facts, page.Fact{Name: "mean silhouette", Value: page.Fixed(mean, 2)})
	}
	if b.hasConfidence() {
		facts = append(facts, page.Fact{Name: "mean confidence", Value: meanText(b.meanConfidence())})
	}
	if t := b.Result.GetTimings().GetTotal(); t != nil {
		facts = append(facts, page.Fact{Name: "time", Value: page.Seconds(t.AsDuration().Seconds())})
	}
	return facts
}

// maxClass limits the length of a class on the page.
const maxClass = 40

// clusterClass returns the class of a cluster, "" if it has none.
func (b *pageBuilder) clusterClass(cluster int) string {
	if cluster >= len(b.Classes) {
		return ""
	}
	return page.Short(b.Classes[cluster], maxClass)
}

// ofCluster returns a cell that names a cluster.
func (b *pageBuilder) ofCluster(cluster int) page.Cell {
	return page.OfCluster(cluster, b.clusterClass(cluster))
}

// clusterWords names a cluster within a sentence.
func (b *pageBuilder) clusterWords(cluster int) string {
	if class := b.clusterClass(cluster); class != "" {
		return fmt.Sprintf("cluster %d (%s)", cluster, page.Isolated(class))
	}
	return fmt.Sprintf("cluster %d", cluster)
}

// sizeWords lists the sizes of the clusters that are not empty, with their classes, the largest first.
func (b *pageBuilder) sizeWords() (words []string) {
	sizes := b.sizesOf()
	order := make([]int, 0, b.k)
	for cluster, size := range sizes {
		if size > 0 {
			order = append(order, cluster)
		}
	}
	slices.SortStableFunc(order, func(x, y int) int { return cmp.Compare(sizes[y], sizes[x]) })
	for _, cluster := range order {
		word := page.Count(sizes[cluster])
		if class := b.clusterClass(cluster); class != "" {
			word += " (" + page.Isolated(class) + ")"
		}
		words = append(words, word)
	}
	return words
}

// notices returns the warnings about the answer.
func (b *pageBuilder) notices() []string {
	answer, _ := wire.SplitNotices(wire.WithoutSuspects(b.Result, b.Result.GetWarnings()))
	return explain.Sentences(answer)
}
