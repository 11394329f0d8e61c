// Package explain says in sentences what a job found and why: how it came to its answer, whether it converged, which
// constraints it violates, which clusters look wrong, and what to try. It only reads what a result has, and touches nothing.
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

// Facts are what is known of a job that has an answer.
type Facts struct {
	Result      *cleavev1.Result
	Spec        *cleavev1.JobSpec       // nil: unknown
	Labels      []int32                 // of the points; nil: unknown
	Constraints []constraint.Constraint // nil: unknown, or there are none
	Unknown     bool                    // there are some, and they could not be found again
	IDs         []string                // names of the points; nil: they go by their numbers
	Classes     []string                // names of the clusters, "" for none; nil: none has one
	Confidence  []float64               // of the points; nil: unknown
}

// Paragraph is sentences on one topic.
type Paragraph struct {
	Topic     string
	Sentences []string
}

// Answer explains an answer. Topics that there is nothing to say about are left out.
func Answer(f Facts) []Paragraph {
	e := &explainer{Facts: f, r: f.Result}
	var all []Paragraph
	for _, p := range []Paragraph{
		{"What was found", e.given(e.found())},
		{"How many", e.howMany()},
		{"Why this way", e.given(e.way())},
		{"How it came there", e.course()},
		{"Constraints", e.constraints()},
		{"What the data speak against", e.suspects()},
		{"Clusters", e.clusters()},
		{"Against the truth", e.scores()},
		{"Warnings", e.warnings()},
		{"How the data were read", e.reading()},
		{"What to try", e.advice()},
	} {
		if len(p.Sentences) > 0 {
			all = append(all, p)
		}
	}
	return all
}

// given calls what was known of the points as the user did: seeds, where there were no constraints.
func (e *explainer) given(sentences []string) []string {
	if s := e.Spec.GetSupervision(); s.GetSeeds() != nil && s.GetConstraints() == nil {
		for at := range sentences {
			sentences[at] = strings.ReplaceAll(sentences[at], "constraint", "seed")
		}
	}
	return sentences
}

// explainer has the facts, and what was suspicious on the way, which advice is about.
type explainer struct {
	Facts
	r          *cleavev1.Result
	suspicions []suspicion
}

// suspicion is something about an answer that may be wrong.
type suspicion int

const (
	unfinished suspicion = iota + 1
	cutShort
	cycled
	eigenvectorsMissing
	emptyClusters
	singlePoints
	oneHuge
	manyViolated
	pointsAtFault
	waysAgreeLittle
	fewConstraints
	otherNumbers
	unsurePoints
	againstData
)

func (e *explainer) suspect(s suspicion) { e.suspicions = append(e.suspicions, s) }

func (e *explainer) found() []string {
	r := e.r
	if len(r.GetClusterSizes()) == 0 {
		return []string{fmt.Sprintf("The job %s before it had labels.", ended(r))}
	}
	how := ""
	switch {
	case r.GetChoice() != nil:
		how = fmt.Sprintf(" by %s, a way that auto chose", quotedWay(r.GetChoice().GetChosen()))
	case e.Spec != nil && wire.Algorithm(e.Spec).Name != "":
		how = " by " + wire.Algorithm(e.Spec).Name
	}
	all := []string{fmt.Sprintf("%s were put into %s%s.", text.Plural(int(r.GetRows()), "point"), text.Plural(int(r.GetK()), "cluster"), how)}
	if words := e.wayWords(r.GetChoice().GetChosen()); words != "" {
		all = append(all, sentence(words))
	}
	if n := r.GetDroppedRows(); n > 0 {
		all = append(all, fmt.Sprintf("%s that cannot be clustered had been left out.", text.Plural(int(n), "row")))
	}
	if scale := r.GetScale(); r.Scale != nil {
		all = append(all, map[cleavev1.Scale]string{
			cleavev1.Scale_SCALE_ZSCORE: "Columns were compared with mean 0 and variance 1, whatever they are measured in.",
			cleavev1.Scale_SCALE_MINMAX: "Columns were compared from 0 to 1, whatever they are measured in.",
			cleavev1.Scale_SCALE_ROBUST: "Columns were compared with median 0 and quartiles 1 apart, whatever they are measured in.",
		}[scale])
	}
	if g := r.GetNeighborGraph(); g != nil {
		all = append(all, fmt.Sprintf("What was clustered is the graph of the %d nearest neighbors of every point, with %s.", g.GetNeighbors(), text.Plural(int(g.GetEdges()), "edge")))
	}
	return all
}

