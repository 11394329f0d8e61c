package format

import (
	"bufio"
	"fmt"
	"io"
	"iter"
	"strconv"

	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/fault"
)

// GraphWriter is how a graph is written to a file of this name, so that reading the file gives the same graph to the last
// bit. An edge list does not have the vertices after the last one that has an edge.
func GraphWriter(path string) (func(w io.Writer, g *dataset.Graph) error, error) {
	switch suffix := suffixOf(path); suffix {
	case ".csv":
		return func(w io.Writer, g *dataset.Graph) error { return WriteEdgesOf(w, edgesOf(g)) }, nil
	case ".mtx":
		return writeMatrixMarketGraph, nil
	default:
		return nil, fault.Invalid("UNKNOWN_FORMAT", "%s: a graph is written to a file whose name ends in .csv or .mtx", path)
	}
}

// edgesOf lists each edge of a graph once.
func edgesOf(g *dataset.Graph) iter.Seq[dataset.Edge] {
	return func(yield func(dataset.Edge) bool) {
		for i := range g.N {
			neighbors, weights := g.Row(i)
			for at, j := range neighbors {
				if int(j) >= i && !yield(dataset.Edge{Source: int32(i), Target: j, Weight: weights[at]}) {
					return
				}
			}
		}
	}
}

// writeMatrixMarketGraph writes the lower triangle of the affinity matrix, as the format has it.
func writeMatrixMarketGraph(w io.Writer, g *dataset.Graph) error {
	entries := 0
	for range edgesOf(g) {
		entries++
	}
	buffered := bufio.NewWriter(w)
	if _, err := fmt.Fprintf(buffered, "%%%%MatrixMarket matrix coordinate real symmetric\n%d %d %d\n", g.N, g.N, entries); err != nil {
		return err
	}
	var line []byte
	for e := range edgesOf(g) {
		line = strconv.AppendInt(line[:0], int64(e.Target)+1, 10)
		line = strconv.AppendInt(append(line, ' '), int64(e.Source)+1, 10)
		line = strconv.AppendFloat(append(line, ' '), e.Weight, 'g', -1, 64)
		if _, err := buffered.Write(append(line, '\n')); err != nil {
			return err
		}
	}
	return buffered.Flush()
}
