package client

import (
	"context"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
)

// fetchKLabels fetches the labels for each k of a range; nil: there is none.
func (c *Client) fetchKLabels(ctx context.Context, jobID string, h *cleavev1.KSelection) (map[int][]int32, error) {
	if h == nil {
		return nil, nil //nolint:nilnil // of a job of one k
	}
	all := map[int][]int32{}
	for _, s := range h.GetScores() {
		labels, err := receive(ctx, c, c.Jobs.GetLabels, &cleavev1.GetLabelsRequest{JobId: jobID, K: s.GetK()}, joinLabels)
		if err != nil {
			return nil, err
		}
		all[int(s.GetK())] = labels
	}
	return all, nil
}
