//go:build !linux

package clustertest

import "syscall"

// attributes put a process into a process group of its own, so that the whole group can be killed.
func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
