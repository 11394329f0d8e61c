package wire

import (
	"slices"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/clustering/catalog"
)

// LabelUse is what the known classes of the rows of a table are used for.
type LabelUse string

// The uses.
const (
	LabelsAuto        LabelUse = "auto"        // see package labeluse
	LabelsSeeds       LabelUse = "seeds"       // to start from and to keep
	LabelsConstraints LabelUse = "constraints" // pairs to respect
	LabelsTruth       LabelUse = "truth"       // not part of the job
)

// LabelUses returns the words of all uses.
func LabelUses() []string {
	return []string{string(LabelsAuto), string(LabelsSeeds), string(LabelsConstraints), string(LabelsTruth)}
}

// UseLabelsAs sets what the classes in the table of a job are used for.
func UseLabelsAs(p *cleavev1.JobSpec, use LabelUse) {
	if p.Supervision == nil {
		p.Supervision = &cleavev1.Supervision{}
	}
	p.Supervision.LabelAs = enumValue[cleavev1.LabelUse](string(use))
}

// LabelUseOf returns what a spec wants classes to be used for.
func LabelUseOf(p *cleavev1.JobSpec) LabelUse {
	s := p.GetSupervision()
	use := LabelUse(EnumWord(s.GetLabelAs()))
	switch {
	case p.GetTable().GetLabelColumn() == "":
		return LabelsTruth
	case use != "":
		return use
	case s.GetSeeds() != nil || s.GetConstraints() != nil: // the classes may be in them
		return LabelsTruth
	}
	return LabelsAuto
}

// ExpectLabels adds what classes will become to r.Values, as far as that is known before they are read.
func ExpectLabels(r catalog.Request, use LabelUse) {
	a, known := catalog.FindAlgorithm(r.Algorithm)
	switch {
	case use == LabelsConstraints, use == LabelsSeeds && known && !a.Takes("seeds") && a.Takes("constraints"):
		r.Values["constraints"] = "given"
	case use == LabelsSeeds, use == LabelsAuto && slices.Contains(a.Needs, "seeds"):
		r.Values["seeds"] = "given"
	}
}
