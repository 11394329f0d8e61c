package inference

// direction holds a step of every quantity of the interior-point method. The step of the room is minus that of the
// multiplier.
type direction struct{ share, slack, excess, deficit, multiplier []float64 }

func (p *interior) newDirection() *direction {
	variables, terms := len(p.share), len(p.excess)
	return &direction{make([]float64, variables), make([]float64, variables),
		make([]float64, terms), make([]float64, terms), make([]float64, terms)}
}

// assemble builds the matrix of the Newton step for the shares that are not dependent.
func (p *interior) assemble() {
	x := p.x
	diagonal := p.diagonal()
	p.factor.clear()
	for i := range int32(x.points()) {
		from, until := x.first[i], x.first[i+1]
		dependent := from
		for v := from; v < until; v++ {
			if p.share[v] > p.share[dependent] {
				dependent = v
			}
		}
		p.dependent[i] = dependent
		entry, stride, _ := p.factor.block(i, i)
		for v := from; v < until; v++ {
			if v == dependent {
				continue
			}
			row := entry[p.index(v, from, dependent)*stride:][:until-from-1]
			for col := range row {
				row[col] = diagonal[dependent]
			}
			row[p.index(v, from, dependent)] += diagonal[v]
		}
	}
	for at, e := range x.edges {
		for t := e.from; t < e.until; t++ {
			term := &x.terms[t]
			row := p.index(term.a, x.first[e.i], p.dependent[e.i])
			high := int(x.first[e.i+1]-x.first[e.i]) - 1
			col := p.index(term.b, x.first[e.j], p.dependent[e.j])
			wide := int(x.first[e.j+1]-x.first[e.j]) - 1
			if p.places[at].transposed {
				row, col, high, wide = col, row, wide, high
			}
			addCoupling(p.places[at], row, col, high, wide, float64(term.sign*p.curvature[t]))
		}
	}
}

// diagonal returns the diagonal of the matrix before dependent variables are eliminated: slack/share, plus the
// curvature of each term at both its ends.
func (p *interior) diagonal() []float64 {
	diagonal := make([]float64, len(p.share))
	for v := range diagonal {
		diagonal[v] = p.slack[v] / p.share[v]
	}
	for t := range p.curvature {
		p.curvature[t] = 1 / (p.excess[t]/p.room[t] + p.deficit[t]/p.multiplier[t])
		diagonal[p.x.terms[t].a] += p.curvature[t]
		diagonal[p.x.terms[t].b] += p.curvature[t]
	}
	return diagonal
}

// index returns the index of a variable in its point's block, or -1 for the dependent one.
func (p *interior) index(v, first, dependent int32) int {
	switch {
	case v == dependent:
		return -1
	case v > dependent:
		return int(v - first - 1)
	}
	return int(v - first)
}

// addCoupling adds an entry between two variables to a block. The step of a dependent variable is minus the sum of its
// point's other steps.
func addCoupling(b blockPlace, row, col, high, wide int, h float64) {
	rows := [2]int{row, row + 1}
	cols := [2]int{col, col + 1}
	if row < 0 {
		rows = [2]int{0, high}
		h = -h
	}
	if col < 0 {
		cols = [2]int{0, wide}
		h = -h
	}
	for r := rows[0]; r < rows[1]; r++ {
		for c := cols[0]; c < cols[1]; c++ {
			b.entry[r*b.stride+c] += h
		}
	}
}

// newtonDirection finds the Newton direction to where all products equal the target, minus the products of the steps
// of another direction (Mehrotra's correction). The shares are y, and of each term the excess is z, the deficit s, the
// multiplier m and the room v. Linearized, with A dy the change of the parts,
//
//	dz = wanted_z / v - z + z dm / v,    ds = wanted_s / m - s - s dm / m,
//	dm = curvature (A dy - pull),        pull = wanted_z / v - wanted_s / m - part(y),
//	dslack = wanted_y / y - slack - slack dy / y,
//	(slack / y + A' curvature A) dy = wanted_y / y - reduced + A' curvature pull  + a constant per point.
//
// The constant per point is the multiplier of its shares' sum; eliminating the dependent variable eliminates it. Parts
// and reduced costs are computed from the current shares and multipliers, so that rounding errors of earlier steps are
// corrected.
func (p *interior) newtonDirection(target float64, correction, d *direction) {
	x := p.x
	for v := range d.share {
		d.slack[v] = (target-float64(correction.share[v]*correction.slack[v]))/p.share[v] - p.slack[v]
		d.share[v] = d.slack[v] + (p.slack[v] - p.reduced[v])
	}
	for t := range x.terms {
		term := &x.terms[t]
		d.excess[t] = (target+float64(correction.excess[t]*correction.multiplier[t]))/p.room[t] - p.excess[t]
		d.deficit[t] = (target-float64(correction.deficit[t]*correction.multiplier[t]))/p.multiplier[t] - p.deficit[t]
		p.pull[t] = (d.excess[t] - d.deficit[t]) + ((p.excess[t] - p.deficit[t]) - term.part(p.share))
		along := float64(p.curvature[t] * p.pull[t])
		d.share[term.a] += along
		d.share[term.b] += float64(term.sign * along)
	}
	p.solve(d.share)
	for v := range d.share {
		d.slack[v] -= float64(p.slack[v]*d.share[v]) / p.share[v]
	}
	for t := range x.terms {
		term := &x.terms[t]
		change := d.share[term.a] + float64(term.sign*d.share[term.b])
		d.multiplier[t] = float64(p.curvature[t] * (change - p.pull[t]))
		d.excess[t] += float64(p.excess[t]*d.multiplier[t]) / p.room[t]
		d.deficit[t] -= float64(p.deficit[t]*d.multiplier[t]) / p.multiplier[t]
	}
}

// solve replaces the right-hand side for all shares by their steps.
func (p *interior) solve(steps []float64) {
	x := p.x
	for i := range x.points() {
		to := p.offset[i]
		for v := x.first[i]; v < x.first[i+1]; v++ {
			if v != p.dependent[i] {
				p.rightSide[to] = steps[v] - steps[p.dependent[i]]
				to++
			}
		}
	}
	p.factor.solve(p.rightSide, p.offset)
	for i := range x.points() {
		from, total := p.offset[i], 0.0
		for v := x.first[i]; v < x.first[i+1]; v++ {
			if v != p.dependent[i] {
				steps[v] = p.rightSide[from]
				total += steps[v]
				from++
			}
		}
		steps[p.dependent[i]] = -total
	}
}
