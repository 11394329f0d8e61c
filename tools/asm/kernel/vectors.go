package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// rowVectors is how many registers the rows of a block take.
const rowVectors = 2

// addProducts: dst[v][r] += sum over columns j of values[j][r] * x[j][v], for a block of rows and some vectors,
// as one chain of fused multiply-adds. The sums stay in registers. The rows are widened to float64 and left in
// wide, column after column, for further vectors (addWideProducts). As many values as are read are
// prefetched from ahead into the second-level cache.
func addProducts(w width) {
	name := "addProducts" + w.name
	TEXT(name, NOSPLIT, "func(dst *float64, stride int, values *float32, pitch int, wide, x *float64, vectors, "+
		"columns int, ahead *float32)")
	Pragma("noescape")
	Doc(fmt.Sprintf("%s adds the products of %d rows of some columns with vectors, 1 to %d of them, leaves the "+
		"widened rows, and prefetches.",
		name, rowVectors*w.lanes, w.vectors))
	perCount("vectors", downFrom(w.vectors), func(vectors int, suffix string) {
		values := Load(Param("values"), GP64())
		pitch := Load(Param("pitch"), GP64())
		ahead := Load(Param("ahead"), GP64())
		SHLQ(operand.Imm(2), pitch)
		w.productLoop(vectors, suffix, func(wide reg.Register, rows []reg.VecVirtual) {
			PREFETCHT1(operand.Mem{Base: ahead})
			for r := range rows {
				VCVTPS2PD(operand.Mem{Base: values, Disp: r * w.bytes() / 2}, rows[r])
				VMOVUPD(rows[r], operand.Mem{Base: wide, Disp: r * w.bytes()})
			}
			ADDQ(pitch, values)
			ADDQ(operand.U32(rowVectors*w.bytes()/2), ahead)
		})
	})
}

// addWideProducts does the same with the rows that addProducts left in wide.
func addWideProducts(w width) {
	name := "addWideProducts" + w.name
	TEXT(name, NOSPLIT, "func(dst *float64, stride int, wide, x *float64, vectors, columns int)")
	Pragma("noescape")
	Doc(fmt.Sprintf("%s adds the products of %d widened rows of some columns with vectors, 1 to %d of them.", name,
		rowVectors*w.lanes, w.vectors))
	perCount("vectors", downFrom(w.vectors), func(vectors int, suffix string) {
		w.productLoop(vectors, suffix, func(wide reg.Register, rows []reg.VecVirtual) {
			for r := range rows {
				VMOVUPD(operand.Mem{Base: wide, Disp: r * w.bytes()}, rows[r])
			}
		})
	})
}

// productLoop loads the sums, adds the products column by column, with rows as read loads them, and stores the sums. It
// ends the function.
func (w width) productLoop(vectors int, suffix string, read func(wide reg.Register, rows []reg.VecVirtual)) {
	dst := Load(Param("dst"), GP64())
	stride := Load(Param("stride"), GP64())
	wide := Load(Param("wide"), GP64())
	x := Load(Param("x"), GP64())
	columns := Load(Param("columns"), GP64())
	SHLQ(operand.Imm(3), stride)
	sums := make([][rowVectors]reg.VecVirtual, vectors)
	next := GP64()
	MOVQ(dst, next)
	for v := range sums {
		for r := range sums[v] {
			sums[v][r] = w.vector()
			VMOVUPD(operand.Mem{Base: next, Disp: r * w.bytes()}, sums[v][r])
		}
		if v < vectors-1 {
			ADDQ(stride, next)
		}
	}
	Label("loop" + suffix)
	rows := []reg.VecVirtual{w.vector(), w.vector()}
	read(wide, rows)
	for v := range sums {
		factor := w.vector()
		VBROADCASTSD(operand.Mem{Base: x, Disp: 8 * v}, factor)
		for r := range rows {
			VFMADD231PD(rows[r], factor, sums[v][r])
		}
	}
	ADDQ(operand.U32(rowVectors*w.bytes()), wide)
	ADDQ(operand.U32(8*vectors), x)
	DECQ(columns)
	JNZ(operand.LabelRef("loop" + suffix))
	for v := range sums {
		for r := range sums[v] {
			VMOVUPD(sums[v][r], operand.Mem{Base: dst, Disp: r * w.bytes()})
		}
		if v < vectors-1 {
			ADDQ(stride, dst)
		}
	}
	VZEROUPPER()
	RET()
}

