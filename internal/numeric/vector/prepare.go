package vector

import (
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/invalid"
	"github.com/cleave-project/cleave/internal/numeric/metric"
)

// preparer applies the preparation to rows, before they are rounded to their grids. Zeros do not affect the result,
// except by centering, so dense and sparse rows get the same bits. Exactly one of dense and sparse is set.
type preparer struct {
	spec   *RowSpec
	dense  *dataset.Points
	sparse *dataset.SparsePoints
	first  int // the number of the first row
	buffer []float64
}

// newPreparer returns a preparer of data. The first row has the given number.
func newPreparer(spec *RowSpec, data dataset.Dataset, first int) *preparer {
	p := &preparer{spec: spec, first: first}
	switch data := data.(type) {
	case *dataset.Points:
		p.dense = data
	case *dataset.SparsePoints:
		p.sparse = data
	}
	return p
}

// prepare returns row i. It is valid until the next call.
func (p *preparer) prepare(i int) (row, error) {
	var r row
	if p.dense != nil {
		r.values = p.dense.Row(i - p.first)
	} else {
		r.columns, r.values = p.sparse.Row(i - p.first)
	}
	p.buffer = append(p.buffer[:0], r.values...)
	r.values = p.buffer
	for at, v := range r.values {
		switch {
		case !(max(v, -v) <= maxValue):
			return row{}, invalid.InCell(i, r.column(at), invalid.ValueOutOfRange, "value", v, "limit", maxValue)
		case v < 0 && p.spec.Preparation >= Probability:
			return row{}, invalid.InCell(i, r.column(at), invalid.NegativeForDivergence, "value", v)
		}
	}
	for f, mean := range p.spec.Mean {
		r.values[f] -= mean
	}
	switch p.spec.Preparation {
	case Unit:
		if err := metric.Cosine.Prepare(i, r.values); err != nil {
			return row{}, err
		}
	case Probability:
		total := 0.0
		for _, v := range r.values {
			total += v
		}
		total += float64(float64(p.spec.Columns) * metric.Smoothing)
		for at := range r.values {
			r.values[at] /= total
		}
		r.background = metric.Smoothing / total
	}
	return r, nil
}
