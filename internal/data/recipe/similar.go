package recipe

import (
	"math"
	"math/rand/v2"
	"slices"

	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/numeric/choose"
)

// Limits of the rows, the donors, that a recipe stores to fill gaps from similar rows.
const (
	maxDonors     = 1000   // rows
	maxDonorCells = 50_000 // in all features, so that a recipe stays small
	nearest       = 20     // how many of the most similar donors fill a cell, at most a fifth of those with a value
)

// donorRows returns which rows become donors, in ascending order: a random sample with a fixed seed, because evenly
// spaced rows may all be of one kind. It returns nil if there are so many features that the donors would be too few to
// choose from.
func donorRows(rows, features int) []int {
	count := min(maxDonors, maxDonorCells/max(1, features))
	if count < nearest {
		return nil
	}
	return choose.Random[int](rows, count, rand.New(rand.NewPCG(1, 2)))
}

// keepDonors stores the donors' values in the feature, and the unit in which rows are compared.
func (s *source) keepDonors(donors []int) {
	c := s.column
	s.Donors = make([]float64, len(donors))
	for at, row := range donors {
		if c.IsEmpty(row) {
			s.DonorGaps = append(s.DonorGaps, uint32(at))
		} else {
			s.Donors[at] = s.valueAt(row)
		}
	}
	if s.Categories == nil {
		s.Unit = deviation(present(c))
		return
	}
	counts := make([]float64, len(s.Categories))
	total := 0.0
	for value, cells := range spellings(c) {
		counts[int(s.numberOf(value))] += float64(cells)
		total += float64(cells)
	}
	differ := 1.0 // the share of pairs that differ
	for _, count := range counts {
		differ -= float64((count / total) * (count / total))
	}
	s.Unit = math.Sqrt(max(0, differ) / 2) // so that the mean distance of two rows is that of a numeric column
}

// deviation returns the standard deviation. It scales the numbers first, so that large ones do not overflow.
func deviation(numbers []float64) float64 {
	largest := 0.0
	for _, v := range numbers {
		largest = max(largest, math.Abs(v))
	}
	if largest == 0 {
		return 0
	}
	count, mean, sum := float64(len(numbers)), 0.0, 0.0
	for _, v := range numbers {
		mean += v / largest / count
	}
	for _, v := range numbers {
		d := v/largest - mean
		sum += float64(d * d)
	}
	return largest * math.Sqrt(sum/count)
}

// similarity fills the gaps of a row from the most similar donors.
type similarity struct {
	sources []source
	donors  int
	values  [][]float64 // for each source, the donors' values; NaN if a donor has none
	costs   [][]float64 // for each source of categories, what a donor of another category adds to the distance
	counts  []int       // for each source, how many donors fill a cell
}

// newSimilarity returns nil if the recipe has no donors. It returns an error if the donors are inconsistent, because a
// recipe may come from a file.
func newSimilarity(sources []source) (*similarity, error) {
	if len(sources) == 0 || len(sources[0].Donors) == 0 {
		return nil, nil
	}
	s := &similarity{
		sources: sources, donors: len(sources[0].Donors),
		values: make([][]float64, len(sources)), costs: make([][]float64, len(sources)),
		counts: make([]int, len(sources)),
	}
	for at := range sources {
		f := &sources[at]
		bad := len(f.Donors) != s.donors || !(f.Unit >= 0)
		s.values[at] = slices.Clone(f.Donors)
		for _, v := range f.Donors {
			bad = bad || v-v != 0 || f.Categories != nil && !(v >= 0 && v < float64(len(f.Categories)))
		}
		for _, donor := range f.DonorGaps {
			if int(donor) >= len(f.Donors) {
				bad = true
				break
			}
			s.values[at][donor] = math.NaN()
		}
		if bad {
			return nil,
				fault.Invalid("BAD_RECIPE",
					"the rows stored in the recipe to fill empty cells of column %q are invalid; run the job again",
					f.Column).With("column", f.Column)
		}
		s.prepare(at)
	}
	return s, nil
}

// prepare computes what depends on the donors of a source only.
func (s *similarity) prepare(at int) {
	f, have := &s.sources[at], 0
	scale := 1 / f.Unit
	costs := make([]float64, s.donors)
	for donor, v := range s.values[at] {
		costs[donor] = unknownCost
		if v == v {
			costs[donor] = float64(scale * scale)
			have++
		}
	}
	s.counts[at] = min(nearest, max(3, have/5))
	if f.Categories != nil {
		s.costs[at] = costs
	}
}

