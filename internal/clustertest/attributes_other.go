//go:build !linux

package clustertest

import "syscall"

// attributes give a process a group of its own, to be killed whole.
func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
