package main

import (
	"math"

	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// The constants of the exponential, as in internal/numeric/elementary.
const (
	log2E          = 1.44269504088896338700e+00
	ln2High        = 6.93147180369123816490e-01
	ln2Low         = 1.90821492927058770002e-10
	integerRounder = 1.5 * (1 << 52)
	minExpArgument = -700
)

// gaussian: dst[r] = grid(float32(exp(-max(0, (norms[r] + normY) - 2 products[r]) * scale))).
func gaussian(w width) {
	TEXT("gaussian"+w.name, NOSPLIT,
		"func(dst *float32, products, norms *float64, rows int, normY, scale, rounder float64)")
	Pragma("noescape")
	Doc("gaussian" + w.name + " turns inner products into Gaussian kernel values on the grid; rows is a " +
		"multiple of 16.")
	dst := Load(Param("dst"), GP64())
	products := Load(Param("products"), GP64())
	norms := Load(Param("norms"), GP64())
	rows := Load(Param("rows"), GP64())
	normY := w.double("normY")
	scale := w.double("scale")
	rounder := w.double("rounder")
	table := coefficients(w)
	row := GP64()
	XORQ(row, row)
	zero := w.zero()
	g := gaussianLoop{w: w, dst: dst, products: products, norms: norms, row: row, normY: normY, scale: scale,
		rounder: rounder, zero: zero, table: table}
	if w.lanes == 8 {
		// A step takes 32 rows; if 16 are left over, they take a shorter step.
		whole := GP64()
		MOVQ(rows, whole)
		ANDQ(operand.I32(-32), whole)
		JZ(operand.LabelRef("tail"))
		Label("loop")
		g.step(4)
		CMPQ(row, whole)
		JL(operand.LabelRef("loop"))
		CMPQ(row, rows)
		JGE(operand.LabelRef("done"))
		Label("tail")
		g.step(2)
		Label("done")
	} else {
		Label("loop")
		g.step(2)
		CMPQ(row, rows)
		JL(operand.LabelRef("loop"))
	}
	VZEROUPPER()
	RET()
}

// double broadcasts a float64 parameter.
func (w width) double(name string) reg.VecVirtual {
	v := w.vector()
	address, err := Param(name).Resolve()
	if err != nil {
		panic(err)
	}
	VBROADCASTSD(address.Addr, v)
	return v
}

// gaussianLoop is what a step of gaussian works with.
type gaussianLoop struct {
	w                           width
	dst, products, norms, row   reg.Register
	normY, scale, rounder, zero reg.VecVirtual
	table                       dataTable
}

// step computes several registers of rows at a time, operation by operation, so that their chains of dependent
// operations overlap.
func (g gaussianLoop) step(vectors int) {
	w, table, row := g.w, g.table, g.row
	each := func(do func(i int)) {
		for i := range vectors {
			do(i)
		}
	}
	fresh := func() []reg.VecVirtual {
		v := make([]reg.VecVirtual, vectors)
		each(func(i int) { v[i] = w.vector() })
		return v
	}
	// x = -(max(0, (|x|^2 + |y|^2) - 2 x.y) * scale)
	product := fresh()
	x := fresh()
	each(func(i int) { VMOVUPD(at(g.products, row, 8, i*w.bytes()), product[i]) })
	each(func(i int) { VADDPD(product[i], product[i], product[i]) })
	each(func(i int) { VADDPD(at(g.norms, row, 8, i*w.bytes()), g.normY, x[i]) })
	each(func(i int) { VSUBPD(product[i], x[i], x[i]) })
	each(func(i int) { VMAXPD(g.zero, x[i], x[i]) })
	each(func(i int) { VMULPD(g.scale, x[i], x[i]) })
	each(func(i int) { VSUBPD(x[i], g.zero, x[i]) })
	// m is the integer nearest to x log2 e; t holds it in its low bits
	t := fresh()
	m := fresh()
	r := fresh()
	each(func(i int) { VMULPD(table.at(0), x[i], t[i]) })
	each(func(i int) { VADDPD(table.at(1), t[i], t[i]) })
	each(func(i int) { VSUBPD(table.at(1), t[i], m[i]) })
	each(func(i int) { VMULPD(table.at(2), m[i], r[i]) })
	each(func(i int) { VSUBPD(r[i], x[i], r[i]) })
	each(func(i int) { VMULPD(table.at(3), m[i], m[i]) })
	each(func(i int) { VSUBPD(m[i], r[i], r[i]) })
	p := m // m is not needed any more
	each(func(i int) { VMOVUPD(table.at(5), p[i]) })
	for term := 1; term < polynomialTerms; term++ {
		each(func(i int) { VMULPD(r[i], p[i], p[i]) })
		each(func(i int) { VADDPD(table.at(5+term), p[i], p[i]) })
	}
	// 2^m: the low bits of t are shifted into the exponent
	each(func(i int) { VPSLLQ(operand.Imm(52), t[i], t[i]) })
	each(func(i int) { VPADDQ(table.at(5+polynomialTerms), t[i], t[i]) })
	each(func(i int) { VMULPD(t[i], p[i], p[i]) })
	// 0 below -700; then round once to float32 and once to the grid
	each(func(i int) {
		if w.lanes == 8 {
			keep := K()
			VCMPPD(operand.Imm(13), table.at(4), x[i], keep) // x >= -700
			VMOVAPD_Z(p[i], keep, p[i])
		} else {
			VCMPPD(operand.Imm(13), table.at(4), x[i], x[i])
			VANDPD(x[i], p[i], p[i])
		}
	})
	each(func(i int) {
		single := w.half()
		w.toSingle(p[i], single)
		VCVTPS2PD(single, p[i])
		VADDPD(g.rounder, p[i], p[i])
		VSUBPD(g.rounder, p[i], p[i])
		w.toSingle(p[i], single)
		VMOVUPS(single, at(g.dst, row, 4, 4*i*w.lanes))
	})
	ADDQ(operand.U32(vectors*w.lanes), row)
}

// toSingle rounds a vector of float64 to float32.
func (w width) toSingle(v, single reg.VecVirtual) {
	if w.lanes == 8 {
		VCVTPD2PS(v, single)
	} else {
		VCVTPD2PSY(v, single)
	}
}

const polynomialTerms = 14

// dataTable is constants in memory, each repeated to fill a register.
type dataTable struct {
	base  operand.Mem
	bytes int
}

func (d dataTable) at(i int) operand.Mem { return d.base.Offset(i * d.bytes) }

func coefficients(w width) dataTable {
	values := []uint64{
		math.Float64bits(log2E), math.Float64bits(integerRounder), math.Float64bits(ln2High), math.Float64bits(ln2Low),
		math.Float64bits(minExpArgument),
	}
	factorials := []float64{6227020800, 479001600, 39916800, 3628800, 362880, 40320, 5040, 720, 120, 24, 6, 2, 1, 1}
	for _, f := range factorials {
		values = append(values, math.Float64bits(1/f))
	}
	values = append(values, 1023<<52)
	base := GLOBL("exp"+w.name, RODATA|NOPTR)
	for i, v := range values {
		for lane := range w.lanes {
			DATA(i*w.bytes()+8*lane, operand.U64(v))
		}
	}
	return dataTable{base: base, bytes: w.bytes()}
}
