package bench

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
)

// loadFact is the name of how busy the machine was.
const loadFact = "Load before the run"

// machineFacts describes this machine. Much of it comes from Linux's /proc and /sys and is unknown on
// other systems.
func machineFacts(threads int) []Fact {
	facts := []Fact{
		{"Processor", firstValue("/proc/cpuinfo", "model name", runtime.GOARCH)},
		{"Vector code", readers()[0].name},
		{"Cores", fmt.Sprintf("%d, of which %d used", runtime.NumCPU(), threads)},
		{"Caches", caches()},
		{"Memory", memory()},
		{"System", runtime.GOOS + " " + firstLine("/proc/sys/kernel/osrelease")},
		{"Huge pages", bracketed(firstLine("/sys/kernel/mm/transparent_hugepage/enabled"))},
		{"Go", runtime.Version()},
		{loadFact, firstFields("/proc/loadavg", 3)},
	}
	for i := range facts {
		if strings.TrimSpace(facts[i].Value) == "" {
			facts[i].Value = "unknown"
		}
	}
	return facts
}

// firstValue is the value of the first line "key : value" of a file, or the fallback if there is none.
func firstValue(path, key, fallback string) string {
	text, _ := os.ReadFile(path)
	for line := range strings.Lines(string(text)) {
		if name, value, found := strings.Cut(line, ":"); found && strings.TrimSpace(name) == key {
			return strings.TrimSpace(value)
		}
	}
	return fallback
}

func firstLine(path string) string {
	text, _ := os.ReadFile(path)
	line, _, _ := strings.Cut(string(text), "\n")
	return strings.TrimSpace(line)
}

func firstFields(path string, count int) string {
	fields := strings.Fields(firstLine(path))
	return strings.Join(fields[:min(count, len(fields))], " ")
}

// bracketed is the word in brackets of a line such as "always [madvise] never".
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
		parts = append(parts, fmt.Sprintf("L%s %s", firstLine(filepath.Join(folder, "level")), firstLine(filepath.Join(folder, "size"))))
	}
	return strings.Join(parts, ", ")
}

func memory() string {
	kilobytes, err := strconv.ParseFloat(strings.TrimSuffix(firstValue("/proc/meminfo", "MemTotal", ""), " kB"), 64)
	if err != nil {
		return ""
	}
	return fmt.Sprintf("%.1f GiB", kilobytes/(1<<20))
}

// stolenTime is the time, in ticks, that the hypervisor gave the processors to other virtual machines, and
// all time.
type stolenTime struct{ stolen, all float64 }

func readStolenTime() stolenTime {
	const stolen = 7 // user nice system idle iowait irq softirq steal
	fields := strings.Fields(firstLine("/proc/stat"))
	var s stolenTime
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

// since is the share of stolen time since s was read.
func (s stolenTime) since() string {
	now := readStolenTime()
	if now.all <= s.all {
		return "unknown"
	}
	return fmt.Sprintf("%.1f %% of the run", 100*(now.stolen-s.stolen)/(now.all-s.all))
}
