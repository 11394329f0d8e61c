package jobflags

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// choice is a flag that takes one of a few words.
type choice struct {
	Value   string
	options []string
}

func NewChoice(value string, words ...string) *choice { return &choice{Value: value, options: words} }

func (c *choice) String() string { return c.Value }
func (c *choice) Type() string   { return strings.Join(c.options, "|") }

func (c *choice) Set(text string) error {
	if slices.Contains(c.options, text) {
		c.Value = text
		return nil
	}
	return fmt.Errorf("use %s", joinOr(c.options))
}

// Number is a flag that takes a finite number, or one of a few words in its place.
type Number struct {
	Value       float64
	Keyword     string // the word given, empty for a number
	keywords    []string
	Min         float64 // the smallest number allowed
	MinExcluded bool    // atLeast itself is not allowed
}

func NewNumber(value float64, words ...string) *Number {
	return &Number{Value: value, keywords: words, Min: math.Inf(-1)}
}

func (n *Number) String() string {
	if n.Keyword != "" {
		return n.Keyword
	}
	return strconv.FormatFloat(n.Value, 'g', -1, 64)
}

func (n *Number) Type() string { return strings.Join(append([]string{"NUMBER"}, n.keywords...), "|") }

func (n *Number) Set(text string) error {
	if slices.Contains(n.keywords, text) {
		n.Keyword = text
		return nil
	}
	value, err := strconv.ParseFloat(text, 64)
	switch {
	case err != nil || math.IsNaN(value) || math.IsInf(value, 0):
		return fmt.Errorf("use %s", joinOr(append([]string{"a finite number"}, n.keywords...)))
	case n.MinExcluded && value <= n.Min:
		return fmt.Errorf("it must be greater than %g", n.Min)
	case value < n.Min:
		return fmt.Errorf("it must be at least %g", n.Min)
	}
	n.Keyword, n.Value = "", value
	return nil
}

// Whole is a flag that takes a whole number within bounds.
type Whole struct {
	Value, Min, Max uint64
}

func (w *Whole) String() string { return strconv.FormatUint(w.Value, 10) }
func (w *Whole) Type() string   { return "N" }

func (w *Whole) Set(text string) error {
	value, err := strconv.ParseUint(text, 10, 64)
	if err != nil || value < w.Min || value > w.Max {
		if w.Max == math.MaxUint64 || w.Max == math.MaxUint32 || w.Max == math.MaxInt32 {
			return fmt.Errorf("use a whole number, %d or more (at most %d)", w.Min, w.Max)
		}
		return fmt.Errorf("use a whole number from %d to %d", w.Min, w.Max)
	}
	w.Value = value
	return nil
}

// startFlag is the flag --init: a word, or what a file holds and its name.
type startFlag struct {
	choice
	path string // FILE of labels:FILE or centroids:FILE
}

func newStartFlag() *startFlag {
	return &startFlag{choice: choice{
		options: []string{"farthest-first", "weighted-farthest-first", "random", "kmeans++", "neighbourhoods", "seeds", "spectral", "labels:FILE", "centroids:FILE"},
	}}
}

func (s *startFlag) Set(text string) error {
	what, path, fromFile := strings.Cut(text, ":")
	if !fromFile {
		s.path = ""
		return s.choice.Set(text)
	}
	if what != "labels" && what != "centroids" || path == "" {
		return fmt.Errorf("use %s", joinOr(s.options))
	}
	s.Value, s.path = what, path
	return nil
}

// joinOr lists words for a sentence: "a, b or c".
func joinOr(words []string) string {
	if len(words) == 1 {
		return words[0]
	}
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " or " + words[last]
}
