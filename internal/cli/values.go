package cli

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// choice is a flag that takes one of a few words.
type choice struct {
	value string
	words []string
}

func newChoice(value string, words ...string) *choice { return &choice{value: value, words: words} }

func (c *choice) String() string { return c.value }
func (c *choice) Type() string   { return strings.Join(c.words, "|") }

func (c *choice) Set(text string) error {
	if slices.Contains(c.words, text) {
		c.value = text
		return nil
	}
	return fmt.Errorf("use %s", either(c.words))
}

// number is a flag that takes a finite number, or one of a few words in its place.
type number struct {
	value   float64
	word    string // the word given, empty for a number
	words   []string
	atLeast float64 // the smallest number allowed
	above   bool    // atLeast itself is not allowed
}

func newNumber(value float64, words ...string) *number {
	return &number{value: value, words: words, atLeast: math.Inf(-1)}
}

func (n *number) String() string {
	if n.word != "" {
		return n.word
	}
	return strconv.FormatFloat(n.value, 'g', -1, 64)
}

func (n *number) Type() string { return strings.Join(append([]string{"NUMBER"}, n.words...), "|") }

func (n *number) Set(text string) error {
	if slices.Contains(n.words, text) {
		n.word = text
		return nil
	}
	value, err := strconv.ParseFloat(text, 64)
	switch {
	case err != nil || math.IsNaN(value) || math.IsInf(value, 0):
		return fmt.Errorf("use %s", either(append([]string{"a finite number"}, n.words...)))
	case n.above && value <= n.atLeast:
		return fmt.Errorf("it must be greater than %g", n.atLeast)
	case value < n.atLeast:
		return fmt.Errorf("it must be at least %g", n.atLeast)
	}
	n.word, n.value = "", value
	return nil
}

// whole is a flag that takes a whole number within bounds.
type whole struct {
	value, least, most uint64
}

func (w *whole) String() string { return strconv.FormatUint(w.value, 10) }
func (w *whole) Type() string   { return "N" }

func (w *whole) Set(text string) error {
	value, err := strconv.ParseUint(text, 10, 64)
	if err != nil || value < w.least || value > w.most {
		if w.most == math.MaxUint64 || w.most == math.MaxUint32 || w.most == math.MaxInt32 {
			return fmt.Errorf("use a whole number, %d or more (at most %d)", w.least, w.most)
		}
		return fmt.Errorf("use a whole number from %d to %d", w.least, w.most)
	}
	w.value = value
	return nil
}

// start is the flag --init: a word, or what a file holds and its name.
type start struct {
	choice
	path string // FILE of labels:FILE or centroids:FILE
}

func newStart() *start {
	return &start{choice: choice{
		words: []string{"farthest-first", "weighted-farthest-first", "random", "kmeans++", "neighbourhoods", "seeds", "spectral", "labels:FILE", "centroids:FILE"},
	}}
}

func (s *start) Set(text string) error {
	what, path, fromFile := strings.Cut(text, ":")
	if !fromFile {
		s.path = ""
		return s.choice.Set(text)
	}
	if what != "labels" && what != "centroids" || path == "" {
		return fmt.Errorf("use %s", either(s.words))
	}
	s.value, s.path = what, path
	return nil
}

// either lists words for a sentence: "a, b or c".
func either(words []string) string {
	if len(words) == 1 {
		return words[0]
	}
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " or " + words[last]
}
