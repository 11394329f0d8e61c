package scan

import (
	"fmt"
	"io"
	"os"

	"github.com/cleave-project/cleave/internal/fault"
)

// Spool is an input that can be read only once, such as standard input, made one that can be read again: what was read is kept
// in a temporary file without a name, so that nothing is left behind however the program ends.
type Spool struct {
	input io.Reader
	file  *temporary // where it is kept; nil: nothing was read yet
	kept  int64      // bytes
	next  int64      // the byte that Read begins with
	Lost  bool       // there was no place to keep all of it
}

// NewSpool returns a Spool that reads from an input.
func NewSpool(input io.Reader) *Spool { return &Spool{input: input} }

// Read reads what was read before, and then from the input.
func (s *Spool) Read(into []byte) (int, error) {
	if s.next < s.kept {
		n, err := s.file.ReadAt(into[:min(int64(len(into)), s.kept-s.next)], s.next)
		s.next += int64(n)
		return n, err
	}
	n, err := s.input.Read(into)
	if n > 0 && !s.Lost {
		s.keep(into[:n])
	}
	return n, err
}

func (s *Spool) keep(bytes []byte) {
	if s.file == nil {
		file, err := newTemporary()
		if err != nil {
			s.Lost = true
			return
		}
		s.file = file
	}
	if _, err := s.file.Write(bytes); err != nil {
		s.Lost = true
		return
	}
	s.kept += int64(len(bytes))
	s.next = s.kept
}

// Rewind goes back to the first byte.
func (s *Spool) Rewind() error {
	if s.Lost {
		return fault.Invalid("READ_ONCE", "standard input cannot be read again: there was no space for a copy of it in %s; save it to a file", os.TempDir())
	}
	s.next = 0
	return nil
}

// Close gives up the copy.
func (s *Spool) Close() {
	if s.file != nil {
		s.file.Close()
	}
}

// newTemporary makes a temporary file that is gone when it is closed.
func newTemporary() (*temporary, error) {
	file, err := os.CreateTemp("", "cleave-*")
	if err != nil {
		return nil, err
	}
	return &temporary{file, os.Remove(file.Name()) != nil}, nil
}

// Seekable gives access to any part of an input: the file itself, or a temporary file of what can be read only once.
func (s *Source) Seekable() (content io.ReaderAt, size int64, end io.Closer, err error) {
	if s.File != nil {
		if info, err := s.File.Stat(); err == nil && info.Mode().IsRegular() {
			return s.File, info.Size(), io.NopCloser(nil), nil
		}
	}
	if s.spool != nil {
		if _, err := io.Copy(io.Discard, s.Reader); err != nil {
			return nil, 0, nil, s.ReadError(err)
		}
		if err := s.spool.Rewind(); err != nil {
			return nil, 0, nil, err
		}
		return s.spool.file, s.spool.kept, io.NopCloser(nil), nil
	}
	spooled, err := newTemporary()
	if err != nil {
		return nil, 0, nil, fmt.Errorf("%s: a temporary file for it cannot be made: %w", s.Name, err)
	}
	if size, err = io.Copy(spooled, s.Reader); err != nil {
		spooled.Close()
		return nil, 0, nil, s.ReadError(err)
	}
	return spooled, size, spooled, nil
}

// temporary is a file that is removed when it is closed, where that was not possible before.
type temporary struct {
	*os.File
	remove bool
}

func (t *temporary) Close() error {
	err := t.File.Close()
	if t.remove {
		os.Remove(t.Name())
	}
	return err
}
