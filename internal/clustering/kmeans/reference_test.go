package kmeans

import (
	"math"
	"slices"
	"testing"

	"github.com/cleave-project/cleave/internal/data/constraint"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/numeric/metric"
)

// evaluator computes J naively from the raw data, by the formulas of the papers.
type evaluator struct {
	rows        [][]float64 // as the distortion prepares them
	distortion  metric.Distortion
	penalty     metric.PenaltyKind
	constraints []constraint.Pair
}

func newEvaluator(t testing.TB, data dataset.Dataset, p *Problem) *evaluator {
	t.Helper()
	e := &evaluator{distortion: p.options.Distortion, penalty: p.options.Penalty}
	for i := range data.Rows() {
		var row []float64
		switch data := data.(type) {
		case *dataset.Points:
			row = append(row, data.Row(i)...)
		case *dataset.SparsePoints:
			row = make([]float64, data.D)
			columns, values := data.Row(i)
			for at, f := range columns {
				row[f] = values[at]
			}
		}
		switch e.distortion {
		case metric.Cosine:
			length := 0.0
			for _, v := range row {
				length += v * v
			}
			for f := range row {
				row[f] /= math.Sqrt(length)
			}
		case metric.KL:
			sum := 0.0
			for f := range row {
				row[f] += 1e-12
				sum += row[f]
			}
			for f := range row {
				row[f] /= sum
			}
		}
		e.rows = append(e.rows, row)
	}
	if p.options.Algorithm.constrained() {
		e.constraints = p.Constraints.Pairs()
	}
	return e
}

func (e *evaluator) distance(x, y []float64, a *metric.Metric) float64 {
	d, sum := len(x), 0.0
	switch e.distortion {
	case metric.SquaredEuclidean:
		for i := range d {
			for j := range d {
				w := 0.0
				switch {
				case a.Form() == metric.Full:
					w = a.Values()[i*d+j]
				case i == j && a.Form() == metric.Diagonal:
					w = a.Values()[i]
				case i == j:
					w = 1
				}
				sum += w * (x[i] - y[i]) * (x[j] - y[j])
			}
		}
	case metric.Cosine:
		sum = 1
		for f := range x {
			sum -= x[f] * y[f]
		}
	default:
		for f := range x {
			if x[f] > 0 {
				sum += x[f] * math.Log(x[f]/math.Max(y[f], 1e-300))
			}
			if e.distortion == metric.IDivergence {
				sum += y[f] - x[f]
			}
		}
	}
	return sum
}

func (e *evaluator) phi(x, y []float64, a *metric.Metric) float64 {
	if e.distortion == metric.IDivergence {
		x = slices.Clone(x)
		y = slices.Clone(y)
		for f := range x {
			x[f], y[f] = x[f]+1e-12, y[f]+1e-12
		}
	}
	if e.distortion == metric.KL || e.distortion == metric.IDivergence {
		return (e.distance(x, y, a) + e.distance(y, x, a)) / 2
	}
	return e.distance(x, y, a)
}

// objective is J with centroids in the data's coordinates.
func (e *evaluator) objective(labels []int32, centroids []float64, a *metric.Metric) float64 {
	d := len(e.rows[0])
	total := 0.0
	for i, c := range labels {
		total += e.distance(e.rows[i], centroids[int(c)*d:(int(c)+1)*d], a)
	}
	total -= a.LogDet()
	largestMust, largest, musts := 0.0, 0.0, 0
	for _, pair := range e.constraints {
		phi := e.phi(e.rows[pair.I], e.rows[pair.J], a)
		largest = max(largest, phi)
		if pair.Kind == constraint.MustLink {
			musts++
			largestMust = max(largestMust, phi)
		}
	}
	limit := 0.0
	switch {
	case e.penalty == metric.Basu2003 && musts >= 2:
		limit = largestMust
	case e.penalty == metric.Basu2003, e.distortion == metric.KL, e.distortion == metric.IDivergence:
		limit = largest
	case e.distortion == metric.Cosine:
		limit = 2
	default:
		limit = e.phiMax(a)
	}
	for _, pair := range e.constraints {
		if !pair.Violates(labels) {
			continue
		}
		phi := e.phi(e.rows[pair.I], e.rows[pair.J], a)
		must := pair.Kind == constraint.MustLink
		switch {
		case e.penalty == metric.Potts:
			total += pair.Weight
		case e.penalty == metric.Basu2003 && must:
			total += pair.Weight * max(0, limit-phi)
		case e.penalty == metric.Basu2003:
			total += pair.Weight * min(phi, limit)
		case must:
			total += pair.Weight * phi
		default:
			total += pair.Weight * (limit - phi)
		}
	}
	return total
}

func (e *evaluator) phiMax(a *metric.Metric) float64 {
	d := len(e.rows[0])
	ranges := make([]float64, d)
	for f := range d {
		least := math.Inf(1)
		most := math.Inf(-1)
		for _, row := range e.rows {
			least, most = min(least, row[f]), max(most, row[f])
		}
		ranges[f] = most - least
	}
	sum := 0.0
	for i := range d {
		for j := range d {
			switch {
			case a.Form() == metric.Full:
				sum += math.Abs(a.Values()[i*d+j]) * ranges[i] * ranges[j]
			case i == j && a.Form() == metric.Diagonal:
				sum += a.Values()[i] * ranges[i] * ranges[i]
			case i == j:
				sum += ranges[i] * ranges[i]
			}
		}
	}
	return sum
}
