package memlimit

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestMemoryOfControlGroups(t *testing.T) {
	for name, c := range map[string]struct {
		files map[string]string
		want  uint64
	}{
		"none": {nil, math.MaxUint64},
		"version 2, a container": {map[string]string{
			"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "1000\n"}, 1000},
		"version 2, a service within a slice": {map[string]string{
			"proc/self/cgroup":                                     "0::/system.slice/cleave.service\n",
			"sys/fs/cgroup/system.slice/memory.max":                "3000\n",
			"sys/fs/cgroup/system.slice/cleave.service/memory.max": "max\n"}, 3000},
		"version 1, a container that sees the path of its host": {map[string]string{
			"proc/self/cgroup": "5:cpu,cpuacct:/docker/12\n4:memory:/docker/12\n" +
				"0::/docker/12\n",
			"sys/fs/cgroup/memory/memory.limit_in_bytes": "2000\n"}, 2000},
		"version 1, a group and the one above": {map[string]string{
			"proc/self/cgroup":                               "4:hugetlb,memory:/a/b\n",
			"sys/fs/cgroup/memory/memory.limit_in_bytes":     "9223372036854771712\n",
			"sys/fs/cgroup/memory/a/memory.limit_in_bytes":   "4000\n",
			"sys/fs/cgroup/memory/a/b/memory.limit_in_bytes": "5000\n"}, 4000},
		"nonsense": {map[string]string{
			"proc/self/cgroup": "memory\n0::/../../x\n", "sys/fs/cgroup/memory.max": "many\n"}, math.MaxUint64},
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			for file, text := range c.files {
				at := filepath.Join(root, file)
				if err := os.MkdirAll(filepath.Dir(at), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(at, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if got := groupMemory(root); got != c.want {
				t.Errorf("%d, want %d", got, c.want)
			}
		})
	}
}

func TestWarning(t *testing.T) {
	if says := warning(1<<30, 1<<30); says != "" {
		t.Errorf("as much as there is: %q", says)
	}
	if says := warning(1<<30, 200<<20); !strings.Contains(says,
		"--memory of 1 GiB, and its system allows it 200 MiB") {
		t.Errorf("more than there is: %q", says)
	}
}

func TestDefaultIsPartOfTheMachine(t *testing.T) {
	if m := Default(); m < 64<<20 || m > 1<<50 {
		t.Errorf("default memory is %d bytes", m)
	}
}
