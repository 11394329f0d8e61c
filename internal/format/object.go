package format

import (
	"io"

	"github.com/cleave-project/cleave/internal/format/columnar"
	"github.com/cleave-project/cleave/internal/format/csv"
)

// Object is a file that is not on a disk: its bytes, and the name that gives its format and that messages use.
type Object struct {
	Name string
	io.ReaderAt
	Size int64
}

// section returns a reader of the whole object. Its type tells scan.Source that the object can be read at any position.
func (o *Object) section() *io.SectionReader { return io.NewSectionReader(o.ReaderAt, 0, o.Size) }

// RowGroups are the row groups [From, To) of a Parquet file.
type RowGroups struct{ From, To int }

// ObjectReader reads the table in an object.
type ObjectReader struct{ Part }

// OpenObject opens a table in an object. If groups is not nil, only these row groups of a Parquet file are read.
func OpenObject(object Object, groups *RowGroups, o TableOptions) (*ObjectReader, error) {
	part, err := openInput(Input{Path: object.Name, Format: o.Format, object: &object, groups: groups}, o)
	if err != nil {
		return nil, err
	}
	return &ObjectReader{part}, nil
}

// Groups returns the sizes of the row groups of a Parquet file, or nil for other formats.
func (r *ObjectReader) Groups() []columnar.Group {
	if b, ok := r.Part.(*binaryTable); ok {
		if file, ok := b.reader.(*columnar.Parquet); ok {
			return file.Groups()
		}
	}
	return nil
}

// Marks returns the decimal separator that the columns of a text show, "" if they are ambiguous or the format is
// binary.
func (r *ObjectReader) Marks() string {
	if text, ok := r.Part.(textPart); ok {
		return text.Marks()
	}
	return ""
}

// Survey returns what reading a text has shown so far, or nil if the format is binary; see csv.Options.Known.
func (r *ObjectReader) Survey() *csv.Survey {
	if text, ok := r.Part.(textPart); ok {
		return text.Survey()
	}
	return nil
}
