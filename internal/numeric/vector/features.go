package vector

import (
	"github.com/cleave-project/cleave/internal/kernel"
	"github.com/cleave-project/cleave/internal/partition"
)

// In this file, rows are features of points (see kernel.Features): each tile computes those of its rows when it is
// built, and is then a dense tile like any other.

// fillFeatures computes and stores the rows of a tile. Shift is added to the number of a row to get its place among the
// points of the features.
func (s *Source) fillFeatures(t *tile, features *kernel.Features, shift int) error {
	t.packed = make([]float64, t.groups()*groupRows*t.width)
	some := make([]float64, t.width*kernel.FeatureRows)
	for from := t.rows.From; from < t.rows.To; from += kernel.FeatureRows {
		rows := partition.Range{From: from, To: min(from+kernel.FeatureRows, t.rows.To)}
		if err := features.Compute(some, partition.Range{From: rows.From + shift, To: rows.To + shift}); err != nil {
			return err
		}
		for first := 0; first < rows.Len(); first += groupRows {
			group := t.group((rows.From - t.rows.From + first) / groupRows)
			count := min(groupRows, rows.Len()-first)
			for f, c := range s.rounders {
				line := group[f*groupRows:][:count]
				for l, v := range some[f*kernel.FeatureRows+first:][:count] {
					line[l] = (v + c) - c
				}
			}
		}
	}
	return nil
}

// eachFeatureRow is EachRow if rows are features.
func (s *Source) eachFeatureRow(rows partition.Range, visit func(row []float64)) error {
	row := make([]float64, s.spec.Columns)
	some := make([]float64, s.spec.Columns*kernel.FeatureRows)
	for from := rows.From; from < rows.To; from += kernel.FeatureRows {
		to := min(from+kernel.FeatureRows, rows.To)
		if err := s.features.Compute(some, partition.Range{From: from, To: to}); err != nil {
			return err
		}
		for i := from; i < to; i++ {
			for f, c := range s.rounders {
				row[f] = (some[f*kernel.FeatureRows+i-from] + c) - c
			}
			visit(row)
		}
	}
	return nil
}
