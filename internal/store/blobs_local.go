package store

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"gocloud.dev/blob/fileblob"

	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/store/seal"
)

func openDirectory(dir string) (Blobs, error) {
	if dir == "" {
		return nil, fault.Invalid("BLOBS_URL_INVALID", "the blob store has an empty name; give a directory or a URL")
	}
	root, err := filepath.Abs(dir)
	if err == nil {
		err = makeDirectories(root)
	}
	if err != nil {
		return nil, fault.Invalid("BLOBS_DIR_UNUSABLE", "cannot use the blob directory %s: %v", dir, err)
	}
	b, err := fileblob.OpenBucket(root, &fileblob.Options{
		DirFileMode: 0o700,
		NoTempDir:   true, // a rename from another file system would fail
		Metadata:    fileblob.MetadataDontWrite,
	})
	if err != nil {
		return nil, fault.Invalid("BLOBS_DIR_UNUSABLE", "cannot use the blob directory %s: %v", dir, err)
	}
	return &bucket{Bucket: b, root: root, explain: blobError, writing: map[string]bool{}}, nil
}

// clockMargin exceeds the granularity by which file times may lag behind.
const clockMargin = 100 * time.Millisecond

// directoryOf returns the directory of a blob, or "" if the bucket is not local.
func (b *bucket) directoryOf(name string) string {
	if b.root == "" {
		return ""
	}
	return filepath.Dir(filepath.Join(b.root, filepath.FromSlash(name)))
}

// removeEmpty removes a directory of the bucket if it is empty, and then its parents that become empty, because a
// file system may limit the number of directories.
func (b *bucket) removeEmpty(dir string) {
	if dir == "" {
		return
	}
	b.directories.Lock()
	defer b.directories.Unlock()
	for ; dir != b.root; dir = filepath.Dir(dir) {
		if info, err := os.Lstat(dir); err != nil || !info.IsDir() || os.Remove(dir) != nil {
			return
		}
	}
}

// RemoveTemporary removes temporary files that were last written before the call, except those that this process is
// writing, and then empty directories. It compares file times only with each other, because the clock of a file
// server may differ from ours. It ignores errors, since leftover files only take space. Object stores have no
// temporary files.
func (b *bucket) RemoveTemporary(ctx context.Context) {
	if b.root == "" {
		return
	}
	now, err := b.fileTime()
	if err != nil {
		return
	}
	before := now.Add(-clockMargin)
	empty := map[string]bool{} // directories in which nothing was found
	_ = filepath.WalkDir(b.root, func(path string, entry os.DirEntry, err error) error {
		if err == nil && entry.Type().IsRegular() && strings.HasSuffix(path, tempSuffix) {
			if info, err := entry.Info(); err == nil && info.ModTime().Before(before) {
				b.removeLeftover(path)
			}
		}
		delete(empty, filepath.Dir(path))
		if err == nil && entry.IsDir() {
			empty[path] = true
		}
		progressed(ctx)
		return ctx.Err()
	})
	delete(empty, b.root)
	for dir := range empty {
		if ctx.Err() != nil {
			return
		}
		b.removeEmpty(dir)
		progressed(ctx)
	}
}

// fileTime returns the current time according to the file system of the bucket.
func (b *bucket) fileTime() (time.Time, error) {
	probe, err := os.CreateTemp(b.root, "clock-*"+tempSuffix)
	if err != nil {
		return time.Time{}, err
	}
	defer os.Remove(probe.Name())
	defer probe.Close()
	info, err := probe.Stat()
	if err != nil {
		return time.Time{}, err
	}
	return info.ModTime(), nil
}

// removeLeftover removes a temporary file unless this process is writing it.
func (b *bucket) removeLeftover(path string) {
	b.directories.Lock()
	defer b.directories.Unlock()
	if !b.writing[path] {
		_ = os.Remove(path)
	}
}

// listDirectory returns the sorted names of the blobs under root that begin with prefix. gocloud's own listing
// follows the order of directories ("a/b" before "a-b"), which is not the order of names, and its pages skip names
// where the two differ.
func listDirectory(ctx context.Context, root, prefix string) ([]string, error) {
	// Only the last part of a prefix can be incomplete. The walk starts at the directory before it.
	start := filepath.Join(root, filepath.FromSlash(prefix[:strings.LastIndex(prefix, "/")+1]))
	var names []string
	err := filepath.WalkDir(start, func(path string, entry fs.DirEntry, err error) error {
		progressed(ctx)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if errors.Is(err, fs.ErrNotExist) { // just removed, or no blob has this prefix
			return nil
		}
		if err != nil || entry.IsDir() {
			return err
		}
		relative, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		name := strings.TrimSuffix(filepath.ToSlash(relative), seal.Suffix)
		// Files without a valid name are temporary or foreign, not blobs.
		if strings.HasPrefix(name, prefix) && checkName(name) == nil {
			names = append(names, name)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	slices.Sort(names)
	return names, nil
}
