package inference

import (
	"testing"
)

var engines = []Engine{ICM, BP, LP, Exact}

// Every engine on hundreds of tiny problems, against the least energy of all labellings.
func TestEnginesAgainstBruteForce(t *testing.T) {
	rng := newRand(1)
	const problems = 600
	optimal, loopy, fallbacks := map[Engine]int{}, 0, 0
	for range problems {
		k := 1 + rng.IntN(4)
		points := 1 + rng.IntN(7)
		p := randomProblem(rng, points, k, rng.IntN(3*points))
		current := randomLabels(rng, p)
		least := bruteForce(p)
		reduced := solve(t, BP, p, current, 1, Options{})
		isLoopy := reduced.Used.Reduced+reduced.Used.Alone < reduced.Used.total()
		if isLoopy {
			loopy++
		}
		for _, engine := range engines {
			r := solve(t, engine, p, current, 7, Options{})
			if !near(r.Energy, p.Energy(r.Labels)) {
				t.Fatalf("%v: energy %g, but the labels have %g", engine, r.Energy, p.Energy(r.Labels))
			}
			if r.Energy < least-1e-12 {
				t.Fatalf("%v: energy %g is below the least %g", engine, r.Energy, least)
			}
			if complete(current) && r.Energy > p.Energy(current) {
				t.Fatalf("%v: energy %g, above %g of the current labels", engine, r.Energy, p.Energy(current))
			}
			if r.Exact && !near(r.Energy, least) {
				t.Fatalf("%v: energy %.17g is said to be exact, the least is %.17g\n%+v", engine, r.Energy, least, p)
			}
			if engine == Exact && (!r.Exact || len(r.Fallbacks) > 0) {
				t.Fatalf("exact gave up on %d points: %+v", points, r)
			}
			if engine == LP {
				fallbacks += len(r.Fallbacks)
				if r.LPValue > least+1e-7*(1+abs(least)) {
					t.Fatalf("the LP's value %.12g is above the least energy %.12g", r.LPValue, least)
				}
			}
			if isLoopy && near(r.Energy, least) {
				optimal[engine]++
			}
		}
	}
	if fallbacks > 0 {
		t.Errorf("%d relaxations fell back", fallbacks)
	}
	for _, engine := range engines {
		t.Logf("%v finds the optimum of %.1f%% of %d loopy problems", engine, 100*float64(optimal[engine])/float64(loopy), loopy)
	}
}
