// Command kernel generates the SIMD code of internal/kernel, for AVX-512 and for AVX2 with FMA. Run it with
// `make generate`; the assembly is committed.
//
// Every function computes the same bits as its portable counterpart in internal/kernel/portable.go: sums of
// multiples of the grid are exact in any order; products of float32 are exact in float64, so that fusing
// them changes nothing; the exponential rounds after every product and every sum, as it does in Go; and
// products with vectors are chains of fused multiply-adds in column order in both.
package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

func main() {
	ConstraintExpr("amd64")
	for _, w := range []width{avx512, avx2} {
		addColumns(w, false)
		addColumns(w, true)
		moveColumns(w)
		addProducts(w)
		addWideProducts(w)
		addEntries(w)
		multiplyBlock(w)
		transpose(w)
		gaussian(w)
		distances(w)
		toHalf(w)
		fromHalf(w)
	}
	pack(avx2) // wider registers would not help: it waits for memory
	Generate()
}

// width is one instruction set: its registers hold `lanes` float64.
type width struct {
	name  string
	lanes int
	rows  int // registers of rows in a block of inner products
	cols  int // columns in a block of inner products
	// vectors is how many vectors at most a block of rows is multiplied with at a time.
	vectors int
}

var (
	avx512 = width{name: "AVX512", lanes: 8, rows: 4, cols: 6, vectors: 12}
	avx2   = width{name: "AVX2", lanes: 4, rows: 2, cols: 6, vectors: 6}
)

func (w width) vector() reg.VecVirtual {
	if w.lanes == 8 {
		return ZMM()
	}
	return YMM()
}

// half returns a register that holds `lanes` float32.
func (w width) half() reg.VecVirtual {
	if w.lanes == 8 {
		return YMM()
	}
	return XMM()
}

// zero returns a vector of zeros.
func (w width) zero() reg.VecVirtual {
	v := w.vector()
	if w.lanes == 8 {
		VPXORQ(v, v, v)
	} else {
		VXORPD(v, v, v)
	}
	return v
}

func (w width) bytes() int { return 8 * w.lanes }

// downFrom returns the numbers from most to 1.
func downFrom(most int) []int {
	counts := make([]int, most)
	for at := range counts {
		counts[at] = most - at
	}
	return counts
}

// perCount emits a body for each of the counts and the code that selects one by a parameter, whose value must be one of
// them. It compares them in order, so the most frequent should come first. The body names its labels with the suffix
// that it is given.
func perCount(parameter string, counts []int, body func(count int, suffix string)) {
	count := Load(Param(parameter), GP64())
	last := len(counts) - 1
	for _, c := range counts[:last] {
		CMPQ(count, operand.Imm(uint64(c)))
		JEQ(operand.LabelRef(fmt.Sprint("count", c)))
	}
	JMP(operand.LabelRef(fmt.Sprint("count", counts[last])))
	for _, c := range counts {
		Label(fmt.Sprint("count", c))
		body(c, fmt.Sprint(c))
	}
}

func at(base reg.Register, index reg.Register, scale uint8, offset int) operand.Mem {
	return operand.Mem{Base: base, Index: index, Scale: scale, Disp: offset}
}
