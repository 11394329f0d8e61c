package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// columnsPerPass is how many columns are summed in registers before they touch the destination, at
// most; every number of them has code of its own.
const columnsPerPass = 8

// columnPointers loads the addresses of the columns of one pass.
func columnPointers(values reg.Register, count int) []reg.GPVirtual {
	columns := make([]reg.GPVirtual, count)
	table := Load(Param("columns"), GP64())
	for i := range columns {
		columns[i] = GP64()
		MOVQ(operand.Mem{Base: table, Disp: 8 * i}, columns[i])
		LEAQ(at(values, columns[i], 4, 0), columns[i])
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

// fetch asks for a line of each column that is read later; values is where the row is.
func fetch(values, ahead reg.Register, count int) {
	for i := range count {
		column := GP64()
		MOVQ(operand.Mem{Base: ahead, Disp: 8 * i}, column)
		PREFETCHT0(at(values, column, 4, 0))
	}
}

// rowsPerStep is one line of float32.
const rowsPerStep = 16

// addColumns: dst[r] += sum of values[columns[i]+r]; subtracting: dst[r] -= the sum. At every step one
// line of each column that is read later is fetched ahead.
func addColumns(w width, count int, subtract bool) {
	name, doing := fmt.Sprintf("addColumns%d%s", count, w.name), "adds"
	if subtract {
		name, doing = fmt.Sprintf("subtractColumns%d%s", count, w.name), "subtracts"
	}
	TEXT(name, NOSPLIT, "func(dst *float64, values *float32, columns, ahead *[8]int, rows int)")
	Pragma("noescape")
	Doc(fmt.Sprintf("%s %s %d columns of values and fetches others ahead; rows is a multiple of 16.", name, doing, count))
	values := Load(Param("values"), GP64())
	columns := columnPointers(values, count)
	ahead := Load(Param("ahead"), GP64())
	dst := Load(Param("dst"), GP64())
	row := GP64()
	XORQ(row, row)
	Label("loop")
	fetch(values, ahead, count)
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
	ADDQ(operand.U32(4*rowsPerStep), values)
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
	TEXT(name, NOSPLIT, "func(from, to *float64, values *float32, columns, ahead *[8]int, rows int)")
	Pragma("noescape")
	Doc(fmt.Sprintf("%s takes %d columns of values out of from and adds them into to; rows is a multiple of 16.", name, count))
	values := Load(Param("values"), GP64())
	columns := columnPointers(values, count)
	ahead := Load(Param("ahead"), GP64())
	from := Load(Param("from"), GP64())
	to := Load(Param("to"), GP64())
	row := GP64()
	XORQ(row, row)
	Label("loop")
	fetch(values, ahead, count)
	for offset := 0; offset < rowsPerStep; offset += w.lanes {
		sum, left := w.sumColumns(columns, row, offset), w.vector()
		VMOVUPD(at(from, row, 8, 8*offset), left)
		VSUBPD(sum, left, left)
		VMOVUPD(left, at(from, row, 8, 8*offset))
		VADDPD(at(to, row, 8, 8*offset), sum, sum)
		VMOVUPD(sum, at(to, row, 8, 8*offset))
	}
	ADDQ(operand.U32(4*rowsPerStep), values)
	ADDQ(operand.U32(rowsPerStep), row)
	rows := Load(Param("rows"), GP64())
	CMPQ(row, rows)
	JL(operand.LabelRef("loop"))
	VZEROUPPER()
	RET()
}
