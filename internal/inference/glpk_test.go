package inference

import (
	"bufio"
	"context"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// The value of the relaxation is that of GLPK's simplex, an independent solver, for (8)-(15) word for word and problems
// of realistic size. If glpsol (Debian: glpk-utils) is not installed, nothing is compared here; the dense simplex of
// this package's tests is always used.
func TestLPValueAgainstGLPK(t *testing.T) {
	glpsol, err := exec.LookPath("glpsol")
	if err != nil {
		t.Log("glpsol is not installed: compared with nothing")
		return
	}
	for seed, size := range []struct{ points, k, pairs int }{{20, 3, 40}, {60, 4, 150}, {100, 3, 120}, {150, 5, 260},
		{300, 10, 500}} {
		p := randomProblem(newRand(uint64(seed)+70), size.points, size.k, size.pairs)
		// Any two points have at most one constraint: merged ones have a tighter relaxation.
		seen := map[[2]int32]bool{}
		pairs := p.pairs[:0]
		for _, pair := range p.pairs {
			key := [2]int32{min(pair.I, pair.J), max(pair.I, pair.J)}
			if !seen[key] {
				seen[key] = true
				pairs = append(pairs, pair)
			}
		}
		p.pairs = pairs
		result, err := NewEnergy(p.k, p.pairs).Solve(context.Background(), LP, p.unary, randomLabels(newRand(1), p),
			newRand(2))
		if err != nil {
			t.Fatal(err)
		}
		want := glpkValue(t, glpsol, p)
		// The reported value is the better of two lower bounds, of which the relaxation is one.
		if result.LPValue < want-1e-7*(1+math.Abs(want)) {
			t.Errorf("%+v: %.10g, GLPK finds %.10g", size, result.LPValue, want)
		}
		if result.LPValue > result.Energy+1e-9*(1+math.Abs(result.Energy)) {
			t.Errorf("%+v: a bound of %.10g above the energy %.10g", size, result.LPValue, result.Energy)
		}
	}
}

// glpkValue writes the relaxation in the CPLEX format and solves it with glpsol.
func glpkValue(t *testing.T, glpsol string, p *terms) float64 {
	t.Helper()
	folder := t.TempDir()
	problem := filepath.Join(folder, "relaxation.lp")
	solution := filepath.Join(folder, "solution.txt")
	var b strings.Builder
	b.WriteString("Minimize\n cost:")
	for at, cost := range p.unary {
		fmt.Fprintf(&b, " %+.17g y%d\n", cost, at)
	}
	for at, pair := range p.pairs {
		cost := pair.Cost
		if pair.MustLink {
			cost /= 2
		}
		for label := range p.k {
			fmt.Fprintf(&b, " %+.17g z%d_%d\n", cost, at, label)
		}
	}
	b.WriteString("Subject To\n")
	for i := range p.points() {
		for label := range p.k {
			fmt.Fprintf(&b, " + y%d", i*p.k+label)
		}
		b.WriteString(" = 1\n")
	}
	for at, pair := range p.pairs {
		for label := range p.k {
			i, j := int(pair.I)*p.k+label, int(pair.J)*p.k+label
			if pair.MustLink {
				fmt.Fprintf(&b, " z%d_%d - y%d + y%d >= 0\n z%d_%d + y%d - y%d >= 0\n", at, label, i, j,
					at, label, i, j)
			} else {
				fmt.Fprintf(&b, " z%d_%d - y%d - y%d >= -1\n", at, label, i, j)
			}
		}
	}
	b.WriteString("End\n")
	if err := os.WriteFile(problem, []byte(b.String()), 0o666); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(glpsol, "--lp", problem, "--write", solution).CombinedOutput(); err != nil {
		t.Fatalf("glpsol: %v\n%s", err, out)
	}
	file, err := os.Open(solution)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for lines := bufio.NewScanner(file); lines.Scan(); { // s bas ROWS COLUMNS f f VALUE
		if fields := strings.Fields(lines.Text()); len(fields) == 7 && fields[0] == "s" && fields[1] == "bas" {
			value, err := strconv.ParseFloat(fields[6], 64)
			if err != nil || fields[4] != "f" || fields[5] != "f" {
				t.Fatalf("glpsol says %q", lines.Text())
			}
			return value
		}
	}
	t.Fatal("glpsol gave no solution")
	return 0
}
