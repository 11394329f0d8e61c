// Package memlimit says how much memory this process may use, and makes it collect garbage early enough.
package memlimit

import (
	"fmt"
	"math"
	"os"
	"path"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"

	"github.com/cleave-project/cleave/internal/text"
)

// Default returns the bytes that a worker or a coordinator may use by default: 80% of the machine's memory, or
// of the limit of its control groups if that is lower.
func Default() uint64 {
	const unknown = 4 << 30
	total := allowedMemory()
	if total == math.MaxUint64 {
		return unknown
	}
	return total / 10 * 8
}

// LimitGarbage makes garbage collection more frequent for large data, unless GOGC is set. With the default GOGC the
// heap may grow to twice the data. Large data is a few arrays, which cost little to collect. It affects the whole
// process, so only commands call it.
func LimitGarbage(dataBytes int64) {
	const large, percent = 32 << 20, 20
	if dataBytes >= large && os.Getenv("GOGC") == "" {
		debug.SetGCPercent(percent)
		debug.FreeOSMemory()
	}
}

// allowedMemory returns the bytes that this process may use, or math.MaxUint64 if that is not known.
func allowedMemory() uint64 { return min(machineMemory("/proc/meminfo"), groupMemory("/")) }

// Warning returns what is wrong with the memory that the user gives to this process, or "".
func Warning(given uint64) string { return warning(given, allowedMemory()) }

func warning(given, allowed uint64) string {
	if given <= allowed {
		return ""
	}
	return fmt.Sprintf("has a --memory of %s, and its system allows it %s: it will be killed when it uses more; "+
		"start it with a smaller --memory", text.Bytes(given), text.Bytes(allowed))
}

// machineMemory returns the bytes of memory in a file like /proc/meminfo, or math.MaxUint64 if it has none.
func machineMemory(path string) uint64 {
	lines, _ := os.ReadFile(path)
	for line := range strings.Lines(string(lines)) {
		if fields := strings.Fields(line); len(fields) >= 2 && fields[0] == "MemTotal:" {
			if kib, err := strconv.ParseUint(fields[1], 10, 64); err == nil {
				return kib << 10
			}
		}
	}
	return math.MaxUint64
}

// groupMemory returns the lowest memory limit of the control groups of this process and their parents, in either
// version of control groups, or math.MaxUint64 if there is no limit. root is where the file systems are mounted, "/".
func groupMemory(root string) uint64 {
	limit := uint64(math.MaxUint64)
	lines, _ := os.ReadFile(filepath.Join(root, "proc/self/cgroup"))
	// In a container the path may be that of the host, which does not exist there; the container's group is then the
	// top one.
	for line := range strings.Lines(string(lines) + "0::/\n0:memory:/\n") {
		fields := strings.SplitN(strings.TrimSpace(line), ":", 3) // number:controllers:path
		if len(fields) != 3 {
			continue
		}
		groups, file := "sys/fs/cgroup", "memory.max"
		if controllers := strings.Split(fields[1], ","); fields[1] != "" {
			if !slices.Contains(controllers, "memory") {
				continue
			}
			groups, file = "sys/fs/cgroup/memory", "memory.limit_in_bytes"
		}
		for group := path.Clean("/" + fields[2]); ; group = path.Dir(group) {
			text, _ := os.ReadFile(filepath.Join(root, groups, group, file))
			if bytes, err := strconv.ParseUint(strings.TrimSpace(string(text)), 10, 64); err == nil { // not "max"
				limit = min(limit, bytes)
			}
			if group == "/" {
				break
			}
		}
	}
	return limit
}