// entryVectors are the numbers of vectors that addEntries has code for.
var entryVectors = []int{32, 24, 16, 8, 4, 2, 1}

// addEntries: sums[i][v] += sum of weights[e] * x[columns[e]][v] over the entries starts[i] <= e < starts[i+1] of
// row i, as one chain of fused multiply-adds. An entry is multiplied with all vectors at once, and the rows of
// x that the entry `ahead` places further on needs are prefetched.
func addEntries(w width) {
	name := "addEntries" + w.name
	TEXT(name, NOSPLIT, "func(sums *float64, starts *int64, rows int, columns *int32, weights, x *float64, "+
		"vectors, ahead int)")
	Pragma("noescape")
	Doc(fmt.Sprintf("%s adds the products of sparse rows with vectors, %v of them.", name, entryVectors))
	perCount("vectors", entryVectors, func(vectors int, suffix string) {
		sums := Load(Param("sums"), GP64())
		starts := Load(Param("starts"), GP64())
		rows := Load(Param("rows"), GP64())
		columns := Load(Param("columns"), GP64())
		weights := Load(Param("weights"), GP64())
		x := Load(Param("x"), GP64())
		ahead := Load(Param("ahead"), GP64())
		LEAQ(at(columns, ahead, 4, 0), ahead) // the columns of later entries
		entry := GP64()
		end := GP64()
		MOVQ(operand.Mem{Base: starts}, entry)
		pieces := w.pieces(vectors)

		Label("row" + suffix)
		for _, p := range pieces {
			p.load(operand.Mem{Base: sums, Disp: 8 * p.first})
		}
		MOVQ(operand.Mem{Base: starts, Disp: 8}, end)
		CMPQ(entry, end)
		JGE(operand.LabelRef("done" + suffix))
		Label("loop" + suffix)
		column := GP64()
		MOVLQSX(at(ahead, entry, 4, 0), column)
		IMUL3Q(operand.U32(8*vectors), column, column)
		for line := 0; line < 8*vectors; line += 64 {
			PREFETCHT0(at(x, column, 1, line))
		}
		MOVLQSX(at(columns, entry, 4, 0), column)
		IMUL3Q(operand.U32(8*vectors), column, column)
		for _, p := range pieces {
			if p.first == 0 {
				p.broadcast(at(weights, entry, 8, 0))
			} else {
				p.factor = pieces[0].factor
			}
			p.add(at(x, column, 1, 8*p.first))
		}
		INCQ(entry)
		CMPQ(entry, end)
		JL(operand.LabelRef("loop" + suffix))
		Label("done" + suffix)
		for _, p := range pieces {
			p.store(operand.Mem{Base: sums, Disp: 8 * p.first})
		}
		ADDQ(operand.U32(8*vectors), sums)
		ADDQ(operand.Imm(8), starts)
		DECQ(rows)
		JNZ(operand.LabelRef("row" + suffix))
		VZEROUPPER()
		RET()
	})
}

// piece is the sums of a few vectors, or of a single one, in one register.
type piece struct {
	first, count int // vectors
	sum, factor  reg.VecVirtual
}

// pieces cuts vectors into the widest registers that they fill.
func (w width) pieces(vectors int) []*piece {
	var all []*piece
	for first := 0; first < vectors; {
		p := &piece{first: first, count: min(w.lanes, vectors)}
		switch p.count {
		case 8:
			p.sum = ZMM()
			p.factor = ZMM()
		case 4:
			p.sum = YMM()
			p.factor = YMM()
		default:
			p.sum = XMM()
			p.factor = XMM()
		}
		all = append(all, p)
		first += p.count
	}
	return all
}

func (p *piece) load(from operand.Mem) {
	if p.count == 1 {
		VMOVSD(from, p.sum)
		return
	}
	VMOVUPD(from, p.sum)
}

func (p *piece) store(to operand.Mem) {
	if p.count == 1 {
		VMOVSD(p.sum, to)
		return
	}
	VMOVUPD(p.sum, to)
}

func (p *piece) broadcast(from operand.Mem) {
	switch p.count {
	case 1:
		VMOVSD(from, p.factor)
	case 2:
		VMOVDDUP(from, p.factor)
	default:
		VBROADCASTSD(from, p.factor)
	}
}

func (p *piece) add(values operand.Mem) {
	if p.count == 1 {
		VFMADD231SD(values, p.factor, p.sum)
		return
	}
	VFMADD231PD(values, p.factor, p.sum)
}
