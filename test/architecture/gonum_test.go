package architecture

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/lapack/lapack64"
	"gonum.org/v1/gonum/mat"

	"github.com/cleave-project/cleave/internal/numeric/eigen"
)

// gonumCalls are the functions and methods of gonum that the product may call, with what shows that their results
// depend neither on the processor, nor on where in memory their operands are, nor on the number of threads: on one
// architecture an answer has the same bits everywhere. Those without a function only create matrices, move values or
// compare them.
//
// Look into the sources before you add one. Not allowed are, for example, floats.Sum and what calls it, such as
// stat.Mean, because its assembly begins with a value more or less depending on the address; and all that reaches
// math.Exp or math.Log, such as Cholesky.Det, Cholesky.LogDet and the distributions of stat/distuv, because the Go
// runtime picks an implementation by the processor. Use numeric/elementary instead.
var gonumCalls = map[string]func(o *operands) []float64{
	"mat.Col": nil, "mat.DenseCopyOf": nil, "mat.Max": nil, "mat.Min": nil, "mat.NewDense": nil,
	"mat.NewDiagDense": nil,
	"mat.NewSymDense":  nil, "mat.NewTriDense": nil, "mat.NewVecDense": nil, "mat.Dense.At": nil, "mat.Dense.Dims": nil,
	"mat.Dense.RawMatrix":  nil,
	"mat.Dense.RawRowView": nil, "mat.Dense.Set": nil, "mat.Dense.SetCol": nil, "mat.Dense.SetRow": nil,
	"mat.Dense.Slice": nil, "mat.Dense.T": nil, "mat.SymDense.At": nil, "mat.SymDense.CopySym": nil,
	"mat.SymDense.RawSymmetric": nil, "mat.SymDense.SetSym": nil, "mat.SymDense.SymmetricDim": nil,
	"mat.TriDense.At":   nil,
	"mat.TriDense.Copy": nil, "mat.TriDense.RawTriangular": nil, "mat.TriDense.SliceTri": nil, "mat.TriDense.T": nil,

	"mat.Dense.Mul": func(o *operands) []float64 {
		n := o.n
		products := mat.NewDense(n, n, o.zeros(n*n))
		all := []float64(nil)
		for _, pair := range [][2]mat.Matrix{
			{o.dense(n, n), o.dense(n, n)}, {o.dense(n, n).T(), o.dense(n, n)}, {o.dense(n, n), o.dense(n, n).T()},
			{o.positive(), o.dense(n, n)}, {o.dense(n, n), o.lower().T()},
			{o.dense(n, n), mat.NewDiagDense(n, o.values(n))},
		} {
			products.Mul(pair[0], pair[1])
			all = append(all, products.RawMatrix().Data...)
		}
		return all
	},
	"mat.Dense.Scale": func(o *operands) []float64 {
		m := o.dense(o.n, o.n)
		m.Scale(1.0/3, m)
		return m.RawMatrix().Data
	},
	"mat.SymDense.SymRankOne": func(o *operands) []float64 {
		m := o.positive()
		m.SymRankOne(m, 1.0/3, mat.NewVecDense(o.n, o.values(o.n)))
		return m.RawSymmetric().Data
	},
	"lapack64.Potrf": func(o *operands) []float64 { return o.factor().Data },
	"lapack64.Potrs": func(o *operands) []float64 {
		solutions := o.dense(o.n, 5).RawMatrix()
		lapack64.Potrs(o.factor(), solutions)
		solution := o.dense(o.n, 1).RawMatrix()
		lapack64.Potrs(o.factor(), solution)
		return append(solutions.Data, solution.Data...)
	},
	"lapack64.Potri": func(o *operands) []float64 {
		inverse, _ := lapack64.Potri(o.factor())
		return inverse.Data
	},
	"lapack64.Trtri": func(o *operands) []float64 {
		inverse := o.lower().RawTriangular()
		lapack64.Trtri(inverse)
		return inverse.Data
	},
	"mat.EigenSym.Factorize": func(o *operands) []float64 { return o.eigenpairs().Values(nil) },
	"mat.EigenSym.Values": func(o *operands) []float64 {
		values := o.zeros(o.n)
		return o.eigenpairs().Values(values)
	},
	"mat.EigenSym.VectorsTo": func(o *operands) []float64 {
		vectors := mat.NewDense(o.n, o.n, o.zeros(o.n*o.n))
		o.eigenpairs().VectorsTo(vectors)
		return vectors.RawMatrix().Data
	},
	"blas64.Trmm": func(o *operands) []float64 { return o.bySides(blas64.Trmm) },
	"blas64.Trsm": func(o *operands) []float64 { return o.bySides(blas64.Trsm) },
}

// ownCalls are what picks between gonum and ours.
var ownCalls = map[string]func(o *operands) []float64{
	"eigen.DenseEigenpairs": func(o *operands) []float64 {
		values, vectors := eigen.DenseEigenpairs(o.positive())
		return append(values, vectors.RawMatrix().Data...)
	},
	"eigen.Cholesky": func(o *operands) []float64 {
		factor, _ := eigen.Cholesky(o.positive())
		return factor.Lower().RawTriangular().Data
	},
}

