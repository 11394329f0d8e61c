package catalog

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Request is what a job asks for, by the names of options: enough to check that it makes sense before any data
// are read.
type Request struct {
	Algorithm string
	Data      string            // the kind of data; "": not known yet
	Values    map[string]string // of the options that are given; for tables the value does not matter
}

// Refusal says what is wrong with a request, and in which option.
type Refusal struct {
	Reason string // in UPPER_SNAKE
	Option string
	// text has options in braces, {on-rise}, to be replaced by the names that its reader knows.
	text string
	// Algorithm is the one that was asked for.
	Algorithm Algorithm
}

func (r *Refusal) Error() string { return r.Text(func(option string) string { return option }) }

var braced = regexp.MustCompile(`\{([a-z0-9-]+)\}`)

// Text is the message with every option replaced by its name for the reader: a flag, or a field of the API.
func (r *Refusal) Text(name func(option string) string) string {
	return braced.ReplaceAllStringFunc(r.text, func(option string) string { return name(strings.Trim(option, "{}")) })
}

// Field is the path of the option in the API.
func (r *Refusal) Field() string {
	o, known := FindOption(r.Option, r.Algorithm)
	if !known {
		return "spec." + strings.ReplaceAll(r.Option, "-", "_")
	}
	return o.Path(r.Algorithm)
}

// Path is where an option of an algorithm stands in the API.
func (o Option) Path(a Algorithm) string {
	switch {
	case o.Field == "":
		return "spec." + strings.ReplaceAll(o.Name, "-", "_")
	case strings.HasPrefix(o.Field, "spec."):
		return o.Field
	}
	return "spec." + a.Message() + "." + o.Field
}

// Message is the name of an algorithm's message in the API.
func (a Algorithm) Message() string { return strings.ReplaceAll(a.Name, "-", "_") }

// OptionAt finds the option at a path of the API, or above it.
func OptionAt(path string) (Option, bool) {
	path = strings.TrimPrefix(path, "spec.")
	for _, a := range Algorithms {
		if rest, within := strings.CutPrefix(path, a.Message()+"."); within {
			path = rest
			break
		}
	}
	at := func(field string) bool {
		field = strings.TrimPrefix(field, "spec.")
		return field != "" && (path == field || strings.HasPrefix(path, field+"."))
	}
	return find(Options, func(o Option) bool { return at(o.Field) || o.Spectral != nil && at(o.Spectral.Field) })
}

// given tells whether an option was given.
func (r Request) given(option string) bool { _, given := r.Values[option]; return given }

func (r Request) refuse(a Algorithm, reason, option, format string, args ...any) *Refusal {
	return &Refusal{Reason: reason, Option: option, Algorithm: a, text: fmt.Sprintf(format, args...)}
}

// notApplicable is the reason for options and values that are fine in another context.
const notApplicable = "OPTION_DOES_NOT_APPLY"

// Check finds what is wrong with a request; nil: nothing, as far as can be seen without the data.
func (r Request) Check() *Refusal {
	a, known := FindAlgorithm(r.Algorithm)
	if !known {
		return r.refuse(a, "BAD_ALGORITHM", "algorithm", "{algorithm} %s is unknown; use %s", r.Algorithm, Or(AlgorithmNames()))
	}
	clustered := r.clustered()
	for _, check := range []func(Algorithm) *Refusal{
		r.checkScope, r.checkData, r.checkNeighbors, clustered.checkStorage, clustered.checkKernel, clustered.checkStart, clustered.checkRules,
	} {
		if refusal := check(a); refusal != nil {
			return refusal
		}
	}
	return nil
}

// clustered is the request for what the algorithm gets to see: a graph, if the rows are made one.
func (r Request) clustered() Request {
	if r.given("knn") {
		r.Data = Graph
	}
	return r
}

