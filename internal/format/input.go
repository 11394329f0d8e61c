package format

import (
	"bufio"
	"bytes"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/format/array"
	"github.com/cleave-project/cleave/internal/format/scan"
)

// Input is a file, or standard input, and what the user says about it.
type Input struct {
	Path   string
	Format string      // such as "csv"; "": the bytes tell, or the name
	Array  string      // which one of several, in an NPZ file; "": the only one
	Stdin  io.Reader   // what the path "-" stands for, see Peekable
	spool  *scan.Spool // what Stdin reads from; nil: from elsewhere
}

// InputKind is what a file holds.
type InputKind int

// The kinds of files.
const (
	InputTable  InputKind = iota // OpenTable reads it
	InputDense                   // ReadPoints
	InputSparse                  // ReadSparsePoints
	InputGraph                   // ReadGraph, and nothing else does
)

// peeked is how much of an input tells its format.
const peeked = 16 << 10

// Peekable makes it possible to look at the beginning of an input before it is read.
func Peekable(r io.Reader) io.Reader {
	if _, ok := r.(*bufio.Reader); ok || r == nil {
		return r
	}
	return bufio.NewReaderSize(r, peeked)
}

// Name is what errors call the input.
func (in Input) Name() string {
	if in.Path == "-" {
		return "standard input"
	}
	return in.Path
}

// Kind is what the file holds. Nothing is read from standard input that would not be read again.
func (in Input) Kind() (InputKind, error) {
	suffix, err := in.suffix()
	switch {
	case err != nil:
		return 0, err
	case textTables[suffix], suffix == ".parquet", suffix == ".arrow":
		return InputTable, nil
	case suffix == scan.NPZSuffix:
		return in.kindOfNPZ()
	case sparseFormats.has(suffix):
		return InputSparse, nil
	case denseFormats.has(suffix):
		return InputDense, nil
	case graphFormats.has(suffix):
		return InputGraph, nil
	}
	return 0, (&scan.Source{Name: in.Name()}).Invalid("UNKNOWN_FORMAT", "the suffix %q is not that of a supported format; give --format: %s", suffix, strings.Join(Formats(), ", "))
}

// kindOfNPZ is InputSparse for a sparse matrix, unless one of its arrays is asked for.
func (in Input) kindOfNPZ() (InputKind, error) {
	kind := InputDense
	err := in.begin(func(s *scan.Source) {
		if in.Array == "" && array.HoldsSparse(s) {
			kind = InputSparse
		}
	})
	return kind, err
}

// KindOf is what several files hold, or those of a folder: the first one tells.
func KindOf(paths []string, like Input) (InputKind, error) {
	files, err := expand(paths)
	if err != nil {
		return 0, err
	}
	like.Path = files[0]
	return like.Kind()
}

