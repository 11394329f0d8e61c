package format

import (
	"bufio"
	"fmt"
	"io"
	"strconv"

	"github.com/cleave-project/cleave/internal/data/dataset"
)

// WriteSparsePoints writes points in the svmlight format, with indices from 1. Every row begins with its
// label, or with 0 if labels is nil, as the format asks for one. If no row has the last feature, the
// first row has it with the value 0, so that a reader knows how many features there are.
func WriteSparsePoints(w io.Writer, points *dataset.SparsePoints, labels []int64) error {
	if labels != nil && len(labels) != points.N {
		return fmt.Errorf("there are %d labels for %d rows", len(labels), points.N)
	}
	last := int32(-1)
	for _, c := range points.Column {
		last = max(last, c)
	}
	buffered := bufio.NewWriterSize(w, bufferSize)
	var line []byte
	for i := range points.N {
		label := int64(0)
		if labels != nil {
			label = labels[i]
		}
		line = strconv.AppendInt(line[:0], label, 10)
		columns, values := points.Row(i)
		for at, c := range columns {
			line = appendEntry(line, int(c)+1, values[at])
		}
		if i == 0 && int(last) < points.D-1 {
			line = appendEntry(line, points.D, 0)
		}
		if _, err := buffered.Write(append(line, '\n')); err != nil {
			return err
		}
	}
	return buffered.Flush()
}

func appendEntry(line []byte, index int, value float64) []byte {
	line = append(line, ' ')
	line = strconv.AppendInt(line, int64(index), 10)
	line = append(line, ':')
	return strconv.AppendFloat(line, value, 'g', -1, 64)
}
