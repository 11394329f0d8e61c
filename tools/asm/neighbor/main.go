// Command neighbor generates the SIMD code of internal/numeric/neighbor, for AVX-512 and for AVX2 with FMA. Run it with
// `make generate`; the assembly is committed.
//
// Every function computes the same bits as its portable counterpart in internal/numeric/neighbor/portable.go: a
// distance, of rows or of boxes, is one chain of fused multiply-adds of rounded differences, in feature order.
package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// The layout of internal/numeric/neighbor: rows come in groups and queries in batches, both stored feature by feature.
const (
	groupRows    = 16
	batchQueries = 8
	blockBatches = 8
)

// lessOrEqual is the predicate of VCMPPD that is false for NaN.
const lessOrEqual = 2

func main() {
	ConstraintExpr("amd64")
	for _, w := range []width{avx512, avx2} {
		distances(w)
		gaps(w)
	}
	Generate()
}

// width is one instruction set: its registers hold `lanes` float64.
type width struct {
	name    string
	lanes   int
	queries int // of a batch whose distances are in registers at a time
}

var (
	avx512 = width{name: "AVX512", lanes: 8, queries: 8}
	avx2   = width{name: "AVX2", lanes: 4, queries: 2}
)

func (w width) vector() reg.VecVirtual {
	if w.lanes == 8 {
		return ZMM()
	}
	return YMM()
}

func (w width) vectors() []reg.VecVirtual {
	made := make([]reg.VecVirtual, groupRows/w.lanes)
	for i := range made {
		made[i] = w.vector()
	}
	return made
}

func (w width) bytes() int { return 8 * w.lanes }

// distances: sums[q][r] += sum over f of (queries[f][q] - rows[f][r])^2, from 0 if first is set. Bit r of hits[q] is
// sums[q][r] <= limits[q].
func distances(w width) {
	name := "distances" + w.name
	TEXT(name, NOSPLIT, "func(sums *float64, hits *uint16, rows, queries, limits *float64, features int, first bool)")
	Pragma("noescape")
	Doc(fmt.Sprintf("%s adds to the squared distances of %d queries from %d rows, and compares them with the limits.",
		name, w.queries, groupRows))
	out := Load(Param("sums"), GP64())
	rows := Load(Param("rows"), GP64())
	queries := Load(Param("queries"), GP64())
	features := Load(Param("features"), GP64())
	place := func(q, r int) operand.Mem { return operand.Mem{Base: out, Disp: 8*groupRows*q + w.bytes()*r} }
	sums := make([][]reg.VecVirtual, w.queries)
	for q := range sums {
		sums[q] = w.vectors()
		for _, sum := range sums[q] {
			w.clear(sum)
		}
	}
	first := Load(Param("first"), GP8())
	TESTB(first, first)
	JNZ(operand.LabelRef("loop"))
	for q := range sums {
		for r := range sums[q] {
			VMOVUPD(place(q, r), sums[q][r])
		}
	}
	Label("loop")
	y := w.vectors()
	for r := range y {
		VMOVUPD(operand.Mem{Base: rows, Disp: r * w.bytes()}, y[r])
	}
	for q := range sums {
		x := w.vector()
		VBROADCASTSD(operand.Mem{Base: queries, Disp: 8 * q}, x)
		for r := range y {
			difference := w.vector()
			VSUBPD(y[r], x, difference)
			VFMADD231PD(difference, difference, sums[q][r])
		}
	}
	ADDQ(operand.U32(8*groupRows), rows)
	ADDQ(operand.U32(8*batchQueries), queries)
	DECQ(features)
	JNZ(operand.LabelRef("loop"))
	limits := Load(Param("limits"), GP64())
	hits := Load(Param("hits"), GP64())
	for q := range sums {
		limit := w.vector()
		all := GP32()
		VBROADCASTSD(operand.Mem{Base: limits, Disp: 8 * q}, limit)
		for r, sum := range sums[q] {
			VMOVUPD(sum, place(q, r))
			some := all
			if r > 0 {
				some = GP32()
			}
			w.within(sum, limit, some)
			if r > 0 {
				SHLL(operand.U8(r*w.lanes), some)
				ORL(some, all)
			}
		}
		MOVW(all.As16(), operand.Mem{Base: hits, Disp: 2 * q})
	}
	VZEROUPPER()
	RET()
}

// gaps: sums[b] = sum over f of max(lows[f][b] - high[f], low[f] - highs[f][b], 0)^2, for the batches of a block.
func gaps(w width) {
	name := "gaps" + w.name
	TEXT(name, NOSPLIT, "func(sums, lows, highs, low, high *float64, features int)")
	Pragma("noescape")
	Doc(fmt.Sprintf("%s computes the squared distances of the boxes of %d batches from one box.", name, blockBatches))
	lows := Load(Param("lows"), GP64())
	highs := Load(Param("highs"), GP64())
	low := Load(Param("low"), GP64())
	high := Load(Param("high"), GP64())
	features := Load(Param("features"), GP64())
	zero := w.vector()
	sums := make([]reg.VecVirtual, blockBatches/w.lanes)
	w.clear(zero)
	for at := range sums {
		sums[at] = w.vector()
		w.clear(sums[at])
	}
	Label("loop")
	from := w.vector()
	to := w.vector()
	VBROADCASTSD(operand.Mem{Base: low}, from)
	VBROADCASTSD(operand.Mem{Base: high}, to)
	for at, sum := range sums {
		after := w.vector()
		before := w.vector()
		VMOVUPD(operand.Mem{Base: lows, Disp: at * w.bytes()}, after)
		VSUBPD(to, after, after)
		VSUBPD(operand.Mem{Base: highs, Disp: at * w.bytes()}, from, before)
		VMAXPD(before, after, after)
		VMAXPD(zero, after, after)
		VFMADD231PD(after, after, sum)
	}
	ADDQ(operand.U32(8*blockBatches), lows)
	ADDQ(operand.U32(8*blockBatches), highs)
	ADDQ(operand.U32(8), low)
	ADDQ(operand.U32(8), high)
	DECQ(features)
	JNZ(operand.LabelRef("loop"))
	out := Load(Param("sums"), GP64())
	for at, sum := range sums {
		VMOVUPD(sum, operand.Mem{Base: out, Disp: at * w.bytes()})
	}
	VZEROUPPER()
	RET()
}

func (w width) clear(v reg.VecVirtual) {
	if w.lanes == 8 {
		VPXORQ(v, v, v)
	} else {
		VXORPD(v, v, v)
	}
}

// within sets a bit for each value that is at most its limit.
func (w width) within(values, limits reg.VecVirtual, bits reg.GPVirtual) {
	if w.lanes == 8 {
		mask := K()
		VCMPPD(operand.U8(lessOrEqual), limits, values, mask)
		KMOVB(mask, bits)
		return
	}
	mask := YMM()
	VCMPPD(operand.U8(lessOrEqual), limits, values, mask)
	VMOVMSKPD(mask, bits)
}
