package wire

import (
	"fmt"
	"io"
	"math"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/data/dataset"
)

// RowScoresHead says what there is to know of rows; nil: nothing.
func RowScoresHead(s *clustering.RowScores) *cleavev1.RowScoresHead {
	if s == nil {
		return nil
	}
	return &cleavev1.RowScoresHead{Rows: uint32(max(len(s.Distance), len(s.Confidence))), Measure: cleavev1.RowMeasure(s.Measure), Runs: uint32(s.Runs)}
}

// scoreColumns are the lists of scores that there are, in the order in which they travel.
func scoreColumns(s *clustering.RowScores) []*[]float64 {
	var columns []*[]float64
	if s.Measure != 0 {
		columns = append(columns, &s.Distance, &s.Margin)
	}
	if s.Runs > 1 {
		columns = append(columns, &s.Confidence)
	}
	return columns
}

// WriteRowScores writes the values of scores as they travel, row by row.
func WriteRowScores(w io.Writer, s *clustering.RowScores) error {
	columns, rows := scoreColumns(s), int(RowScoresHead(s).GetRows())
	const atOnce = 1 << 13
	values := make([]float64, 0, len(columns)*atOnce)
	for i := range rows {
		for _, column := range columns {
			values = append(values, (*column)[i])
		}
		if (i+1)%atOnce == 0 || i == rows-1 {
			if err := writeValues(w, values); err != nil {
				return err
			}
			values = values[:0]
		}
	}
	return nil
}

// SendRowScores sends a head and then values, as WriteRowScores wrote them, in chunks.
func SendRowScores(head *cleavev1.RowScoresHead, values io.Reader, send func(*cleavev1.GetRowScoresResponse) error) error {
	return sendValues(&cleavev1.GetRowScoresResponse{Part: &cleavev1.GetRowScoresResponse_Head{Head: head}}, values, func(chunk []byte) *cleavev1.GetRowScoresResponse {
		return &cleavev1.GetRowScoresResponse{Part: &cleavev1.GetRowScoresResponse_Values{Values: chunk}}
	}, send)
}

// ReceiveRowScores makes scores of the parts of a stream, which ends with io.EOF. Memory grows with what has arrived, never
// with what the head claims. Errors of the stream are returned as they are.
func ReceiveRowScores(receive func() (*cleavev1.GetRowScoresResponse, error)) (*clustering.RowScores, error) {
	head, err := receiveHead(receive, "scores of rows")
	if err != nil {
		return nil, err
	}
	rows, measure := int(head.GetRows()), head.GetMeasure()
	if rows < 1 || rows > dataset.MaxRows || measure < 0 || measure > cleavev1.RowMeasure_ROW_MEASURE_GROUP_SCORES || head.GetRuns() > math.MaxInt32 {
		return nil, fmt.Errorf("wire: scores of %d rows by measure %d and %d runs", rows, measure, head.GetRuns())
	}
	s := &clustering.RowScores{Measure: clustering.RowMeasure(measure), Runs: int(head.GetRuns())}
	columns := scoreColumns(s)
	values, err := receiveValues(uint64(rows*len(columns)), receive)
	if err != nil {
		return nil, err
	}
	for at, column := range columns {
		*column = make([]float64, rows)
		for i := range *column {
			(*column)[i] = values[i*len(columns)+at]
		}
	}
	return s, nil
}
