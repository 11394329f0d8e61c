package answers

import (
	"hash/fnv"
	"math/rand/v2"

	"github.com/cleave-project/cleave/internal/data/constraint"
)

// half stands for n/2 constraints among the numbers that are asked for.
const half = -1

// standardNumbers are how many constraints are given, where nothing else is said.
var standardNumbers = []int{0, 20, 100, 400, half}

// numbers returns how many constraints are given to a set: of those that are asked for at most 4 n, because a small set
// has not many more pairs, and n/2 where that is more than the standard numbers have.
func (s *set) numbers(asked []int) []int {
	var list []int
	for _, m := range asked {
		switch {
		case m == half && s.n/2 > 400:
			list = append(list, s.n/2)
		case m != half && m <= 4*s.n && m <= len(s.known)*(len(s.known)-1)/2:
			list = append(list, m)
		}
	}
	return list
}

// pairs draws m different pairs of points whose classes are known, and tells whether they are together. A share of
// them, noise, is told wrong. A longer list begins with a shorter one, errors included.
func (s *set) pairs(m, seed int, noise float64) []constraint.Constraint {
	name := fnv.New64a()
	name.Write([]byte(s.name))
	rng := rand.New(rand.NewPCG(name.Sum64(), uint64(seed)))
	errors := rand.New(rand.NewPCG(name.Sum64()+1, uint64(seed)))
	seen := make(map[[2]int32]bool, m)
	var list []constraint.Constraint
	for len(list) < m {
		i, j := s.known[rng.IntN(len(s.known))], s.known[rng.IntN(len(s.known))]
		if i > j {
			i, j = j, i
		}
		if i == j || seen[[2]int32{i, j}] {
			continue
		}
		seen[[2]int32{i, j}] = true
		together := s.truth[i] == s.truth[j]
		if errors.Float64() < noise {
			together = !together
		}
		c := constraint.Constraint{I: i, J: j, Kind: constraint.CannotLink}
		if together {
			c.Kind = constraint.MustLink
		}
		list = append(list, c)
	}
	return list
}
