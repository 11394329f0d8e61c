package array

import (
	"archive/zip"
	"bufio"
	"errors"
	"io"
	"math"
	"strings"
	"unicode"

	"github.com/cleave-project/cleave/internal/format/scan"
)

// ReadNPZ reads one array from a ZIP archive of NPY files: the one that the user named, else the only two-dimensional
// one, else the only one.
func ReadNPZ(s *scan.Source) (*Matrix, error) {
	archive, end, err := openZip(s)
	if err != nil {
		return nil, err
	}
	defer end.Close()
	if s.Array == "" && isSparseNPZ(archive) {
		return nil, s.Invalid("SPARSE_MATRIX",
			"the file holds a sparse matrix; use it with --data or --graph, or make it dense with numpy.save(FILE, "+
				"matrix.toarray())")
	}
	entry, err := chooseArray(s, archive)
	if err != nil {
		return nil, err
	}
	array, err := openArray(s, entry)
	if err != nil {
		return nil, err
	}
	return ReadNPY(array)
}

// openZip opens an archive. The caller closes the Closer, which holds a copy of an input that cannot seek.
func openZip(s *scan.Source) (*zip.Reader, io.Closer, error) {
	content, size, end, err := s.Seekable()
	if err != nil {
		return nil, nil, err
	}
	archive, err := zip.NewReader(content, size)
	if err != nil {
		end.Close()
		return nil, nil, s.Invalid("CORRUPT_FILE", "the file is damaged or cut short (%v)", err)
	}
	return archive, end, nil
}

// chooseArray returns the entry of the array to read; see ReadNPZ.
func chooseArray(s *scan.Source, archive *zip.Reader) (*zip.File, error) {
	var names []string
	var arrays, flat []*zip.File
	for _, entry := range archive.File {
		name, isArray := strings.CutSuffix(entry.Name, scan.NPYSuffix)
		if !isArray {
			continue
		}
		if name == s.Array {
			return entry, nil
		}
		names = append(names, shown(name))
		arrays = append(arrays, entry)
		if s.Array != "" {
			continue
		}
		array, err := openArray(s, entry)
		if err != nil {
			return nil, err
		}
		header, err := readNPYHeader(array)
		if err != nil {
			return nil, err
		}
		if len(header.shape) == 2 {
			flat = append(flat, entry)
		}
	}
	list := strings.Join(names[:min(len(names), 20)], ", ")
	switch {
	case len(names) == 0:
		var files []string
		for _, entry := range archive.File {
			files = append(files, entry.Name)
		}
		return nil, s.ForeignArchive(files)
	case s.Array != "":
		return nil, s.Invalid("NO_SUCH_ARRAY", "there is no array %q; the file has %s", s.Array, list)
	case len(flat) == 1:
		return flat[0], nil
	case len(arrays) == 1:
		return arrays[0], nil
	}
	return nil, s.Invalid("SEVERAL_ARRAYS", "the file has several arrays: %s; select one with --array", list)
}

// shown returns the name of an array for messages: quoted and shortened if it is not a usual one.
func shown(name string) string {
	if len(name) <= 40 && !strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return name
	}
	return scan.Quote([]byte(name))
}

// openArray opens an entry of the archive as a source.
func openArray(s *scan.Source, entry *zip.File) (*scan.Source, error) {
	name := s.Name + ", array " + shown(strings.TrimSuffix(entry.Name, scan.NPYSuffix))
	array := &scan.Source{Options: scan.Options{AllowMissing: s.AllowMissing}, Name: name, Suffix: scan.NPYSuffix}
	if size := entry.UncompressedSize64; size > scan.FreeBytes && size/scan.MaxGrowth > entry.CompressedSize64 {
		return nil, array.Invalid("FILE_GROWS_TOO_MUCH",
			"the array claims to decompress to %d bytes, more than %d times its size, which looks like a mistake "+
				"or an attack",
			size, scan.MaxGrowth)
	}
	// reading stops at the size in the header
	if err := s.CheckSize(int64(min(entry.UncompressedSize64, math.MaxInt64))); err != nil {
		return nil, err
	}
	opened, err := entry.Open()
	if err != nil {
		return nil, array.Invalid("CORRUPT_FILE", "the file is damaged or cut short (%v)", err)
	}
	array.Reader = bufio.NewReaderSize(&unzipped{opened}, 64<<10)
	return array, nil
}

// unzipped marks decompression errors as damage, to distinguish them from failed reads.
type unzipped struct{ r io.Reader }

func (z *unzipped) Read(into []byte) (int, error) {
	n, err := z.r.Read(into)
	if err != nil && !errors.Is(err, io.EOF) {
		err = scan.Damage(err)
	}
	return n, err
}
