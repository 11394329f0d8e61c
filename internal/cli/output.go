package cli

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/format"
)

// outputFile is one file of an output folder.
type outputFile struct {
	name  string
	write func(io.Writer) error
}

// outputDir is a folder made ready before the work begins, so that a mistake in its name does not
// cost a whole run.
type outputDir struct {
	path string
	made bool
}

func openOutput(path string) (*outputDir, error) {
	switch info, err := os.Stat(path); {
	case err == nil && !info.IsDir():
		return nil, fault.Invalid("BAD_OUTPUT", "%s: this is a file; --out needs a folder", path)
	case err == nil:
		return &outputDir{path: path}, nil
	case !errors.Is(err, fs.ErrNotExist):
		return nil, fault.Invalid("BAD_OUTPUT", "%s: the folder cannot be used: %v", path, cause(err))
	}
	if err := os.MkdirAll(path, 0o777); err != nil {
		return nil, fault.Invalid("BAD_OUTPUT", "%s: the folder cannot be made: %v", path, cause(err))
	}
	return &outputDir{path: path, made: true}, nil
}

// abandon removes a folder that was made for nothing; one with files in it stays.
func (d *outputDir) abandon() {
	if d != nil && d.made {
		os.Remove(d.path)
	}
}

// write makes the files, each in one piece, in order: who finds the last finds them all. It writes
// nothing when the user has given up.
func (d *outputDir) write(ctx context.Context, files []outputFile) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := d.clear(files); err != nil {
		return err
	}
	for _, file := range files {
		if err := format.WriteFile(filepath.Join(d.path, file.name), file.write); err != nil {
			return err
		}
	}
	return nil
}

// clear removes what an earlier run left in the folder and this one does not write anew: beside another
// result it would not be true.
func (d *outputDir) clear(files []outputFile) error {
	if _, err := os.Stat(filepath.Join(d.path, resultFile)); err != nil {
		return nil // no run wrote here
	}
	for _, name := range []string{centroidsFile, metricFile, embeddingFile, clustersFile, objectiveFile} {
		if slices.ContainsFunc(files, func(f outputFile) bool { return f.name == name }) {
			continue
		}
		if err := os.Remove(filepath.Join(d.path, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fault.Invalid("BAD_OUTPUT", "%s: %s of an earlier run cannot be removed: %v", d.path, name, cause(err))
		}
	}
	return nil
}
