package wire

import (
	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/clustering"
)

// suspectsProto are the seeds and constraints that the data speak against.
func suspectsProto(suspects []clustering.Suspect) []*cleavev1.Suspect {
	var all []*cleavev1.Suspect
	for _, s := range suspects {
		p := &cleavev1.Suspect{Row: uint32(s.Row), MustLink: s.Must, Strength: s.Strength}
		if s.Other >= 0 {
			other := uint32(s.Other)
			p.Other = &other
		} else {
			label := uint32(s.Label)
			p.Label = &label
		}
		all = append(all, p)
	}
	return all
}
