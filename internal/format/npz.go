package format

import (
	"archive/zip"
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/cleave-project/cleave/internal/format/columnar"
)

// An NPZ file is a ZIP archive of NPY files, which are called NAME.npy. The array that is read is the one that was asked
// for, or the only one of two dimensions, or the only one.
func readNPZ(s *source) (*matrix, error) {
	archive, end, err := s.openZip()
	if err != nil {
		return nil, err
	}
	defer end.Close()
	if s.array == "" && isSparseNPZ(archive) {
		return nil, s.invalid("SPARSE_MATRIX", "the file has a sparse matrix, which is read as --data or as --graph; numpy.save(FILE, matrix.toarray()) makes it dense")
	}
	entry, err := s.chooseArray(archive)
	if err != nil {
		return nil, err
	}
	array, err := s.openArray(entry)
	if err != nil {
		return nil, err
	}
	return readNPY(array)
}

func (s *source) openZip() (*zip.Reader, io.Closer, error) {
	content, size, end, err := s.seekable()
	if err != nil {
		return nil, nil, err
	}
	archive, err := zip.NewReader(content, size)
	if err != nil {
		end.Close()
		return nil, nil, s.invalid("CORRUPT_FILE", "the file is damaged or cut short (%v)", err)
	}
	return archive, end, nil
}

const npySuffix, npzSuffix = ".npy", ".npz"

// chooseArray finds the array that is meant.
func (s *source) chooseArray(archive *zip.Reader) (*zip.File, error) {
	var names []string
	var arrays, flat []*zip.File
	for _, entry := range archive.File {
		name, isArray := strings.CutSuffix(entry.Name, npySuffix)
		if !isArray {
			continue
		}
		if name == s.array {
			return entry, nil
		}
		names, arrays = append(names, name), append(arrays, entry)
		if s.array != "" {
			continue
		}
		array, err := s.openArray(entry)
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
		return nil, s.foreignArchive(files)
	case s.array != "":
		return nil, s.invalid("NO_SUCH_ARRAY", "there is no array %q; the file has %s", s.array, list)
	case len(flat) == 1:
		return flat[0], nil
	case len(arrays) == 1:
		return arrays[0], nil
	}
	return nil, s.invalid("SEVERAL_ARRAYS", "the file has several arrays: %s; say which by --array", list)
}

// openArray opens an array as a file of its own.
func (s *source) openArray(entry *zip.File) (*source, error) {
	array := &source{name: fmt.Sprintf("%s, array %s", s.name, strings.TrimSuffix(entry.Name, npySuffix)), suffix: npySuffix, allowMissing: s.allowMissing}
	if size := entry.UncompressedSize64; size > columnar.FreeBytes && size/columnar.MaxGrowth > entry.CompressedSize64 {
		return nil, array.invalid("FILE_GROWS_TOO_MUCH", "it claims to unfold into %d bytes, more than %d times what it has, which looks like a mistake or a trap",
			size, columnar.MaxGrowth)
	}
	opened, err := entry.Open()
	if err != nil {
		return nil, array.invalid("CORRUPT_FILE", "the file is damaged or cut short (%v)", err)
	}
	array.Reader = bufio.NewReaderSize(&unzipped{opened}, 64<<10)
	return array, nil
}

// unzipped tells damage from an input that cannot be read.
type unzipped struct{ r io.Reader }

func (z *unzipped) Read(into []byte) (int, error) {
	n, err := z.r.Read(into)
	if err != nil && !errors.Is(err, io.EOF) {
		err = &damaged{err}
	}
	return n, err
}
