package vector

import (
	"context"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/numeric/metric"
	"github.com/cleave-project/cleave/internal/partition"
	"github.com/cleave-project/cleave/test/testscale"
)

// stored returns the rows of a shard as they are stored, with the background as the last value.
func stored(s *Shard) [][]float64 {
	spec, rows := s.source.spec, make([][]float64, 0, s.source.Rows())
	for _, number := range partition.AllTiles(spec.Rows) {
		var d reader
		d.open(s.tiles[number], spec.Columns)
		for r := range s.tiles[number].rows.Len() {
			x := d.row(r)
			values := append(slices.Clone(x.expanded(make([]float64, spec.Columns))), x.background)
			rows = append(rows, values[:spec.Width()])
		}
	}
	return rows
}

// Every stored value is the multiple of its grid next to what the preparation says, dense and sparse rows have
// the same bits, and sums of any of them are exact.
func TestStoredRows(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, w := range ways {
		for range 40 {
			n := 1 + rng.IntN(150)
			d := 1 + rng.IntN(9)
			values := table(rng, n, d, w.preparation)
			if rng.IntN(3) == 0 {
				values[rng.IntN(len(values))] = 1e12 // an outlier
			}
			dense := densePoints(t, n, d, values)
			sparse := sparsePoints(t, n, d, values)
			for _, data := range []dataset.Dataset{dense, sparse} {
				source := newSource(t, data, w.preparation)
				spec := source.spec
				rows := stored(built(t, source, 2))
				naive := naiveRows(n, d, values, w.preparation, spec.Mean)
				for i, row := range rows {
					background := 0.0
					if spec.HasBackground() {
						background = row[d]
						if math.Abs(background-naive[i][0]+row[0]) > math.Ldexp(1, int(spec.Grids[0]))+
							1e-12*naive[i][0] || background <= 0 {
							t.Fatalf("%s: background %g", w, background)
						}
					}
					read := make([]float64, d)
					if err := source.Row(read, i); err != nil {
						t.Fatal(err)
					}
					for f, v := range row[:d] {
						if read[f] != v+background {
							t.Fatalf("%s: row %d reads as %v", w, i, read)
						}
						g := math.Ldexp(1, int(spec.Grids[f]))
						if v != math.Trunc(v/g)*g ||
							math.Abs(v+background-naive[i][f]) > g/2+1e-14*math.Abs(naive[i][f]) {
							t.Fatalf("%s: row %d, feature %d is %g, want %g on grid %g", w, i, f, v, naive[i][f], g)
						}
					}
				}
			}
			fromSparse := newSource(t, sparse, w.preparation)
			fromDense, err := NewSource(fromSparse.spec, dense)
			if err != nil {
				t.Fatal(err)
			}
			a := stored(built(t, fromSparse, 1))
			b := stored(built(t, fromDense, 1))
			for i := range a {
				sameBits(t, fmt.Sprintf("%s: row %d", w, i), a[i], b[i])
			}
			checkExact(t, rng, built(t, newSource(t, dense, w.preparation), 2))
		}
	}
}

func checkExact(t *testing.T, rng *rand.Rand, s *Shard) {
	t.Helper()
	spec, k := s.source.spec, 1+rng.IntN(min(4, s.source.Rows()))
	labels := randomLabels(rng, spec.Rows, k)
	sums := sumsOf(t, s, partition.AllTiles(spec.Rows), 1, k, labels)
	exact := make([]*big.Float, len(sums))
	for at := range exact {
		exact[at] = new(big.Float).SetPrec(2000)
	}
	for i, row := range stored(s) {
		if c := labels[i]; c >= 0 {
			for f, v := range row {
				sum := exact[int(c)*spec.Width()+f]
				sum.Add(sum, new(big.Float).SetFloat64(v))
			}
		}
	}
	for at, sum := range exact {
		if sum.Cmp(new(big.Float).SetFloat64(sums[at])) != 0 {
			t.Fatalf("sum %d is %v, want %v", at, sums[at], sum)
		}
	}
}

// All answers have the same bits on any number of threads, with any split of the tiles, and any SIMD code.
func TestSameBitsEverywhere(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for _, w := range ways {
		for _, d := range testscale.Some([]int{1, 17, 3}, 2) {
			for _, k := range testscale.Some([]int{2, 1, 100, 7}, 2) {
				n := k + 33 + rng.IntN(400)
				values := table(rng, n, d, w.preparation)
				for _, data := range []dataset.Dataset{densePoints(t, n, d, values), sparsePoints(t, n, d, values)} {
					source := newSource(t, data, w.preparation)
					form := metric.Identity
					if w.distortion == metric.SquaredEuclidean {
						form += metric.Form(rng.IntN(3))
					}
					rows := naiveRows(n, d, values, w.preparation, source.spec.Mean)
					j := randomJob(rng, n, k, randomModel(rng, source.spec, rows, w.distortion, form, k))
					all := partition.AllTiles(n)
					source.routines = portable()
					want := perform(t, j, []*Shard{built(t, source, 1)}, [][]int{all})
					for _, routines := range availableRoutines() {
						source.routines = routines
						for threads := range 3 {
							what := fmt.Sprintf("%s, %s, %d x %d, k %d, %s, %d threads", w, data.Kind(), n, d, k,
								routines.name, threads+1)
							got := perform(t, j, []*Shard{built(t, source, threads+1)}, [][]int{all})
							want.same(t, what, &got)
							cut := rng.IntN(len(all) + 1)
							parts := [][]int{all[:cut], all[cut:]}
							shards := []*Shard{built(t, source, threads+1, append([]int{}, parts[0]...)...),
								built(t, source, 1, append([]int{}, parts[1]...)...)}
							got = perform(t, j, shards, parts)
							want.same(t, what+", in two", &got)
						}
					}
				}
			}
		}
	}
}

