package shell

import (
	"math"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// groupMemory is the least memory that the control groups of this process may use, those above its own included, in
// either version of control groups; the largest number if there is no limit. root is where the file systems are, "/".
func groupMemory(root string) uint64 {
	limit := uint64(math.MaxUint64)
	lines, _ := os.ReadFile(filepath.Join(root, "proc/self/cgroup"))
	// Within a container the path may be that of the host, which is not there; the group at the top then is the container's.
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
