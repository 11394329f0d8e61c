package report

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"

	"github.com/cleave-project/cleave/internal/cli/shell"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/format"
)

// File is one file of an output folder.
type File struct {
	Name  string
	Write func(io.Writer) error
}

// OutputDir is an output folder. It is opened before the work begins, so that a wrong name does not cost a
// whole run.
type OutputDir struct {
	Path string
	made bool // by OpenOutput
}

// OpenOutput makes the folder if there is none.
func OpenOutput(path string) (*OutputDir, error) {
	switch info, err := os.Stat(path); {
	case err == nil && !info.IsDir():
		return nil, fault.Invalid("BAD_OUTPUT", "%s: this is a file; --out needs a folder", path)
	case err == nil:
		return &OutputDir{Path: path}, nil
	case !errors.Is(err, fs.ErrNotExist):
		return nil, fault.Invalid("BAD_OUTPUT", "%s: the folder cannot be used: %v", path, shell.WithoutPath(err))
	}
	if err := os.MkdirAll(path, 0o777); err != nil {
		return nil, fault.Invalid("BAD_OUTPUT", "%s: the folder cannot be made: %v", path, shell.WithoutPath(err))
	}
	return &OutputDir{Path: path, made: true}, nil
}

// Abandon removes the folder if OpenOutput made it and it is still empty.
func (d *OutputDir) Abandon() {
	if d != nil && d.made {
		os.Remove(d.Path)
	}
}

// Write writes the files in order, each atomically, so that whoever finds the last finds them all. It writes
// nothing when ctx has ended.
func (d *OutputDir) Write(ctx context.Context, files []File) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := d.clear(files); err != nil {
		return err
	}
	for _, file := range files {
		if err := format.WriteFile(filepath.Join(d.Path, file.Name), file.Write); err != nil {
			return err
		}
	}
	return nil
}

// kLabels are the names of the files with the labels for other numbers of clusters.
var kLabels = regexp.MustCompile(`^labels-k[0-9]+\.csv$`)

// clear removes files of an earlier run that this one does not replace: they would not belong to its result.
func (d *OutputDir) clear(files []File) error {
	if _, err := os.Stat(filepath.Join(d.Path, ResultFile)); err != nil {
		return nil // no run wrote here
	}
	names := []string{suspectsFile, centroidsFile, metricFile, unitsFile, landmarksFile, projectionFile, embeddingFile, clustersFile, objectiveFile, waysFile, kFile, PageFile,
		"labels.parquet", "labels.jsonl", "joined.csv", "joined.parquet", "joined.jsonl"}
	entries, err := os.ReadDir(d.Path)
	if err != nil {
		return fault.Invalid("BAD_OUTPUT", "%s: the folder cannot be read: %v", d.Path, shell.WithoutPath(err))
	}
	for _, entry := range entries {
		if kLabels.MatchString(entry.Name()) {
			names = append(names, entry.Name())
		}
	}
	for _, name := range names {
		if slices.ContainsFunc(files, func(f File) bool { return f.Name == name }) {
			continue
		}
		if err := os.Remove(filepath.Join(d.Path, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fault.Invalid("BAD_OUTPUT", "%s: %s of an earlier run cannot be removed: %v", d.Path, name, shell.WithoutPath(err))
		}
	}
	return nil
}

// WriteFolder writes files into a folder, which it makes if there is none.
func WriteFolder(ctx context.Context, path string, files []File) error {
	out, err := OpenOutput(path)
	if err != nil {
		return err
	}
	if err := out.Write(ctx, files); err != nil {
		out.Abandon()
		return err
	}
	return nil
}
