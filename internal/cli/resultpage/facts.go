package resultpage

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cleave-project/cleave/internal/cli/jobflags"
	"github.com/cleave-project/cleave/internal/cli/report"
	"github.com/cleave-project/cleave/internal/cli/shell"
	"github.com/cleave-project/cleave/internal/data/constraint"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/numeric/choose"
	"github.com/cleave-project/cleave/internal/render/explain"
	"github.com/cleave-project/cleave/internal/render/page"
	"github.com/cleave-project/cleave/internal/text"
	"github.com/cleave-project/cleave/internal/wire"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
)

// asked lists what the job was asked for, and says how the table was read.
func (b *builder) asked() *page.Section {
	var facts page.Facts
	facts.Add("data", b.dataText())
	facts.Add("clusters", b.askedClusters())
	spec := b.spec()
	if spec != nil {
		if a := wire.Algorithm(spec); a.Name != "" {
			facts.Add("algorithm", a.Name+": "+a.About)
		}
	}
	facts.Add("objective", b.Result.GetObjectiveName())
	facts.Add("constraints", b.pairText())
	if b.scene.Truth != nil {
		words := "given, to score the answer only"
		if n := len(b.scene.Truth.ScoreOn); n > 0 {
			words += fmt.Sprintf(", on %s", b.counted(n))
		}
		facts.Add("truth", words)
	}
	if n := int(b.Result.GetDroppedRows()); n > 0 {
		facts.Add("left out", b.counted(n))
	}
	if spec != nil {
		options := wire.Request(spec, 0).Values
		for _, name := range slices.Sorted(maps.Keys(options)) {
			if !slices.Contains([]string{"k", "constraints", "name"}, name) {
				facts.Add(strings.ReplaceAll(name, "-", " "), options[name])
			}
		}
	}
	s := &page.Section{ID: "asked", Title: "What was asked", Facts: facts}
	if _, table := wire.SplitNotices(b.Result.GetWarnings()); len(table) > 0 {
		s.Details = &page.Details{Summary: "How the data was read", Items: explain.Sentences(table)}
	}
	return s
}

// askedClusters returns how many clusters were asked for.
func (b *builder) askedClusters() string {
	if spec := b.spec(); spec.GetKRange() != nil {
		return strings.ReplaceAll(report.ClustersText(spec), "..", " to ")
	}
	return text.Grouped(int(b.Result.GetK()))
}

// dataText describes the shape of the data.
func (b *builder) dataText() string {
	switch data := b.scene.Data.(type) {
	case *dataset.Graph:
		edges := 0
		for i := range data.N {
			neighbors, _ := data.Row(i)
			for _, j := range neighbors {
				if int(j) >= i {
					edges++
				}
			}
		}
		return fmt.Sprintf("a graph of %s and %s", text.GroupedCount(data.N, "vertex", "vertices"),
			text.GroupedCount(edges, "edge", "edges"))
	case *dataset.Kernel:
		return "a kernel matrix of " + text.GroupedCount(data.N, "row", "rows")
	case *dataset.Points, *dataset.SparsePoints:
		words := fmt.Sprintf("%s of %s", text.GroupedCount(len(b.Labels), "row", "rows"),
			text.GroupedCount(jobflags.ColumnsOf(data), "column", "columns"))
		if data.Kind() == dataset.KindSparsePoints {
			words += ", sparse"
		}
		return words
	}
	return text.GroupedCount(len(b.Labels), "row", "rows")
}

// pairText counts the constraints.
func (b *builder) pairText() string {
	if len(b.pairs) > 0 {
		must, cannot := constraint.CountKinds(b.pairs)
		return fmt.Sprintf("%s and %s", text.GroupedCount(must, "must-link", "must-links"),
			text.GroupedCount(cannot, "cannot-link", "cannot-links"))
	}
	if total := b.Result.GetConstraints().GetTotal(); total > 0 {
		return text.Grouped(int(total))
	}
	return ""
}

// plan says how the work was divided, and how long it took.
func (b *builder) plan() *page.Section {
	section := &page.Section{ID: "plan", Title: "Plan and time", Tables: []*page.Table{b.times()}}
	p := b.Result.GetPlan()
	if p.GetTiles() == 0 {
		if section.Tables[0] == nil {
			return nil
		}
		return section
	}
	section.Facts.Add("tiles", fmt.Sprintf("%s, of %s each", text.Grouped(int(p.GetTiles())),
		text.GroupedCount(int(p.GetTileRows()), "row", "rows")))
	section.Facts.Add("storage", wire.PlanStorageName(p.GetStorage()))
	section.Facts.Add("memory", text.Bytes(p.GetBytes())+" on "+text.Plural(int(p.GetWorkers()), "worker"))
	if p.GetComputedTiles() > 0 {
		section.Facts.Add("computed again", text.Plural(int(p.GetComputedTiles()), "tile"))
	}
	if shares := p.GetShares(); len(shares) > 0 {
		const limit = 100
		t := page.NewTable("Workers", "worker").Numbers("threads", "memory", "tiles")
		for _, share := range shares[:min(len(shares), limit)] {
			t.Add(
				page.Named(share.GetName()), page.Text(text.Grouped(int(share.GetThreads()))),
				page.Text(text.Bytes(share.GetBytes())),
				page.Text(text.Grouped(int(share.GetStoredTiles()+share.GetComputedTiles()))),
			)
		}
		if len(shares) > limit {
			t.Note = fmt.Sprintf("Shown: %d of %d workers.", limit, len(shares))
		}
		section.Tables = append(section.Tables, t)
	}
	return section
}

