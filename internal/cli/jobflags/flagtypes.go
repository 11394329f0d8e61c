package jobflags

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/cleave-project/cleave/internal/catalog"
)

// Choice is a flag that takes one of a few names.
type Choice struct {
	Value   string
	options []string
}

// NewChoice is a choice among options, with a value to begin with.
func NewChoice(value string, options ...string) *Choice {
	return &Choice{Value: value, options: options}
}

// String implements pflag.Value.
func (c *Choice) String() string { return c.Value }

// Type implements pflag.Value.
func (c *Choice) Type() string { return strings.Join(c.options, "|") }

// Set implements pflag.Value.
func (c *Choice) Set(text string) error {
	if slices.Contains(c.options, text) {
		c.Value = text
		return nil
	}
	return fmt.Errorf("use %s", catalog.Or(c.options))
}

// Number is a flag that takes a finite number, or one of a few keywords in its place.
type Number struct {
	Value       float64
	Keyword     string  // the one given, empty for a number
	Min         float64 // the smallest number allowed
	MinExcluded bool    // Min itself is not allowed
	keywords    []string
}

// NewNumber is a number with a value to begin with and without a minimum.
func NewNumber(value float64, keywords ...string) *Number {
	return &Number{Value: value, keywords: keywords, Min: math.Inf(-1)}
}

// String implements pflag.Value.
func (n *Number) String() string {
	if n.Keyword != "" {
		return n.Keyword
	}
	return strconv.FormatFloat(n.Value, 'g', -1, 64)
}

// Type implements pflag.Value.
func (n *Number) Type() string { return strings.Join(append([]string{"NUMBER"}, n.keywords...), "|") }

// Set implements pflag.Value.
func (n *Number) Set(text string) error {
	if slices.Contains(n.keywords, text) {
		n.Keyword = text
		return nil
	}
	value, err := strconv.ParseFloat(text, 64)
	switch {
	case err != nil || math.IsNaN(value) || math.IsInf(value, 0):
		return fmt.Errorf("use %s", catalog.Or(append([]string{"a finite number"}, n.keywords...)))
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

// String implements pflag.Value.
func (w *Whole) String() string { return strconv.FormatUint(w.Value, 10) }

// Type implements pflag.Value.
func (w *Whole) Type() string { return "N" }

// Set implements pflag.Value.
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
