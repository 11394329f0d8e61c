package main

import (
	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// wideBytes is the size of a register of AVX-512, which has all eight lanes of a sum.
const wideBytes = 64

// columnPointers reads the pointers to four columns.
func columnPointers(name string) []reg.Register {
	from := Load(Param(name), GP64())
	var p []reg.Register
	for c := range groupColumns {
		pointer := GP64()
		MOVQ(operand.Mem{Base: from, Disp: 8 * c}, pointer)
		p = append(p, pointer)
	}
	return p
}

func wideVectors(count int) []reg.VecVirtual {
	made := make([]reg.VecVirtual, count)
	for i := range made {
		made[i] = ZMM()
	}
	return made
}

func dotBlock() {
	TEXT("dotBlockAVX512", NOSPLIT, "func(lanes *float64, x, y **float64, count int)")
	Pragma("noescape")
	Doc("dotBlockAVX512 sums each of four columns x times each of four columns y in eight lanes, product i in " +
		"lane i mod 8.")
	x := columnPointers("x")
	y := columnPointers("y")
	sums := wideVectors(groupColumns * groupColumns)
	for _, s := range sums {
		VPXORQ(s, s, s)
	}
	loop(func(at reg.GPVirtual) {
		read := wideVectors(groupColumns)
		for c := range read {
			VMOVUPD(place(y[c], at, 0), read[c])
		}
		for i := range x {
			v := ZMM()
			VMOVUPD(place(x[i], at, 0), v)
			for j := range read {
				product := ZMM()
				VMULPD(read[j], v, product)
				VADDPD(product, sums[i*groupColumns+j], sums[i*groupColumns+j])
			}
		}
	})
	out := Load(Param("lanes"), GP64())
	for i, s := range sums {
		VMOVUPD(s, operand.Mem{Base: out, Disp: i * wideBytes})
	}
	VZEROUPPER()
	RET()
}

func mixBlock() {
	TEXT("mixBlockAVX512", NOSPLIT, "func(y, x **float64, factors *float64, count int)")
	Pragma("noescape")
	Doc("mixBlockAVX512 adds to each of four columns y four columns x times their factors, one after the other; " +
		"factors has those of all x for the first y, then for the next.")
	y := columnPointers("y")
	x := columnPointers("x")
	from := Load(Param("factors"), GP64())
	f := wideVectors(groupColumns * groupColumns)
	for i := range f {
		VBROADCASTSD(operand.Mem{Base: from, Disp: 8 * i}, f[i])
	}
	loop(func(at reg.GPVirtual) {
		read := wideVectors(groupColumns)
		for c := range read {
			VMOVUPD(place(x[c], at, 0), read[c])
		}
		for j := range y {
			sum := ZMM()
			VMOVUPD(place(y[j], at, 0), sum)
			for i := range read {
				product := ZMM()
				VMULPD(read[i], f[j*groupColumns+i], product)
				VADDPD(product, sum, sum)
			}
			VMOVUPD(sum, place(y[j], at, 0))
		}
	})
	VZEROUPPER()
	RET()
}
