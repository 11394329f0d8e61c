// Command kernel generates the SIMD code of internal/kernel, for AVX-512 and for AVX2 with FMA. Run it with
// `make generate`; the assembly is committed.
//
// Every function computes the same bits as its portable counterpart in internal/kernel/portable.go: sums of
// multiples of the grid are exact in any order; products of float32 are exact in float64, so that fusing
// them changes nothing; the exponential rounds after every product and every sum, as it does in Go; and
// products with vectors are chains of fused multiply-adds in column order in both.
package main

import (
	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

func main() {
	ConstraintExpr("amd64")
	for _, w := range []width{avx512, avx2} {
		for count := 1; count <= columnsPerPass; count++ {
			addColumns(w, count, false)
			addColumns(w, count, true)
			moveColumns(w, count)
		}
		for vectors := 1; vectors <= w.vectors; vectors++ {
			addProducts(w, vectors)
			addWideProducts(w, vectors)
		}
		for _, vectors := range entryVectors {
			addEntries(w, vectors)
		}
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

func at(base reg.Register, index reg.Register, scale uint8, offset int) operand.Mem {
	return operand.Mem{Base: base, Index: index, Scale: scale, Disp: offset}
}
