// Package profile describes clusters in terms of their data: which columns set them apart, which rows are typical and
// which lie between two clusters, and how well clusters are separated.
package profile

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"sort"
)

// Column is a column of a table: numbers, where NaN is missing, or texts, where "" is missing.
type Column struct {
	Name    string
	Numbers []float64 // nil for a column of texts
	Texts   []string
}

// Trait tells how a column of a cluster differs from the same column elsewhere.
type Trait struct {
	Column   int    // its place in the list
	Category string // the value that is more or less frequent than elsewhere; "" for numbers
	// The rows of the cluster, and all others.
	Inside, Outside Summary
	// Difference of the two means in standard deviations (Cohen's d, of the pooled variance), or, for shares, Cohen's
	// h, which has about the same scale. It is at most MaxDifference.
	Difference float64
}

// Summary describes the present values of some rows.
type Summary struct {
	Count        int     // of the values
	Mean, Median float64 // for a category, Mean is its share and Median is unused
	Present      float64 // of a sparse column, instead of a median: the share of rows that have a value
}

// MaxDifference is the difference of columns that vary neither within the cluster nor outside it.
const MaxDifference = 100

// Traits returns the traits of each cluster, one for each column where both sides have values, the largest difference
// first; equal ones are in the order of the columns. For a column of texts it is the category that differs most.
func Traits(columns []Column, labels []int32, k int) [][]Trait {
	all := make([][]Trait, k)
	for at, column := range columns {
		traits := numbersTraits
		if column.Numbers == nil {
			traits = textsTraits
		}
		for cluster, trait := range traits(column, labels, k) {
			if trait.Inside.Count > 0 && trait.Outside.Count > 0 {
				trait.Column = at
				all[cluster] = append(all[cluster], trait)
			}
		}
	}
	for _, traits := range all {
		slices.SortStableFunc(traits, func(a, b Trait) int {
			return cmp.Compare(math.Abs(b.Difference), math.Abs(a.Difference))
		})
	}
	return all
}

// numbersTraits finds the trait of every cluster from one sorted order of the column.
func numbersTraits(c Column, labels []int32, k int) []Trait {
	order := make([]int32, 0, len(labels))
	for i := range labels {
		if !math.IsNaN(c.Numbers[i]) {
			order = append(order, int32(i))
		}
	}
	slices.SortFunc(order, func(a, b int32) int { return cmp.Compare(c.Numbers[a], c.Numbers[b]) })
	places := make([][]int, k) // of the rows of each cluster in that order, ascending
	for at, i := range order {
		places[labels[i]] = append(places[labels[i]], at)
	}
	value := func(at int) float64 { return c.Numbers[order[at]] }
	n := len(order)
	center := 0.0
	if n > 0 {
		center = value(n / 2) // sums of differences from a middle value do not cancel
	}
	parts := make([]moments, k)
	for _, i := range order {
		parts[labels[i]].add(c.Numbers[i] - center)
	}
	var whole total
	for cluster, part := range parts {
		whole.add(cluster, part)
	}
	traits := make([]Trait, k)
	for cluster, inside := range parts {
		outside := whole.without(cluster, inside)
		at := places[cluster]
		t := &traits[cluster]
		t.Inside = Summary{Count: inside.count, Mean: center + inside.mean(),
			Median: median(inside.count, func(rank int) float64 { return value(at[rank]) })}
		t.Outside = Summary{Count: outside.count, Mean: center + outside.mean(),
			Median: median(outside.count, func(rank int) float64 { return value(outsideRank(at, rank)) })}
		t.Difference = difference(inside, outside)
	}
	return traits
}

// outsideRank returns the place of the row of the given rank among those whose places are not in taken, which must
// ascend.
func outsideRank(taken []int, rank int) int {
	// before taken[j] are taken[j] - j others
	return rank + sort.Search(len(taken), func(j int) bool { return taken[j]-j > rank })
}

