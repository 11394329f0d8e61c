package format

import (
	"bytes"
	"errors"
	"io"
	"math"
	"strconv"

	"github.com/cleave-project/cleave/internal/dataset"
	"github.com/cleave-project/cleave/internal/fault"
)

// The svmlight format, which libsvm shares, has one sparse row on each line:
//
//	label index:value index:value ... # comment
//
// The label is one number, or several joined by commas, or left out; tokens qid:N are skipped.
// Indices ascend. They count from 1 by convention, but some tools count from 0: a file with an
// index 0 anywhere is taken to count from 0, and any other to count from 1. So a file that counts
// from 0 and never uses its first feature loses that feature, which no distance notices.
const sparseFormats = ".svm, .svmlight or .libsvm"

// A row's mistyped index could ask for gigabytes in everything that has a number for each feature,
// such as a mean. Files may name up to freeFeatures features, and beyond that up to
// featuresPerEntry for each entry; who means more gives the number of features.
const (
	freeFeatures     = 1 << 22
	featuresPerEntry = 64
)

// IsSparse tells whether a name is that of a file of sparse points.
func IsSparse(name string) bool { return sparseSuffix(suffixOf(name)) }

func sparseSuffix(suffix string) bool {
	return suffix == ".svm" || suffix == ".svmlight" || suffix == ".libsvm"
}

// ReadSparsePoints reads rows of sparse features and ignores their labels. features 0 takes the
// number of features from the largest index.
func ReadSparsePoints(r io.Reader, name string, features int) (*dataset.SparsePoints, error) {
	s, err := openSVMLight(r, name)
	if err != nil {
		return nil, err
	}
	s.features = features
	if err := s.readRows(); err != nil {
		return nil, err
	}
	return s.points()
}

func (s *svmlight) readRows() error {
	s.starts = []int64{0}
	return s.each(s.appendRow)
}

// LoadSparsePoints is ReadSparsePoints of a path.
func LoadSparsePoints(path string, features int) (*dataset.SparsePoints, error) {
	return loadSized(path, features, ReadSparsePoints)
}

// ReadSparseLabels reads the labels of a file of sparse points: one integer in front of each row.
func ReadSparseLabels(r io.Reader, name string) ([]int64, error) {
	s, err := openSVMLight(r, name)
	if err != nil {
		return nil, err
	}
	var labels []int64
	err = s.each(func(label, _ []byte) error {
		value, ok := parseInteger(label)
		switch {
		case len(label) == 0:
			return s.invalid("MISSING_LABEL", "the row has no label; write an integer in front of its entries")
		case !ok:
			return s.invalid("NOT_AN_INTEGER", "the label is %s; one integer in front of each row is needed", shown(label))
		}
		labels = append(labels, value)
		return nil
	})
	return orNone(labels, err)
}

// LoadSparseLabels is ReadSparseLabels of a path.
func LoadSparseLabels(path string) ([]int64, error) { return load(path, ReadSparseLabels) }

// svmlight collects rows with the indices of the file, until its end tells where it counts from.
type svmlight struct {
	*lines
	features          int // 0: not given
	starts            []int64
	columns           []int32
	values            []float64
	smallest, largest int32
	largestLine       int
}

func openSVMLight(r io.Reader, name string) (*svmlight, error) {
	source, err := newSource(r, name)
	if err != nil {
		return nil, err
	}
	if !sparseSuffix(source.suffix) {
		return nil, source.unknownSuffix(sparseFormats)
	}
	s := &svmlight{lines: newLines(source), smallest: math.MaxInt32, largest: -1}
	s.skipping, s.comments = true, "#"
	return s, nil
}

