// Command asm generates the vector code of internal/kernel: AVX-512 and AVX2 with FMA. Run it by
// `make generate`; the assembly is committed.
//
// Every function computes the bits of its portable twin (portable.go): sums of grid multiples are
// exact in any order, products of float32 are exact in float64 so that fusing them changes nothing,
// and the exponential rounds after every product and every sum, as it does in Go.
package main

import (
	"fmt"
	"math"

	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

func main() {
	ConstraintExpr("amd64")
	for _, w := range []width{avx512, avx2} {
		for _, count := range passSizes {
			addColumns(w, count, false)
			addColumns(w, count, true)
			moveColumns(w, count)
		}
		addScaled(w)
		multiplyBlock(w)
		gaussian(w)
		toHalf(w)
		fromHalf(w)
	}
	Generate()
}

// width is one instruction set: its registers hold `lanes` float64.
type width struct {
	name  string
	lanes int
	rows  int // vectors of rows in a block of products
	cols  int // columns in a block of products
}

var (
	avx512 = width{name: "AVX512", lanes: 8, rows: 4, cols: 6}
	avx2   = width{name: "AVX2", lanes: 4, rows: 2, cols: 6}
)

func (w width) vector() reg.VecVirtual {
	if w.lanes == 8 {
		return ZMM()
	}
	return YMM()
}

// half is a register that holds `lanes` float32.
func (w width) half() reg.VecVirtual {
	if w.lanes == 8 {
		return YMM()
	}
	return XMM()
}

func (w width) bytes() int { return 8 * w.lanes }

func at(base reg.Register, index reg.Register, scale uint8, offset int) operand.Mem {
	return operand.Mem{Base: base, Index: index, Scale: scale, Disp: offset}
}

// columnsPerPass is how many columns are summed in registers before they touch the destination, at
// most; passes with fewer columns have code of their own.
const columnsPerPass = 8

var passSizes = []int{8, 4, 1}

// columnPointers loads the addresses of the columns of one pass.
func columnPointers(count int) []reg.GPVirtual {
	columns := make([]reg.GPVirtual, count)
	table := Load(Param("columns"), GP64())
	for i := range columns {
		columns[i] = GP64()
		MOVQ(operand.Mem{Base: table, Disp: 8 * i}, columns[i])
	}
	return columns
}

// sumColumns is the sum of the columns' values at a row, by halves so that additions overlap.
func (w width) sumColumns(columns []reg.GPVirtual, row reg.Register, offset int) reg.VecVirtual {
	var sums [2]reg.VecVirtual
	for i, column := range columns {
		v := w.vector()
		VCVTPS2PD(at(column, row, 4, 4*offset), v)
		if i < 2 {
			sums[i] = v
			continue
		}
		VADDPD(v, sums[i%2], sums[i%2])
	}
	if len(columns) > 1 {
		VADDPD(sums[1], sums[0], sums[0])
	}
	return sums[0]
}

// prefetch asks for the next pass's columns at this row: a step of 16 rows is one line of each.
func prefetch(next, row reg.Register, count int) {
	for i := range count {
		column := GP64()
		MOVQ(operand.Mem{Base: next, Disp: 8 * i}, column)
		PREFETCHT0(at(column, row, 4, 0))
	}
}

// rowsPerStep is one line of float32.
const rowsPerStep = 16

// addColumns: dst[r] += sum of columns[i][r]; subtracting: dst[r] -= the sum.
func addColumns(w width, count int, subtract bool) {
	name, doing := fmt.Sprintf("addColumns%d%s", count, w.name), "adds"
	if subtract {
		name, doing = fmt.Sprintf("subtractColumns%d%s", count, w.name), "subtracts"
	}
	TEXT(name, NOSPLIT, "func(dst *float64, columns, next *[8]*float32, rows int)")
	Doc(fmt.Sprintf("%s %s %d columns of float32 and fetches the next ones ahead; rows is a multiple of 16.", name, doing, count))
	columns := columnPointers(count)
	next := Load(Param("next"), GP64())
	dst := Load(Param("dst"), GP64())
	row := GP64()
	XORQ(row, row)
	Label("loop")
	prefetch(next, row, count)
	for offset := 0; offset < rowsPerStep; offset += w.lanes {
		sum := w.sumColumns(columns, row, offset)
		if subtract {
			left := w.vector()
			VMOVUPD(at(dst, row, 8, 8*offset), left)
			VSUBPD(sum, left, sum)
		} else {
			VADDPD(at(dst, row, 8, 8*offset), sum, sum)
		}
		VMOVUPD(sum, at(dst, row, 8, 8*offset))
	}
	ADDQ(operand.U32(rowsPerStep), row)
	rows := Load(Param("rows"), GP64())
	CMPQ(row, rows)
	JL(operand.LabelRef("loop"))
	VZEROUPPER()
	RET()
}

// moveColumns: one read of each column serves its subtraction and its addition.
func moveColumns(w width, count int) {
	name := fmt.Sprintf("moveColumns%d%s", count, w.name)
	TEXT(name, NOSPLIT, "func(from, to *float64, columns, next *[8]*float32, rows int)")
	Doc(fmt.Sprintf("%s takes %d columns of float32 out of from and adds them into to; rows is a multiple of 16.", name, count))
	columns := columnPointers(count)
	next := Load(Param("next"), GP64())
	from := Load(Param("from"), GP64())
	to := Load(Param("to"), GP64())
	row := GP64()
	XORQ(row, row)
	Label("loop")
	prefetch(next, row, count)
	for offset := 0; offset < rowsPerStep; offset += w.lanes {
		sum, left := w.sumColumns(columns, row, offset), w.vector()
		VMOVUPD(at(from, row, 8, 8*offset), left)
		VSUBPD(sum, left, left)
		VMOVUPD(left, at(from, row, 8, 8*offset))
		VADDPD(at(to, row, 8, 8*offset), sum, sum)
		VMOVUPD(sum, at(to, row, 8, 8*offset))
	}
	ADDQ(operand.U32(rowsPerStep), row)
	rows := Load(Param("rows"), GP64())
	CMPQ(row, rows)
	JL(operand.LabelRef("loop"))
	VZEROUPPER()
	RET()
}

// addScaled: dst[r] = ((dst[r] + columns[0][r] factors[0]) + columns[1][r] factors[1]) + ...; these
// products are not exact, so each is rounded before it is added.
func addScaled(w width) {
	TEXT("addScaled"+w.name, NOSPLIT, "func(dst *float64, columns *[8]*float32, factors *[8]float64, rows int)")
	Doc("addScaled" + w.name + " adds eight columns of float32 times their factors; rows is a multiple of 16.")
	columns := columnPointers(columnsPerPass)
	table := Load(Param("factors"), GP64())
	var factors [columnsPerPass]reg.VecVirtual
	for i := range factors {
		factors[i] = w.vector()
		VBROADCASTSD(operand.Mem{Base: table, Disp: 8 * i}, factors[i])
	}
	dst := Load(Param("dst"), GP64())
	row := GP64()
	XORQ(row, row)
	Label("loop")
	for step := 0; step < 2; step++ {
		sum, product := w.vector(), w.vector()
		VMOVUPD(at(dst, row, 8, step*w.bytes()), sum)
		for i, column := range columns {
			VCVTPS2PD(at(column, row, 4, 4*step*w.lanes), product)
			VMULPD(factors[i], product, product)
			VADDPD(product, sum, sum)
		}
		VMOVUPD(sum, at(dst, row, 8, step*w.bytes()))
	}
	ADDQ(operand.U32(2*w.lanes), row)
	rows := Load(Param("rows"), GP64())
	CMPQ(row, rows)
	JL(operand.LabelRef("loop"))
	VZEROUPPER()
	RET()
}

// multiplyBlock: out[c][r] += sum over f of rows[f][r] * columns[f][c], in feature order. Rows come
// packed feature by feature, and so do the columns.
func multiplyBlock(w width) {
	TEXT("multiplyBlock"+w.name, NOSPLIT, "func(out *float64, stride int, rows, columns *float64, features int)")
	Doc(fmt.Sprintf("multiplyBlock%s adds the products of %d packed rows and %d packed columns; out has a column every stride values.",
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
			sums[c][r] = w.vector()
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

// The exponential's constants, as in exp.go.
const (
	log2E   = 1.44269504088896338700e+00
	ln2High = 6.93147180369123816490e-01
	ln2Low  = 1.90821492927058770002e-10
	toNear  = 1.5 * (1 << 52)
	expTiny = -700
)

// gaussian: dst[r] = grid(float32(exp(-max(0, (norms[r] + normY) - 2 products[r]) * scale))).
func gaussian(w width) {
	TEXT("gaussian"+w.name, NOSPLIT, "func(dst *float32, products, norms *float64, rows int, normY, scale, rounder float64)")
	Doc("gaussian" + w.name + " turns products into gaussian kernel values on the grid; rows is a multiple of 16.")
	dst := Load(Param("dst"), GP64())
	products := Load(Param("products"), GP64())
	norms := Load(Param("norms"), GP64())
	rows := Load(Param("rows"), GP64())
	normY, scale, rounder := w.vector(), w.vector(), w.vector()
	broadcast := func(name string, v reg.VecVirtual) {
		address, err := Param(name).Resolve()
		if err != nil {
			panic(err)
		}
		VBROADCASTSD(address.Addr, v)
	}
	broadcast("normY", normY)
	broadcast("scale", scale)
	broadcast("rounder", rounder)
	table := coefficients(w)
	row := GP64()
	XORQ(row, row)
	zero := w.vector()
	if w.lanes == 8 {
		VPXORQ(zero, zero, zero)
	} else {
		VXORPD(zero, zero, zero)
	}
	// Two vectors at a time, step by step: their chains of dependent operations overlap.
	Label("loop")
	const vectors = 2
	each := func(do func(i int)) {
		for i := range vectors {
			do(i)
		}
	}
	fresh := func() (v [vectors]reg.VecVirtual) {
		each(func(i int) { v[i] = w.vector() })
		return v
	}
	// x = -(max(0, (|x|^2 + |y|^2) - 2 x.y) * scale)
	product, x := fresh(), fresh()
	each(func(i int) { VMOVUPD(at(products, row, 8, i*w.bytes()), product[i]) })
	each(func(i int) { VADDPD(product[i], product[i], product[i]) })
	each(func(i int) { VADDPD(at(norms, row, 8, i*w.bytes()), normY, x[i]) })
	each(func(i int) { VSUBPD(product[i], x[i], x[i]) })
	each(func(i int) { VMAXPD(zero, x[i], x[i]) })
	each(func(i int) { VMULPD(scale, x[i], x[i]) })
	each(func(i int) { VSUBPD(x[i], zero, x[i]) })
	// m = nearest integer of x log2 e; t keeps it in its low bits
	t, m, r := fresh(), fresh(), fresh()
	each(func(i int) { VMULPD(table.at(0), x[i], t[i]) })
	each(func(i int) { VADDPD(table.at(1), t[i], t[i]) })
	each(func(i int) { VSUBPD(table.at(1), t[i], m[i]) })
	each(func(i int) { VMULPD(table.at(2), m[i], r[i]) })
	each(func(i int) { VSUBPD(r[i], x[i], r[i]) })
	each(func(i int) { VMULPD(table.at(3), m[i], m[i]) })
	each(func(i int) { VSUBPD(m[i], r[i], r[i]) })
	p := m // done with
	each(func(i int) { VMOVUPD(table.at(5), p[i]) })
	for term := 1; term < polynomialTerms; term++ {
		each(func(i int) { VMULPD(r[i], p[i], p[i]) })
		each(func(i int) { VADDPD(table.at(5+term), p[i], p[i]) })
	}
	// 2^m: m's low bits moved into the exponent
	each(func(i int) { VPSLLQ(operand.Imm(52), t[i], t[i]) })
	each(func(i int) { VPADDQ(table.at(5+polynomialTerms), t[i], t[i]) })
	each(func(i int) { VMULPD(t[i], p[i], p[i]) })
	// below -700: 0; then one rounding to float32 and one to the grid
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
		VADDPD(rounder, p[i], p[i])
		VSUBPD(rounder, p[i], p[i])
		w.toSingle(p[i], single)
		VMOVUPS(single, at(dst, row, 4, 4*i*w.lanes))
	})
	ADDQ(operand.U32(vectors*w.lanes), row)
	CMPQ(row, rows)
	JL(operand.LabelRef("loop"))
	VZEROUPPER()
	RET()
}

// toSingle rounds a vector of float64 to float32.
func (w width) toSingle(v, single reg.VecVirtual) {
	if w.lanes == 8 {
		VCVTPD2PS(v, single)
	} else {
		VCVTPD2PSY(v, single)
	}
}

// toHalf: dst[i] = float16(src[i] * scale), to the nearest; count is a multiple of 16.
func toHalf(w width) {
	TEXT("toHalf"+w.name, NOSPLIT, "func(dst *uint16, src *float32, count int, scale float32)")
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
	Doc("fromHalf" + w.name + " turns float16 values into float32 and scales them; count is a multiple of 16.")
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

const polynomialTerms = 14

// dataTable is constants in memory, each repeated over a whole vector.
type dataTable struct {
	base  operand.Mem
	bytes int
}

func (d dataTable) at(i int) operand.Mem { return d.base.Offset(i * d.bytes) }

func coefficients(w width) dataTable {
	values := []uint64{
		math.Float64bits(log2E), math.Float64bits(toNear), math.Float64bits(ln2High), math.Float64bits(ln2Low),
		math.Float64bits(expTiny),
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