// median returns the median of values that are known by their rank, NaN if there are none.
func median(count int, value func(rank int) float64) float64 {
	if count == 0 {
		return math.NaN()
	}
	if count%2 == 1 {
		return value(count / 2)
	}
	low := value(count/2 - 1)
	high := value(count / 2)
	return low + (high-low)/2
}

// moments holds sums of values and of their squares.
type moments struct {
	count        int
	sum, squares float64
}

func (m *moments) add(v float64) {
	m.count++
	m.sum += v
	m.squares += v * v
}

// total holds the moments of all clusters. It keeps the cluster with the largest squares apart, because the sums of the
// others would be lost to rounding if they were added to a huge value that is subtracted later.
type total struct {
	largest moments
	cluster int // whose moments are the largest
	rest    moments
}

// add adds the moments of a cluster that has not been added yet.
func (t *total) add(cluster int, m moments) {
	if m.squares >= t.largest.squares {
		m, t.largest, t.cluster = t.largest, m, cluster
	}
	t.rest = moments{t.rest.count + m.count, t.rest.sum + m.sum, t.rest.squares + m.squares}
}

// without returns the moments of all clusters but one, whose moments are m.
func (t total) without(cluster int, m moments) moments {
	if cluster == t.cluster {
		return t.rest
	}
	rest := moments{t.rest.count - m.count, t.rest.sum - m.sum, t.rest.squares - m.squares}
	return moments{t.largest.count + rest.count, t.largest.sum + rest.sum, t.largest.squares + rest.squares}
}

func (m moments) mean() float64 {
	if m.count == 0 {
		return math.NaN()
	}
	return m.sum / float64(m.count)
}

// scatter returns the sum of squared differences from the mean.
func (m moments) scatter() float64 {
	if m.count == 0 {
		return 0
	}
	return max(0, m.squares-m.sum*m.sum/float64(m.count))
}

// roundingShare is how much of a sum of squares may be rounding.
const roundingShare = 1e-12

// difference returns Cohen's d: the difference of the means in standard deviations within the two groups. It is 0 if a
// group is empty, and at most MaxDifference, which it is for different means without any deviation.
func difference(inside, outside moments) float64 {
	if inside.count == 0 || outside.count == 0 {
		return 0
	}
	by := inside.mean() - outside.mean()
	scatter := inside.scatter() + outside.scatter()
	if scatter <= roundingShare*(inside.squares+outside.squares) {
		scatter = 0
	}
	if by == 0 {
		return 0
	}
	deviation := math.Sqrt(scatter / float64(max(1, inside.count+outside.count-2)))
	return max(-MaxDifference, min(MaxDifference, by/deviation))
}

// textsTraits counts the categories of every cluster.
func textsTraits(c Column, labels []int32, k int) []Trait {
	totals := map[string]int{}
	counts := make([]map[string]int, k)
	sizes := make([]int, k)
	all := 0
	for i, label := range labels {
		value := c.Texts[i]
		if value == "" {
			continue
		}
		if counts[label] == nil {
			counts[label] = map[string]int{}
		}
		counts[label][value]++
		totals[value]++
		sizes[label]++
		all++
	}
	categories := slices.Sorted(maps.Keys(totals))
	traits := make([]Trait, k)
	for cluster := range traits {
		best := &traits[cluster]
		for _, category := range categories {
			inside, outside := sizes[cluster], all-sizes[cluster]
			if inside == 0 || outside == 0 {
				break
			}
			here := counts[cluster][category]
			t := Trait{Category: category,
				Inside:  Summary{Count: inside, Mean: float64(here) / float64(inside)},
				Outside: Summary{Count: outside, Mean: float64(totals[category]-here) / float64(outside)}}
			t.Difference = 2*math.Asin(math.Sqrt(t.Inside.Mean)) - 2*math.Asin(math.Sqrt(t.Outside.Mean))
			// Of equal differences the category that is more frequent here says more.
			if by := cmp.Compare(math.Abs(t.Difference), math.Abs(best.Difference)); best.Category == "" || by > 0 ||
				by == 0 && t.Difference > best.Difference {
				*best = t
			}
		}
	}
	return traits
}