// ended is how a job without labels ended.
func ended(r *cleavev1.Result) string {
	if r.GetStopReason() == cleavev1.StopReason_STOP_REASON_TIME_LIMIT {
		return "came to its time limit"
	}
	return "was cancelled"
}

const (
	// littleAgreement is the agreement with held-out constraints below which an answer says little.
	littleAgreement = 0.5
	// enough is how many constraints auto needs to compare ways.
	enough = 50
)

// way says why auto took its way.
func (e *explainer) way() (all []string) {
	c := e.r.GetChoice()
	if c == nil {
		return nil
	}
	if c.GetReason() != "" {
		all = append(all, ReasonText(c.GetReason()))
	}
	var taken, next *cleavev1.MethodScore
	for _, t := range c.GetTried() {
		same := t.GetMethod().GetSpace() == c.GetChosen().GetSpace() && t.GetMethod().GetConstraintUse() == c.GetChosen().GetConstraintUse()
		switch {
		case same:
			taken = t
		case next == nil || t.GetAgreement() > next.GetAgreement():
			next = t
		}
	}
	if next != nil && taken != nil {
		compared := "the next best is %s, which agrees by %.2f (1: with all held-out constraints; 0: as by chance)."
		if next.GetAgreement() > taken.GetAgreement() {
			compared = "%s agrees most, by %.2f (1: with all held-out constraints; 0: as by chance), which is too little more to be trusted."
		}
		all = append(all, fmt.Sprintf("Of %s that were tried, "+compared, text.Plural(len(c.GetTried()), "way"), quotedWay(next.GetMethod()), next.GetAgreement()))
	}
	if taken != nil && taken.GetAgreement() < littleAgreement {
		all = append(all, fmt.Sprintf("Even the way that was taken agrees by %.2f only: the data say little about these constraints, or many of the constraints are wrong.", taken.GetAgreement()))
		e.suspect(waysAgreeLittle)
	}
	if total := int(e.r.GetConstraints().GetTotal()); total > 0 && total < enough {
		all = append(all, fmt.Sprintf("There are %s; from %d on, ways are compared by constraints that are held out.", text.Plural(total, "constraint"), enough))
		e.suspect(fewConstraints)
	}
	return all
}

func (e *explainer) scores() []string {
	v := e.r.GetEvaluation()
	if v == nil {
		return nil
	}
	judged := "as good as equal to"
	switch {
	case v.GetAri() < 0.2:
		judged = "hardly like"
	case v.GetAri() < 0.6:
		judged = "somewhat like"
	case v.GetAri() < 0.9:
		judged = "much like"
	}
	return []string{fmt.Sprintf("The clusters are %s the true ones: the adjusted Rand index is %.2f (1: equal; 0: as by chance), the normalized mutual information %.2f.", judged, v.GetAri(), v.GetNmi())}
}

func (e *explainer) warnings() []string {
	answer, _ := wire.SplitNotices(wire.WithoutSuspects(e.r, e.r.GetWarnings()))
	return sentences(slices.DeleteFunc(answer, func(n *cleavev1.Notice) bool { return n.GetMessage() == e.r.GetKSelection().GetReason() })) // which was said
}

func (e *explainer) reading() []string {
	_, table := wire.SplitNotices(e.r.GetWarnings())
	return sentences(table)
}

func sentences(notices []*cleavev1.Notice) (all []string) {
	for _, n := range notices {
		all = append(all, sentence(n.GetMessage()))
	}
	return all
}

// sentence begins with a capital letter and ends with a full stop. Names of flags and columns stay as they are.
func sentence(says string) string {
	if says == "" {
		return ""
	}
	if first := says[0]; first >= 'a' && first <= 'z' {
		says = strings.ToUpper(says[:1]) + says[1:]
	}
	if !strings.HasSuffix(says, ".") {
		says += "."
	}
	return says
}
