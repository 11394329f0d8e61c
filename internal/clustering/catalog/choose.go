package catalog

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/cleave-project/cleave/internal/text"
)

// ChooseAlgorithm chooses the algorithm of a request that names none: the default if it accepts all given options,
// otherwise the first that does, preferably one for this kind of data. The slice because holds the options that the
// default does not accept. The error is a *Misuse.
func (r Request) ChooseAlgorithm() (chosen Algorithm, because []string, err error) {
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
	// Prefer an algorithm that has the options to one in which an option merely has the given value.
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

// accepts reports whether an algorithm has a given option, or implies its value.
func (r Request) accepts(a Algorithm, option string) bool {
	value := r.Values[option]
	if option == "init" {
		return slices.Contains(a.Starts, value)
	}
	implied := r.implied(a, option)
	return a.Takes(option) || implied != "" && implied == value
}

// accepting returns the algorithms that accept all of the options.
func (r Request) accepting(options []string) []Algorithm {
	return slices.DeleteFunc(slices.Clone(Algorithms), func(a Algorithm) bool {
		return slices.ContainsFunc(options, func(option string) bool { return !r.accepts(a, option) })
	})
}

// conflict refuses a minimal set of options that no algorithm accepts together.
func (r Request) conflict(given []string) *Misuse {
	for _, option := range slices.Clone(given) {
		rest := slices.DeleteFunc(slices.Clone(given), func(other string) bool { return other == option })
		if len(r.accepting(rest)) == 0 {
			given = rest
		}
	}
	goes := names(given, func(option string) string {
		return fmt.Sprintf("%s applies to %s", r.shown(option),
			text.Or(names(r.accepting([]string{option}), func(a Algorithm) string { return a.Name })))
	})
	return r.refuse(Algorithm{}, notApplicable, given[len(given)-1], "no algorithm takes %s together: %s",
		strings.Join(names(given, r.shown), " and "), strings.Join(goes, ", "))
}

// shown formats an option in a message, with its value if that matters.
func (r Request) shown(option string) string {
	if option == "init" {
		return "{init} " + r.Values[option]
	}
	return "{" + option + "}"
}
