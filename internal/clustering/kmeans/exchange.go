package kmeans

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/numeric/metric"
	"github.com/cleave-project/cleave/internal/snapshot"
)

// Exchanges of a centroid and a point (Lattanzi and Sohler 2019). k-means can get stuck with two centroids in one
// cluster and one centroid for two clusters. A point drawn with a probability proportional to its distance from its
// centroid is likely in one of the two. It replaces the centroid whose removal costs least, if that lowers the sum of
// distances. A point is a poor centroid, though, so if no exchange lowers the sum, the one that raises it least is
// made, and k-means shows whether it was a good one.

const (
	triesPerCluster = 5   // points drawn per round and cluster
	maxTries        = 200 // maximum number of points drawn per round
	maxRounds       = 30  // rounds of exchanges, each followed by k-means
	maxFailures     = 5   // consecutive rounds without a gain
)

// best holds the best centroids after some rounds of exchanges.
type best struct {
	centroids       []float64
	objective       float64
	round, failures int
}

// BestStart runs all starts of a problem, improves the best by exchanges, and returns its centroids in the coordinates
// of prepared rows. rows holds all prepared rows of the problem; if it is nil, nothing is exchanged. Every round is
// part of the context's snapshot.
func BestStart(ctx context.Context, p *Problem, x Executor, rows []float64) ([]float64, error) {
	source := p.spec.Source(clustering.StreamExchange)
	piece := snapshot.Open(ctx, "exchanges")
	found := p.readBest(piece.State(), source)
	if found == nil {
		first, err := Run(ctx, p, x, clustering.NopObserver{})
		if err != nil {
			return nil, err
		}
		found = &best{centroids: centered(first.Model.Centroids, p.Vectors.Mean), objective: first.Objective}
	}
	rng := rand.New(source)
	for ; rows != nil && found.round < maxRounds && found.failures < maxFailures && ctx.Err() == nil; found.round++ {
		piece.Keep(8*len(found.centroids), func(w *snapshot.Writer) { found.save(w, source) })
		exchanged, err := exchange(ctx, rows, p.d, found.centroids, rng)
		if err != nil {
			return nil, err
		}
		other, err := Run(snapshot.Without(ctx), p.BeginAt(exchanged), x, clustering.NopObserver{})
		if err != nil {
			return nil, err
		}
		found.failures++
		if other.Objective < found.objective {
			found.centroids = centered(other.Model.Centroids, p.Vectors.Mean)
			found.objective = other.Objective
			found.failures = 0
		}
	}
	return found.centroids, ctx.Err()
}

func (b *best) save(w *snapshot.Writer, source *rand.PCG) {
	w.Floats(b.centroids)
	w.Float(b.objective)
	w.Int(b.round)
	w.Int(b.failures)
	state, _ := source.MarshalBinary() // never fails
	w.Raw(state)
}

// readBest reads what save wrote. It returns nil if r is nil or damaged.
func (p *Problem) readBest(r *snapshot.Reader, source *rand.PCG) *best {
	if r == nil {
		return nil
	}
	b := &best{r.Floats(), r.Float(), r.Int(), r.Int()}
	state := r.Raw()
	r.Check(len(b.centroids) == p.spec.K*p.d && b.round >= 0 && b.failures >= 0)
	if r.End() != nil || source.UnmarshalBinary(state) != nil {
		return nil
	}
	return b
}

// exchanger holds the distances of rows to their two nearest centroids.
type exchanger struct {
	rows, centroids []float64
	width, k        int
	nearest, next   []int32   // per row
	first, second   []float64 // squared distances to the nearest centroid and to the next
}

// exchange tries some points and returns the centroids afterward.
func exchange(ctx context.Context, rows []float64, width int, centroids []float64, rng *rand.Rand) ([]float64, error) {
	x, err := newExchanger(ctx, rows, width, centroids)
	if err != nil || x.k < 2 {
		return centroids, err
	}
	n := len(rows) / width
	exchanged := false
	cheapest := trial{rise: math.Inf(1)}
	distances := make([]float64, n)
	losses := make([]float64, x.k)
	for range min(triesPerCluster*x.k, maxTries) {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		point := clustering.Draw(rng.Float64(), x.first)
		if point < 0 {
			break // every row is a centroid
		}
		for i := range n {
			distances[i] = metric.SquaredDistance(x.row(i), x.row(point))
		}
		t := x.bestReplacement(distances, losses)
		t.point = point
		if t.rise < cheapest.rise {
			cheapest = t
		}
		if t.rise < 0 {
			copy(x.centroids[t.centroid*width:], x.row(point))
			x.update(int32(t.centroid), distances)
			exchanged = true
		}
	}
	if !exchanged && !math.IsInf(cheapest.rise, 1) {
		copy(x.centroids[cheapest.centroid*width:], x.row(cheapest.point))
	}
	return x.centroids, nil
}

// newExchanger measures all rows. It looks at the context now and then: with many clusters that takes minutes.
func newExchanger(ctx context.Context, rows []float64, width int, centroids []float64) (*exchanger, error) {
	n := len(rows) / width
	x := &exchanger{
		rows: rows, centroids: slices.Clone(centroids), width: width, k: len(centroids) / width,
		nearest: make([]int32, n), next: make([]int32, n), first: make([]float64, n), second: make([]float64, n),
	}
	for i := range n {
		if i%1024 == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		x.measure(i)
	}
	return x, nil
}

// trial is an exchange and how much it raises the sum of distances.
type trial struct {
	centroid, point int
	rise            float64
}

func (x *exchanger) row(i int) []float64 { return x.rows[i*x.width : (i+1)*x.width] }

// measure finds the two nearest centroids of a row.
func (x *exchanger) measure(i int) {
	x.first[i], x.second[i] = math.Inf(1), math.Inf(1)
	for c := range x.k {
		d := metric.SquaredDistance(x.row(i), x.centroids[c*x.width:(c+1)*x.width])
		switch {
		case d < x.first[i]:
			x.next[i], x.second[i] = x.nearest[i], x.first[i]
			x.nearest[i], x.first[i] = int32(c), d
		case d < x.second[i]:
			x.next[i], x.second[i] = int32(c), d
		}
	}
}

// bestReplacement returns the centroid that a point with these distances to all rows replaces best. After the exchange,
// the distance of a row is min(first, distance) or, for rows of the replaced centroid, min(second, distance).
func (x *exchanger) bestReplacement(distances, losses []float64) trial {
	clear(losses)
	c := 0
	gain := 0.0
	for i, d := range distances {
		with := min(x.first[i], d)
		gain += x.first[i] - with
		losses[x.nearest[i]] += min(x.second[i], d) - with
	}
	for at, loss := range losses {
		if loss < losses[c] {
			c = at
		}
	}
	return trial{centroid: c, rise: losses[c] - gain}
}

// update updates the distances after centroid c was replaced by a point with these distances.
func (x *exchanger) update(c int32, distances []float64) {
	for i, d := range distances {
		if x.nearest[i] == c || x.next[i] == c || d < x.second[i] {
			x.measure(i)
		}
	}
}
