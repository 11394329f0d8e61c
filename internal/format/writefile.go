package format

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// WriteFile writes a file all at once or not at all: the content goes to a temporary file in the same
// directory, which is renamed when everything is on disk. After an error the path is as it was.
func WriteFile(path string, write func(io.Writer) error) (err error) {
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return fmt.Errorf("%s is not a regular file; give another path", path)
	}
	file, err := createBeside(path)
	if err != nil {
		return fmt.Errorf("cannot write %s: %w", path, err)
	}
	defer func() {
		if err != nil {
			file.Close()
			os.Remove(file.Name())
			err = fmt.Errorf("cannot write %s: %w", path, err)
		}
	}()
	if err := write(file); err != nil {
		return err
	}
	if err := file.Sync(); err != nil {
		return err
	}
	if err := file.Close(); err != nil {
		return err
	}
	return os.Rename(file.Name(), path)
}

// createBeside makes a new file in the directory of a path, with the permissions that the umask allows
// (os.CreateTemp would let only the owner read it).
func createBeside(path string) (*os.File, error) {
	var err error
	for try := range 1000 {
		name := filepath.Join(filepath.Dir(path), fmt.Sprintf(".%s.%d-%d.tmp", filepath.Base(path), os.Getpid(), try))
		var file *os.File
		if file, err = os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666); err == nil {
			return file, nil
		} else if !os.IsExist(err) {
			break
		}
	}
	return nil, err
}
