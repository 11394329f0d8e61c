package scan

import (
	"bytes"
	"fmt"
	"io"
	"os"

	"github.com/cleave-project/cleave/internal/fault"
)

// Spool makes an input that can be read only once, such as standard input, readable again. It keeps a copy in memory,
// and of an input longer than spoolMemory in an unlinked temporary file, so that nothing is left behind however the
// program ends.
type Spool struct {
	input  io.Reader
	memory []byte
	file   *temporary // nil while the copy is in memory
	kept   int64      // bytes of the copy
	next   int64      // the position of the next Read
	Lost   bool       // the copy was dropped, because there was no space for it

	// Room reports whether the temporary file may grow; nil means that it always may. It is asked before each write.
	Room func() bool
}

// spoolMemory is the largest copy that is kept in memory. It exceeds the part that is examined to detect a format, so
// that an input can be read once where there is no space for temporary files.
const spoolMemory = 1 << 20

// NewSpool returns a Spool that reads from an input.
func NewSpool(input io.Reader) *Spool { return &Spool{input: input} }

// Read returns the bytes of the copy, and then those of the input.
func (s *Spool) Read(into []byte) (int, error) {
	if s.next < s.kept {
		n, err := s.copied().ReadAt(into[:min(int64(len(into)), s.kept-s.next)], s.next)
		s.next += int64(n)
		return n, err
	}
	n, err := s.input.Read(into)
	if n > 0 && !s.Lost {
		s.keep(into[:n])
	}
	return n, err
}

// keep appends to the copy. If there is no space for it, the copy is given up and the input can only be read on.
func (s *Spool) keep(part []byte) {
	if s.file == nil && len(s.memory)+len(part) <= spoolMemory {
		s.memory = append(s.memory, part...)
	} else if s.Room != nil && !s.Room() || s.write(part) != nil {
		s.Close() // at once, because others need the room too
		s.Lost, s.memory, s.file = true, nil, nil
		return
	}
	s.kept += int64(len(part))
	s.next = s.kept
}

// write appends to the file, which it creates with the content of the memory.
func (s *Spool) write(part []byte) (err error) {
	if s.file == nil {
		s.file, err = newTemporary()
		if err != nil {
			return err
		}
		part = append(s.memory, part...)
		s.memory = nil
	}
	_, err = s.file.Write(part)
	return err
}

// copied returns the copy.
func (s *Spool) copied() io.ReaderAt {
	if s.file != nil {
		return s.file
	}
	return bytes.NewReader(s.memory)
}

// Rewind returns to the first byte.
func (s *Spool) Rewind() error {
	if s.Lost {
		return fault.Invalid("READ_ONCE", "standard input cannot be read again: there was no space for a copy of it "+
			"in %s; save it to a file", os.TempDir())
	}
	s.next = 0
	return nil
}

// Close releases the copy. A nil Spool has none.
func (s *Spool) Close() {
	if s != nil && s.file != nil {
		s.file.Close()
	}
}

// newTemporary creates a temporary file that disappears when it is closed.
func newTemporary() (*temporary, error) {
	file, err := os.CreateTemp("", "cleave-*")
	if err != nil {
		return nil, err
	}
	return &temporary{file, os.Remove(file.Name()) != nil}, nil
}

// Seekable returns random access to the input: the file itself, or a temporary copy of an input that can be read only
// once. The caller must close end.
func (s *Source) Seekable() (content io.ReaderAt, size int64, end io.Closer, err error) {
	if file, size := s.RegularFile(); file != nil {
		return file, size, io.NopCloser(nil), nil
	}
	switch plain := s.plain.(type) {
	case *io.SectionReader:
		return plain, plain.Size(), io.NopCloser(nil), nil
	case *Spool:
		if _, err := io.Copy(io.Discard, s.Reader); err != nil {
			return nil, 0, nil, s.ReadError(err)
		}
		if err := plain.Rewind(); err != nil {
			return nil, 0, nil, err
		}
		return plain.copied(), plain.kept, io.NopCloser(nil), nil
	}
	spooled, err := newTemporary()
	if err != nil {
		return nil, 0, nil, fmt.Errorf("%s: cannot create a temporary copy: %w", s.Name, err)
	}
	size, err = io.Copy(spooled, s.Reader)
	if err != nil {
		spooled.Close()
		return nil, 0, nil, s.ReadError(err)
	}
	return spooled, size, spooled, nil
}

// temporary is a file that Close removes, on systems where an open file cannot be unlinked.
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
