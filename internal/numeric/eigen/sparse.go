package eigen

// Sparse is a symmetric matrix in compressed rows: the entries of row i are those from Begin[i] to Begin[i+1]. All its
// eigenvalues are within Bound of 0.
type Sparse struct {
	Begin  []int
	Column []int32
	Value  []float64
	Bound  float64
}

// Rows returns the number of rows.
func (m *Sparse) Rows() int { return len(m.Begin) - 1 }

// breadthFirst returns an order of the rows that places a row near the rows of its columns, so that a product reads
// nearby memory.
func (m *Sparse) breadthFirst() []int32 {
	order := make([]int32, 0, m.Rows())
	seen := make([]bool, m.Rows())
	for first := range m.Rows() {
		if seen[first] {
			continue
		}
		seen[first] = true
		order = append(order, int32(first))
		for at := len(order) - 1; at < len(order); at++ {
			i := order[at]
			for _, j := range m.Column[m.Begin[i]:m.Begin[i+1]] {
				if !seen[j] {
					seen[j] = true
					order = append(order, j)
				}
			}
		}
	}
	return order
}

// permuted returns the matrix with its rows and columns in another order.
func (m *Sparse) permuted(order []int32) *Sparse {
	place := make([]int32, len(order))
	for at, i := range order {
		place[i] = int32(at)
	}
	p := &Sparse{Begin: make([]int, 1, len(m.Begin)), Column: make([]int32, 0, len(m.Column)),
		Value: make([]float64, 0, len(m.Value)), Bound: m.Bound}
	for _, i := range order {
		for at := m.Begin[i]; at < m.Begin[i+1]; at++ {
			p.Column = append(p.Column, place[m.Column[at]])
			p.Value = append(p.Value, m.Value[at])
		}
		p.Begin = append(p.Begin, len(p.Column))
	}
	return p
}

// together is the number of interleaved columns that are multiplied at a time: one row of them fills a cache line.
const together = 8

// rowsAtOnce is the number of rows that are multiplied at a time.
const rowsAtOnce = 64

// entriesPerCall limits the entries of one call of assembly, which cannot be preempted.
const entriesPerCall = 1 << 14

// interleaved returns the entries of at most `together` columns row by row.
func interleaved(n int, columns [][]float64) []float64 {
	rows := make([]float64, together*n)
	for c, column := range columns {
		for i, v := range column {
			rows[together*i+c] = v
		}
	}
	return rows
}

// setProducts sets y to the products of the matrix with at most `together` columns x. Each product is added up in the
// order of a row's entries, whatever the number of columns.
func (m *Sparse) setProducts(y, x [][]float64) {
	if len(x) == 1 {
		for i := range m.Rows() {
			sum := 0.0
			for at := m.Begin[i]; at < m.Begin[i+1]; at++ {
				sum += float64(m.Value[at] * x[0][m.Column[at]])
			}
			y[0][i] = sum
		}
		return
	}
	rows := interleaved(m.Rows(), x)
	var buffer [together * rowsAtOnce]float64
	for from := 0; from < m.Rows(); from += rowsAtOnce {
		to := min(from+rowsAtOnce, m.Rows())
		products := buffer[:together*(to-from)]
		clear(products)
		m.addProducts(products, rows, from, to)
		for c, column := range y {
			for i := range column[from:to] {
				column[from+i] = products[together*i+c]
			}
		}
	}
}

// addProducts adds the products of rows [from, to) with interleaved columns x.
func (m *Sparse) addProducts(products, x []float64, from, to int) {
	if m.Begin[to]-m.Begin[from] <= entriesPerCall {
		addSparseRows(products, x, m.Begin[from:to+1], m.Column, m.Value)
		return
	}
	for i := from; i < to; i++ {
		for at := m.Begin[i]; at < m.Begin[i+1]; at += entriesPerCall {
			part := [2]int{at, min(at+entriesPerCall, m.Begin[i+1])}
			addSparseRows(products[together*(i-from):][:together], x, part[:], m.Column, m.Value)
		}
	}
}
