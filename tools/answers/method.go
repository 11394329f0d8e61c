package answers

import (
	"slices"
	"strings"

	"github.com/cleave-project/cleave/internal/clustering/catalog"
)

// Default is the method that names no algorithm.
const Default = "default"

// ownMethods are asked where nothing else is said, beside Default and the peers.
var ownMethods = []string{
	"kernel-kmeans", "kmeans", "pc-kmeans", "mpc-kmeans", "hmrf-kmeans", "spectral", "spectral-learning",
	"constrained-spectral",
}

// Methods returns the methods in a list with commas, semicolons or blanks between them. A method is a peer, or
// "default" or an algorithm, and then flags of `cleave run` without their dashes: pc-kmeans,restarts=10,entail. So a
// comma also stands before a flag; a word is a flag unless it is the name of a method. "own" stands for the usual
// algorithms and "peers" for all peers.
func Methods(list string) []string {
	var methods []string
	groups := map[string][]string{"own": ownMethods, "peers": peerNames()}
	for _, part := range strings.FieldsFunc(list, func(c rune) bool { return c == ';' || c == ' ' }) {
		for at, word := range strings.Split(part, ",") {
			switch group := groups[word]; {
			case group != nil:
				methods = append(methods, group...)
			case at == 0 || isName(word):
				methods = append(methods, word)
			default:
				methods[len(methods)-1] += "," + word
			}
		}
	}
	return methods
}

func isName(word string) bool {
	_, isAlgorithm := catalog.FindAlgorithm(word)
	return isAlgorithm || word == Default || isPeer(word)
}

// base returns the algorithm of a method, without its flags.
func base(method string) string {
	name, _, _ := strings.Cut(method, ",")
	return name
}

// plain reports whether a method leaves everything open but the algorithm.
func plain(method string) bool { return base(method) == method }

// flags returns the arguments of `cleave run` for a method. Without constraints there is nothing to entail.
func flags(method string, m int) []string {
	words := strings.Split(method, ",")
	var list []string
	if words[0] != Default {
		list = append(list, "--algorithm", words[0])
	}
	for _, word := range words[1:] {
		if m > 0 || word != "entail" {
			list = append(list, "--"+word)
		}
	}
	return list
}

// applies reports whether a method can be asked by a suite about a set with m constraints or, in the suite of labels, m
// percent of the labels. What names no algorithm is always asked: where it refuses, that is its answer.
func applies(method, suite string, s *set, m int) bool {
	if p, is := findPeer(method); is {
		return p.suite == suite && slices.Contains(p.kinds, s.kind) && s.n <= p.largest && (m == 0 || p.constraints) &&
			(m > 0 || p.alone)
	}
	name := base(method)
	a, known := catalog.FindAlgorithm(name)
	switch {
	case name == Default || !known:
		return true
	case len(a.Needs) > 0 || m > 0 && !takesConstraints(name):
		return false
	case name == "constrained-spectral" && m == 0:
		return false
	}
	return slices.Contains(a.Data, s.kind)
}

// takesConstraints reports whether an algorithm does; one that is not known may.
func takesConstraints(algorithm string) bool {
	a, known := catalog.FindAlgorithm(algorithm)
	return !known || a.Takes("constraints")
}
