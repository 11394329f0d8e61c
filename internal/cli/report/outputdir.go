package report

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/cleave-project/cleave/internal/cli/jobflags"
	"github.com/cleave-project/cleave/internal/cli/shell"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/format"
)

// The files by which an output folder describes itself.
const (
	manifestFile = "_MANIFEST.json" // the files of the run
	successFile  = "_SUCCESS"       // exists while the folder has all files of a run that succeeded
)

// File is one file of an output folder.
type File struct {
	Name  string // without a folder
	Write func(io.Writer) error
}

// OutputDir is the output folder of a run. It is opened before the work begins, so that a wrong name is found early.
type OutputDir struct {
	Path string

	created bool              // by OpenOutput
	inputs  map[string]string // by name, the SHA-256 of files that earlier runs wrote, and that they or this one read
}

// OpenOutput opens the output folder of a run, and creates it if it does not exist. It removes the success marker of
// an earlier run.
func OpenOutput(ctx context.Context, path string) (*OutputDir, error) {
	created, err := openFolder(path)
	if err != nil {
		return nil, err
	}
	d := &OutputDir{Path: path, created: created, inputs: map[string]string{}}
	before, err := d.readManifest()
	if err != nil {
		return nil, err
	}
	for name, content := range before.Inputs {
		if now, _, err := HashFile(ctx, filepath.Join(path, name)); err == nil && now == content {
			d.inputs[name] = content
		}
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	return d, d.remove(successFile)
}

// tableNames matches the names of tables.
var tableNames = func() *regexp.Regexp {
	patterns := regexp.QuoteMeta(strings.Join(tables, "\n"))
	patterns = strings.NewReplacer("\n", "|", "%s", "[a-z]+", "%d", "[0-9]+").Replace(patterns)
	return regexp.MustCompile("^(" + patterns + ")$")
}()

// ProtectInputs refuses an input file in the folder that one of the tables would overwrite, unless an earlier run wrote
// the file. It lets Write keep the files of an earlier run that are inputs and that this run does not overwrite.
// Relative paths start from directory.
func (d *OutputDir) ProtectInputs(ctx context.Context, inputs []jobflags.NamedFile, directory string) error {
	before, err := d.readManifest()
	if err != nil {
		return err
	}
	for _, file := range inputs {
		path := jobflags.ResolvePath(directory, file.Path)
		if !SameFolder(filepath.Dir(path), d.Path) {
			continue
		}
		name := filepath.Base(path)
		if _, known := d.inputs[name]; known {
			continue
		}
		switch {
		case slices.Contains(before.Files, name):
			if d.inputs[name], _, err = HashFile(ctx, path); err != nil {
				unreadable := fault.Invalid("FILE_NOT_READABLE", "%s: the file cannot be read: %v", path,
					shell.WithoutPath(err))
				return cmp.Or[error](ctx.Err(), unreadable)
			}
		case tableNames.MatchString(name):
			return fault.Invalid("BAD_OUTPUT",
				"%s would be overwritten by the %s of the result; choose another folder with --out", path, name)
		}
	}
	return nil
}

// SameFolder reports whether two paths lead to the same folder, which exists.
func SameFolder(a, b string) bool {
	first, err := os.Stat(a)
	second, err2 := os.Stat(b)
	return err == nil && err2 == nil && os.SameFile(first, second)
}

// openFolder makes sure that a folder exists, and reports whether it created the folder.
func openFolder(path string) (created bool, _ error) {
	switch info, err := os.Stat(path); {
	case err == nil && !info.IsDir():
		return false, fault.Invalid("BAD_OUTPUT", "%s: this is a file; --out needs a folder", path)
	case err == nil:
		return false, nil
	case !errors.Is(err, fs.ErrNotExist):
		return false, fault.Invalid("BAD_OUTPUT", "%s: the folder cannot be used: %v", path, shell.WithoutPath(err))
	}
	if err := os.MkdirAll(path, 0o777); err != nil {
		return false, fault.Invalid("BAD_OUTPUT", "%s: the folder cannot be created: %v", path, shell.WithoutPath(err))
	}
	return true, nil
}

// Abandon removes the folder if OpenOutput created it and it is still empty.
func (d *OutputDir) Abandon() {
	if d.created {
		os.Remove(d.Path)
	}
}

// manifest lists the files of a run. While a run writes, it also lists those of the run before, so that the next run
// removes what a killed one left behind.
type manifest struct {
	Files []string `json:"files"` // in the order in which they take their places
	// files of earlier runs that later ones read, and that stay: the SHA-256 by name
	Inputs map[string]string `json:"inputs,omitempty"`
	// the subfolder that files are written to before they are moved to their places
	Partial string `json:"partial,omitempty"`
}

// partialName matches the names of subfolders that Write chooses. Nothing else is ever removed with its content.
var partialName = regexp.MustCompile(`^\.partial-[A-Z0-9]+$`)

// Write replaces the files of an earlier run by those of this one. It writes all files to a subfolder first and then
// moves them to their places in order, so that a reader who finds the last one finds all. Files that are replaced keep
// their permissions. It removes what the manifest of the earlier run lists, except inputs, and nothing else. A run that
// is killed at any point leaves a manifest by which the next one cleans up. Write writes nothing when ctx has ended.
func (d *OutputDir) Write(ctx context.Context, files []File) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	before, err := d.readManifest()
	if err != nil {
		return err
	}
	if err := d.removePartial(before); err != nil {
		return err
	}
	meanwhile, now := d.manifestsOf(files, before)
	if err := d.writeManifest(meanwhile); err != nil {
		return err
	}
	partial := filepath.Join(d.Path, meanwhile.Partial)
	defer os.RemoveAll(partial)
	if err := d.writePartial(ctx, partial, files); err != nil {
		return err
	}
	for _, name := range meanwhile.Files {
		if !slices.Contains(now.Files, name) {
			if err := d.remove(name); err != nil {
				return err
			}
		}
	}
	for _, name := range now.Files {
		if err := d.replace(name, filepath.Join(partial, name)); err != nil {
			return err
		}
	}
	if err := d.writeManifest(now); err != nil {
		return err
	}
	return syncFolder(d.Path)
}

