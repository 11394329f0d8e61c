package format

import (
	"fmt"
	"io"
	"os"
)

// seekable gives access to any part of an input: the file itself, or a temporary file of what can be read only once. The
// temporary file has no name any more when it is filled, so that nothing is left behind however the program ends.
func (s *source) seekable() (content io.ReaderAt, size int64, end io.Closer, err error) {
	if s.file != nil {
		if info, err := s.file.Stat(); err == nil && info.Mode().IsRegular() {
			return s.file, info.Size(), io.NopCloser(nil), nil
		}
	}
	spooled, end, err := s.spool()
	if err != nil {
		return nil, 0, nil, err
	}
	size, err = spooled.Seek(0, io.SeekEnd)
	return spooled, size, end, err
}

// spool copies an input to a temporary file.
func (s *source) spool() (*os.File, io.Closer, error) {
	spooled, err := os.CreateTemp("", "cleave-*")
	if err != nil {
		return nil, nil, fmt.Errorf("%s: a temporary file for it cannot be made: %w", s.name, err)
	}
	end := &temporary{spooled, os.Remove(spooled.Name()) != nil}
	if _, err := io.Copy(spooled, s.Reader); err != nil {
		end.Close()
		return nil, nil, s.readError(err)
	}
	return spooled, end, nil
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
