//go:build unix

package store

import "syscall"

// freeBytes is how much room the disk of a directory has for this process; false if that is unknown.
func freeBytes(dir string) (int64, bool) {
	var disk syscall.Statfs_t
	if err := syscall.Statfs(dir, &disk); err != nil {
		return 0, false
	}
	return int64(disk.Bavail) * int64(disk.Bsize), true
}
