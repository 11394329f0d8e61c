// Package explain describes in sentences what a job found and why: which method it chose, whether it converged, which
// constraints it violates, which clusters look wrong, and what to try. It works from the result alone.
package explain

import (
	"fmt"
	"slices"
	"strings"

	"github.com/cleave-project/cleave/internal/data/constraint"
	"github.com/cleave-project/cleave/internal/text"
	"github.com/cleave-project/cleave/internal/wire"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
)

// Facts holds what Explain knows about a finished job. Nil fields are unknown.
type Facts struct {
	Result *cleavev1.Result
	Run    *cleavev1.RunRecord // nil for a job of a coordinator
	Spec   *cleavev1.JobSpec
	Labels []int32 // of the points

	// Constraints is nil if there are none, and if they cannot be read here, which ConstraintsUnknown tells.
	Constraints        []constraint.Constraint
	ConstraintsUnknown bool

	IDs        []string  // names of the points; nil if they are known by their numbers
	Classes    []string  // names of the clusters, "" for none; nil if none has one
	Confidence []float64 // of the points
}

// Paragraph has the sentences on one topic.
type Paragraph struct {
	Topic     string   // a heading, without punctuation
	Sentences []string // complete ones; none is empty
}

// Answer explains an answer. It leaves out topics without sentences.
func Answer(f Facts) []Paragraph {
	e := &explainer{Facts: f, r: f.Result, signs: signsOf(f), given: "constraint"}
	if s := f.Spec.GetSupervision(); s.GetSeeds() != nil && s.GetConstraints() == nil {
		e.given = "seed"
	}
	var all []Paragraph
	for _, p := range []Paragraph{
		{"What was found", e.found()},
		{"How many", e.howMany()},
		{"Why this method", e.method()},
		{"How the run went", e.course()},
		{"Constraints", e.constraints()},
		{"What the data contradicts", e.suspects()},
		{"Clusters", e.clusters()},
		{"Against the truth", e.scores()},
		{"Warnings", e.warnings()},
		{"How the data was read", e.reading()},
		{"What to try", e.advice()},
	} {
		if len(p.Sentences) > 0 {
			all = append(all, p)
		}
	}
	return all
}

// explainer writes the paragraphs, in any order.
type explainer struct {
	Facts
	r     *cleavev1.Result
	signs signs
	given string // what the user gave: "constraint", or "seed" if there are only seeds
}

// found says what was clustered, how, and in which form.
func (e *explainer) found() []string {
	r := e.r
	if len(r.GetClusterSizes()) == 0 {
		return []string{fmt.Sprintf("The job %s before it had labels.", ended(r))}
	}
	how := ""
	switch {
	case r.GetChoice() != nil:
		how = fmt.Sprintf(" by the method %q, which auto chose", MethodText(r.GetChoice().GetChosen()))
	case e.Spec != nil && wire.Algorithm(e.Spec).Name != "":
		how = " by " + wire.Algorithm(e.Spec).Name
	}
	all := []string{fmt.Sprintf("%s put into %s%s.", text.Count(int(r.GetRows()), "point was", "points were"),
		text.Plural(int(r.GetK()), "cluster"), how)}
	if words := e.methodSentence(r.GetChoice().GetChosen()); words != "" {
		all = append(all, words)
	}
	if n := r.GetDroppedRows(); n > 0 {
		all = append(all,
			text.Count(int(n), "row could not be clustered and was", "rows could not be clustered and were")+
				" left out.")
	}
	if scaled := scaleSentences[r.GetScale()]; scaled != "" {
		all = append(all, scaled)
	}
	if g := r.GetNeighborGraph(); g != nil {
		all = append(all,
			fmt.Sprintf("The run clustered the graph of the %d nearest neighbors of every point, which has %s.",
				g.GetNeighbors(), text.Plural(int(g.GetEdges()), "edge")))
	}
	return all
}

// scaleSentences say how columns were scaled. Columns that were not have no sentence.
var scaleSentences = map[cleavev1.Scale]string{
	cleavev1.Scale_SCALE_ZSCORE: "Columns were scaled to mean 0 and variance 1, whatever their units.",
	cleavev1.Scale_SCALE_MINMAX: "Columns were scaled to the range from 0 to 1, whatever their units.",
	cleavev1.Scale_SCALE_ROBUST: "Columns were scaled to median 0 and quartiles 1 apart, whatever their units.",
}

// ended says how a job without labels ended.
func ended(r *cleavev1.Result) string {
	if r.GetStopReason() == cleavev1.StopReason_STOP_REASON_TIME_LIMIT {
		return "reached its time limit"
	}
	return "was canceled"
}