// Formats are the names of formats of points that Input.Format may have.
func Formats() []string {
	var names []string
	for _, suffixes := range [][]string{tableSuffixes, denseFormats.suffixes(), {".svmlight"}} {
		for _, suffix := range suffixes {
			if name := suffix[1:]; !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}

// CheckFormat refuses a name that is none of Formats.
func CheckFormat(name string) error {
	if suffix := scan.SuffixOf("." + name); textTables[suffix] || slices.Contains(Formats(), suffix[1:]) {
		return nil
	}
	return fault.Invalid("UNKNOWN_FORMAT", "there is no format %q; use %s", name, strings.Join(Formats(), ", "))
}

// TableSuffixes are those of files that OpenTable takes, also compressed.
func TableSuffixes() []string { return tableSuffixes }

var tableSuffixes = []string{".csv", ".tsv", ".parquet", ".arrow"}

// suffix is that of the format.
func (in Input) suffix() (string, error) {
	if in.Format != "" {
		return scan.SuffixOf("." + in.Format), nil
	}
	suffix := ""
	err := in.begin(func(s *scan.Source) {
		if suffix = s.Suffix; suffix == "" || suffix == ".dat" || suffix == ".data" {
			head, _ := s.Peek(peeked / 4)
			suffix = detectText(head)
		}
	})
	return suffix, err
}

// begin looks at the beginning of the input, of which nothing is taken.
func (in Input) begin(look func(s *scan.Source)) error {
	var start io.Reader
	if in.Path == "-" {
		if in.Stdin == nil {
			return (&scan.Source{Name: in.Name()}).Invalid("FILE_NOT_READABLE", "there is no standard input here")
		}
		head, _ := in.Stdin.(*bufio.Reader).Peek(peeked) // an error comes again when it is read
		start = bytes.NewReader(head)
	} else {
		file, err := os.Open(in.Path)
		if err != nil {
			return (&scan.Source{Name: in.Path}).ReadError(err)
		}
		defer file.Close()
		start = file
	}
	s, err := scan.New(start, in.Name())
	if err == nil {
		look(s)
	}
	return err
}

// detectText is the suffix of a text whose name tells nothing: entries such as 3:1.5 are sparse points, and everything else
// is a table.
func detectText(head []byte) string {
	for line := range bytes.Lines(head) {
		cells := bytes.Fields(line)
		if len(cells) == 0 || cells[0][0] == '#' {
			continue
		}
		for _, cell := range cells[1:] {
			index, value, found := bytes.Cut(cell, []byte(":"))
			_, isIndex := scan.ParseInteger(index)
			_, isValue := scan.ParseFloat(value)
			if !found || !isIndex || !isValue {
				return ".csv"
			}
		}
		if len(cells) > 1 {
			return ".svmlight"
		}
		return ".csv"
	}
	return ".csv"
}

// Read opens the input for a function such as ReadPoints.
func (in Input) Read(read func(r io.Reader, name string) error) error {
	r := in.Stdin
	if in.Path != "-" {
		file, err := os.Open(in.Path)
		if err != nil {
			return (&scan.Source{Name: in.Path}).ReadError(err)
		}
		defer file.Close()
		r = file
	} else if r == nil {
		return (&scan.Source{Name: in.Name()}).Invalid("FILE_NOT_READABLE", "there is no standard input here")
	}
	if in.Format != "" || in.Array != "" {
		r = &scan.Given{Reader: r, Format: in.Format, Array: in.Array}
	}
	return read(r, in.Name())
}

// expand replaces folders by their files, in the order of their names. Files that tools put beside the parts of a table
// begin with a dot or an underscore.
func expand(paths []string) ([]string, error) {
	var files []string
	for _, path := range paths {
		info, err := os.Stat(path)
		if path == "-" || err != nil || !info.IsDir() { // an error comes again when it is opened
			files = append(files, path)
			continue
		}
		entries, err := os.ReadDir(path)
		if err != nil {
			return nil, (&scan.Source{Name: path}).ReadError(err)
		}
		before := len(files)
		for _, entry := range entries {
			if name := entry.Name(); !strings.HasPrefix(name, ".") && !strings.HasPrefix(name, "_") && entry.Type()&fs.ModeDir == 0 {
				files = append(files, filepath.Join(path, name))
			}
		}
		if len(files) == before {
			return nil, (&scan.Source{Name: path}).Invalid("EMPTY_DATA", "the folder has no files")
		}
	}
	for at, path := range files {
		if slices.Contains(files[:at], path) {
			return nil, (&scan.Source{Name: path}).Invalid("BAD_FILES", "the file is named twice; give each part of a table once")
		}
	}
	return files, nil
}

// LoadPoints is ReadPoints of the input.
func (in Input) LoadPoints() (points *dataset.Points, header []string, err error) {
	err = in.Read(func(r io.Reader, name string) (err error) {
		points, header, err = ReadPoints(r, name)
		return err
	})
	return points, header, err
}

// LoadKernel is ReadKernel of the input.
func (in Input) LoadKernel() (kernel *dataset.Kernel, err error) {
	err = in.Read(func(r io.Reader, name string) (err error) {
		kernel, err = ReadKernel(r, name)
		return err
	})
	return kernel, err
}

// LoadCompletePoints is ReadCompletePoints of the input.
func (in Input) LoadCompletePoints() (points *dataset.Points, header []string, incomplete []int32, err error) {
	err = in.Read(func(r io.Reader, name string) (err error) {
		points, header, incomplete, err = ReadCompletePoints(r, name)
		return err
	})
	return points, header, incomplete, err
}

// LoadSparsePoints is ReadSparsePoints of the input.
func (in Input) LoadSparsePoints(features int) (points *dataset.SparsePoints, err error) {
	err = in.Read(func(r io.Reader, name string) (err error) {
		points, err = ReadSparsePoints(r, name, features)
		return err
	})
	return points, err
}

// LoadCompleteSparsePoints is ReadCompleteSparsePoints of the input.
func (in Input) LoadCompleteSparsePoints() (points *dataset.SparsePoints, incomplete []int32, err error) {
	err = in.Read(func(r io.Reader, name string) (err error) {
		points, incomplete, err = ReadCompleteSparsePoints(r, name)
		return err
	})
	return points, incomplete, err
}
