package explain

import (
	"fmt"
	"strings"

	"github.com/cleave-project/cleave/internal/text"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
)

// howMany says why this number of clusters was proposed, if it was not given.
func (e *explainer) howMany() (all []string) {
	h := e.r.GetKSelection()
	if h == nil {
		return nil
	}
	lead := fmt.Sprintf("%s were proposed", text.Plural(int(h.GetProposed()), "cluster"))
	if r := e.Spec.GetKRange(); r != nil {
		lead = fmt.Sprintf("Of %d to %d clusters, %d were proposed", r.GetMin(), r.GetMax(), h.GetProposed())
	}
	lead += map[cleavev1.Confidence]string{
		cleavev1.Confidence_CONFIDENCE_CLEAR: ", which is clear", cleavev1.Confidence_CONFIDENCE_LIKELY: ", which is likely", cleavev1.Confidence_CONFIDENCE_UNSURE: ", which is uncertain",
	}[h.GetConfidence()]
	if others := e.plausible(); len(others) > 0 {
		e.suspect(otherNumbers)
	}
	return append(all, Sentence(lead+": "+h.GetReason()))
}

// plausible returns the other numbers of clusters that the scores allow.
func (e *explainer) plausible() (others []uint32) {
	h := e.r.GetKSelection()
	for _, k := range h.GetPlausible() {
		if k != h.GetProposed() {
			others = append(others, k)
		}
	}
	return others
}

// otherLabels names the files with the labels for those numbers.
func (e *explainer) otherLabels() string {
	var files []string
	for _, k := range e.plausible() {
		files = append(files, fmt.Sprintf("labels-k%d.csv", k))
	}
	return strings.Join(files, ", ")
}
