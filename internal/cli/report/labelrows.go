package report

import "github.com/cleave-project/cleave/internal/format"

// labelRows are the rows of labels.csv: those of the data file, also where some of them were not clustered.
func (r *Report) labelRows() format.LabelRows {
	rows := format.LabelRows{IDs: r.ids, Labels: r.FileLabels(), Classes: r.classes}
	if s := r.Rows; s != nil {
		rows.Distance, rows.Margin, rows.Confidence = r.filter.RestoreScores(s.Distance), r.filter.RestoreScores(s.Margin), r.filter.RestoreScores(s.Confidence)
	}
	return rows
}

// FileLabels are the labels of the rows of the data file; those that were not clustered have -1.
func (r *Report) FileLabels() []int32 { return r.filter.Restore(r.Labels) }
