package store

import (
	"errors"
	"os"
	"path/filepath"
)

// A file survives a power failure only if its bytes and all directory entries leading to it have been synced. These
// functions sync the directory entries.

// makeDirectories creates a directory and its missing parents, durably.
func makeDirectories(dir string) error {
	existing := dir
	for existing != filepath.Dir(existing) {
		if _, err := os.Stat(existing); err == nil {
			break
		}
		existing = filepath.Dir(existing)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil || existing == dir {
		return err
	}
	return syncDirectories(dir, existing)
}

// syncDirectories syncs the directory of a file and all directories above it up to root.
func syncDirectories(file, root string) error {
	for dir := filepath.Dir(file); ; dir = filepath.Dir(dir) {
		if err := syncDirectory(dir); err != nil {
			return err
		}
		if dir == root || dir == filepath.Dir(dir) {
			return nil
		}
	}
}

func syncDirectory(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
