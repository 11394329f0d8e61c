package store

import (
	"os"
	"path/filepath"
)

// A file survives a power cut only when its own bytes and every directory entry on the way to it
// have been synced; these helpers see to the entries.

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
	// Somebody else's file in the way is an "exists" as well.
	if info, err := os.Stat(dir); err != nil {
		return err
	} else if !info.IsDir() {
		return &os.PathError{Op: "mkdir", Path: dir, Err: os.ErrExist}
	}
	return syncDirectory(parent)
}

// syncDirectories syncs the directories from that of a file up to root.
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
	err = d.Sync()
	if closeErr := d.Close(); err == nil {
		err = closeErr
	}
	return err
}