// method says why auto chose its method.
func (e *explainer) method() (all []string) {
	c := e.r.GetChoice()
	if c == nil {
		return nil
	}
	if c.GetReason() != "" {
		all = append(all, Sentence(c.GetReason()))
	}
	taken, next := compared(c)
	if next != nil && taken != nil {
		compared := "the next best is %q, with a held-out accuracy of %.2f (1: all right; 0: chance)."
		if next.GetAgreement() > taken.GetAgreement() {
			compared = "%q has the best held-out accuracy, %.2f (1: all right; 0: chance), but the advantage is too " +
				"small to be trusted."
		}
		all = append(all, fmt.Sprintf("Of %s that were tried, "+compared, text.Plural(len(c.GetTried()), "method"),
			MethodText(next.GetMethod()), next.GetAgreement()))
	}
	if e.signs.lowAccuracy {
		all = append(all,
			fmt.Sprintf("Even the chosen method has a held-out accuracy of only %.2f: the data says little about "+
				"these %ss, or many of the %ss are wrong.", taken.GetAgreement(), e.given, e.given))
	}
	return all
}

// scores compares the clusters with the true classes, if they were given. The limits of the adjusted Rand index are by
// judgment: nothing in the literature fixes them.
func (e *explainer) scores() []string {
	v := e.Run.GetEvaluation()
	if v == nil {
		return nil
	}
	judged := "are nearly the same as"
	switch {
	case v.GetAri() < 0.2:
		judged = "have little in common with"
	case v.GetAri() < 0.6:
		judged = "are somewhat like"
	case v.GetAri() < 0.9:
		judged = "are much like"
	}
	return []string{fmt.Sprintf("The clusters %s the true classes: the adjusted Rand index is %.2f (1: the same; 0: "+
		"chance), the normalized mutual information %.2f.", judged, v.GetAri(), v.GetNmi())}
}

func (e *explainer) warnings() []string {
	answer, _ := wire.SplitNotices(wire.WithoutSuspects(e.r, e.r.GetWarnings()))
	return Sentences(slices.DeleteFunc(answer, func(n *cleavev1.Notice) bool {
		return n.GetMessage() == e.r.GetKSelection().GetReason()
	})) // the paragraph "How many" has it already
}

func (e *explainer) reading() []string {
	_, table := wire.SplitNotices(e.r.GetWarnings())
	return Sentences(table)
}

// Sentences returns the messages of notices as sentences.
func Sentences(notices []*cleavev1.Notice) (all []string) {
	for _, n := range notices {
		if says := Sentence(n.GetMessage()); says != "" {
			all = append(all, says)
		}
	}
	return all
}

// Sentence adds a capital letter and a full stop to a message. An empty one stays empty.
func Sentence(message string) string {
	if message == "" {
		return ""
	}
	if first := message[0]; first >= 'a' && first <= 'z' {
		message = strings.ToUpper(message[:1]) + message[1:]
	}
	if !strings.HasSuffix(message, ".") {
		message += "."
	}
	return message
}

// howMany says why this number of clusters was proposed, if it was not given.
func (e *explainer) howMany() (all []string) {
	h := e.r.GetKSelection()
	if h == nil {
		return nil
	}
	among := "As the number of clusters"
	if r := e.Spec.GetKRange(); r != nil {
		among = fmt.Sprintf("Of %d to %d clusters", r.GetMin(), r.GetMax())
	}
	choice := "the best guess"
	switch h.GetConfidence() {
	case cleavev1.Confidence_CONFIDENCE_CLEAR:
		choice = "the clear choice"
	case cleavev1.Confidence_CONFIDENCE_LIKELY:
		choice = "the likely choice"
	}
	return append(all, Sentence(fmt.Sprintf("%s, %d is %s: %s", among, h.GetProposed(), choice, h.GetReason())))
}

// otherLabels names the files with the labels for the other numbers of clusters that the scores allow.
func (e *explainer) otherLabels() (files []string) {
	h := e.r.GetKSelection()
	for _, k := range h.GetPlausible() {
		if k != h.GetProposed() {
			files = append(files, fmt.Sprintf("labels-k%d.csv", k))
		}
	}
	return files
}

// hint is something to try under a condition.
type hint struct {
	when bool
	says string
}

// advice says what to try.
func (e *explainer) advice() (all []string) {
	hints := slices.Concat(hintsOnStop(e.r, e.Spec), e.hintsOnClusters(), e.hintsOnSupervision(), e.otherHints())
	for _, h := range hints {
		if h.when {
			all = append(all, h.says)
		}
	}
	if len(all) == 0 {
		all = append(all, "Nothing looks wrong.")
	}
	return all
}

// hintsOnStop returns what to try after a run that did not converge.
func hintsOnStop(r *cleavev1.Result, spec *cleavev1.JobSpec) []hint {
	stopped := r.GetStopReason()
	return []hint{
		{stopped == cleavev1.StopReason_STOP_REASON_MAX_ITERATIONS,
			fmt.Sprintf("Give it more iterations: --max-iterations %d.", max(2*r.GetIterations(), 200))},
		{stopped == cleavev1.StopReason_STOP_REASON_CYCLE,
			fmt.Sprintf("Use more restarts, so that one of them converges: --restarts %d.",
				max(20, 2*spec.GetRestarts()))},
		{stopped == cleavev1.StopReason_STOP_REASON_CANCELLED, "Let it run to its end."},
		{stopped == cleavev1.StopReason_STOP_REASON_TIME_LIMIT,
			"Give it more time (--timeout), or more workers: cleave plan says what it takes."},
		{stopped == cleavev1.StopReason_STOP_REASON_MAX_PRODUCTS, "Accept less accurate eigenvectors (--tolerance " +
			"1e-5), or join loose pieces of the graph (--components join)."},
	}
}

