package scan

import (
	"bytes"

	"github.com/cleave-project/cleave/internal/data/dataset"
)

// EdgeRows parses lines of two vertex numbers and an optional weight. Lines of the usual form take a fast path. All
// others, and those with errors, are split into cells and passed to Parse.
type EdgeRows struct {
	*Lines
	Parse func(l *Lines, cells [][]byte) (dataset.Edge, error)

	// The usual form: vertices from Base to below the limits, on lines of LeastCells to MostCells cells.
	Base, SourceLimit, TargetLimit int64
	LeastCells, MostCells          int
}

// ReadAll reads all remaining lines. It calls take with the edges of each block, and a function that returns the line
// number of an edge of the block. err, if any, is about the line after these edges.
func (p *EdgeRows) ReadAll(take func(edges dataset.Edges, err error, lineOf func(edge int) int) error) error {
	return eachBlock(p.Lines, p.parseBlock, func(b Block, edges dataset.Edges, err error) error {
		return take(edges, err, func(edge int) int { return p.lineOf(b, edge) })
	})
}

// parseBlock parses a block up to its first error.
func (p *EdgeRows) parseBlock(b Block) (dataset.Edges, error) {
	edges := dataset.Edges{Source: make([]int32, 0, b.Lines), Target: make([]int32, 0, b.Lines)}
	var l *Lines // for lines of unusual form
	text := b.Text
	for number := b.FirstLine; len(text) > 0; number++ {
		edge, length := p.usualEdge(text)
		if length == 0 {
			length = bytes.IndexByte(text, '\n') + 1
			if l == nil {
				l = &Lines{Source: p.Source, Comments: p.Comments, Separator: p.Separator}
			}
			l.LineNumber = number
			line := withoutEnd(text[:length])
			if blank, comment := l.Classify(line); blank || comment {
				text = text[length:]
				continue
			}
			cells, err := l.Split(line)
			if err != nil {
				return edges, err
			}
			edge, err = p.Parse(l, cells)
			if err != nil {
				return edges, err
			}
		}
		edges.Append(edge.Source, edge.Target, edge.Weight)
		text = text[length:]
	}
	return edges, nil
}

// lineOf returns the line number of an edge of a block.
func (p *EdgeRows) lineOf(b Block, edge int) int {
	number := b.FirstLine
	for line := range bytes.Lines(b.Text) {
		if blank, comment := p.Classify(line); !blank && !comment {
			if edge == 0 {
				break
			}
			edge--
		}
		number++
	}
	return number
}

// usualEdge parses the first line of a text, which must have an end, and returns the length of the line. It returns
// length 0 if the line is not of the usual form: digits, a separator, digits, and optionally a separator and a number.
func (p *EdgeRows) usualEdge(text []byte) (edge dataset.Edge, length int) {
	at := 0
	for text[at] == ' ' {
		at++
	}
	source, at := digits(text, at)
	at, more := p.skipSeparator(text, at)
	if !more || source < p.Base || source >= p.SourceLimit {
		return edge, 0
	}
	target, at := digits(text, at)
	if target < p.Base || target >= p.TargetLimit {
		return edge, 0
	}
	edge = dataset.Edge{Source: int32(source - p.Base), Target: int32(target - p.Base), Weight: 1}
	if end := lineEnd(text, at); end > 0 {
		if p.LeastCells > 2 {
			return edge, 0
		}
		return edge, end
	}
	at, more = p.skipSeparator(text, at)
	if !more || p.MostCells < 3 {
		return edge, 0
	}
	weight, after := ShortDecimal(text, at, '.')
	end := lineEnd(text, after)
	if end == 0 {
		end = at + bytes.IndexByte(text[at:], '\n') + 1
		var ok bool
		weight, ok = ParseFloat(withoutEnd(text[at:end]))
		if !ok || !IsFinite(weight) {
			return edge, 0
		}
	}
	edge.Weight = weight
	return edge, end
}

// skipSeparator skips a separator and the space after it. more is false if there is no separator, or nothing after it.
func (p *EdgeRows) skipSeparator(text []byte, at int) (after int, more bool) {
	start := at
	switch {
	case p.Separator != AnyWhiteSpace && text[at] == p.Separator:
		for at++; text[at] == ' '; at++ {
		}
	case p.Separator == AnyWhiteSpace:
		for text[at] == ' ' || text[at] == '\t' || text[at] == ',' {
			at++
		}
	}
	return at, at > start && text[at] != '\n' && text[at] != '\r'
}

// lineEnd returns the position after the LF or CRLF at a position, 0 if there is none.
func lineEnd(text []byte, at int) int {
	if text[at] == '\r' && at+1 < len(text) {
		at++
	}
	if text[at] == '\n' {
		return at + 1
	}
	return 0
}

// digits parses an integer of 1 to 18 digits. number is -1 if there are none or more.
func digits(text []byte, at int) (number int64, after int) {
	start := at
	for ; text[at]-'0' <= 9; at++ {
		number = 10*number + int64(text[at]-'0')
	}
	if at == start || at-start > 18 {
		return -1, at
	}
	return number, at
}

// powersOfTen are all exact in float64.
var powersOfTen = [...]float64{1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
	1e16, 1e17, 1e18}