// A sparse row gives the same answers as the same row in dense form. Only squared Euclidean distances are
// computed in another order; even there, scores and sums have the same bits.
func TestSparseIsDense(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for _, w := range ways {
		for range 30 {
			n := 20 + rng.IntN(200)
			d := 1 + rng.IntN(12)
			k := 1 + rng.IntN(9)
			values := table(rng, n, d, w.preparation)
			sparse := newSource(t, sparsePoints(t, n, d, values), w.preparation)
			dense, err := NewSource(sparse.spec, densePoints(t, n, d, values))
			if err != nil {
				t.Fatal(err)
			}
			rows := naiveRows(n, d, values, w.preparation, nil)
			j := randomJob(rng, n, k, randomModel(rng, sparse.spec, rows, w.distortion, metric.Identity, k))
			all := [][]int{partition.AllTiles(n)}
			a := perform(t, j, []*Shard{built(t, sparse, 1)}, all)
			b := perform(t, j, []*Shard{built(t, dense, 1)}, all)
			if w.distortion == metric.SquaredEuclidean {
				b.distances, b.nearest, b.scatter, b.farthest = a.distances, a.nearest, a.scatter, a.farthest
			}
			a.same(t, w.String(), &b)
		}
	}
}

// Every answer is that of its formula, on rows that are prepared by definition.
func TestAgainstFormulas(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	for _, w := range ways {
		for round := range 120 {
			n := 9 + rng.IntN(150)
			d := 1 + rng.IntN(8)
			k := 1 + rng.IntN(9)
			values := table(rng, n, d, w.preparation)
			var data dataset.Dataset = densePoints(t, n, d, values)
			if round%2 == 1 {
				data = sparsePoints(t, n, d, values)
			}
			source := newSource(t, data, w.preparation)
			form := metric.Identity
			if w.distortion == metric.SquaredEuclidean {
				form += metric.Form(rng.IntN(3))
			}
			rows := naiveRows(n, d, values, w.preparation, source.spec.Mean)
			j := randomJob(rng, n, k, randomModel(rng, source.spec, rows, w.distortion, form, k))
			got := perform(t, j, []*Shard{built(t, source, 2)}, [][]int{partition.AllTiles(n)})
			compare(t, fmt.Sprintf("%s, %s, %d x %d, k %d, form %d", w, data.Kind(), n, d, k, form), j, rows, d, &got)
		}
	}
}

