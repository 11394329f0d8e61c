package metric

import (
	"encoding/binary"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"runtime"
	"testing"
)

// The same input gives the same bits on every processor, even where the compiler may fuse a product and a sum
// (GOAMD64=v3, arm64): this hashes all results of some updates and distortions into one number. Updates of full metrics
// are decomposed by gonum, so their bits are those of an architecture.
func TestBitsAreTheSameEverywhere(t *testing.T) {
	if got := hashOf(t, Diagonal); got != 0xfc36f99139a1a2ff {
		t.Errorf("the bits are %#x", got)
	}
	if got := hashOf(t, Full); runtime.GOARCH == "amd64" && got != 0x8628defc0250a7d7 {
		t.Errorf("the bits of full metrics are %#x", got)
	}
}

func hashOf(t *testing.T, form Form) uint64 {
	rng := rand.New(rand.NewPCG(23, 24))
	uniform := func(d int) []float64 { // without functions of package math, whose bits depend on the processor
		row := make([]float64, d)
		for i := range row {
			row[i] = rng.Float64()
		}
		return row
	}
	hash := fnv.New64a()
	add := func(values ...float64) {
		for _, v := range values {
			hash.Write(binary.LittleEndian.AppendUint64(nil, math.Float64bits(v)))
		}
	}
	const d = 7
	for _, penalty := range []PenaltyKind{Potts, Basu2003, Bilenko2004} {
		step := &Step{PenaltyKind: penalty, Scatter: make([]float64, form.Size(d)), Ranges: uniform(d)}
		for range 20 {
			form.addOuter(step.Scatter, 1, uniform(d), uniform(d))
			mustLink := rng.IntN(2) == 0
			step.Links = append(step.Links, Link{MustLink: mustLink, Weight: rng.Float64(), X: uniform(d),
				Y: uniform(d), Violated: rng.IntN(2) == 0})
		}
		m, err := NewUnit(form, d)
		if err != nil {
			t.Fatal(err)
		}
		for range 3 {
			outcome, err := step.Update(t.Context(), m)
			if err != nil {
				t.Fatal(err)
			}
			m = outcome.Metric
			add(m.Values()...)
			add(factorOf(m)...)
			add(outcome.Parts.Total(), spreadOf(t, m), m.phiMax(step.Ranges))
		}
	}
	for _, distortion := range []Distortion{Cosine, KL, IDivergence} {
		x := uniform(d)
		y := uniform(d)
		for i, row := range [][]float64{x, y} {
			if err := distortion.Prepare(i, row); err != nil {
				t.Fatal(err)
			}
		}
		m := Measure{Distortion: distortion}
		add(toCentroid(m, x, y), m.Between(x, y))
	}
	return hash.Sum64()
}
