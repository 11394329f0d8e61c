package planning

import (
	"fmt"
	"slices"
	"strings"

	"github.com/cleave-project/cleave/internal/text"
)

// MakeAll plans a job of several parts, which work one after the other. A part keeps what it has on the workers while
// there is room, and otherwise gives it up for the next one, so each must fit on its own. The plan is that of the
// first part, with the memory and time of all.
func MakeAll(parts []Workload, workers []Worker) (*Plan, error) {
	plans, search := make([]*Plan, len(parts)), -1
	for at, part := range parts {
		plan, err := Make(part, workers)
		if err != nil {
			return nil, err
		}
		switch plans[at] = plan; {
		case part.Neighbors == nil:
		case search < 0:
			search = at
		default: // searches end before the next begins, so the first stands for all
			plans[search].addShares(plan.Shares, larger)
		}
	}
	whole, others := plans[0], []string(nil)
	for at := 1; at < len(parts); at++ {
		whole.Seconds += plans[at].Seconds
		whole.Products += plans[at].Products
		if parts[at].Neighbors == nil || at == search {
			whole.addShares(plans[at].Shares, addSaturated)
			others = append(others, fmt.Sprintf("%s for %s", text.Bytes(plans[at].Bytes), parts[at].kind().partName()))
		}
	}
	whole.CoordinatorBytes = CoordinatorBytes(parts)
	if len(others) > 0 {
		whole.Why += "; in addition, if memory allows: " + strings.Join(others, " and ")
	}
	return whole, nil
}

// CoordinatorBytes returns the coordinator's memory for all parts of a job.
func CoordinatorBytes(parts []Workload) int64 {
	bytes := int64(0)
	for _, part := range parts {
		bytes = addSaturated(bytes, part.CoordinatorBytes())
	}
	return bytes
}

func larger(a, b int64) int64 { return max(a, b) }

// addShares adds what another part of the job takes on the same workers, up to the memory of each. combine returns what
// two parts take together.
func (p *Plan) addShares(shares []Share, combine func(a, b int64) int64) {
	for _, more := range shares {
		at := slices.IndexFunc(p.Shares, func(s Share) bool { return s.at == more.at })
		if at < 0 {
			at = len(p.Shares)
			p.Shares = append(p.Shares, Share{Worker: more.Worker, at: more.at})
		}
		before := p.Shares[at].Bytes
		p.Shares[at].Bytes = max(before, min(combine(before, more.Bytes), more.Free))
		p.Bytes += p.Shares[at].Bytes - before
	}
}
