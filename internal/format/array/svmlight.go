package array

import (
	"bytes"
	"errors"
	"io"
	"math"
	"strconv"

	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/format/scan"
)

// The svmlight format, which libsvm shares, has one sparse row per line:
//
//	label index:value index:value ... # comment
//
// The label is one number, or several joined by commas, or omitted; qid:N tokens are skipped. Indices ascend. By
// convention they start at 1, but some tools start at 0: a file that contains an index 0 is read as starting at 0, and
// any other as starting at 1. So a file that starts at 0 and never uses its first feature loses that feature, which
// changes no distance.

// Several structures have a number per feature, such as the means, so one mistyped index could allocate gigabytes. If
// the number of features is not set, a file may have baseFeatureLimit of them, and more only up to featuresPerEntry for
// each of its entries.
const (
	baseFeatureLimit = 1 << 22
	featuresPerEntry = 64
)

// svmlight collects rows with the indices of the file. Whether these start at 0 or 1 is known only at the end.
type svmlight struct {
	*scan.Lines
	Sparse                  // features is 0 if not set
	smallest, largest int32 // indices
	largestLine       int   // where the largest index was first seen
}

// ReadSVMLight reads sparse points. If features is 0, the largest index determines their number.
func ReadSVMLight(source *scan.Source, features int) (*Sparse, error) {
	s := &svmlight{
		Lines:    scan.NewLines(source, scan.AnyWhiteSpace),
		Sparse:   Sparse{features: features, starts: []int64{0}},
		smallest: math.MaxInt32,
		largest:  -1,
	}
	s.AllowBlankLines, s.Comments = true, "#"
	if err := s.readRows(); err != nil {
		return nil, err
	}
	return &s.Sparse, s.countFromZero()
}

// readRows reads all lines. A comment at the end of a line is ignored.
func (s *svmlight) readRows() error {
	for {
		line, err := s.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		if s.rows() == dataset.MaxRows {
			return s.Invalid("TOO_MANY_ROWS", "the file has more than %d rows, the largest number supported",
				dataset.MaxRows)
		}
		text, _, _ := bytes.Cut(line, []byte("#"))
		label, entries := cutLabel(bytes.TrimSpace(text))
		if err := s.checkLabel(label); err != nil {
			return err
		}
		if err := s.appendRow(entries); err != nil {
			return err
		}
	}
	if s.rows() == 0 {
		return s.Source.Invalid("EMPTY_DATA", "the file has no rows of data")
	}
	return nil
}

// cutLabel splits a row into its label, empty if it has none, and its entries.
func cutLabel(text []byte) (label, entries []byte) {
	end := bytes.IndexAny(text, " \t")
	if end < 0 {
		end = len(text)
	}
	if bytes.IndexByte(text[:end], ':') >= 0 {
		return nil, text
	}
	return text[:end], text[end:]
}

// checkLabel returns an error for words and malformed entries at the start of a row. Read as labels, they would turn
// the row into zeros.
func (s *svmlight) checkLabel(label []byte) error {
	if len(label) == 0 {
		return nil
	}
	for part := range bytes.SplitSeq(label, []byte(",")) {
		if _, ok := scan.ParseFloat(part); !ok {
			return s.Invalid("BAD_LABEL",
				"the line begins with %s; a row is a numeric label followed by index:value entries", scan.Quote(label))
		}
	}
	return nil
}

// appendRow appends the entries of a row, whose indices must ascend.
func (s *svmlight) appendRow(entries []byte) error {
	previous := int32(-1)
	for token := range bytes.FieldsSeq(entries) {
		if bytes.HasPrefix(token, []byte("qid:")) {
			continue
		}
		index, value, err := s.parseEntry(token)
		if err != nil {
			return err
		}
		if index <= previous {
			return s.atEntry(index, "INDEX_OUT_OF_ORDER",
				"feature %d follows feature %d; sort the entries of a row by index, without duplicates",
				index, previous)
		}
		previous = index
		s.columns = append(s.columns, index)
		s.values = append(s.values, value)
		s.smallest = min(s.smallest, index)
		if index > s.largest {
			s.largest, s.largestLine = index, s.LineNumber
		}
	}
	s.starts = append(s.starts, int64(len(s.columns)))
	return nil
}

// parseEntry parses index:value and returns the index as written in the file.
func (s *svmlight) parseEntry(token []byte) (int32, float64, error) {
	left, right, found := bytes.Cut(token, []byte(":"))
	if !found {
		return 0, 0, s.Invalid("BAD_ENTRY", "%s is not an entry of the form index:value", scan.Quote(token))
	}
	index, ok := scan.ParseInteger(left)
	last := int64(dataset.MaxColumns) // the largest index if indices start at 1
	if s.features > 0 {
		last = int64(min(s.features, dataset.MaxColumns))
	}
	switch {
	case !ok:
		return 0, 0, s.Invalid("NOT_AN_INDEX", "%s in %s is not an index; features are numbered 1, 2, 3 and so on",
			scan.Quote(left), scan.Quote(token))
	case index < 0 || index > last:
		return 0, 0, s.Invalid("INDEX_OUT_OF_RANGE", "feature %d is outside 0..%d", index, last)
	}
	value, ok := scan.ParseFloat(right)
	switch {
	case s.ReadsAsNaN(right):
		value = math.NaN()
	case !ok:
		return 0, 0, s.atEntry(int32(index), "NOT_A_NUMBER", "feature %d is %s, which is not a number", index,
			scan.Quote(right))
	case !scan.IsFinite(value):
		return 0, 0, s.atEntry(int32(index), "NOT_FINITE", "feature %d is %s; every value must be a finite number",
			index, scan.Quote(right))
	}
	return int32(index), value, nil
}

// atEntry returns a fault about one entry of the current row.
func (s *svmlight) atEntry(index int32, reason, format string, args ...any) *fault.Error {
	return s.Invalid(reason, format, args...).
		With("row", strconv.Itoa(s.rows())).With("column", strconv.Itoa(int(index)))
}

// countFromZero determines whether indices start at 0 or 1 and how many features there are, and makes them start at 0.
func (s *svmlight) countFromZero() error {
	base := int32(1)
	if s.smallest == 0 {
		base = 0
	}
	named := int(s.largest-base) + 1
	s.LineNumber = s.largestLine
	switch {
	case s.largest < 0 && s.features == 0:
		return s.Source.Invalid("EMPTY_DATA",
			"the file has no entries; if all rows are zero, set the number of features")
	case s.features > 0 && named > s.features:
		return s.Invalid("INDEX_OUT_OF_RANGE",
			"feature %d is outside 0..%d (the file contains an index 0, so indices start at 0)", s.largest,
			s.features-1)
	case s.features == 0 && named > max(baseFeatureLimit, featuresPerEntry*len(s.columns)):
		return s.Invalid("TOO_MANY_COLUMNS",
			"the largest index is %d, but the file has only %d entries; if this is intended, set the number of "+
				"features", s.largest, len(s.columns))
	case s.features == 0:
		s.features = named
	}
	for at := range s.columns {
		s.columns[at] -= base
	}
	return nil
}