// times lists how long the phases took.
func (b *builder) times() *page.Table {
	total := b.Result.GetTimings().GetTotal().AsDuration()
	if total <= 0 {
		return nil
	}
	table := page.NewTable(fmt.Sprintf("Where %s went", text.Seconds(total.Seconds())), "phase").Numbers("time").
		Words("share")
	rest := total
	add := func(name string, d time.Duration) {
		share := d.Seconds() / total.Seconds()
		table.Add(page.Text(name), page.Text(text.Seconds(d.Seconds())), page.ShareBar(page.Percent(share), share))
	}
	for _, phase := range explain.Phases(b.Result) {
		add(phase.Name, phase.Took)
		rest -= phase.Took
	}
	if rest > total/100 {
		add("waiting and other", rest)
	}
	return table
}

// spec returns the spec of the job, nil if it is not known.
func (p *part) spec() *cleavev1.JobSpec { return cmp.Or(p.scene.Spec, p.Run.GetOrigin().GetSpec()) }

// repeat says how to get the same answer again.
func (b *builder) repeat() *page.Section {
	origin := b.Run.GetOrigin()
	spec := b.spec()
	r := &page.Section{
		ID: "repeat", Title: "Repeat it", Command: commandText(origin),
		Text: []string{"The same data, spec and seed give the same answer, to the last bit, on any number of workers " +
			"and machines."},
	}
	r.Facts.Add("version", cmp.Or(origin.GetVersion(), shell.Version()))
	if spec == nil {
		return r
	}
	r.Facts.Add("seed", strconv.FormatUint(spec.GetSeed(), 10))
	for _, input := range origin.GetInputs() {
		r.Facts.Add("SHA-256 of "+input.GetPath(), input.GetSha256())
	}
	r.Facts.Add("data set", spec.GetDatasetId())
	r.Facts.Add("table", spec.GetTable().GetTableId())
	for _, used := range wire.UsedTables(spec) {
		r.Facts.Add("table of "+used.Name(), used.Input.GetTableId())
	}
	var written bytes.Buffer
	if err := report.PrintMessage(&written, spec); err == nil && written.Len() <= maxSpecBytes {
		r.Details = &page.Details{Summary: "The whole spec", Code: written.String()}
	}
	return r
}

// commandText returns the command line that started a run, quoted for a shell.
func commandText(origin *cleavev1.Origin) string {
	if len(origin.GetCommand()) == 0 {
		return ""
	}
	words := []string{"cleave"}
	for _, word := range origin.GetCommand() {
		if word == "" || strings.ContainsFunc(word, func(r rune) bool {
			return !strings.ContainsRune(plainLetters, r)
		}) {
			word = "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
		}
		words = append(words, word)
	}
	line := strings.Join(words, " ")
	if directory := origin.GetDirectory(); directory != "" {
		line = "# in " + directory + "\n" + line
	}
	return line
}

// plainLetters need no quotes in a shell.
const plainLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./,:=+@%"

// maxSpecBytes limits the spec on the page: one that contains tables may be long.
const maxSpecBytes = 200_000

// answer describes what was found in a few sentences.
func (b *builder) answer() string {
	r := b.Result
	if len(b.Labels) == 0 {
		return "The run was stopped before it had labels."
	}
	sentences := []string{b.sizeSentence()}
	if h := r.GetKSelection(); h != nil && b.spec().GetKRange() != nil {
		sentences = append(sentences, fmt.Sprintf("This number was proposed out of %s (%s).", b.askedClusters(),
			report.ConfidenceOfK(h)))
	}
	if c := r.GetConstraints(); c.GetTotal() > 0 {
		sentences = append(sentences, explain.Satisfied(c))
	}
	if e := b.Run.GetEvaluation(); e != nil {
		sentences = append(sentences,
			fmt.Sprintf("Compared with the truth, the adjusted Rand index is %.3f (1 is the same grouping, 0 is "+
				"chance).", e.GetAri()))
	}
	if mean, ok := b.sample.meanSilhouette(); ok {
		sentences = append(sentences, fmt.Sprintf("The clusters %s (mean silhouette %.2f).",
			separationWords(mean), mean))
	}
	switch r.GetStopReason() {
	case cleavev1.StopReason_STOP_REASON_TIME_LIMIT, cleavev1.StopReason_STOP_REASON_CANCELLED:
		sentences = append(sentences, explain.Stopped(r))
	}
	return strings.Join(sentences, " ")
}

