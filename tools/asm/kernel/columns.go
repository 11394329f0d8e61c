package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// columnsPerPass is how many columns at most are summed in registers before they are added to the destination. There is
// code for every number of columns up to it.
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

// sumColumns sums the columns' values at a row, in two halves so that additions overlap.
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

// fetch prefetches one cache line of each column that is read later; values points to the current row.
func fetch(values, ahead reg.Register, count int) {
	for i := range count {
		column := GP64()
		MOVQ(operand.Mem{Base: ahead, Disp: 8 * i}, column)
		PREFETCHT0(at(values, column, 4, 0))
	}
}

// rowsPerStep is one cache line of float32.
const rowsPerStep = 16

// addColumns: dst[r] += sum over i of values[columns[i]+r], or -= to subtract. Every step prefetches one cache
// line of each column that is read later.
func addColumns(w width, subtract bool) {
	name := "addColumns" + w.name
	doing := "adds count columns of values to dst"
	if subtract {
		name = "subtractColumns" + w.name
		doing = "subtracts count columns of values from dst"
	}
	TEXT(name, NOSPLIT, "func(dst *float64, values *float32, columns, ahead *[8]int, count, rows int)")
	Pragma("noescape")
	Doc(fmt.Sprintf("%s %s and prefetches others; count is 1 to %d, rows a multiple of 16.", name, doing,
		columnsPerPass))
	perCount("count", downFrom(columnsPerPass), func(count int, suffix string) {
		dst := Load(Param("dst"), GP64())
		w.columnLoop(count, suffix, func(row reg.Register, offset int, sum reg.VecVirtual) {
			if subtract {
				left := w.vector()
				VMOVUPD(at(dst, row, 8, 8*offset), left)
				VSUBPD(sum, left, sum)
			} else {
				VADDPD(at(dst, row, 8, 8*offset), sum, sum)
			}
			VMOVUPD(sum, at(dst, row, 8, 8*offset))
		})
	})
}

// moveColumns subtracts columns from one destination and adds them to another, and reads them once for both.
func moveColumns(w width) {
	name := "moveColumns" + w.name
	TEXT(name, NOSPLIT, "func(from, to *float64, values *float32, columns, ahead *[8]int, count, rows int)")
	Pragma("noescape")
	Doc(fmt.Sprintf("%s subtracts count columns of values from from and adds them to to; count is 1 to %d, rows a "+
		"multiple of 16.", name, columnsPerPass))
	perCount("count", downFrom(columnsPerPass), func(count int, suffix string) {
		from := Load(Param("from"), GP64())
		to := Load(Param("to"), GP64())
		w.columnLoop(count, suffix, func(row reg.Register, offset int, sum reg.VecVirtual) {
			left := w.vector()
			VMOVUPD(at(from, row, 8, 8*offset), left)
			VSUBPD(sum, left, left)
			VMOVUPD(left, at(from, row, 8, 8*offset))
			VADDPD(at(to, row, 8, 8*offset), sum, sum)
			VMOVUPD(sum, at(to, row, 8, 8*offset))
		})
	})
}

// columnLoop sums columns row by row, a cache line at a time, and calls use with the sums of w.lanes rows. It ends the
// function.
func (w width) columnLoop(count int, suffix string, use func(row reg.Register, offset int, sum reg.VecVirtual)) {
	values := Load(Param("values"), GP64())
	columns := columnPointers(values, count)
	ahead := Load(Param("ahead"), GP64())
	row := GP64()
	XORQ(row, row)
	Label("loop" + suffix)
	fetch(values, ahead, count)
	for offset := 0; offset < rowsPerStep; offset += w.lanes {
		use(row, offset, w.sumColumns(columns, row, offset))
	}
	ADDQ(operand.U32(4*rowsPerStep), values)
	ADDQ(operand.U32(rowsPerStep), row)
	rows := Load(Param("rows"), GP64())
	CMPQ(row, rows)
	JL(operand.LabelRef("loop" + suffix))
	VZEROUPPER()
	RET()
}
