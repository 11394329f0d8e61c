package bench

import (
	"os"
	"syscall"
)

// peakBytes is the largest resident set of a process that has ended.
func peakBytes(state *os.ProcessState) int64 {
	usage, known := state.SysUsage().(*syscall.Rusage)
	if !known {
		return 0
	}
	return usage.Maxrss << 10
}
