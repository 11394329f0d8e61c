package catalog

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/cleave-project/cleave/internal/text"
)

// Request is what a job asks for, by the names of options. It can be checked before any data is read.
type Request struct {
	Algorithm string
	Data      string            // the kind of data; "" if unknown
	Values    map[string]string // the values of given options; ignored for tables
}

// Misuse is an error that names the option at fault.
type Misuse struct {
	Reason    string // in UPPER_SNAKE
	Option    string
	text      string    // with options in braces, as in {on-rise}
	Algorithm Algorithm // the requested one
}

func (r *Misuse) Error() string { return r.Text(func(option string) string { return option }) }

var braced = regexp.MustCompile(`\{([a-z0-9-]+)\}`)

// Text returns the message with every option replaced by its name for the reader, such as a flag or a field of the API.
func (r *Misuse) Text(name func(option string) string) string {
	return braced.ReplaceAllStringFunc(r.text, func(option string) string { return name(strings.Trim(option, "{}")) })
}

// Field returns the path of the option in the API.
func (r *Misuse) Field() string {
	o, known := FindOption(r.Option, r.Algorithm)
	if !known {
		return "spec." + strings.ReplaceAll(r.Option, "-", "_")
	}
	return o.Path(r.Algorithm)
}

// Path returns the path of an option of an algorithm in the API.
func (o Option) Path(a Algorithm) string {
	switch {
	case o.Field == "":
		return "spec." + strings.ReplaceAll(o.Name, "-", "_")
	case strings.HasPrefix(o.Field, "spec."):
		return o.Field
	}
	return "spec." + a.Message() + "." + o.Field
}

// Message returns the name of the algorithm's message in the API.
func (a Algorithm) Message() string { return strings.ReplaceAll(a.Name, "-", "_") }

// OptionAt returns the option whose path in the API is the given one or contains it.
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
	return find(slices.Concat(Options, spectralOptions), func(o Option) bool { return at(o.Field) })
}

func (r Request) given(option string) bool { _, given := r.Values[option]; return given }

func (r Request) refuse(a Algorithm, reason, option, format string, args ...any) *Misuse {
	return &Misuse{Reason: reason, Option: option, Algorithm: a, text: fmt.Sprintf(format, args...)}
}

// notApplicable is the reason for options and values that would be valid in another context.
const notApplicable = "OPTION_DOES_NOT_APPLY"

// Check returns a *Misuse that says what is wrong with a request, or nil if nothing is as far as is known without the
// data.
func (r Request) Check() error {
	a, known := FindAlgorithm(r.Algorithm)
	if !known {
		return r.refuse(a, "BAD_ALGORITHM", "algorithm", "{algorithm} %s is unknown; use %s", r.Algorithm,
			text.Or(algorithmNames()))
	}
	clustered := r.clustered()
	for _, check := range []func(Algorithm) *Misuse{
		r.checkScope, r.checkData, r.checkNeighbors, clustered.checkStorage, clustered.checkKernel,
		clustered.checkStart, clustered.checkRules,
	} {
		if misuse := check(a); misuse != nil {
			return misuse
		}
	}
	return nil
}

// clustered returns the request that the algorithm sees, whose data is a graph if there is a neighbor graph.
func (r Request) clustered() Request {
	if r.given("knn") {
		r.Data = Graph
	}
	return r
}

// checkScope refuses options that the algorithm does not have, and invalid values.
func (r Request) checkScope(a Algorithm) *Misuse {
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
			return r.refuse(a, notApplicable, o.Name, "{%s} does not apply to %s, only to %s", o.Name, a.Name,
				text.Or(algorithmsTaking(o.Name)))
		case value != implied:
			return r.refuse(a, notApplicable, o.Name,
				"{%s} %s does not apply to %s, where it is always %s; it applies to %s",
				o.Name, value, a.Name, implied, text.Or(algorithmsTaking(o.Name)))
		}
	}
	return nil
}

// badReason returns the reason for a bad value, such as BAD_RHO for rho.
func badReason(option string) string { return "BAD_" + inReasons(option) }

// missingReason returns the reason for an option that is missing, such as NO_SEEDS for seeds.
func missingReason(option string) string { return "NO_" + inReasons(option) }

func inReasons(option string) string { return strings.ToUpper(strings.ReplaceAll(option, "-", "_")) }

// implied returns the fixed value of an option, or "". A geometry implies its distortion, and vice versa.
func (r Request) implied(a Algorithm, option string) string {
	switch {
	case option == "distortion" && a.Takes("geometry"):
		if r.Values["geometry"] == "spherical" {
			return "cosine"
		}
		return "euclidean"
	case option == "geometry" && a.Takes("distortion"):
		return map[string]string{"": "euclidean", "euclidean": "euclidean",
			"cosine": "spherical"}[r.Values["distortion"]]
	}
	return a.Implied[option]
}

// Parse checks a value and returns it in canonical form.
func (o Option) Parse(given string) (string, error) {
	switch o.Type {
	case Choice, Start:
		if !slices.Contains(o.Values, given) {
			return "", fmt.Errorf("use %s", text.Or(o.Values))
		}
	case Switch:
		if given != "true" && given != "false" {
			return "", errors.New("use true or false")
		}
	case Number:
		if slices.Contains(o.Values, given) {
			return given, nil
		}
		value, err := strconv.ParseFloat(given, 64)
		if err != nil || math.IsNaN(value) || math.IsInf(value, 0) {
			return "", fmt.Errorf("use %s", text.Or(append([]string{"a finite number"}, o.Values...)))
		}
		return given, o.inRange(value)
	case Whole, Range:
		value, err := strconv.ParseUint(given, 10, 64)
		if err != nil {
			return "", fmt.Errorf("use a whole number of at least %.0f", o.Min)
		}
		return given, o.inRange(float64(value))
	}
	return given, nil
}

// inRange returns an error that names the range unless value is in it. An option whose Max is 0 has no range.
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
		words = ", or " + text.Or(o.Values)
	}
	return fmt.Errorf("it must be %.12g to %.12g%s", o.Min, o.Max, words)
}

// ChoosesDefaults reports whether defaults may depend on the data. Otherwise they are the fixed values of the papers.
func (r Request) ChoosesDefaults() bool {
	a, _ := FindAlgorithm(r.Algorithm)
	return a.Takes("paper") && !r.Is("paper", "true")
}

// Is reports whether an option was given with a value.
func (r Request) Is(option, value string) bool { return r.Values[option] == value }

// Number returns the value of an option that is a number, nil if it was not given or is a word.
func (r Request) Number(option string) *float64 {
	value, err := strconv.ParseFloat(r.Values[option], 64)
	if err != nil {
		return nil
	}
	return &value
}

// NumberOr returns the value of an option that is a number, or otherwise.
func (r Request) NumberOr(option string, otherwise float64) float64 {
	if value := r.Number(option); value != nil {
		return *value
	}
	return otherwise
}

// WholeOr returns the value of an option that is a whole number, or otherwise.
func (r Request) WholeOr(option string, otherwise uint64) uint64 {
	value, err := strconv.ParseUint(r.Values[option], 10, 64)
	if err != nil {
		return otherwise
	}
	return value
}
