package main

import (
	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
)

// distances: nearest[r] = min(nearest[r], square - (2 sums[r]) / (weights[r] weight)), where the second is the
// distance to one cluster by Kulis2009 (1), without the term that is the same for all clusters.
func distances(w width) {
	TEXT("distances"+w.name, NOSPLIT, "func(nearest, sums, weights *float64, rows int, square, weight float64)")
	Pragma("noescape")
	Doc("distances" + w.name + " lowers nearest to the distances to one cluster; rows is a multiple of 16.")
	nearest := Load(Param("nearest"), GP64())
	sums := Load(Param("sums"), GP64())
	weights := Load(Param("weights"), GP64())
	rows := Load(Param("rows"), GP64())
	square := w.double("square")
	weight := w.double("weight")
	row := GP64()
	XORQ(row, row)
	Label("loop")
	for offset := 0; offset < 16; offset += w.lanes {
		sum := w.vector()
		by := w.vector()
		VMOVUPD(at(sums, row, 8, 8*offset), sum)
		VADDPD(sum, sum, sum)
		VMULPD(at(weights, row, 8, 8*offset), weight, by)
		VDIVPD(by, sum, sum)
		VSUBPD(sum, square, sum)
		VMINPD(at(nearest, row, 8, 8*offset), sum, sum) // keeps the old value if the new one is NaN
		VMOVUPD(sum, at(nearest, row, 8, 8*offset))
	}
	ADDQ(operand.U32(16), row)
	CMPQ(row, rows)
	JL(operand.LabelRef("loop"))
	VZEROUPPER()
	RET()
}
