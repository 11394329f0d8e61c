package format

import (
	"math"

	"github.com/cleave-project/cleave/internal/data/table"
	"github.com/cleave-project/cleave/internal/fault"
)

// LoadLabelRows reads what WriteLabelRows wrote. Tables of labels without scores, ids or classes have none.
func LoadLabelRows(path string) (*LabelRows, error) {
	r, err := OpenTable([]string{path}, TableOptions{Format: "csv", Delimiter: ',', Header: "yes", Texts: []string{"id", "class"}})
	if err != nil {
		return nil, err
	}
	defer r.Close()
	t, err := r.ReadAll()
	if err != nil {
		return nil, err
	}
	rows := &LabelRows{}
	var classes []string
	for at := range t.Columns {
		c := &t.Columns[at]
		switch c.Name {
		case "id":
			rows.IDs = c.Texts
		case "label":
			if rows.Labels, err = labelsOf(path, c); err != nil {
				return nil, err
			}
		case "class":
			classes = c.Texts
		case "distance":
			rows.Distance = scoresOf(c)
		case "margin":
			rows.Margin = scoresOf(c)
		case "confidence":
			rows.Confidence = scoresOf(c)
		}
	}
	if rows.Labels == nil {
		return nil, fault.Invalid("MISSING_COLUMN", "%s: there is no column label; a file that cleave run --out wrote has it", path)
	}
	rows.Classes = classesOf(rows.Labels, classes)
	return rows, nil
}

// labelsOf are the labels of a column; -1 is a row that was not clustered.
func labelsOf(path string, c *table.Column) ([]int32, error) {
	if c.Type != table.Integer {
		return nil, fault.Invalid("NOT_AN_INTEGER", "%s: the column label must have the numbers of clusters", path)
	}
	labels := make([]int32, c.Len())
	for row, v := range c.Integers {
		if v < -1 || v > math.MaxInt32 || c.Empty != nil && c.Empty[row] {
			return nil, fault.Invalid("LABEL_OUT_OF_RANGE", "%s: row %d has no label from -1 on", path, row)
		}
		labels[row] = int32(v)
	}
	return labels, nil
}

// scoresOf are the numbers of a column, NaN where a cell is empty.
func scoresOf(c *table.Column) []float64 {
	scores := make([]float64, c.Len())
	for row := range scores {
		switch {
		case c.Empty != nil && c.Empty[row] || c.Type == table.Text:
			scores[row] = math.NaN()
		case c.Type == table.Integer:
			scores[row] = float64(c.Integers[row])
		default:
			scores[row] = c.Numbers[row]
		}
	}
	return scores
}

// classesOf are the classes of the clusters, given those of rows; nil: there are none.
func classesOf(labels []int32, of []string) (classes []string) {
	for row, class := range of {
		if label := int(labels[row]); label >= 0 && class != "" && label < len(of) {
			for len(classes) <= label {
				classes = append(classes, "")
			}
			classes[label] = class
		}
	}
	return classes
}
