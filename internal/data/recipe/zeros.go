package recipe

import (
	"slices"

	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/fault"
)

// DropZeros leaves out the points that are all zeros, which have no direction, and says how many there were.
func (p *Prepared) DropZeros() (dropped int, err error) {
	zero := func(point int) bool {
		return !slices.ContainsFunc(p.Points.Row(point), func(v float64) bool { return v != 0 })
	}
	for point := range p.Points.N {
		if zero(point) {
			dropped++
		}
	}
	if dropped == 0 {
		return 0, nil
	}
	if dropped == p.Points.N {
		return 0, fault.Invalid("EMPTY_DATA", "no row is left; all that have no missing values are zeros")
	}
	kept, values := make([]int32, 0, p.Points.N-dropped), make([]float64, 0, (p.Points.N-dropped)*p.Points.D)
	for point := range p.Points.N {
		if zero(point) {
			continue
		}
		row := int32(point)
		if p.Kept != nil {
			row = p.Kept[point]
		}
		kept, values = append(kept, row), append(values, p.Points.Row(point)...)
	}
	left, err := dataset.NewPoints(len(kept), p.Points.D, values)
	if err != nil {
		return 0, err
	}
	left.Words = p.Points.Words
	p.Kept, p.Points = kept, left
	return dropped, nil
}
