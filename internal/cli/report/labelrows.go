package report

import (
	"math"
	"slices"

	"github.com/cleave-project/cleave/internal/format"
)

// labelRows are the rows of labels.csv: those of the data file, also where some of them were not clustered.
func (r *Report) labelRows() format.LabelRows {
	rows := format.LabelRows{Labels: r.FileLabels()}
	if s := r.Rows; s != nil {
		rows.Distance, rows.Margin, rows.Confidence = r.restored(s.Distance), r.restored(s.Margin), r.restored(s.Confidence)
	}
	return rows
}

// FileLabels are the labels of the rows of the data file; those that were not clustered have -1.
func (r *Report) FileLabels() []int32 { return r.filter.Restore(r.Labels) }

// restored gives each row of the data file its score, given those of the rows that were clustered. The others have none.
func (r *Report) restored(scores []float64) []float64 {
	if r.filter == nil || scores == nil {
		return scores
	}
	all := slices.Repeat([]float64{math.NaN()}, r.filter.FileRows(len(scores)))
	for at, row := range r.filter.Kept {
		all[row] = scores[at]
	}
	return all
}
