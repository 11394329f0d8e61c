// Package refusal turns the errors of the mathematics, which package invalid defines, into what users see: a kind, a
// reason for programs, the field of the API at fault, and a sentence that says what is wrong, where, and what to do.
// Only the packages that answer users call it.
package refusal

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"strings"

	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/invalid"
	"github.com/cleave-project/cleave/internal/text"
)

// refusal is what users see of one reason. A sentence about a row continues after "row 3" or "row 3, column 1". In
// fields and sentences, {name} stands for a value of the error, {name:%.6g} for the value in another format, {name:row}
// for a count with its noun, such as "1 row" or "5 rows", and {name:is|are} for the first word of one, or the other.
type refusal struct {
	reason string
	says   string
	field  string
	kind   fault.Kind // InvalidArgument if 0
	detail string     // the name of a value that programs get too; may be empty
}

// refusals has what users see of every reason.
var refusals = allOf(ofRows, ofSpecs, ofMethods)

func allOf(parts ...map[invalid.Reason]refusal) map[invalid.Reason]refusal {
	all := map[invalid.Reason]refusal{}
	for _, part := range parts {
		maps.Copy(all, part)
	}
	return all
}

// Of returns the *fault.Error that users see of an error by package invalid, with the place that other packages put in
// front of it. It returns other errors unchanged.
func Of(err error) error {
	e, is := errors.AsType[*invalid.Error](err)
	if !is {
		return err
	}
	r, known := refusals[e.Reason]
	if !known {
		return fault.New(fault.Internal, "INTERNAL", "%v", err)
	}
	f := r.of(e)
	if where, wrapped := strings.CutSuffix(err.Error(), ": "+e.Error()); wrapped {
		return fault.Wrap(f, "%s", where)
	}
	return f
}

// of returns the fault of an error with this reason.
func (r refusal) of(e *invalid.Error) *fault.Error {
	says := fill(r.says, e)
	var f *fault.Error
	switch {
	case e.Column >= 0:
		f = fault.InCell(e.Row, e.Column, r.reason, "%s", says)
	case e.Row >= 0:
		f = fault.InRow(e.Row, r.reason, "%s", says)
	default:
		f = fault.Invalid(r.reason, "%s", says)
	}
	f.Kind = cmp.Or(r.kind, f.Kind)
	f.Field = strings.ReplaceAll(fill(r.field, e), "-", "_")
	if r.detail != "" {
		f = f.With(r.detail, fmt.Sprint(e.Value(r.detail)))
	}
	return f
}

// place is where a sentence has a value.
var place = regexp.MustCompile(`\{(\w+)(?::([^}]+))?\}`)

// fill puts the values of an error into a sentence.
func fill(sentence string, e *invalid.Error) string {
	return place.ReplaceAllStringFunc(sentence, func(found string) string {
		parts := place.FindStringSubmatch(found)
		value, format := e.Value(parts[1]), parts[2]
		if why, is := value.(error); is {
			value = Of(why)
		}
		if strings.HasPrefix(format, "%") {
			return fmt.Sprintf(format, value)
		}
		count, counts := wholeNumber(value)
		one, more, isChoice := strings.Cut(format, "|")
		switch {
		case format == "" || !counts:
			return fmt.Sprint(value)
		case !isChoice:
			return text.Plural(count, format)
		case count == 1:
			return one
		}
		return more
	})
}

// wholeNumber returns a value of any integer type as an int, or false for other values.
func wholeNumber(value any) (int, bool) {
	switch v := reflect.ValueOf(value); {
	case v.CanInt():
		return int(v.Int()), true
	case v.CanUint():
		return int(v.Uint()), true
	}
	return 0, false
}
