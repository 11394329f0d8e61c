package evaluate

import "slices"

// contingency is the table of two labelings of the same points: how many have which two labels.
type contingency struct {
	total     float64
	predicted []int64 // points with each predicted label, in ascending order of the labels
	truth     []int64 // points of each true class, likewise
	cells     []cell  // only those that are not empty, sorted by (predicted, truth)
}

type cell struct {
	predicted, truth int32 // indices into the lists of the same names
	count            int64
}

func tabulate[P, T Label](predicted []P, truth []T) *contingency {
	rows, columns := rank(predicted), rank(truth)
	keys := make([]uint64, len(rows))
	for i := range keys {
		keys[i] = uint64(rows[i])<<32 | uint64(columns[i])
	}
	slices.Sort(keys)
	t := &contingency{total: float64(len(keys))}
	for at, key := range keys {
		row, column := int32(key>>32), int32(key&0xFFFFFFFF)
		if at == 0 || keys[at-1] != key {
			t.cells = append(t.cells, cell{predicted: row, truth: column})
		}
		t.cells[len(t.cells)-1].count++
	}
	for _, c := range t.cells {
		t.predicted = addAt(t.predicted, c.predicted, c.count)
		t.truth = addAt(t.truth, c.truth, c.count)
	}
	return t
}

// rank replaces each label by its place among the sorted distinct labels.
func rank[L Label](labels []L) []int32 {
	distinct := slices.Clone(labels)
	slices.Sort(distinct)
	distinct = slices.Compact(distinct)
	ranks := make([]int32, len(labels))
	for i, label := range labels {
		at, _ := slices.BinarySearch(distinct, label)
		ranks[i] = int32(at)
	}
	return ranks
}

func addAt(counts []int64, at int32, count int64) []int64 {
	for len(counts) <= int(at) {
		counts = append(counts, 0)
	}
	counts[at] += count
	return counts
}

// identical tells whether the two labelings are the same but for the numbers of their labels.
func (t *contingency) identical() bool {
	return len(t.cells) == len(t.predicted) && len(t.cells) == len(t.truth)
}
