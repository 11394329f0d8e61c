package architecture

import (
	"bytes"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/cleave-project/cleave/test/testscale"
)

// fusedInstruction matches the file and the line of an instruction of arm64 that multiplies and adds with one rounding.
var fusedInstruction = regexp.MustCompile(`\(` + regexp.QuoteMeta(module) +
	`/(internal/[^()]*\.go):(\d+)\)\s+FN?M(?:ADD|SUB)[DS]\s`)

// TestNoProductsAreFused compiles what computes answers for arm64, where the compiler may round a product and the sum
// that it is added to once instead of twice, so that bits would differ from those on amd64. A conversion prevents it: a
// + float64(b*c). Lines that mean it call math.FMA; where the product is exact, it makes no difference, and a comment
// in the line or above it says so.
func TestNoProductsAreFused(t *testing.T) {
	if !testscale.Long {
		t.Skip("compiles the mathematics for another processor; make test-long runs it")
	}
	build := exec.Command("go", "build", "-gcflags="+internal+"...=-S", "./internal/clustering/...",
		"./internal/data/...",
		"./internal/inference/...", "./internal/kernel/...", "./internal/numeric/...", "./internal/partition/...")
	build.Dir, build.Env = "../..", append(build.Environ(), "GOARCH=arm64", "CGO_ENABLED=0")
	var assembly bytes.Buffer
	build.Stdout, build.Stderr = &assembly, &assembly
	if err := build.Run(); err != nil {
		t.Fatalf("%v\n%.2000s", err, assembly.Bytes())
	}
	fused, deliberate := map[string]bool{}, 0
	sources := map[string][]string{}
	for _, found := range fusedInstruction.FindAllSubmatch(assembly.Bytes(), -1) {
		file, line := string(found[1]), string(found[2])
		if fused[file+":"+line] || strings.HasPrefix(file, "internal/planning/") {
			continue // plans are estimates, and the other is data for tests
		}
		fused[file+":"+line] = true
		if sources[file] == nil {
			sources[file] = strings.Split(read(t, file), "\n")
		}
		at, err := strconv.Atoi(line)
		if err != nil {
			t.Fatal(err)
		}
		source := sources[file][at-1]
		commented := sources[file][max(at-2, 0)] + source
		if strings.Contains(source, "math.FMA(") || strings.Contains(commented, "exact, fused or not") {
			deliberate++
			continue
		}
		t.Errorf("%s:%s: a product is fused with a sum on arm64; write float64(a*b), or say that it is exact:\n%s",
			file, line, source)
	}
	if deliberate == 0 {
		t.Error("no instruction is fused, although math.FMA is called: the assembly was not understood")
	}
}
