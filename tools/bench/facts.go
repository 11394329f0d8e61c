package bench

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"

	"github.com/cleave-project/cleave/internal/data/synth"
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

// The two ways in which the peers build the matrix: a plain one, which the goals refer to, and a faster
// one.
const (
	plainBuild = "product, then exp in place"
	tunedBuild = "the same in cached blocks and threads"
)

// buildGoal is how many times as fast as NumPy's plain way we should be.
func buildGoal(features int) float64 {
	if features > 100 {
		return 1
	}
	return 3
}

func measureBuilds(ctx context.Context, b *benchmark) error {
	for _, load := range []func() (set, error){b.loadNarrow, b.loadMnist} {
		s, err := load()
		if err != nil {
			return err
		}
		if err := b.measureBuild(ctx, s); err != nil {
			return err
		}
	}
	b.report.note("every build allocates a new matrix from the system, for us and for the peers. Entries are all n^2, of which we compute half and mirror the rest.")
	return nil
}

// loadNarrow makes points of few features.
func (b *benchmark) loadNarrow() (set, error) {
	points, _, err := synth.Gaussians(b.buildRows, 16, 10, clusterSpread, rand.New(rand.NewPCG(3, 3)))
	return set{name: "synthetic", points: points, k: 10}, err
}

func (b *benchmark) measureBuild(ctx context.Context, s set) error {
	n, d := s.points.N, s.points.D
	problem, err := gaussian(s, 0, make([]int32, n), 0)
	if err != nil {
		return err
	}
	var ours, plain, tuned times
	measurements := []measurement{{func() (float64, error) {
		debug.FreeOSMemory()
		return stopwatch(func() error {
			_, err := newSweeper(ctx, problem, s.points, b.Threads, true)
			return err
		})
	}, &ours}}
	if b.peer != nil {
		path, err := b.writePoints(s.points)
		if err != nil {
			return err
		}
		ask := func(variant string) func() (float64, error) {
			return func() (float64, error) {
				return b.peer.seconds(map[string]any{"do": "build", "points": path, "n": n, "d": d, "rho": problem.Matrix.Rho, "variant": variant})
			}
		}
		measurements = append(measurements, measurement{ask(plainBuild), &plain}, measurement{ask(tunedBuild), &tuned})
	}
	if err := b.interleave(b.rounds, measurements...); err != nil {
		return err
	}
	entries := float64(n) * float64(n) / 1e6
	what := fmt.Sprintf("build, n = %d, d = %d (%s)", n, d, s.name)
	b.report.compare(what, ours, plain, rate(entries, ours, "M entries/s"),
		"NumPy, "+plainBuild+": "+rate(entries, plain, "M entries/s"), buildGoal(d))
	if len(tuned) > 0 {
		b.report.compare(what+", a better peer", ours, tuned, rate(entries, ours, "M entries/s"),
			tunedBuild+": "+rate(entries, tuned, "M entries/s"), 0)
	}
	return nil
}
