package format

import (
	"bufio"
	"bytes"
	"cmp"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/format/array"
	"github.com/cleave-project/cleave/internal/format/scan"
)

// Input is a file or standard input, with what the user specified about it.
type Input struct {
	Path   string
	Format string    // such as "csv"; "" detects it from the first bytes or the name
	Array  string    // the array to read from an NPZ file; "" means the only one
	Stdin  io.Reader // read for the path "-"; see Peekable
	Label  string    // the name of Stdin in messages; "" means "standard input"
	Names  []string  // of the columns of points, if known: a first line of these is a header even if some are numbers
	// MaxBytes limits what a compressed input, or an array in it, may decompress to; 0 means no limit of its own.
	MaxBytes int64
	// reads Stdin and keeps a copy, so that open can be called again; nil if it can be read only once
	spool  *scan.Spool
	object *Object    // read instead of the file; nil for files
	groups *RowGroups // the row groups to read of a Parquet file; nil means all
}

// open returns the bytes of the input from its beginning, and a function that closes them.
func (in Input) open() (r io.Reader, end func(), err error) {
	end = func() {}
	switch {
	case in.object != nil:
		return in.object.section(), end, nil
	case in.Path != "-":
		file, err := os.Open(in.Path)
		if err != nil {
			return nil, end, in.source().ReadError(err)
		}
		return file, func() { file.Close() }, nil
	case in.spool != nil:
		return in.spool, end, in.spool.Rewind()
	case in.Stdin == nil:
		return nil, end, in.source().Invalid("FILE_NOT_READABLE",
			"standard input is not available; use the path of a file")
	}
	return in.Stdin, end, nil
}

// source returns a source without content, for errors.
func (in Input) source() *scan.Source { return &scan.Source{Name: in.Name()} }

// InputKind says which reader a file needs.
type InputKind int

// Kinds of input.
const (
	InputTable  InputKind = iota // OpenTable
	InputDense                   // LoadPoints
	InputSparse                  // LoadSparsePoints
	InputGraph                   // LoadNamedGraph, for formats that hold only graphs
)

// peeked is how many bytes are examined to detect a format.
const peeked = 16 << 10

// Peekable returns a reader whose beginning Input can examine without consuming it. It returns nil for nil.
func Peekable(r io.Reader) io.Reader {
	if _, ok := r.(*bufio.Reader); ok || r == nil {
		return r
	}
	return bufio.NewReaderSize(r, peeked)
}

// Name returns the name of the input for messages.
func (in Input) Name() string {
	if in.Path == "-" {
		return cmp.Or(in.Label, "standard input")
	}
	return in.Path
}

// Kind returns what the file holds. It consumes nothing of standard input.
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
	return 0, in.source().Invalid("UNKNOWN_FORMAT", "the suffix %q is not supported; set --format to one of %s", suffix,
		strings.Join(Formats(), ", "))
}

// kindOfNPZ returns InputSparse for a sparse matrix, unless the user named one of its arrays.
func (in Input) kindOfNPZ() (InputKind, error) {
	kind := InputDense
	err := in.begin(func(s *scan.Source) {
		if in.Array == "" && array.HoldsSparse(s) {
			kind = InputSparse
		}
	})
	return kind, err
}

// KindOf returns what the files at paths hold, judged by the first file. Folders stand for their files.
func KindOf(paths []string, like Input) (InputKind, error) {
	files, err := expand(paths)
	if err != nil {
		return 0, err
	}
	like.Path = files[0]
	return like.Kind()
}

// Formats lists the formats of points that Input.Format accepts.
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

// CheckFormat returns an error if name is not one of Formats.
func CheckFormat(name string) error {
	if suffix := scan.SuffixOf("." + name); textTables[suffix] || slices.Contains(Formats(), suffix[1:]) {
		return nil
	}
	return fault.Invalid("UNKNOWN_FORMAT", "the format %q is not supported; use %s", name,
		strings.Join(Formats(), ", "))
}

// TableSuffixes lists the suffixes of tables that help and errors name, without those of compression. OpenTable
// accepts a few more; see textTables.
func TableSuffixes() []string { return tableSuffixes }

