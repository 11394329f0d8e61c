// Command vector generates the SIMD code of internal/numeric/vector, for AVX-512 and for AVX2 with FMA. Run it with
// `make generate`; the assembly is committed.
//
// Every function computes the same bits as its portable counterpart in internal/numeric/vector/portable.go: each score
// is one chain of fused multiply-adds in feature order, however many scores are computed side by side.
package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// The layout of internal/numeric/vector: rows come in groups, whose values are stored feature by feature, and whose
// scores are stored cluster by cluster.
const (
	groupRows     = 32
	groupBytes    = 8 * groupRows
	blockClusters = 6
	sparsePadding = 8 // sparse scores are padded to multiples of this many clusters

	distanceClusters = 4 // clusters that a group of rows is measured against at a time
)

func main() {
	ConstraintExpr("amd64")
	for _, w := range []width{avx512, avx2} {
		scoreBlock(w)
		extremes(w)
		distances(w)
		distanceBlock(w)
		for _, clusters := range []int{sparsePadding, 4 * sparsePadding} {
			scoreSparse(w, clusters)
		}
	}
	Generate()
}

// width is one instruction set: its registers hold `lanes` float64.
type width struct {
	name         string
	lanes        int
	scoreVectors int // registers of rows in a block of scores
	extremeParts int // registers of rows whose extremes are found at a time
}

var (
	avx512 = width{name: "AVX512", lanes: 8, scoreVectors: 4, extremeParts: 4}
	avx2   = width{name: "AVX2", lanes: 4, scoreVectors: 2, extremeParts: 4}
)

func (w width) vectors(count int) []reg.VecVirtual {
	made := make([]reg.VecVirtual, count)
	for i := range made {
		if w.lanes == 8 {
			made[i] = ZMM()
		} else {
			made[i] = YMM()
		}
	}
	return made
}

func (w width) bytes() int { return 8 * w.lanes }

// scoreBlock: scores[c][r] = start + sum over f of rows[f][r] * weights[f][c], where start is bias[c] or, if
// bias is nil, the score so far.
func scoreBlock(w width) {
	name := "scoreBlock" + w.name
	TEXT(name, NOSPLIT, "func(scores, rows, weights, bias *float64, features int)")
	Doc(fmt.Sprintf("%s scores %d rows against %d clusters, from bias or, where that is nil, from the scores so far.",
		name, w.scoreVectors*w.lanes, blockClusters))
	scores := Load(Param("scores"), GP64())
	rows := Load(Param("rows"), GP64())
	weights := Load(Param("weights"), GP64())
	bias := Load(Param("bias"), GP64())
	features := Load(Param("features"), GP64())
	sums := make([][]reg.VecVirtual, blockClusters)
	for c := range sums {
		sums[c] = w.vectors(w.scoreVectors)
	}
	place := func(c, r int) operand.Mem {
		return operand.Mem{Base: scores, Disp: c*groupBytes + r*w.bytes()}
	}
	TESTQ(bias, bias)
	JZ(operand.LabelRef("goOn"))
	for c := range sums {
		for r := range sums[c] {
			VBROADCASTSD(operand.Mem{Base: bias, Disp: 8 * c}, sums[c][r])
		}
	}
	JMP(operand.LabelRef("loop"))
	Label("goOn")
	for c := range sums {
		for r := range sums[c] {
			VMOVUPD(place(c, r), sums[c][r])
		}
	}
	Label("loop")
	x := w.vectors(w.scoreVectors)
	for r := range x {
		VMOVUPD(operand.Mem{Base: rows, Disp: r * w.bytes()}, x[r])
	}
	for c := range sums {
		y := w.vectors(1)[0]
		VBROADCASTSD(operand.Mem{Base: weights, Disp: 8 * c}, y)
		for r := range x {
			VFMADD231PD(x[r], y, sums[c][r])
		}
	}
	ADDQ(operand.U32(groupBytes), rows)
	ADDQ(operand.U32(8*blockClusters), weights)
	DECQ(features)
	JNZ(operand.LabelRef("loop"))
	for c := range sums {
		for r := range sums[c] {
			VMOVUPD(sums[c][r], place(c, r))
		}
	}
	VZEROUPPER()
	RET()
}

