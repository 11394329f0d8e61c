package clustertest

import "syscall"

// attributes give a process a group of its own, to be killed whole, and its end when ours comes
// without a word: a test that times out runs no cleanups.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
