package inference

import "testing"

// midSized has 300 points, 10 labels and 500 pairs. As a linear program it has 3,000 shares and 5,000 violations, and
// its optimum is fractional.
func midSized() (*terms, []int32) {
	rng := newRand(5)
	const points, k, pairs = 300, 10, 500
	p := &terms{k: k, unary: make([]float64, points*k)}
	for i := range p.unary {
		p.unary[i] = rng.Float64()
	}
	for range pairs {
		i := int32(rng.IntN(points))
		j := int32(rng.IntN(points))
		if i != j {
			p.pairs = append(p.pairs, Pair{i, j, rng.IntN(2) == 0, rng.Float64()})
		}
	}
	current := make([]int32, points)
	for i := range current {
		current[i] = int32(rng.IntN(k))
	}
	return p, current
}

func BenchmarkEngines(b *testing.B) {
	p, current := midSized()
	for _, engine := range []Engine{ICM, BP, LP} {
		b.Run(engine.String(), func(b *testing.B) {
			energy := 0.0
			for b.Loop() {
				energy = solve(b, engine, p, current, 3).Energy
			}
			b.ReportMetric(energy, "energy")
		})
	}
}
