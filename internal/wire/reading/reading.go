// Package reading converts how a table is read between messages and the options of package format.
package reading

import (
	"slices"
	"unicode/utf8"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	workerv1 "github.com/cleave-project/cleave/gen/cleave/worker/v1"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/format/csv"
)

const headerYes, headerNo = "yes", "no"

// Options returns the options of a message, which may be nil.
func Options(p *cleavev1.TableReading) (csv.Options, error) {
	o := csv.Options{
		Format: p.GetFormat(), Decimals: p.GetDecimals(),
		Texts: p.GetTextColumns(), Ignore: p.GetUnneededColumns(), Only: p.GetNeededColumns(),
	}
	switch d := p.GetDelimiter(); {
	case d == "":
	case len(d) > 1 || d == "\n" || d == "\r" || d == `"` || !utf8.ValidString(d):
		return o,
			fault.Invalid("BAD_READING",
				"the delimiter is %.20q; it must be one ASCII character, and no quote or line break", d).
				OnField("reading.delimiter")
	default:
		o.Delimiter = d[0]
	}
	if p != nil && p.Header != nil {
		o.Header = headerNo
		if p.GetHeader() {
			o.Header = headerYes
		}
	}
	if !slices.Contains([]string{"", "csv", "tsv", "parquet", "arrow"}, o.Format) {
		return o,
			fault.Invalid("BAD_READING", "the format is %.20q; tables in object stores are csv, tsv, parquet or arrow",
				o.Format).
				OnField("reading.format")
	}
	if !slices.Contains([]string{"", ".", ","}, o.Decimals) {
		return o, fault.Invalid("BAD_READING", "the decimal separator is %.20q; it must be . or ,", o.Decimals).
			OnField("reading.decimals")
	}
	return o, nil
}

// Proto returns the message of options.
func Proto(o csv.Options) *cleavev1.TableReading {
	p := &cleavev1.TableReading{Format: o.Format, Decimals: o.Decimals, TextColumns: given(o.Texts),
		UnneededColumns: given(o.Ignore), NeededColumns: given(o.Only)}
	if o.Delimiter != 0 {
		p.Delimiter = string(rune(o.Delimiter))
	}
	if o.Header == headerYes || o.Header == headerNo {
		yes := o.Header == headerYes
		p.Header = &yes
	}
	return p
}

// given returns the names that are not empty.
func given(names []string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return name == "" })
}

// Survey returns the survey of a message, or nil if there is none.
func Survey(p *workerv1.TextSurvey) *csv.Survey {
	if p == nil {
		return nil
	}
	return &csv.Survey{Latin: p.GetLatin(), Seen: p.GetSeen()}
}

// SurveyProto returns the message of a survey, or nil if there is none.
func SurveyProto(s *csv.Survey) *workerv1.TextSurvey {
	if s == nil {
		return nil
	}
	return &workerv1.TextSurvey{Latin: s.Latin, Seen: s.Seen}
}
