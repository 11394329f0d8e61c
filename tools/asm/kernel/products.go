package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// multiplyBlock: out[c][r] = sum over f of rows[f][r] * columns[f][c], in feature order. Unless first is set,
// the sums continue from what out has. Rows and columns are packed feature by feature.
func multiplyBlock(w width) {
	TEXT("multiplyBlock"+w.name, NOSPLIT,
		"func(out *float64, stride int, rows, columns *float64, features int, first bool)")
	Pragma("noescape")
	Doc(fmt.Sprintf("multiplyBlock%s computes the inner products of %d packed rows with %d packed columns; a column "+
		"of out begins every stride values.",
		w.name, w.rows*w.lanes, w.cols))
	rows := Load(Param("rows"), GP64())
	columns := Load(Param("columns"), GP64())
	features := Load(Param("features"), GP64())
	out := Load(Param("out"), GP64())
	stride := Load(Param("stride"), GP64())
	SHLQ(operand.Imm(3), stride)
	next := GP64()
	MOVQ(out, next)
	sums := make([][]reg.VecVirtual, w.cols)
	for c := range sums {
		sums[c] = make([]reg.VecVirtual, w.rows)
		for r := range sums[c] {
			sums[c][r] = w.zero()
		}
	}
	first := Load(Param("first"), GP8())
	TESTB(first, first)
	JNZ(operand.LabelRef("loop"))
	for c := range sums {
		for r := range sums[c] {
			VMOVUPD(operand.Mem{Base: next, Disp: r * w.bytes()}, sums[c][r])
		}
		ADDQ(stride, next)
	}
	Label("loop")
	x := make([]reg.VecVirtual, w.rows)
	for r := range x {
		x[r] = w.vector()
		VMOVUPD(operand.Mem{Base: rows, Disp: r * w.bytes()}, x[r])
	}
	for c := range sums {
		y := w.vector()
		VBROADCASTSD(operand.Mem{Base: columns, Disp: 8 * c}, y)
		for r := range x {
			VFMADD231PD(x[r], y, sums[c][r])
		}
	}
	ADDQ(operand.U32(w.rows*w.bytes()), rows)
	ADDQ(operand.U32(8*w.cols), columns)
	DECQ(features)
	JNZ(operand.LabelRef("loop"))
	for c := range sums {
		for r := range sums[c] {
			VMOVUPD(sums[c][r], operand.Mem{Base: out, Disp: r * w.bytes()})
		}
		if c < len(sums)-1 {
			ADDQ(stride, out)
		}
	}
	VZEROUPPER()
	RET()
}
