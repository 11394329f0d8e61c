//go:build !linux

package bench

import "os"

// peakBytes is 0: it is not known.
func peakBytes(*os.ProcessState) int64 { return 0 }
