// Command spectral generates the SIMD code of internal/numeric/eigen, for AVX2 and AVX-512 without FMA. Run it with
// `make generate`; the assembly is committed. Most of it waits for memory, so that wider registers gain little but
// where they let four columns meet four others at a time (blocks.go).
//
// Every function computes the same bits as its portable counterpart in internal/numeric/eigen/portable.go.
package main

import (
	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

const (
	lanes        = 8 // partial sums of a dot product; counts are multiples of it
	groupColumns = 4 // columns that another one is read once for
	vectorBytes  = 32
	stripColumns = 16 // columns that are rotated at a time
)

func main() {
	ConstraintExpr("amd64")
	dots("dotAVX2", 1)
	dots("dot4AVX2", groupColumns)
	mix("mixAVX2", 1)
	mix("mix4AVX2", groupColumns)
	dotBlock()
	mixBlock()
	spread()
	update()
	rotate()
	addSparseRows()
	combineRows()
	Generate()
}

func names(count int) []string { return []string{"a", "b", "c", "d"}[:count] }

func signature(before string, columns int, after string) string {
	s := "func(" + before
	for _, name := range names(columns) {
		s += ", " + name + " *float64"
	}
	return s + after + ", count int)"
}

func pointers(columns int) []reg.Register {
	var p []reg.Register
	for _, name := range names(columns) {
		p = append(p, Load(Param(name), GP64()))
	}
	return p
}

func vectors(count int) []reg.VecVirtual {
	made := make([]reg.VecVirtual, count)
	for i := range made {
		made[i] = YMM()
	}
	return made
}

// loop emits body for every 8 of count values; at is their offset in bytes.
func loop(body func(at reg.GPVirtual)) {
	count := Load(Param("count"), GP64())
	at := GP64()
	XORQ(at, at)
	SHLQ(operand.Imm(3), count)
	Label("loop")
	body(at)
	ADDQ(operand.Imm(8*lanes), at)
	CMPQ(at, count)
	JLT(operand.LabelRef("loop"))
}

func place(base reg.Register, at reg.GPVirtual, half int) operand.Mem {
	return operand.Mem{Base: base, Index: at, Scale: 1, Disp: half * vectorBytes}
}

func dots(name string, columns int) {
	TEXT(name, NOSPLIT, signature("lanes, x *float64", columns, ""))
	Pragma("noescape")
	Doc(name + " sums x times each column in eight lanes, product i in lane i mod 8.")
	x := Load(Param("x"), GP64())
	y := pointers(columns)
	sums := vectors(2 * columns)
	for _, s := range sums {
		VXORPD(s, s, s)
	}
	loop(func(at reg.GPVirtual) {
		for half := range 2 {
			v := YMM()
			VMOVUPD(place(x, at, half), v)
			for c := range y {
				product := YMM()
				VMULPD(place(y[c], at, half), v, product)
				VADDPD(product, sums[2*c+half], sums[2*c+half])
			}
		}
	})
	out := Load(Param("lanes"), GP64())
	for i, s := range sums {
		VMOVUPD(s, operand.Mem{Base: out, Disp: i * vectorBytes})
	}
	VZEROUPPER()
	RET()
}

// factors reads one factor for every column.
func factors(count int) []reg.VecVirtual {
	from := Load(Param("factors"), GP64())
	f := vectors(count)
	for i := range f {
		VBROADCASTSD(operand.Mem{Base: from, Disp: 8 * i}, f[i])
	}
	return f
}

func mix(name string, columns int) {
	TEXT(name, NOSPLIT, signature("to, factors *float64", columns, ""))
	Pragma("noescape")
	Doc(name + " adds columns times their factors, one after the other.")
	to := Load(Param("to"), GP64())
	y := pointers(columns)
	f := factors(columns)
	loop(func(at reg.GPVirtual) {
		for half := range 2 {
			sum := YMM()
			VMOVUPD(place(to, at, half), sum)
			for c := range y {
				product := YMM()
				VMULPD(place(y[c], at, half), f[c], product)
				VADDPD(product, sum, sum)
			}
			VMOVUPD(sum, place(to, at, half))
		}
	})
	VZEROUPPER()
	RET()
}

func spread() {
	TEXT("spread4AVX2", NOSPLIT, signature("x, factors *float64", groupColumns, ""))
	Pragma("noescape")
	Doc("spread4AVX2 adds x times a factor to each column.")
	x := Load(Param("x"), GP64())
	y := pointers(groupColumns)
	f := factors(groupColumns)
	loop(func(at reg.GPVirtual) {
		for half := range 2 {
			v := YMM()
			VMOVUPD(place(x, at, half), v)
			for c := range y {
				product := YMM()
				VMULPD(v, f[c], product)
				VADDPD(place(y[c], at, half), product, product)
				VMOVUPD(product, place(y[c], at, half))
			}
		}
	})
	VZEROUPPER()
	RET()
}

// update: row += f0 v + f1 q, where the two products are added to each other first, and lanes = row'x.
func update() {
	TEXT("updateAVX2", NOSPLIT, "func(lanes, row, factors, v, q, x *float64, count int)")
	Pragma("noescape")
	Doc("updateAVX2 adds a multiple of v and one of q to a row, and sums the row times x in eight lanes.")
	row := Load(Param("row"), GP64())
	v := Load(Param("v"), GP64())
	q := Load(Param("q"), GP64())
	x := Load(Param("x"), GP64())
	f := factors(2)
	sums := vectors(2)
	for _, s := range sums {
		VXORPD(s, s, s)
	}
	loop(func(at reg.GPVirtual) {
		for half := range 2 {
			first := YMM()
			second := YMM()
			VMULPD(place(v, at, half), f[0], first)
			VMULPD(place(q, at, half), f[1], second)
			VADDPD(second, first, first)
			VADDPD(place(row, at, half), first, first)
			VMOVUPD(first, place(row, at, half))
			VMULPD(place(x, at, half), first, first)
			VADDPD(first, sums[half], sums[half])
		}
	})
	out := Load(Param("lanes"), GP64())
	for i, s := range sums {
		VMOVUPD(s, operand.Mem{Base: out, Disp: i * vectorBytes})
	}
	VZEROUPPER()
	RET()
}

// rotate rotates each of count+1 rows with the one before it, from the last one up.
func rotate() {
	TEXT("rotateAVX2", NOSPLIT, "func(last, rotations *float64, count int)")
	Pragma("noescape")
	Doc("rotateAVX2 rotates a row of 16 values with the row before it, then that row with the one before it, and so " +
		"on; rotations are pairs of cosine and sine.")
	row := Load(Param("last"), GP64())
	rotations := Load(Param("rotations"), GP64())
	count := Load(Param("count"), GP64())
	const parts = stripColumns / 4
	carried := vectors(parts)
	for p := range carried {
		VMOVUPD(operand.Mem{Base: row, Disp: p * vectorBytes}, carried[p])
	}
	Label("loop")
	cosine := YMM()
	sine := YMM()
	VBROADCASTSD(operand.Mem{Base: rotations}, cosine)
	VBROADCASTSD(operand.Mem{Base: rotations, Disp: 8}, sine)
	for p := range carried {
		u := YMM()
		first := YMM()
		second := YMM()
		VMOVUPD(operand.Mem{Base: row, Disp: p*vectorBytes - 8*stripColumns}, u)
		VMULPD(u, sine, first)
		VMULPD(carried[p], cosine, second)
		VADDPD(second, first, first)
		VMOVUPD(first, operand.Mem{Base: row, Disp: p * vectorBytes})
		VMULPD(u, cosine, u)
		VMULPD(carried[p], sine, carried[p])
		VSUBPD(carried[p], u, carried[p])
	}
	SUBQ(operand.U32(8*stripColumns), row)
	ADDQ(operand.Imm(16), rotations)
	DECQ(count)
	JNZ(operand.LabelRef("loop"))
	for p := range carried {
		VMOVUPD(carried[p], operand.Mem{Base: row, Disp: p * vectorBytes})
	}
	VZEROUPPER()
	RET()
}

// addSparseRows: products[i][c] += sum over the entries at of row i of value[at] * x[column[at]][c], for eight columns
// c.
func addSparseRows() {
	TEXT("addSparseRowsAVX2", NOSPLIT,
		"func(products, x *float64, begin *int, column *int32, value *float64, rows int)")
	Pragma("noescape")
	Doc("addSparseRowsAVX2 adds the products of sparse rows with eight interleaved columns.")
	products := Load(Param("products"), GP64())
	x := Load(Param("x"), GP64())
	begin := Load(Param("begin"), GP64())
	column := Load(Param("column"), GP64())
	value := Load(Param("value"), GP64())
	rows := Load(Param("rows"), GP64())
	at := GP64()
	end := GP64()
	MOVQ(operand.Mem{Base: begin}, at)
	Label("row")
	MOVQ(operand.Mem{Base: begin, Disp: 8}, end)
	sums := vectors(2)
	for half := range sums {
		VMOVUPD(operand.Mem{Base: products, Disp: half * vectorBytes}, sums[half])
	}
	CMPQ(at, end)
	JGE(operand.LabelRef("store"))
	Label("entry")
	other := GP64()
	v := YMM()
	MOVLQSX(operand.Mem{Base: column, Index: at, Scale: 4}, other)
	SHLQ(operand.Imm(6), other)
	VBROADCASTSD(operand.Mem{Base: value, Index: at, Scale: 8}, v)
	for half := range sums {
		product := YMM()
		VMULPD(operand.Mem{Base: x, Index: other, Scale: 1, Disp: half * vectorBytes}, v, product)
		VADDPD(product, sums[half], sums[half])
	}
	INCQ(at)
	CMPQ(at, end)
	JLT(operand.LabelRef("entry"))
	Label("store")
	for half := range sums {
		VMOVUPD(sums[half], operand.Mem{Base: products, Disp: half * vectorBytes})
	}
	ADDQ(operand.Imm(2*vectorBytes), products)
	ADDQ(operand.Imm(8), begin)
	DECQ(rows)
	JNZ(operand.LabelRef("row"))
	VZEROUPPER()
	RET()
}

// combineRows: y = (f0 products + f1 x) + f2 y.
func combineRows() {
	TEXT("combineRowsAVX2", NOSPLIT, "func(y, factors, products, x *float64, count int)")
	Pragma("noescape")
	Doc("combineRowsAVX2 replaces y by the sum of products, x and y, each times its factor.")
	y := Load(Param("y"), GP64())
	products := Load(Param("products"), GP64())
	x := Load(Param("x"), GP64())
	f := factors(3)
	loop(func(at reg.GPVirtual) {
		for half := range 2 {
			first := YMM()
			second := YMM()
			VMULPD(place(products, at, half), f[0], first)
			VMULPD(place(x, at, half), f[1], second)
			VADDPD(second, first, first)
			VMULPD(place(y, at, half), f[2], second)
			VADDPD(second, first, first)
			VMOVUPD(first, place(y, at, half))
		}
	})
	VZEROUPPER()
	RET()
}