var tableSuffixes = []string{".csv", ".tsv", ".parquet", ".arrow"}

// suffix returns the suffix of the format that the user named, or else of the detected one.
func (in Input) suffix() (string, error) {
	if in.Format != "" {
		return scan.SuffixOf("." + in.Format), nil
	}
	suffix := ""
	err := in.begin(func(s *scan.Source) {
		suffix = s.Suffix
		if suffix == "" || suffix == ".dat" || suffix == ".data" {
			head, ended := s.Peek(peeked / 4)
			if ended == nil { // the last cell may go on
				head = head[:bytes.LastIndexAny(head, " \t\n")+1]
			}
			suffix = detectText(head)
		}
	})
	return suffix, err
}

// begin calls look with the beginning of the input, and consumes nothing of standard input.
func (in Input) begin(look func(s *scan.Source)) error {
	r, end, err := in.open()
	if err != nil {
		return err
	}
	defer end()
	if once, ok := r.(*bufio.Reader); ok {
		head, _ := once.Peek(peeked) // a read error shows up again when the input is read
		r = bytes.NewReader(head)
	}
	s, err := scan.Open(r, in.Name(), scan.Options{Format: in.Format})
	if err == nil {
		look(s)
	}
	return err
}

// detectText returns the suffix for a text without a telling name: .svm if its cells look like 3:1.5, otherwise that of
// a table.
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

// readInput opens an input and passes it to read. It adds what the input says to the options.
func readInput[T any](in Input, o scan.Options, read func(s *scan.Source) (T, error)) (value T, err error) {
	r, end, err := in.open()
	if err != nil {
		return value, err
	}
	defer end()
	o.Format, o.Array, o.MaxBytes, o.Names = in.Format, in.Array, in.MaxBytes, in.Names
	s, err := scan.Open(r, in.Name(), o)
	if err != nil {
		return value, err
	}
	return read(s)
}

// expand replaces folders by their parts, sorted by name.
func expand(paths []string) ([]string, error) {
	var files []string
	for _, path := range paths {
		if scheme, _, found := strings.Cut(path, "://"); found && scheme != "" {
			return nil, (&scan.Source{Name: path}).Invalid("NOT_A_FILE", "%s", helpWithURI(scheme))
		}
		info, err := os.Stat(path)
		if path == "-" || err != nil || !info.IsDir() { // an error shows up again when the file is opened
			files = append(files, path)
			continue
		}
		entries, err := os.ReadDir(path)
		if err != nil {
			return nil, (&scan.Source{Name: path}).ReadError(err)
		}
		before := len(files)
		for _, entry := range entries {
			if IsPart(entry) {
				files = append(files, filepath.Join(path, entry.Name()))
			}
		}
		if len(files) == before {
			return nil, (&scan.Source{Name: path}).Invalid("EMPTY_DATA", "the folder contains no files")
		}
	}
	listed := map[string]bool{}
	for _, path := range files {
		if listed[filepath.Clean(path)] {
			return nil, (&scan.Source{Name: path}).Invalid("BAD_FILES", "the file is listed twice; list each file once")
		}
		listed[filepath.Clean(path)] = true
	}
	return files, nil
}

// helpWithURI returns what to do with a URI that is not a file.
func helpWithURI(scheme string) string {
	switch scheme {
	case "http", "https":
		return "Cleave does not download files; download it, or pipe it into --data -: curl -L URL | cleave run " +
			"--data - --k N"
	case "s3", "gs":
		return "this is the URI of an object, but this command reads only files; cleave run, submit and " +
			"plan read objects"
	}
	return "this is neither a file nor an object in s3:// or gs://; copy it to a file"
}

// IsPart reports whether a file of a folder is a part of the data set in it. Tools write files whose names begin with
// a dot or an underscore next to the parts.
func IsPart(entry fs.DirEntry) bool {
	return !strings.HasPrefix(entry.Name(), ".") && !strings.HasPrefix(entry.Name(), "_") && !entry.IsDir()
}
