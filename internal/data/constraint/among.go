package constraint

// link is a constraint or a pair.
type link[L any] interface {
	ends() (i, j int32)
	between(i, j int32) L
}

func (c Constraint) ends() (i, j int32) { return c.I, c.J }

func (c Constraint) between(i, j int32) Constraint {
	c.I, c.J = i, j
	return c
}

func (p Pair) ends() (i, j int32) { return p.I, p.J }

func (p Pair) between(i, j int32) Pair {
	p.I, p.J = i, j
	return p
}

// Among are the constraints between some of n points, which ascend, by their numbers among them.
func Among[L link[L]](n int, kept []int32, all []L) []L {
	if len(kept) == n {
		return all
	}
	const none = -1
	number := make([]int32, n)
	for i := range number {
		number[i] = none
	}
	for at, i := range kept {
		number[i] = int32(at)
	}
	var some []L
	for _, one := range all {
		i, j := one.ends()
		if number[i] != none && number[j] != none {
			some = append(some, one.between(number[i], number[j]))
		}
	}
	return some
}
