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
	return &bucket{Bucket: b, root: root, explain: blobError}, nil
}

// clockMargin is more than the clocks of files are behind.
const clockMargin = 100 * time.Millisecond

// directoryOf is the directory of a blob, empty unless the bucket is local.
func (b *bucket) directoryOf(name string) string {
	if b.root == "" {
		return ""
	}
	return filepath.Dir(filepath.Join(b.root, filepath.FromSlash(name)))
}

// removeEmpty removes a directory of the bucket if it is empty, and those above it that become so. The number of a file
// system's directories may be limited.
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

// RemoveTemporary also removes empty directories. It ignores errors: files that stay only take space. Object stores have no
// temporary files.
func (b *bucket) RemoveTemporary(ctx context.Context) {
	if b.root == "" {
		return
	}
	before := time.Now().Add(-clockMargin)
	empty := map[string]bool{} // directories in which nothing was found
	_ = filepath.WalkDir(b.root, func(path string, entry os.DirEntry, err error) error {
		if err == nil && entry.Type().IsRegular() && strings.HasSuffix(path, tempSuffix) {
			if info, err := entry.Info(); err == nil && info.ModTime().Before(before) {
				_ = os.Remove(path)
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

// listDirectory returns the names of blobs under root that begin with prefix, sorted. gocloud's own
// listing is in the order of directories ("a/b" before "a-b"), which is not the order of names, and its
// pages skip names where the two differ.
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
		name := strings.TrimSuffix(filepath.ToSlash(relative), sealSuffix)
		// Files without a valid name are not blobs: temporary files, or foreign ones.
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
