package main

import (
	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// square is the side of a transposed square: one cache line of float32.
const square = 16

// transpose: dst[c][r] = src[r][c] for several squares, which are below each other in src and side by side in
// dst. Every store writes a whole cache line that is not read soon, so that it bypasses the caches: the line
// need not be read before it is written.
func transpose(w width) {
	TEXT("transpose"+w.name, NOSPLIT, "func(dst *float32, dstStride int, src *float32, srcStride, squares int)")
	Pragma("noescape")
	Doc("transpose" + w.name + " transposes squares of 16 x 16 values: src's rows, srcStride apart, become " +
		"dst's columns.")
	dst := Load(Param("dst"), GP64())
	dstStride := Load(Param("dstStride"), GP64())
	src := Load(Param("src"), GP64())
	srcStride := Load(Param("srcStride"), GP64())
	squares := Load(Param("squares"), GP64())
	SHLQ(operand.Imm(2), dstStride)
	SHLQ(operand.Imm(2), srcStride)
	from := GP64()
	to := GP64()
	Label("loop")
	side := 2 * w.lanes // values in a register
	for r := 0; r < square; r += side {
		for c := 0; c < square; c += side {
			MOVQ(src, from)
			for range r {
				ADDQ(srcStride, from)
			}
			MOVQ(dst, to)
			for range c {
				ADDQ(dstStride, to)
			}
			rows := make([]reg.VecVirtual, side)
			for i := range rows {
				rows[i] = w.vector()
				VMOVUPS(operand.Mem{Base: from, Disp: 4 * c}, rows[i])
				ADDQ(srcStride, from)
			}
			for _, column := range w.turn(rows) {
				VMOVNTPS(column, operand.Mem{Base: to, Disp: 4 * r})
				ADDQ(dstStride, to)
			}
		}
	}
	for range square {
		ADDQ(srcStride, src)
	}
	ADDQ(operand.U32(4*square), dst)
	DECQ(squares)
	JNZ(operand.LabelRef("loop"))
	SFENCE()
	VZEROUPPER()
	RET()
}

// turn transposes a square of registers. Within lanes of four values it interleaves pairs of rows, then pairs
// of pairs; then it permutes whole lanes.
func (w width) turn(rows []reg.VecVirtual) []reg.VecVirtual {
	quads := make([]reg.VecVirtual, len(rows)) // quads[4g+q], lane l: column 4l+q of rows 4g..4g+3
	for g := 0; g < len(rows); g += 4 {
		var low, high [2]reg.VecVirtual
		for i := range low {
			low[i], high[i] = w.vector(), w.vector()
			VUNPCKLPS(rows[g+2*i+1], rows[g+2*i], low[i])
			VUNPCKHPS(rows[g+2*i+1], rows[g+2*i], high[i])
		}
		for i := range 4 {
			quads[g+i] = w.vector()
		}
		VUNPCKLPD(low[1], low[0], quads[g])
		VUNPCKHPD(low[1], low[0], quads[g+1])
		VUNPCKLPD(high[1], high[0], quads[g+2])
		VUNPCKHPD(high[1], high[0], quads[g+3])
	}
	columns := make([]reg.VecVirtual, len(rows))
	for i := range columns {
		columns[i] = w.vector()
	}
	for q := range 4 {
		if w.lanes == 4 {
			VPERM2F128(operand.Imm(0x20), quads[4+q], quads[q], columns[q])
			VPERM2F128(operand.Imm(0x31), quads[4+q], quads[q], columns[4+q])
			continue
		}
		const even, odd = operand.U8(0x88), operand.U8(0xdd)
		for lane, which := range []operand.U8{even, odd} {
			top := w.vector()
			bottom := w.vector()
			VSHUFF32X4(which, quads[4+q], quads[q], top)
			VSHUFF32X4(which, quads[12+q], quads[8+q], bottom)
			VSHUFF32X4(even, bottom, top, columns[4*lane+q])
			VSHUFF32X4(odd, bottom, top, columns[4*(lane+2)+q])
		}
	}
	return columns
}

// pack: dst[f*lanes+i] = float64(points[i][f]) for eight points; features is a multiple of 8. With fewer than
// eight lanes, the values of the points beyond them are overwritten by the next feature's.
func pack(w width) {
	TEXT("pack"+w.name, NOSPLIT, "func(dst *float64, lanes int, points *[8]*float32, features int)")
	Pragma("noescape")
	Doc("pack" + w.name + " lays out eight points feature by feature, lanes values apart; features is a multiple of 8.")
	dst := Load(Param("dst"), GP64())
	lanes := Load(Param("lanes"), GP64())
	table := Load(Param("points"), GP64())
	features := Load(Param("features"), GP64())
	SHLQ(operand.Imm(3), lanes)
	f := GP64()
	point := GP64()
	XORQ(f, f)
	Label("loop")
	rows := make([]reg.VecVirtual, 8)
	for i := range rows {
		rows[i] = YMM()
		MOVQ(operand.Mem{Base: table, Disp: 8 * i}, point)
		VMOVUPS(at(point, f, 4, 0), rows[i])
	}
	for _, column := range w.turn(rows) {
		high := XMM()
		wide := YMM()
		VEXTRACTF128(operand.Imm(1), column, high)
		VCVTPS2PD(column.AsX(), wide)
		VMOVUPD(wide, operand.Mem{Base: dst})
		VCVTPS2PD(high, wide)
		VMOVUPD(wide, operand.Mem{Base: dst, Disp: 32})
		ADDQ(lanes, dst)
	}
	ADDQ(operand.U32(8), f)
	CMPQ(f, features)
	JL(operand.LabelRef("loop"))
	VZEROUPPER()
	RET()
}
