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
	first, err := Make(parts[0], workers)
	if err != nil {
		return nil, err
	}
	searching := parts[0].Neighbors != nil
	var beside []string
	for _, part := range parts[1:] {
		plan, err := Make(part, workers)
		if err != nil {
			return nil, err
		}
		first.Seconds += plan.Seconds
		first.Products += plan.Products
		first.CoordinatorBytes += plan.CoordinatorBytes
		if part.Neighbors != nil && searching {
			continue // searches end before the next begins
		}
		searching = searching || part.Neighbors != nil
		first.addShares(plan.Shares)
		beside = append(beside, fmt.Sprintf("%s for %s", text.Bytes(plan.Bytes), part.kind().partName()))
	}
	if len(beside) > 0 {
		first.Why += "; beside them, while there is room, " + strings.Join(beside, " and ")
	}
	return first, nil
}

// CoordinatorBytes returns the coordinator's memory for all parts of a job.
func CoordinatorBytes(parts []Workload) int64 {
	bytes := int64(0)
	for _, part := range parts {
		bytes = addSaturated(bytes, part.CoordinatorBytes())
	}
	return bytes
}

// addShares adds what another part takes, up to the memory of each worker.
func (p *Plan) addShares(shares []Share) {
	for _, more := range shares {
		at := slices.IndexFunc(p.Shares, func(s Share) bool { return s.Worker == more.Worker })
		if at < 0 {
			at = len(p.Shares)
			p.Shares = append(p.Shares, Share{Worker: more.Worker})
		}
		before := p.Shares[at].Bytes
		p.Shares[at].Bytes = max(before, min(addSaturated(before, more.Bytes), more.Free))
		p.Bytes += p.Shares[at].Bytes - before
	}
}
