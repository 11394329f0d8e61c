package inference

// direction holds a step of every quantity of the interior-point method. The step of v is minus that of the multiplier.
type direction struct{ y, slack, z, s, multiplier []float64 }

func (p *interior) newDirection() *direction {
	variables, terms := len(p.y), len(p.z)
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
			if p.y[v] > p.y[dependent] {
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

// diagonal returns the diagonal of the matrix before dependent variables are eliminated: slack/y, plus the curvature of
// each term at both its ends.
func (p *interior) diagonal() []float64 {
	diagonal := make([]float64, len(p.y))
	for v := range diagonal {
		diagonal[v] = p.slack[v] / p.y[v]
	}
	for t := range p.curvature {
		p.curvature[t] = 1 / (p.z[t]/p.v[t] + p.s[t]/p.multiplier[t])
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
// of another direction (Mehrotra's correction). Linearized, with A dy the change of the parts,
//
//	dz = wanted_z / v - z + z dm / v,    ds = wanted_s / m - s - s dm / m,
//	dm = curvature (A dy - pull),        pull = wanted_z / v - wanted_s / m - part(y),
//	dslack = wanted_y / y - slack - slack dy / y,
//	(slack / y + A' curvature A) dy = wanted_y / y - reduced + A' curvature pull  + a constant per point.
//
// The constant per point is the multiplier of its shares' sum; eliminating the dependent variable eliminates it. Parts
// and reduced costs are computed from the current y and multipliers, so that rounding errors of earlier steps are
// corrected.
func (p *interior) newtonDirection(target float64, correction, d *direction) {
	x := p.x
	for v := range d.y {
		d.slack[v] = (target-float64(correction.y[v]*correction.slack[v]))/p.y[v] - p.slack[v]
		d.y[v] = d.slack[v] + (p.slack[v] - p.reduced[v])
	}
	for t := range x.terms {
		term := &x.terms[t]
		d.z[t] = (target+float64(correction.z[t]*correction.multiplier[t]))/p.v[t] - p.z[t]
		d.s[t] = (target-float64(correction.s[t]*correction.multiplier[t]))/p.multiplier[t] - p.s[t]
		p.pull[t] = (d.z[t] - d.s[t]) + ((p.z[t] - p.s[t]) - term.part(p.y))
		along := float64(p.curvature[t] * p.pull[t])
		d.y[term.a] += along
		d.y[term.b] += float64(term.sign * along)
	}
	p.solve(d.y)
	for v := range d.y {
		d.slack[v] -= float64(p.slack[v]*d.y[v]) / p.y[v]
	}
	for t := range x.terms {
		term := &x.terms[t]
		change := d.y[term.a] + float64(term.sign*d.y[term.b])
		d.multiplier[t] = float64(p.curvature[t] * (change - p.pull[t]))
		d.z[t] += float64(p.z[t]*d.multiplier[t]) / p.v[t]
		d.s[t] -= float64(p.s[t]*d.multiplier[t]) / p.multiplier[t]
	}
}

// solve replaces the right-hand side for all shares by their steps.
func (p *interior) solve(dy []float64) {
	x := p.x
	for i := range x.points() {
		to := p.offset[i]
		for v := x.first[i]; v < x.first[i+1]; v++ {
			if v != p.dependent[i] {
				p.rhs[to] = dy[v] - dy[p.dependent[i]]
				to++
			}
		}
	}
	p.factor.solve(p.rhs, p.offset)
	for i := range x.points() {
		from, total := p.offset[i], 0.0
		for v := x.first[i]; v < x.first[i+1]; v++ {
			if v != p.dependent[i] {
				dy[v] = p.rhs[from]
				total += dy[v]
				from++
			}
		}
		dy[p.dependent[i]] = -total
	}
}
