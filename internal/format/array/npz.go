package array

import (
	"archive/zip"
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/cleave-project/cleave/internal/format/scan"
)

// ReadNPZ reads an array of a ZIP archive of NPY files, which are called NAME.npy: the one that was asked for, or the only one of two dimensions, or the only one.
func ReadNPZ(s *scan.Source) (*Matrix, error) {
	archive, end, err := openZip(s)
	if err != nil {
		return nil, err
	}
	defer end.Close()
	if s.Array == "" && isSparseNPZ(archive) {
		return nil, s.Invalid("SPARSE_MATRIX", "the file has a sparse matrix, which is read as --data or as --graph; numpy.save(FILE, matrix.toarray()) makes it dense")
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

// chooseArray finds the array that is meant.
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
		names, arrays = append(names, name), append(arrays, entry)
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
	return nil, s.Invalid("SEVERAL_ARRAYS", "the file has several arrays: %s; say which by --array", list)
}

// openArray opens an array as a file of its own.
func openArray(s *scan.Source, entry *zip.File) (*scan.Source, error) {
	array := &scan.Source{Name: fmt.Sprintf("%s, array %s", s.Name, strings.TrimSuffix(entry.Name, scan.NPYSuffix)), Suffix: scan.NPYSuffix, AllowMissing: s.AllowMissing}
	if size := entry.UncompressedSize64; size > scan.FreeBytes && size/scan.MaxGrowth > entry.CompressedSize64 {
		return nil, array.Invalid("FILE_GROWS_TOO_MUCH", "it claims to unfold into %d bytes, more than %d times what it has, which looks like a mistake or a trap",
			size, scan.MaxGrowth)
	}
	opened, err := entry.Open()
	if err != nil {
		return nil, array.Invalid("CORRUPT_FILE", "the file is damaged or cut short (%v)", err)
	}
	array.Reader = bufio.NewReaderSize(&unzipped{opened}, 64<<10)
	return array, nil
}

// unzipped tells damage from an input that cannot be read.
type unzipped struct{ r io.Reader }

func (z *unzipped) Read(into []byte) (int, error) {
	n, err := z.r.Read(into)
	if err != nil && !errors.Is(err, io.EOF) {
		err = scan.Damage(err)
	}
	return n, err
}