// removePartial removes the subfolder that a run left behind because it was killed.
func (d *OutputDir) removePartial(before manifest) error {
	if before.Partial == "" {
		return nil
	}
	if err := os.RemoveAll(filepath.Join(d.Path, before.Partial)); err != nil {
		return d.failed(before.Partial, err)
	}
	return nil
}

// manifestsOf returns the manifest while files are written, and the one after that. An input that is among the files is
// an input no more.
func (d *OutputDir) manifestsOf(files []File, before manifest) (meanwhile, now manifest) {
	meanwhile = manifest{Inputs: maps.Clone(d.inputs), Partial: ".partial-" + rand.Text()}
	for _, name := range before.Files {
		if _, input := d.inputs[name]; !input {
			meanwhile.Files = append(meanwhile.Files, name)
		}
	}
	for _, file := range files {
		now.Files = append(now.Files, file.Name)
	}
	meanwhile.Files = slices.Compact(slices.Sorted(slices.Values(slices.Concat(meanwhile.Files, now.Files))))
	maps.DeleteFunc(d.inputs, func(name, _ string) bool { return slices.Contains(now.Files, name) })
	now.Inputs = d.inputs
	return meanwhile, now
}

// writePartial writes files to a new subfolder.
func (d *OutputDir) writePartial(ctx context.Context, partial string, files []File) error {
	if err := os.Mkdir(partial, 0o777); err != nil {
		return d.failed(filepath.Base(partial), err)
	}
	for _, file := range files {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := format.WriteFile(filepath.Join(partial, file.Name), file.Write); err != nil {
			return err
		}
	}
	return nil
}

// Succeed marks the folder as complete. It is called after Write, if the run succeeded.
func (d *OutputDir) Succeed() error {
	if err := os.WriteFile(filepath.Join(d.Path, successFile), nil, 0o666); err != nil {
		return d.failed(successFile, err)
	}
	return syncFolder(d.Path)
}

