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

// The svmlight format, which libsvm shares, has one sparse row on each line:
//
//	label index:value index:value ... # comment
//
// The label is one number, or several joined by commas, or left out; tokens qid:N are skipped.
// Indices ascend. By convention they count from 1, but some tools count from 0: a file with an index 0
// anywhere is taken to count from 0, and any other to count from 1. So a file that counts from 0 and
// never uses its first feature loses that feature, which changes no distance.

// Many things have a number for each feature, a mean for example, so one mistyped index could ask for
// gigabytes. If the number of features is not given, a file may have baseFeatureLimit of them, and more
// only if that is at most featuresPerEntry for each of its entries.
const (
	baseFeatureLimit = 1 << 22
	featuresPerEntry = 64
)

// svmlight collects rows with the indices of the file. Only at its end is it known whether the file
// counts from 0 or 1.
type svmlight struct {
	*scan.Lines
	Sparse                  // features 0: not given
	smallest, largest int32 // indices
	largestLine       int   // where the largest index was first seen
}

// ReadSVMLight reads sparse points. With features 0 the largest index tells their number.
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
			return s.Invalid("TOO_MANY_ROWS", "more than %d rows are not supported", dataset.MaxRows)
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

// checkLabel refuses words and broken entries in front of a row: taken for labels, they would make a
// row of zeros.
func (s *svmlight) checkLabel(label []byte) error {
	if len(label) == 0 {
		return nil
	}
	for part := range bytes.SplitSeq(label, []byte(",")) {
		if _, ok := scan.ParseFloat(part); !ok {
			return s.Invalid("BAD_LABEL", "the line begins with %s; a row is a number as its label and then index:value entries", scan.Quote(label))
		}
	}
	return nil
}

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
			return s.atEntry(index, "INDEX_OUT_OF_ORDER", "feature %d stands after feature %d; sort the row's entries by index, each index once", index, previous)
		}
		previous = index
		s.columns, s.values = append(s.columns, index), append(s.values, value)
		s.smallest = min(s.smallest, index)
		if index > s.largest {
			s.largest, s.largestLine = index, s.LineNumber
		}
	}
	s.starts = append(s.starts, int64(len(s.columns)))
	return nil
}

// parseEntry reads index:value; the index is that of the file.
func (s *svmlight) parseEntry(token []byte) (int32, float64, error) {
	left, right, found := bytes.Cut(token, []byte(":"))
	if !found {
		return 0, 0, s.Invalid("BAD_ENTRY", "%s is no entry; entries are written index:value", scan.Quote(token))
	}
	index, ok := scan.ParseInteger(left)
	last := int64(dataset.MaxColumns) // the largest index of a file that counts from 1
	if s.features > 0 {
		last = int64(min(s.features, dataset.MaxColumns))
	}
	switch {
	case !ok:
		return 0, 0, s.Invalid("NOT_AN_INDEX", "%s in %s is no index; features are numbered 1, 2, 3 and so on", scan.Quote(left), scan.Quote(token))
	case index < 0 || index > last:
		return 0, 0, s.Invalid("INDEX_OUT_OF_RANGE", "feature %d is outside 0..%d", index, last)
	}
	value, ok := scan.ParseFloat(right)
	switch {
	case s.ReadsAsNaN(right):
		value = math.NaN()
	case !ok:
		return 0, 0, s.atEntry(int32(index), "NOT_A_NUMBER", "feature %d is %s, which is not a number", index, scan.Quote(right))
	case !scan.IsFinite(value):
		return 0, 0, s.atEntry(int32(index), "NOT_FINITE", "feature %d is %s; every value must be a finite number", index, scan.Quote(right))
	}
	return int32(index), value, nil
}

// atEntry is a fault in one entry of the current row.
func (s *svmlight) atEntry(index int32, reason, format string, args ...any) *fault.Error {
	return s.Invalid(reason, format, args...).
		With("row", strconv.Itoa(s.rows())).With("column", strconv.Itoa(int(index)))
}

// countFromZero finds out whether the file counts from 0 or 1 and how many features there are.
func (s *svmlight) countFromZero() error {
	base := int32(1)
	if s.smallest == 0 {
		base = 0
	}
	named := int(s.largest-base) + 1
	s.LineNumber = s.largestLine
	switch {
	case s.largest < 0 && s.features == 0:
		return s.Source.Invalid("EMPTY_DATA", "the file has no entries; give the number of features if all rows are zero")
	case s.features > 0 && named > s.features:
		return s.Invalid("INDEX_OUT_OF_RANGE", "feature %d is outside 0..%d (an index 0 in the file says that it counts from 0)", s.largest, s.features-1)
	case s.features == 0 && named > max(baseFeatureLimit, featuresPerEntry*len(s.columns)):
		return s.Invalid("TOO_MANY_COLUMNS", "feature %d is named by a file of only %d entries; if that is meant, give the number of features", s.largest, len(s.columns))
	case s.features == 0:
		s.features = named
	}
	for at := range s.columns {
		s.columns[at] -= base
	}
	return nil
}
