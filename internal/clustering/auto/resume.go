package auto

import (
	"context"
	"fmt"

	"github.com/cleave-project/cleave/internal/clustering/heldout"
	"github.com/cleave-project/cleave/internal/snapshot"
)

// remembered answers a task, once. Of a fold only labels are asked for, so that these are all that is kept of it; the answer
// to all constraints is made again of its parts.
func (r *run) remembered(ctx context.Context, t task, compute func(ctx context.Context) (*answer, error)) (*answer, error) {
	name := fmt.Sprint(t)
	if t.fold == heldout.None {
		return compute(snapshot.Within(ctx, name))
	}
	labels, err := snapshot.Once(ctx, name, (*snapshot.Writer).Int32s,
		func(reader *snapshot.Reader) []int32 { return reader.Labels(r.n, r.spec.K) },
		func(ctx context.Context) ([]int32, error) {
			found, err := compute(ctx)
			if err != nil {
				return nil, err
			}
			return found.labels, nil
		})
	if err != nil {
		return nil, err
	}
	return &answer{labels: labels}, nil
}
