package shell

import (
	"bufio"
	"math"
	"os"
	"strconv"
	"strings"
)

// Bytes is a flag value: a number of bytes such as 4GiB, 512MiB, 2GB or 1048576.
type Bytes uint64

// units by suffix, in lower case. Of two suffixes that match, the longer comes first.
var units = []struct {
	suffix string
	bytes  float64
}{
	{"kib", 1 << 10}, {"mib", 1 << 20}, {"gib", 1 << 30}, {"tib", 1 << 40},
	{"kb", 1e3}, {"mb", 1e6}, {"gb", 1e9}, {"tb", 1e12},
	{"k", 1 << 10}, {"m", 1 << 20}, {"g", 1 << 30}, {"t", 1 << 40},
	{"b", 1},
}

// ParseBytes reads a size.
func ParseBytes(text string) (uint64, error) {
	number, unit := strings.ToLower(strings.TrimSpace(text)), 1.0
	for _, u := range units {
		if rest, found := strings.CutSuffix(number, u.suffix); found {
			number, unit = strings.TrimSpace(rest), u.bytes
			break
		}
	}
	value, err := strconv.ParseFloat(number, 64)
	if bytes := value * unit; err == nil && bytes >= 1 && bytes < math.MaxInt64 {
		return uint64(bytes), nil
	}
	return 0, Usage("%q is no size in bytes; write for example 4GiB, 512MiB or 2GB", text)
}

// String implements pflag.Value.
func (b *Bytes) String() string {
	if *b == 0 {
		return ""
	}
	return strconv.FormatUint(uint64(*b), 10)
}

// Set implements pflag.Value.
func (b *Bytes) Set(text string) error {
	value, err := ParseBytes(text)
	*b = Bytes(value)
	return err
}

// Type implements pflag.Value.
func (b *Bytes) Type() string { return "SIZE" }

// DefaultMemory is what a worker or a coordinator may use by default: 80% of the machine's memory, or of what its
// control groups may use if that is less.
func DefaultMemory() uint64 {
	const unknown = 4 << 30
	total := uint64(math.MaxUint64)
	if kib, found := meminfo("/proc/meminfo", "MemTotal:"); found {
		total = kib << 10
	}
	total = min(total, groupMemory("/"))
	if total == math.MaxUint64 {
		return unknown
	}
	return total / 10 * 8
}

func meminfo(path, key string) (kib uint64, found bool) {
	file, err := os.Open(path)
	if err != nil {
		return 0, false
	}
	defer file.Close()
	for lines := bufio.NewScanner(file); lines.Scan(); {
		fields := strings.Fields(lines.Text())
		if len(fields) >= 2 && fields[0] == key {
			kib, err := strconv.ParseUint(fields[1], 10, 64)
			return kib, err == nil
		}
	}
	return 0, false
}
