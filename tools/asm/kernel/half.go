package main

import (
	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// toHalf: dst[i] = float16(src[i] * scale), rounded to the nearest; count is a multiple of 16.
func toHalf(w width) {
	TEXT("toHalf"+w.name, NOSPLIT, "func(dst *uint16, src *float32, count int, scale float32)")
	Pragma("noescape")
	Doc("toHalf" + w.name + " scales float32 values and rounds them to float16; count is a multiple of 16.")
	dst := Load(Param("dst"), GP64())
	src := Load(Param("src"), GP64())
	count := Load(Param("count"), GP64())
	scale := w.single("scale")
	row := GP64()
	XORQ(row, row)
	Label("loop")
	v := w.vector()
	VMULPS(at(src, row, 4, 0), scale, v)
	VCVTPS2PH(operand.Imm(0), v, at(dst, row, 2, 0))
	ADDQ(operand.U32(2*w.lanes), row)
	CMPQ(row, count)
	JL(operand.LabelRef("loop"))
	VZEROUPPER()
	RET()
}

// fromHalf: dst[i] = float32(src[i]) * scale; count is a multiple of 16.
func fromHalf(w width) {
	TEXT("fromHalf"+w.name, NOSPLIT, "func(dst *float32, src *uint16, count int, scale float32)")
	Pragma("noescape")
	Doc("fromHalf" + w.name + " converts float16 values to float32 and scales them; count is a multiple of 16.")
	dst := Load(Param("dst"), GP64())
	src := Load(Param("src"), GP64())
	count := Load(Param("count"), GP64())
	scale := w.single("scale")
	row := GP64()
	XORQ(row, row)
	Label("loop")
	v := w.vector()
	VCVTPH2PS(at(src, row, 2, 0), v)
	VMULPS(scale, v, v)
	VMOVUPS(v, at(dst, row, 4, 0))
	ADDQ(operand.U32(2*w.lanes), row)
	CMPQ(row, count)
	JL(operand.LabelRef("loop"))
	VZEROUPPER()
	RET()
}

// single broadcasts a float32 parameter.
func (w width) single(name string) reg.VecVirtual {
	v := w.vector()
	address, err := Param(name).Resolve()
	if err != nil {
		panic(err)
	}
	VBROADCASTSS(address.Addr, v)
	return v
}