// each calls a function with the label of every row, empty when it has none, and the rest.
func (s *svmlight) each(row func(label, entries []byte) error) error {
	rows := 0
	for {
		line, err := s.next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		if rows == dataset.MaxRows {
			return s.invalid("TOO_MANY_ROWS", "more than %d rows are not supported", dataset.MaxRows)
		}
		rows++
		text, _, _ := bytes.Cut(line, []byte("#"))
		text = bytes.TrimSpace(text)
		var label []byte
		end := bytes.IndexAny(text, " \t")
		if end < 0 {
			end = len(text)
		}
		if bytes.IndexByte(text[:end], ':') < 0 {
			label, text = text[:end], text[end:]
		}
		if err := s.checkLabel(label); err != nil {
			return err
		}
		if err := row(label, text); err != nil {
			return err
		}
	}
	if rows == 0 {
		return s.source.invalid("EMPTY_DATA", "the file has no rows of data")
	}
	return nil
}

// checkLabel refuses words and torn entries, which would pass for a label and make a row of zeros.
func (s *svmlight) checkLabel(label []byte) error {
	if len(label) == 0 {
		return nil
	}
	for part := range bytes.SplitSeq(label, []byte(",")) {
		if _, ok := parseFloat(part); !ok {
			return s.invalid("BAD_LABEL", "the line begins with %s; a row is a number as its label and then index:value entries", shown(label))
		}
	}
	return nil
}

func (s *svmlight) appendRow(_, entries []byte) error {
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
			s.largest, s.largestLine = index, s.number
		}
	}
	s.starts = append(s.starts, int64(len(s.columns)))
	return nil
}

// parseEntry reads index:value; the index is the file's own.
func (s *svmlight) parseEntry(token []byte) (int32, float64, error) {
	left, right, found := bytes.Cut(token, []byte(":"))
	if !found {
		return 0, 0, s.invalid("BAD_ENTRY", "%s is no entry; entries are written index:value", shown(token))
	}
	index, ok := parseInteger(left)
	last := int64(dataset.MaxColumns) // the last one where the file counts from 1
	if s.features > 0 {
		last = int64(min(s.features, dataset.MaxColumns))
	}
	switch {
	case !ok:
		return 0, 0, s.invalid("NOT_AN_INDEX", "%s in %s is no index; features are numbered 1, 2, 3 and so on", shown(left), shown(token))
	case index < 0 || index > last:
		return 0, 0, s.invalid("INDEX_OUT_OF_RANGE", "feature %d is outside 0..%d", index, last)
	}
	value, ok := parseFloat(right)
	switch {
	case s.gap(right):
		value = math.NaN()
	case !ok:
		return 0, 0, s.atEntry(int32(index), "NOT_A_NUMBER", "feature %d is %s, which is no number", index, shown(right))
	case !finite(value):
		return 0, 0, s.atEntry(int32(index), "NOT_FINITE", "feature %d is %s; every value must be a finite number", index, shown(right))
	}
	return int32(index), value, nil
}

// atEntry is a fault at one feature of the current row.
func (s *svmlight) atEntry(index int32, reason, format string, args ...any) *fault.Error {
	return s.invalid(reason, format, args...).
		With("row", strconv.Itoa(len(s.starts)-1)).With("column", strconv.Itoa(int(index)))
}

// points settles where the file counts from and how many features there are.
func (s *svmlight) points() (*dataset.SparsePoints, error) {
	features := s.features
	base := int32(1)
	if s.smallest == 0 {
		base = 0
	}
	named := int(s.largest-base) + 1
	s.number = s.largestLine
	switch {
	case s.largest < 0 && features == 0:
		return nil, s.source.invalid("EMPTY_DATA", "the file has no entries; give the number of features if all rows are zero")
	case features > 0 && named > features:
		return nil, s.invalid("INDEX_OUT_OF_RANGE", "feature %d is outside 0..%d (an index 0 in the file says that it counts from 0)", s.largest, features-1)
	case features == 0 && named > max(freeFeatures, featuresPerEntry*len(s.columns)):
		return nil, s.invalid("TOO_MANY_COLUMNS", "feature %d is named by a file of only %d entries; if that is meant, give the number of features", s.largest, len(s.columns))
	case features == 0:
		features = named
	}
	if base == 1 {
		for at := range s.columns {
			s.columns[at]--
		}
	}
	points, err := dataset.NewSparsePoints(len(s.starts)-1, features, s.starts, s.columns, s.values)
	if err != nil {
		return nil, fault.Wrap(err, "%s", s.name)
	}
	return points, nil
}
