package measure

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
)

// Fact is one fact about the machine or the programs.
type Fact struct{ Name, Value string }

// Machine describes this machine. Much of it comes from Linux's /proc and /sys and is unknown on other systems.
func Machine(threads int) []Fact {
	facts := []Fact{
		{"Processor", valueOf("/proc/cpuinfo", "model name")},
		{"Cores", fmt.Sprintf("%d, of which %d used", runtime.NumCPU(), threads)},
		{"Caches", caches()},
		{"Memory", memory()},
		{"System", runtime.GOOS + " " + firstLine("/proc/sys/kernel/osrelease")},
		{"Huge pages", bracketed(firstLine("/sys/kernel/mm/transparent_hugepage/enabled"))},
		{"Go", runtime.Version()},
		{"Load before the run", Load()},
	}
	for i := range facts {
		if strings.TrimSpace(facts[i].Value) == "" {
			facts[i].Value = "unknown"
		}
	}
	return facts
}

// Load returns the load of the machine over 1, 5 and 15 minutes.
func Load() string {
	fields := strings.Fields(firstLine("/proc/loadavg"))
	if len(fields) < 3 {
		return "unknown"
	}
	return strings.Join(fields[:3], " ")
}

// valueOf returns the value of the first line "key : value" of a file, or "".
func valueOf(path, key string) string {
	text, _ := os.ReadFile(path)
	for line := range strings.Lines(string(text)) {
		if name, value, found := strings.Cut(line, ":"); found && strings.TrimSpace(name) == key {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

func firstLine(path string) string {
	text, _ := os.ReadFile(path)
	line, _, _ := strings.Cut(string(text), "\n")
	return strings.TrimSpace(line)
}

// bracketed returns the word in brackets of a line such as "always [madvise] never".
func bracketed(line string) string {
	_, after, found := strings.Cut(line, "[")
	if !found {
		return line
	}
	word, _, _ := strings.Cut(after, "]")
	return word
}

// caches lists the caches of the first core.
func caches() string {
	folders, _ := filepath.Glob("/sys/devices/system/cpu/cpu0/cache/index*")
	var parts []string
	for _, folder := range folders {
		kind := firstLine(filepath.Join(folder, "type"))
		if kind == "Instruction" {
			continue
		}
		parts = append(parts, fmt.Sprintf("L%s %s", firstLine(filepath.Join(folder, "level")),
			firstLine(filepath.Join(folder, "size"))))
	}
	return strings.Join(parts, ", ")
}

func memory() string {
	kilobytes, err := strconv.ParseFloat(strings.TrimSuffix(valueOf("/proc/meminfo", "MemTotal"), " kB"), 64)
	if err != nil {
		return ""
	}
	return fmt.Sprintf("%.1f GiB", kilobytes/(1<<20))
}

// AvailableMemory returns how many bytes of memory programs can take without swapping; 0 where the system does not
// tell.
func AvailableMemory() int64 {
	kilobytes, _ := strconv.ParseInt(strings.TrimSuffix(valueOf("/proc/meminfo", "MemAvailable"), " kB"), 10, 64)
	return kilobytes << 10
}

// StolenTime is the time, in ticks, that the hypervisor gave the processors to other virtual machines, and all time.
type StolenTime struct{ stolen, all float64 }

// ReadStolenTime returns the times until now.
func ReadStolenTime() StolenTime {
	const stolen = 7 // user nice system idle iowait irq softirq steal
	fields := strings.Fields(firstLine("/proc/stat"))
	var s StolenTime
	for i, field := range fields[min(1, len(fields)):] {
		ticks, _ := strconv.ParseFloat(field, 64)
		if i <= stolen {
			s.all += ticks
		}
		if i == stolen {
			s.stolen = ticks
		}
	}
	return s
}

// Since returns the share of stolen time since s was read.
func (s StolenTime) Since() string {
	now := ReadStolenTime()
	if now.all <= s.all {
		return "unknown"
	}
	return fmt.Sprintf("%.1f %% of the run", 100*(now.stolen-s.stolen)/(now.all-s.all))
}