// extremes finds the least and the greatest scores[c][r] over the clusters c, for each row r.
func extremes(w width) {
	name := "extremes" + w.name
	TEXT(name, NOSPLIT, "func(least, greatest, scores *float64, clusters int)")
	Doc(fmt.Sprintf("%s finds the least and the greatest score of %d rows.", name, w.extremeParts*w.lanes))
	scores := Load(Param("scores"), GP64())
	clusters := Load(Param("clusters"), GP64())
	low := w.vectors(w.extremeParts)
	high := w.vectors(w.extremeParts)
	for r := range low {
		VMOVUPD(operand.Mem{Base: scores, Disp: r * w.bytes()}, low[r])
		VMOVAPD(low[r], high[r])
	}
	Label("loop")
	for r := range low {
		score := w.vectors(1)[0]
		VMOVUPD(operand.Mem{Base: scores, Disp: r * w.bytes()}, score)
		VMINPD(score, low[r], low[r])
		VMAXPD(score, high[r], high[r])
	}
	ADDQ(operand.U32(groupBytes), scores)
	DECQ(clusters)
	JNZ(operand.LabelRef("loop"))
	least := Load(Param("least"), GP64())
	greatest := Load(Param("greatest"), GP64())
	for r := range low {
		VMOVUPD(low[r], operand.Mem{Base: least, Disp: r * w.bytes()})
		VMOVUPD(high[r], operand.Mem{Base: greatest, Disp: r * w.bytes()})
	}
	VZEROUPPER()
	RET()
}

// distances: out[r] += sum over f of weights[f] (rows[f][r] - centroids[places[r]+f])^2. Every operation is
// rounded, as it is in Go.
func distances(w width) {
	name := "distances" + w.name
	TEXT(name, NOSPLIT, "func(out, rows *float64, places *int64, centroids, weights *float64, features int)")
	Doc(fmt.Sprintf("%s adds the weighted squared distances of %d rows, each to the centroid that begins at its place.",
		name, w.extremeParts*w.lanes))
	out := Load(Param("out"), GP64())
	rows := Load(Param("rows"), GP64())
	places := Load(Param("places"), GP64())
	centroids := Load(Param("centroids"), GP64())
	weights := Load(Param("weights"), GP64())
	features := Load(Param("features"), GP64())
	sums := w.vectors(w.extremeParts)
	place := w.vectors(w.extremeParts)
	for r := range sums {
		VMOVUPD(operand.Mem{Base: places, Disp: r * w.bytes()}, place[r])
		VMOVUPD(operand.Mem{Base: out, Disp: r * w.bytes()}, sums[r])
	}
	weight := w.vectors(1)[0]
	Label("loop")
	VBROADCASTSD(operand.Mem{Base: weights}, weight)
	for r := range sums {
		centroid, x := w.vectors(1)[0], w.vectors(1)[0]
		w.gather(centroids, place[r], centroid)
		VMOVUPD(operand.Mem{Base: rows, Disp: r * w.bytes()}, x)
		VSUBPD(centroid, x, x)
		VMULPD(x, x, x)
		VMULPD(weight, x, x)
		VADDPD(x, sums[r], sums[r])
	}
	ADDQ(operand.U32(groupBytes), rows)
	ADDQ(operand.Imm(8), centroids)
	ADDQ(operand.Imm(8), weights)
	DECQ(features)
	JNZ(operand.LabelRef("loop"))
	for r := range sums {
		VMOVUPD(sums[r], operand.Mem{Base: out, Disp: r * w.bytes()})
	}
	VZEROUPPER()
	RET()
}

