package clustertest

import "syscall"

// attributes put a process into a process group of its own, so that the whole group can be killed. They
// also end it with this process: a test that times out runs no cleanups.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