// checkScope refuses options that the algorithm does not have, and values that no option has.
func (r Request) checkScope(a Algorithm) *Refusal {
	for _, o := range Options {
		value, given := r.Values[o.Name]
		if !given {
			continue
		}
		implied := r.implied(a, o.Name)
		switch {
		case a.Takes(o.Name):
			o, _ = FindOption(o.Name, a)
			if _, err := o.Parse(value); err != nil {
				return r.refuse(a, badReason(o.Name), o.Name, "{%s} is %s; %v", o.Name, value, err)
			}
		case implied == "":
			return r.refuse(a, notApplicable, o.Name, "{%s} does not apply to %s, only to %s", o.Name, a.Name, Or(algorithmsTaking(o.Name)))
		case value != implied:
			return r.refuse(a, notApplicable, o.Name, "{%s} %s does not apply to %s, where it is always %s; it goes with %s",
				o.Name, value, a.Name, implied, Or(algorithmsTaking(o.Name)))
		}
	}
	return nil
}

// badReason is BAD_RHO of rho.
func badReason(option string) string {
	return "BAD_" + strings.ToUpper(strings.ReplaceAll(option, "-", "_"))
}

// implied is the value that an option always has, "" if it has none. A geometry implies its distortion, and a
// distortion its geometry.
func (r Request) implied(a Algorithm, option string) string {
	switch {
	case option == "distortion" && a.Takes("geometry"):
		if r.Values["geometry"] == "spherical" {
			return "cosine"
		}
		return "euclidean"
	case option == "geometry" && a.Takes("distortion"):
		return map[string]string{"": "euclidean", "euclidean": "euclidean", "cosine": "spherical"}[r.Values["distortion"]]
	}
	return a.Implied[option]
}

// Parse reads the text of a value and returns it in its canonical form.
func (o Option) Parse(text string) (string, error) {
	if value, old := o.Aliases[text]; old {
		text = value
	}
	switch o.Type {
	case Choice, Start:
		if !slices.Contains(o.Values, text) {
			return "", fmt.Errorf("use %s", Or(o.Values))
		}
	case Switch:
		if text != "true" && text != "false" {
			return "", errors.New("use true or false")
		}
	case Number:
		if slices.Contains(o.Values, text) {
			return text, nil
		}
		value, err := strconv.ParseFloat(text, 64)
		if err != nil || math.IsNaN(value) || math.IsInf(value, 0) {
			return "", fmt.Errorf("use %s", Or(append([]string{"a finite number"}, o.Values...)))
		}
		return text, o.inRange(value)
	case Whole:
		value, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			return "", fmt.Errorf("use a whole number of at least %.0f", o.Min)
		}
		return text, o.inRange(float64(value))
	}
	return text, nil
}

func (o Option) inRange(value float64) error {
	switch {
	case o.Max == 0 || value >= o.Min && value <= o.Max && !(o.MaxExcluded && value == o.Max):
		return nil
	case o.MaxExcluded:
		return fmt.Errorf("it must be %g or more and below %g", o.Min, o.Max)
	case value < o.Min && o.Min > 0 && o.Min < 1e-50:
		return errors.New("it must be greater than 0")
	case o.Max >= math.MaxInt32 && value < o.Min:
		return fmt.Errorf("it must be at least %g", o.Min)
	}
	words := ""
	if len(o.Values) > 0 {
		words = ", or " + Or(o.Values)
	}
	return fmt.Errorf("it must be %.12g to %.12g%s", o.Min, o.Max, words)
}

// Is tells whether an option was given with a value.
func (r Request) Is(option, value string) bool { return r.Values[option] == value }

// Number is the value of an option that is a number, nil where it was not given or a word stands for it.
func (r Request) Number(option string) *float64 {
	value, err := strconv.ParseFloat(r.Values[option], 64)
	if err != nil {
		return nil
	}
	return &value
}

// NumberOr is the value of an option that is a number, or another where there is none.
func (r Request) NumberOr(option string, otherwise float64) float64 {
	if value := r.Number(option); value != nil {
		return *value
	}
	return otherwise
}

// WholeOr is the value of an option that is a whole number, or another where it was not given.
func (r Request) WholeOr(option string, otherwise uint64) uint64 {
	value, err := strconv.ParseUint(r.Values[option], 10, 64)
	if err != nil {
		return otherwise
	}
	return value
}

// Named is the value of an enumeration up to last whose name is the word of a catalog, 0 where there is none.
func Named[T interface {
	~uint8
	String() string
}](word string, last T) T {
	for value := last; value > 0; value-- {
		if value.String() == word {
			return value
		}
	}
	return 0
}
