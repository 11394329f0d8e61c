package wire

import (
	"strconv"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/clustering/catalog"
	"github.com/cleave-project/cleave/internal/fault"
)

// checkRange refuses a spec that has both k and a range of them.
func checkRange(p *cleavev1.JobSpec) error {
	if p.GetKRange() != nil && p.GetK() > 0 {
		return fault.Invalid("BAD_K", "there are k, %d, and a range of k, %d..%d; give one of them", p.GetK(), p.GetKRange().GetMin(), p.GetKRange().GetMax()).OnField(clustering.FieldRange)
	}
	return nil
}

// requestRange lets the first of a range stand for k: what is refused for it is refused for the range.
func requestRange(p *cleavev1.JobSpec, r catalog.Request) {
	if p.GetKRange() != nil {
		r.Values["k"] = strconv.FormatUint(uint64(p.GetKRange().GetMin()), 10)
	}
}

// KBeganProto converts a number of clusters that is run.
func KBeganProto(k clustering.KBegan) *cleavev1.KBegan {
	return &cleavev1.KBegan{K: uint32(k.K), Min: uint32(k.Min), Max: uint32(k.Max)}
}

func howManyProto(h *clustering.HowMany) *cleavev1.HowMany {
	if h == nil {
		return nil
	}
	p := &cleavev1.HowMany{
		Proposed: uint32(h.Proposed), Reason: h.Reason,
		Sureness: cleavev1.Sureness(enumNumber(cleavev1.Sureness(0).Descriptor(), h.Sureness.String())),
	}
	for _, k := range h.Plausible {
		p.Plausible = append(p.Plausible, uint32(k))
	}
	for _, s := range h.Scores {
		p.Scores = append(p.Scores, &cleavev1.KScore{
			K: uint32(s.K), Objective: s.Objective, Space: wayProto(clustering.Way{Space: s.Space}).GetSpace(),
			Agreement: s.Agreement, Stability: s.Stability, Silhouette: s.Silhouette, Modularity: s.Modularity, Eigengap: s.Eigengap,
		})
	}
	return p
}
