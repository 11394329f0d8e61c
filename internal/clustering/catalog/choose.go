package catalog

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// ChooseAlgorithm is the algorithm of a request that names none: the default if it takes all that is given, else the
// first that does, if possible one for this kind of data. because are the options that the default does not take.
func (r Request) ChooseAlgorithm() (chosen Algorithm, because []string, refusal *Refusal) {
	var given []string
	for _, o := range Options {
		if r.given(o.Name) {
			given = append(given, o.Name)
		}
	}
	chosen, _ = FindAlgorithm(DefaultAlgorithm)
	for _, option := range given {
		if !r.accepts(chosen, option) {
			because = append(because, option)
		}
	}
	if len(because) == 0 {
		return chosen, nil, nil
	}
	candidates := r.accepting(given)
	if len(candidates) == 0 {
		return Algorithm{}, nil, r.conflict(given)
	}
	// An algorithm in which an option always has the given value is meant less than one that really has the option.
	rank := func(a Algorithm) (rank int) {
		if r := r.clustered(); r.Data != "" && !slices.Contains(a.Data, r.Data) {
			rank += 2
		}
		if slices.ContainsFunc(given, func(option string) bool { return !a.Takes(option) }) {
			rank++
		}
		return rank
	}
	return slices.MinFunc(candidates, func(a, b Algorithm) int { return cmp.Compare(rank(a), rank(b)) }), because, nil
}

// accepts tells whether an algorithm has a given option, or always has its value.
func (r Request) accepts(a Algorithm, option string) bool {
	value := r.Values[option]
	if option == "init" {
		return slices.Contains(a.Starts, value)
	}
	implied := r.implied(a, option)
	return a.Takes(option) || implied != "" && implied == value
}

// accepting are the algorithms that accept all of these options.
func (r Request) accepting(options []string) []Algorithm {
	return slices.DeleteFunc(slices.Clone(Algorithms), func(a Algorithm) bool {
		return slices.ContainsFunc(options, func(option string) bool { return !r.accepts(a, option) })
	})
}

// conflict names as few options as possible that no algorithm accepts together.
func (r Request) conflict(given []string) *Refusal {
	for _, option := range slices.Clone(given) {
		rest := slices.DeleteFunc(slices.Clone(given), func(other string) bool { return other == option })
		if len(r.accepting(rest)) == 0 {
			given = rest
		}
	}
	goes := names(given, func(option string) string {
		return fmt.Sprintf("%s goes with %s", r.shown(option), Or(names(r.accepting([]string{option}), func(a Algorithm) string { return a.Name })))
	})
	return r.refuse(Algorithm{}, notApplicable, given[len(given)-1], "no algorithm takes %s together: %s",
		strings.Join(names(given, r.shown), " and "), strings.Join(goes, ", "))
}

// shown is an option in a message, with its value where that decides.
func (r Request) shown(option string) string {
	if option == "init" {
		return "{init} " + r.Values[option]
	}
	return "{" + option + "}"
}