// readManifest reads the manifest of an earlier run, and returns an empty one if there is none. It refuses names that
// are not names of files in the folder.
func (d *OutputDir) readManifest() (m manifest, _ error) {
	path := filepath.Join(d.Path, manifestFile)
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return m, nil
	}
	if err == nil {
		decoder := json.NewDecoder(bytes.NewReader(text))
		decoder.DisallowUnknownFields()
		err = decoder.Decode(&m)
	}
	bad := func(name string) bool { return !filepath.IsLocal(name) || filepath.Base(name) != name || name == "." }
	if err != nil || slices.ContainsFunc(m.Files, bad) || slices.ContainsFunc(slices.Collect(maps.Keys(m.Inputs)),
		bad) || m.Partial != "" && !partialName.MatchString(m.Partial) {
		return m, fault.Invalid("BAD_OUTPUT",
			"%s is not a list of the files of an earlier run; remove it, or choose another folder with --out", path)
	}
	return m, nil
}

// HashFile returns the SHA-256 and the size of a file, or "" if it is not a regular file. It stops when ctx ends.
func HashFile(ctx context.Context, path string) (hash string, bytes uint64, err error) {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() {
		return "", 0, err
	}
	file, err := os.Open(path)
	if err != nil {
		return "", 0, err
	}
	defer file.Close()
	sum := sha256.New()
	defer context.AfterFunc(ctx, func() { file.Close() })() // a closed file cannot be read
	size, err := io.Copy(sum, file)
	if err != nil {
		return "", 0, err
	}
	return hex.EncodeToString(sum.Sum(nil)), uint64(size), nil
}

// writeManifest replaces the manifest. Its temporary file always has the same name, so that the next run replaces what
// a killed one left behind.
func (d *OutputDir) writeManifest(m manifest) error {
	temporary := filepath.Join(d.Path, manifestFile+".tmp")
	file, err := os.Create(temporary)
	if err != nil {
		return d.failed(manifestFile, err)
	}
	if err := errors.Join(PrintJSON(file, m), file.Sync(), file.Close()); err != nil {
		return d.failed(manifestFile, err)
	}
	return d.replace(manifestFile, temporary)
}

// replace moves a new file to its place. If there is a file already, the new one gets its permissions.
func (d *OutputDir) replace(name, from string) error {
	path := filepath.Join(d.Path, name)
	if before, err := os.Stat(path); err == nil {
		created, err := os.Stat(from)
		if err == nil && created.Mode().Perm() != before.Mode().Perm() { // some file systems have none to change
			err = os.Chmod(from, before.Mode().Perm())
		}
		if err != nil {
			return d.failed(name, err)
		}
	}
	if err := os.Rename(from, path); err != nil {
		return d.failed(name, err)
	}
	return nil
}

// remove removes a file of an earlier run, if it is there.
func (d *OutputDir) remove(name string) error {
	if err := os.Remove(filepath.Join(d.Path, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return d.failed(name, err)
	}
	return nil
}

func (d *OutputDir) failed(name string, err error) error {
	return fmt.Errorf("%s: %s cannot be written or removed: %w", d.Path, name, shell.WithoutPath(err))
}

// syncFolder makes the names of the files in a folder durable, where the system can.
func syncFolder(path string) error {
	folder, err := os.Open(path)
	if err != nil {
		return err
	}
	defer folder.Close()
	if err := folder.Sync(); err != nil && !errors.Is(err, errors.ErrUnsupported) && !errors.Is(err, fs.ErrInvalid) {
		return err
	}
	return nil
}

// WriteFolder writes files into a folder, each atomically, and creates the folder if it does not exist.
func WriteFolder(ctx context.Context, path string, files []File) error {
	if path == "" {
		return shell.Usage("the output folder is missing; give --out DIR")
	}
	created, err := openFolder(path)
	if err != nil {
		return err
	}
	for _, file := range files {
		if err = ctx.Err(); err == nil {
			err = format.WriteFile(filepath.Join(path, file.Name), file.Write)
		}
		if err != nil {
			(&OutputDir{Path: path, created: created}).Abandon()
			return err
		}
	}
	return nil
}