// distanceBlock: distances[c][r] += sum over f of weights[f] (rows[f][r] - centroid_c[f])^2. Every operation is
// rounded, as it is in Go.
func distanceBlock(w width) {
	name := "distanceBlock" + w.name
	TEXT(name, NOSPLIT, "func(distances, rows, first, second, third, fourth, weights *float64, features int)")
	Doc(fmt.Sprintf("%s adds the weighted squared distances of %d rows to %d centroids.", name, w.scoreVectors*w.lanes,
		distanceClusters))
	distances := Load(Param("distances"), GP64())
	rows := Load(Param("rows"), GP64())
	var centroids [distanceClusters]reg.Register
	for c, parameter := range []string{"first", "second", "third", "fourth"} {
		centroids[c] = Load(Param(parameter), GP64())
	}
	weights := Load(Param("weights"), GP64())
	features := Load(Param("features"), GP64())
	place := func(c, r int) operand.Mem {
		return operand.Mem{Base: distances, Disp: c*groupBytes + r*w.bytes()}
	}
	sums := make([][]reg.VecVirtual, distanceClusters)
	for c := range sums {
		sums[c] = w.vectors(w.scoreVectors)
		for r := range sums[c] {
			VMOVUPD(place(c, r), sums[c][r])
		}
	}
	feature := GP64()
	XORQ(feature, feature)
	Label("loop")
	weight := w.vectors(1)[0]
	VBROADCASTSD(operand.Mem{Base: weights, Index: feature, Scale: 8}, weight)
	x := w.vectors(w.scoreVectors)
	for r := range x {
		VMOVUPD(operand.Mem{Base: rows, Disp: r * w.bytes()}, x[r])
	}
	for c := range sums {
		centroid := w.vectors(1)[0]
		VBROADCASTSD(operand.Mem{Base: centroids[c], Index: feature, Scale: 8}, centroid)
		for r := range x {
			part := w.vectors(1)[0]
			VSUBPD(centroid, x[r], part)
			VMULPD(part, part, part)
			VMULPD(weight, part, part)
			VADDPD(part, sums[c][r], sums[c][r])
		}
	}
	ADDQ(operand.U32(groupBytes), rows)
	INCQ(feature)
	CMPQ(feature, features)
	JNE(operand.LabelRef("loop"))
	for c := range sums {
		for r := range sums[c] {
			VMOVUPD(sums[c][r], place(c, r))
		}
	}
	VZEROUPPER()
	RET()
}

// gather reads one value for each lane, at its place after base.
func (w width) gather(base reg.Register, places, into reg.VecVirtual) {
	from := operand.Mem{Base: base, Index: places, Scale: 8}
	if w.lanes == 8 {
		mask := K()
		KXNORB(mask, mask, mask)
		VGATHERQPD(from, mask, into)
		return
	}
	mask := YMM()
	VPCMPEQQ(mask, mask, mask)
	VGATHERQPD(mask, from, into)
}

// scoreSparse: scores[c] += sum over the entries of a row of value * weights[column][c].
func scoreSparse(w width, clusters int) {
	name := fmt.Sprintf("scoreSparse%d%s", clusters, w.name)
	TEXT(name, NOSPLIT, "func(scores, weights *float64, stride int, columns *int32, values *float64, entries int)")
	Doc(fmt.Sprintf("%s adds the entries of a sparse row to its scores for %d clusters; the weights of a column "+
		"begin every stride values.", name, clusters))
	scores := Load(Param("scores"), GP64())
	weights := Load(Param("weights"), GP64())
	stride := Load(Param("stride"), GP64())
	SHLQ(operand.Imm(3), stride)
	columns := Load(Param("columns"), GP64())
	values := Load(Param("values"), GP64())
	entries := Load(Param("entries"), GP64())
	sums := w.vectors(clusters / w.lanes)
	for i := range sums {
		VMOVUPD(operand.Mem{Base: scores, Disp: i * w.bytes()}, sums[i])
	}
	Label("loop")
	value, column := w.vectors(1)[0], GP64()
	MOVLQSX(operand.Mem{Base: columns}, column)
	IMULQ(stride, column)
	VBROADCASTSD(operand.Mem{Base: values}, value)
	for i := range sums {
		VFMADD231PD(operand.Mem{Base: weights, Index: column, Scale: 1, Disp: i * w.bytes()}, value, sums[i])
	}
	ADDQ(operand.Imm(4), columns)
	ADDQ(operand.Imm(8), values)
	DECQ(entries)
	JNZ(operand.LabelRef("loop"))
	for i := range sums {
		VMOVUPD(sums[i], operand.Mem{Base: scores, Disp: i * w.bytes()})
	}
	VZEROUPPER()
	RET()
}