// operands draws matrices of n rows whose values begin `shift` values after an address that a vector register fits.
type operands struct {
	n, shift int
	rng      *rand.Rand
}

func (o *operands) zeros(count int) []float64 {
	return make([]float64, count+o.shift)[o.shift:]
}

func (o *operands) values(count int) []float64 {
	values := o.zeros(count)
	for i := range values {
		values[i] = o.rng.Float64() - 0.5
	}
	return values
}

func (o *operands) dense(rows, columns int) *mat.Dense {
	return mat.NewDense(rows, columns, o.values(rows*columns))
}

func (o *operands) positive() *mat.SymDense {
	m := mat.NewSymDense(o.n, o.values(o.n*o.n))
	for i := range o.n {
		m.SetSym(i, i, m.At(i, i)+float64(o.n))
	}
	return m
}

func (o *operands) factor() blas64.Triangular {
	factor, _ := lapack64.Potrf(o.positive().RawSymmetric())
	return factor
}

func (o *operands) lower() *mat.TriDense {
	lower := mat.NewTriDense(o.n, mat.Lower, o.zeros(o.n*o.n))
	upper := o.factor()
	for i := range o.n {
		for j := range i + 1 {
			lower.SetTri(i, j, upper.Data[j*upper.Stride+i])
		}
	}
	return lower
}

func (o *operands) eigenpairs() *mat.EigenSym {
	found := new(mat.EigenSym)
	found.Factorize(o.positive(), true)
	return found
}

// bySides multiplies by a triangle, or solves with it, from both sides, transposed and not.
func (o *operands) bySides(call func(blas.Side, blas.Transpose, float64, blas64.Triangular, blas64.General)) []float64 {
	var all []float64
	for _, side := range []blas.Side{blas.Left, blas.Right} {
		for _, transposed := range []blas.Transpose{blas.NoTrans, blas.Trans} {
			m := o.dense(o.n, o.n)
			call(side, transposed, 1, o.lower().RawTriangular(), m.RawMatrix())
			all = append(all, m.RawMatrix().Data...)
		}
	}
	return all
}

// gonumBits returns a line for each call: its name and a hash of its results for matrices of some sizes.
func gonumBits(shift int) string {
	var lines []string
	for _, calls := range []map[string]func(*operands) []float64{gonumCalls, ownCalls} {
		for name, call := range calls {
			if call == nil {
				continue
			}
			hash := fnv.New64a()
			for _, n := range []int{1, 7, 40, 130} {
				for _, v := range call(&operands{n: n, shift: shift, rng: rand.New(rand.NewPCG(uint64(n), 1))}) {
					hash.Write(binary.LittleEndian.AppendUint64(nil, math.Float64bits(v)))
				}
			}
			lines = append(lines, fmt.Sprintf("%s %#x\n", name, hash.Sum64()))
		}
	}
	slices.Sort(lines)
	return strings.Join(lines, "")
}

// printBits, set in the environment, makes TestGonumBitsAreTheSameEverywhere print gonumBits.
const printBits = "CLEAVE_PRINT_GONUM_BITS"

// TestGonumBitsAreTheSameEverywhere runs the calls of gonum that the product makes with operands at two addresses, with
// one thread and with two, and on models of processors with and without vector instructions and fused products.
func TestGonumBitsAreTheSameEverywhere(t *testing.T) {
	if os.Getenv(printBits) != "" {
		fmt.Print(gonumBits(0))
		return
	}
	want := gonumBits(0)
	if got := gonumBits(1); got != want {
		t.Errorf("at another address the bits are\n%s, not\n%s", got, want)
	}
	before := runtime.GOMAXPROCS(0)
	defer runtime.GOMAXPROCS(before)
	for _, threads := range []int{1, 2} {
		runtime.GOMAXPROCS(threads)
		if got := gonumBits(0); got != want {
			t.Errorf("with %d threads the bits are\n%s, not\n%s", threads, got, want)
		}
	}
	emulator, err := exec.LookPath("qemu-x86_64")
	if err != nil || runtime.GOARCH != "amd64" {
		t.Skip("other models of processors are not tried: that takes amd64 and qemu-x86_64, of Debian's qemu-user")
	}
	for _, model := range []string{"Nehalem", "max"} { // without AVX and FMA, and with them
		run := exec.CommandContext(t.Context(), emulator, "-cpu", model, os.Args[0], "-test.run", "^"+t.Name()+"$")
		run.Env = append(run.Environ(), printBits+"=1")
		output, err := run.CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v\n%s", model, err, output)
		}
		if got, _, _ := strings.Cut(string(output), "PASS"); got != want {
			t.Errorf("on a processor of the model %s the bits are\n%s, not\n%s", model, got, want)
		}
	}
}