// compare checks an outcome against naive formulas.
func compare(t *testing.T, what string, j *job, rows [][]float64, d int, got *outcome) {
	t.Helper()
	a := matrixOf(j.model.Metric, d)
	labels := j.moved()
	distance := func(i, c int) float64 {
		if j.model.absent(c) {
			return math.Inf(1)
		}
		return naiveDistance(j.model.Distortion, rows[i], j.model.Centroids[c*d:][:d], a)
	}
	// The size of the terms that distances are computed from, as a scale for their errors.
	scale := 0.0
	for i := range rows {
		zero := make([]float64, d)
		scale = math.Max(scale, math.Abs(naiveDistance(metric.SquaredEuclidean, rows[i], zero, a)))
	}
	for c := range j.k {
		if !j.model.absent(c) {
			scale = math.Max(scale, math.Abs(naiveDistance(metric.SquaredEuclidean, j.model.Centroids[c*d:][:d],
				make([]float64, d), a)))
		}
	}
	if j.model.Distortion != metric.SquaredEuclidean {
		scale = 1
		for i := range rows {
			for c := range j.k {
				if v := math.Abs(distance(i, c)); !math.IsInf(v, 0) {
					scale = math.Max(scale, v)
				}
			}
		}
	}
	for at, i := range j.points {
		for c := range j.k {
			v, want := got.distances[at*j.k+c], distance(int(i), c)
			if v != want && !near(v, want, scale) {
				t.Fatalf("%s: distance of %d to %d is %g, want %g", what, i, c, v, want)
			}
		}
	}
	total := 0.0
	far := -1.0
	nearestOf := make([]float64, len(rows))
	for i, c := range labels {
		nearestOf[i] = math.Inf(1)
		for e := range j.k {
			nearestOf[i] = math.Min(nearestOf[i], distance(i, e))
		}
		if !near(got.nearest[i], nearestOf[i], scale) {
			t.Fatalf("%s: nearest of %d is %g, want %g", what, i, got.nearest[i], nearestOf[i])
		}
		if c < 0 || j.model.absent(int(c)) {
			continue
		}
		total += distance(i, int(c))
		if _, skipped := slices.BinarySearch(j.skip, int32(i)); !skipped && j.counts[c] >= 2 {
			far = math.Max(far, distance(i, int(c)))
		}
	}
	sum := func(kind ScatterKind, size int) []float64 {
		totals := make([]float64, size)
		for at, v := range got.scatter[kind] {
			totals[at%size] += v
		}
		return totals
	}
	if v := sum(Total, 1)[0]; !near(v, total, float64(len(rows))*scale) {
		t.Fatalf("%s: total is %g, want %g", what, v, total)
	}
	if got.farthest.Found != (far >= 0) || far >= 0 && !near(got.farthest.Distance, far, scale) {
		t.Fatalf("%s: farthest is %v, want %g", what, got.farthest, far)
	}
	if got.farthest.Found {
		i := int(got.farthest.Point)
		if c := labels[i]; c < 0 || !near(distance(i, int(c)), far, scale) {
			t.Fatalf("%s: farthest is point %d of cluster %d", what, i, c)
		}
	}
	checkMoves(t, what, j, labels, distance, nearestOf, scale, got)
	if j.model.Distortion != metric.SquaredEuclidean {
		return
	}
	full := make([]float64, d*d)
	size := 0.0
	for i, c := range labels {
		if c < 0 || j.model.absent(int(c)) {
			continue
		}
		mu := j.model.Centroids[int(c)*d:][:d]
		for f := range d {
			for g := range d {
				full[f*d+g] += (rows[i][f] - mu[f]) * (rows[i][g] - mu[g])
			}
			size += rows[i][f]*rows[i][f] + mu[f]*mu[f]
		}
	}
	for at, v := range sum(Full, d*d) {
		if !near(v, full[at], size) {
			t.Fatalf("%s: scatter entry %d is %g, want %g", what, at, v, full[at])
		}
	}
	for f, v := range sum(Diagonal, d) {
		if !near(v, full[f*d+f], size) {
			t.Fatalf("%s: scatter of feature %d is %g, want %g", what, f, v, full[f*d+f])
		}
	}
}

// checkMoves makes sure that points that move go to a nearest cluster, that points that stay are in one, and that
// skipped points stay.
func checkMoves(t *testing.T, what string, j *job, labels []int32, distance func(i, c int) float64, nearest []float64,
	scale float64, got *outcome) {
	t.Helper()
	after := slices.Clone(labels)
	previous := int32(-1)
	for _, m := range got.moves {
		_, skipped := slices.BinarySearch(j.skip, m.Point)
		if m.Point <= previous || skipped || labels[m.Point] != m.From || m.From == m.To {
			t.Fatalf("%s: move %v after point %d", what, m, previous)
		}
		previous = m.Point
		after[m.Point] = m.To
	}
	for i, c := range after {
		if _, skipped := slices.BinarySearch(j.skip, int32(i)); skipped {
			continue
		}
		if c < 0 || !near(distance(i, int(c)), nearest[i], scale) {
			t.Fatalf("%s: point %d is in cluster %d at %g, the nearest is at %g", what, i, c,
				distance(i, int(max(0, c))), nearest[i])
		}
	}
}

// The objective agrees with one computed from the raw data, even far from the origin.
func TestObjectiveOfRawData(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 10))
	const n, d, k = 5000, 5, 4
	for _, offset := range []float64{0, 1000, -1e6} {
		values := make([]float64, n*d)
		labels := make([]int32, n)
		means := make([]float64, k*d)
		counts := make([]float64, k)
		for i := range n {
			labels[i] = int32(rng.IntN(k))
			counts[labels[i]]++
			for f := range d {
				values[i*d+f] = offset + rng.NormFloat64()
				means[int(labels[i])*d+f] += values[i*d+f]
			}
		}
		want := 0.0
		for i, c := range labels {
			for f := range d {
				difference := values[i*d+f] - means[int(c)*d+f]/counts[c]
				want += difference * difference
			}
		}
		s := built(t, newSource(t, densePoints(t, n, d, values), Plain), 2)
		all := partition.AllTiles(n)
		sums := sumsOf(t, s, all, 1, k, labels)
		model := &Model{Distortion: metric.SquaredEuclidean, Clusters: k, Centroids: make([]float64, k*d)}
		for c := range k {
			s.source.Spec().Centroid(model.Centroids[c*d:][:d], sums[c*d:][:d], int(counts[c]))
		}
		parts, err := s.Scatter(context.Background(), all, 1, []Query{{Model: model, Kind: Total}})
		if err != nil {
			t.Fatal(err)
		}
		got := 0.0
		for _, v := range parts[0] {
			got += v
		}
		if !near(got, want, want) {
			t.Errorf("offset %g: objective %v, want %v", offset, got, want)
		}
	}
}