// sizeSentence says how many clusters there are and how large they are.
func (b *builder) sizeSentence() string {
	sizes := slices.DeleteFunc(b.sizesOf(), func(size int) bool { return size == 0 })
	all := b.counted(len(b.Labels))
	if len(sizes) == 1 {
		return text.GroupedCount(len(b.Labels), b.noun()+" is", b.plural()+" are") + " one cluster."
	}
	if c := b.Result.GetChoice().GetChosen(); c != nil {
		all += ", compared by " + b.comparedBy(c.GetSpace()) + ","
	}
	const listed = 6
	switch largest, smallest := slices.Max(sizes), slices.Min(sizes); {
	case largest == smallest:
		return fmt.Sprintf("%s fall into %d clusters of %s each.", all, len(sizes), b.counted(largest))
	case len(sizes) > listed:
		return fmt.Sprintf("%s fall into %d clusters of %s to %s.", all, len(sizes), text.Grouped(smallest),
			b.counted(largest))
	}
	return fmt.Sprintf("%s fall into %d clusters of %s %s.", all, len(sizes), text.Join(b.sizeWords(), "and"),
		b.plural())
}

// comparedBy says what the chosen method compared rows by.
func (p *part) comparedBy(space cleavev1.Space) string {
	_, matrix := p.scene.Data.(*dataset.Kernel)
	return explain.ComparedBy(space, matrix || explain.OfKernelMatrix(p.Run))
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
func (s *sample) meanSilhouette() (mean float64, ok bool) {
	if s.space == nil || len(s.space.silhouettes) == 0 || s.k < 2 {
		return 0, false
	}
	for _, v := range s.space.silhouettes {
		mean += v / float64(len(s.space.silhouettes))
	}
	return mean, true
}

// figures returns the numbers that matter most.
func (b *builder) figures() (facts page.Facts) {
	facts.Add("clusters", text.Grouped(b.k))
	facts.Add(b.plural(), text.Grouped(len(b.Labels)))
	if c := b.Result.GetConstraints(); c.GetTotal() > 0 {
		facts.Add("constraints satisfied", text.Grouped(int(c.GetSatisfied()))+" of "+text.Grouped(int(c.GetTotal())))
	}
	if e := b.Run.GetEvaluation(); e != nil {
		facts.Add("adjusted Rand index", fmt.Sprintf("%.3f", e.GetAri()))
	}
	if mean, ok := b.sample.meanSilhouette(); ok {
		facts.Add("mean silhouette", page.Fixed(mean, 2))
	}
	if b.hasConfidence() {
		facts.Add("mean confidence", meanText(b.meanConfidence()))
	}
	if t := b.Result.GetTimings().GetTotal(); t != nil {
		facts.Add("time", text.Seconds(t.AsDuration().Seconds()))
	}
	return facts
}

// maxClass limits the length of a class on the page.
const maxClass = 40

// clusterClass returns the class of a cluster, "" if it has none.
func (p *part) clusterClass(cluster int) string {
	if cluster >= len(p.Classes) {
		return ""
	}
	return page.Short(p.Classes[cluster], maxClass)
}

// ofCluster returns a cell that names a cluster.
func (p *part) ofCluster(cluster int) page.Cell {
	return page.OfCluster(cluster, p.clusterClass(cluster))
}

// clusterWords names a cluster within a sentence.
func (p *part) clusterWords(cluster int) string {
	if class := p.clusterClass(cluster); class != "" {
		return fmt.Sprintf("cluster %d (%s)", cluster, page.Isolated(class))
	}
	return fmt.Sprintf("cluster %d", cluster)
}

// sizeWords lists the sizes of the clusters that are not empty, with their classes, the largest first.
func (b *builder) sizeWords() (words []string) {
	sizes := b.sizesOf()
	order := slices.DeleteFunc(choose.All[int](b.k), func(cluster int) bool { return sizes[cluster] == 0 })
	slices.SortStableFunc(order, func(x, y int) int { return cmp.Compare(sizes[y], sizes[x]) })
	for _, cluster := range order {
		word := text.Grouped(sizes[cluster])
		if class := b.clusterClass(cluster); class != "" {
			word += " (" + page.Isolated(class) + ")"
		}
		words = append(words, word)
	}
	return words
}

// notices returns the warnings about the answer.
func (b *builder) notices() []string {
	answer, _ := wire.SplitNotices(wire.WithoutSuspects(b.Result, b.Result.GetWarnings()))
	return explain.Sentences(answer)
}