// hintsOnClusters returns what to try if clusters look wrong.
func (e *explainer) hintsOnClusters() []hint {
	r := e.r
	outliers := e.signs.huge >= 0 || e.warned("SINGLETON_CLUSTERS")
	dense := r.GetModel() != nil && r.GetModel().GetLandmarks() == nil || r.GetKernel() != nil
	empty := len(e.signs.empty)
	return []hint{
		{empty > 0, fmt.Sprintf("Ask for fewer clusters: --k %d.", len(r.GetClusterSizes())-empty)},
		{outliers, "Outliers may form clusters of their own: look at the points in the small clusters, and leave " +
			"them out if they are errors."},
		{outliers && dense && scaleSentences[r.GetScale()] == "", "A few columns with large units may dominate: " +
			"--scale robust gives all columns the same spread, even if some values are extreme."},
		{outliers && r.GetNeighborGraph() == nil,
			"Compare points by their nearest neighbors, which finds clusters of any shape: --knn 10."},
	}
}

// hintsOnSupervision returns what to try if constraints or seeds are violated, or contradict the data or each other.
func (e *explainer) hintsOnSupervision() []hint {
	many, auto := e.signs.manyViolated, e.r.GetChoice() != nil
	against, what := len(e.r.GetSuspects()) > 0, SuspectNoun(e.r.GetSuspects())
	return []hint{
		{len(e.signs.atFault) > 0,
			"Check the points that are in several violated constraints, and their constraints."},
		{many && !auto, "Leave out --algorithm: auto tries several methods, and chooses the one with the best " +
			"held-out accuracy."},
		{many && !auto, "If every constraint is certain, --algorithm cop-kmeans violates none, or says that they " +
			"contradict each other."},
		{many && auto, "If every constraint is certain, --enforce always makes them hold, except those that " +
			"contradict each other."},
		{against, fmt.Sprintf("Check the %s that the data contradicts, all listed in suspects.csv, and remove or "+
			"correct the wrong ones.", what)},
		{against && e.Spec.GetAuto().GetEnforce() != cleavev1.Enforcement_ENFORCEMENT_NEVER,
			fmt.Sprintf("Let the data overrule wrong %s that you cannot find: --enforce never.", what)},
		{e.warned("CONSTRAINTS_CONTRADICTED"),
			"Some constraints and seeds contradict each other, so they cannot all hold: remove the wrong ones."},
		{e.warned("CONSTRAINTS_UNSATISFIED"), "Check the cannot-links that no assignment satisfies, or ask for more " +
			"clusters: points that must all be apart need one cluster each."},
	}
}

// otherHints returns what to try if an answer is uncertain, and which files help.
func (e *explainer) otherHints() []hint {
	others, unsure := e.otherLabels(), e.signs.manyUnsure
	return []hint{
		{e.signs.lowAccuracy,
			fmt.Sprintf("Look for other measurements, or check some %ss by hand: no method explains them.", e.given)},
		{others != nil, fmt.Sprintf("Look at the other numbers of clusters that the scores allow: %s.",
			strings.Join(others, ", "))},
		{unsure, "Look at the points of low confidence in labels.csv: they lie between clusters, or there are fewer " +
			"clusters than you asked for."},
		{e.warned("FEW_CONSTRAINTS"), fmt.Sprintf("Add %ss: with more of them, auto compares methods.", e.given)},
		{!e.supervised() && e.r.GetChoice() != nil, "If you know some pairs that belong together or apart, give " +
			"them with --constraints, and auto compares methods on them."},
		{e.Run == nil && (len(e.r.GetSuspects()) > 0 || others != nil || unsure),
			"cleave result JOB --out DIR writes these files."},
	}
}

// warned reports whether a result has a notice.
func (e *explainer) warned(code string) bool {
	return slices.ContainsFunc(e.r.GetWarnings(), func(n *cleavev1.Notice) bool { return n.GetReason() == code })
}

// supervised reports whether anything was known about the points: constraints or seeds.
func (e *explainer) supervised() bool {
	if e.r.GetConstraints().GetTotal() > 0 {
		return true
	}
	for _, t := range e.r.GetChoice().GetTried() {
		if t.GetMustLinks()+t.GetCannotLinks() > 0 {
			return true
		}
	}
	s := e.Spec.GetSupervision()
	return s.GetConstraints() != nil || s.GetSeeds() != nil
}
