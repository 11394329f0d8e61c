//go:build unix

package store

import "syscall"

// FreeBytes returns how many bytes this process may still write to the disk of a directory, and whether that is
// known.
func FreeBytes(dir string) (int64, bool) {
	var disk syscall.Statfs_t
	if err := syscall.Statfs(dir, &disk); err != nil {
		return 0, false
	}
	return int64(disk.Bavail) * int64(disk.Bsize), true
}
