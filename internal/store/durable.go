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
	if info, err := os.Stat(dir); err == nil && info.IsDir() {
		return nil
	}
	parent := filepath.Dir(dir)
	if parent != dir {
		if err := makeDirectories(parent); err != nil {
			return err
		}
	}
	if err := os.Mkdir(dir, 0o700); err != nil && !os.IsExist(err) {
		return err
	}
	// Mkdir also reports "exists" if there is a file with this name.
	if info, err := os.Stat(dir); err != nil {
		return err
	} else if !info.IsDir() {
		return &os.PathError{Op: "mkdir", Path: dir, Err: os.ErrExist}
	}
	return syncDirectory(parent)
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