// fillRow replaces the values of empty cells in the point of a row. It does nothing if all cells of the row are empty.
// distances is scratch space, one for each donor.
func (s *similarity) fillRow(point []float64, row int, distances []float64) {
	gaps := 0
	for at := range s.sources {
		if s.sources[at].column.IsEmpty(row) {
			gaps++
		}
	}
	if gaps == 0 || gaps == len(s.sources) {
		return
	}
	clear(distances)
	for at := range s.sources {
		if f := &s.sources[at]; !f.column.IsEmpty(row) {
			s.add(distances, at, f.valueAt(row))
		}
	}
	var chosen [nearest]int
	for at := range s.sources {
		f := &s.sources[at]
		if !f.column.IsEmpty(row) {
			continue
		}
		f.blend(point[f.at:f.at+f.columns()], distances, s.values[at], nearestDonors(distances, s.values[at],
			s.counts[at], chosen[:0]))
	}
}

// What a column adds to the distance of a donor.
const (
	unknownCost = 2   // if the donor has no value: the mean over all pairs
	mostCost    = 1e6 // keeps distances finite
	leastUnit   = 1e-300
)

// add adds the squared difference in one column, in its unit, to the distance of each donor.
func (s *similarity) add(distances []float64, at int, value float64) {
	f := &s.sources[at]
	if f.Unit < leastUnit {
		return
	}
	scale, values := 1/f.Unit, s.values[at]
	distances = distances[:len(values)]
	if f.Categories != nil {
		for donor, cost := range s.costs[at][:len(values)] { // without branches, which would be mispredicted
			differs := -uint64(bit(values[donor] != value))
			distances[donor] += math.Float64frombits(math.Float64bits(cost) & differs)
		}
		return
	}
	for donor, v := range values {
		d := float64((value - v) * scale)
		cost := float64(d * d)
		if !(cost < mostCost) {
			cost = mostCost
			if v != v {
				cost = unknownCost
			}
		}
		distances[donor] += cost
	}
}

// nearestDonors appends the count nearest donors that have a value to chosen, by distance and then by number.
func nearestDonors(distances, values []float64, count int, chosen []int) []int {
	farthest := 0.0 // the distance of the last one, if there are enough
	for donor, distance := range distances[:len(values)] {
		if len(chosen) == count && distance >= farthest || values[donor] != values[donor] {
			continue
		}
		if len(chosen) < count {
			chosen = append(chosen, donor)
		}
		at := len(chosen) - 1
		for ; at > 0 && distances[chosen[at-1]] > distance; at-- {
			chosen[at] = chosen[at-1]
		}
		chosen[at] = donor
		farthest = distances[chosen[len(chosen)-1]]
	}
	return chosen
}

// blend writes the weighted mean of the chosen donors, or the weighted share of each category. Weights fall linearly
// from 1 at distance 0 to almost 0 at the farthest donor. Without donors it leaves the default fill in place.
func (s *source) blend(into, distances, values []float64, chosen []int) {
	if len(chosen) == 0 {
		return
	}
	const last = 0.999
	farthest := distances[chosen[len(chosen)-1]]
	var weights [nearest]float64
	total := 0.0
	for at, donor := range chosen {
		weights[at] = 1
		if farthest > 0 {
			weights[at] -= float64(last * (distances[donor] / farthest))
		}
		total += weights[at]
	}
	clear(into)
	for at, donor := range chosen {
		share := weights[at] / total
		if s.category != nil && !s.one {
			into[int(values[donor])] += share
		} else {
			into[0] += float64(share * values[donor])
		}
	}
}

// valueAt returns the number in a row, or the number of its category, -1 if that is unknown. The cell must not be
// empty.
func (s *source) valueAt(row int) float64 {
	if s.category == nil {
		return s.column.Number(row)
	}
	return s.numberOf(s.column.CellText(row))
}

// numberOf returns the number of the category that a text names, -1 if that is unknown.
func (s *source) numberOf(text string) float64 {
	if number, known := s.category[s.spelled(text)]; known {
		return float64(number)
	}
	if s.Other != "" {
		return float64(s.category[s.spelled(s.Other)])
	}
	return -1
}
