package client

import (
	"io"
	"testing"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
)

// A prediction has distances for all rows or for none.
func TestIncompletePredictions(t *testing.T) {
	first := &cleavev1.PredictJobResponse{Labels: []uint32{0, 1}, Distances: []float64{1, 2}, Margins: []float64{3, 4}}
	for _, c := range []struct {
		second    *cleavev1.PredictJobResponse
		ok, score bool
	}{
		{&cleavev1.PredictJobResponse{FirstIndex: 2, Labels: []uint32{1}, Distances: []float64{3}, Margins: []float64{5}}, true, true},
		{&cleavev1.PredictJobResponse{FirstIndex: 2, Labels: []uint32{1}}, false, false},
		{&cleavev1.PredictJobResponse{FirstIndex: 2, Labels: []uint32{1}, Distances: []float64{3}, Margins: []float64{5}, Confidences: []float64{1}}, false, false},
		{&cleavev1.PredictJobResponse{FirstIndex: 1, Labels: []uint32{1}}, false, false},
	} {
		parts := []*cleavev1.PredictJobResponse{first, c.second}
		p, err := joinPrediction(func() (*cleavev1.PredictJobResponse, error) {
			if len(parts) == 0 {
				return nil, io.EOF
			}
			part := parts[0]
			parts = parts[1:]
			return part, nil
		})
		if (err == nil) != c.ok || c.ok && (len(p.Labels) != 3 || (p.Rows != nil) != c.score) {
			t.Errorf("%v: got %+v, %v", c.second, p, err)
		}
	}
}
