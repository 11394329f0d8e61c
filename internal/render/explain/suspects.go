package explain

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/cleave-project/cleave/internal/text"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
)

// SuspectKind returns the kind of a suspect: must, cannot or seed.
func SuspectKind(s *cleavev1.Suspect) string {
	switch {
	case s.Other == nil:
		return "seed"
	case s.GetMustLink():
		return "must"
	}
	return "cannot"
}

// SuspectNoun returns what suspects are called together: seeds, constraints, or both.
func SuspectNoun(all []*cleavev1.Suspect) string {
	isSeed := func(s *cleavev1.Suspect) bool { return s.Other == nil }
	isPair := func(s *cleavev1.Suspect) bool { return s.Other != nil }
	switch {
	case !slices.ContainsFunc(all, isPair):
		return "seeds"
	case !slices.ContainsFunc(all, isSeed):
		return "constraints"
	}
	return "seeds and constraints"
}

// SuspectCount counts the suspects of a result: "12 of 400 constraints". The result does not tell how many seeds there were.
func SuspectCount(r *cleavev1.Result) string {
	all := r.GetSuspects()
	what := SuspectNoun(all)
	if total := r.GetConstraints().GetTotal(); what == "constraints" && int(total) >= len(all) {
		return fmt.Sprintf("%d of %s", len(all), text.Plural(int(total), "constraint"))
	}
	if len(all) == 1 {
		what = strings.TrimSuffix(what, "s")
	}
	return fmt.Sprintf("%d %s", len(all), what)
}

// SuspectText describes a suspect: "17-204 (must, 0.98)". Points and classes without a name are known by their numbers.
func SuspectText(s *cleavev1.Suspect, names, classes []string) string {
	if s.Other == nil {
		return fmt.Sprintf("%s (%s, %.2f)", NameIn(names, s.GetRow()), NameIn(classes, s.GetLabel()), s.GetStrength())
	}
	between := "-"
	if names != nil {
		between = " and "
	}
	return fmt.Sprintf("%s%s%s (%s, %.2f)", NameIn(names, s.GetRow()), between, NameIn(names, s.GetOther()), SuspectKind(s), s.GetStrength())
}

// NameIn returns the name of a number, or the number if it has none.
func NameIn(names []string, number uint32) string {
	if int(number) < len(names) && names[number] != "" {
		return names[number]
	}
	return strconv.FormatUint(uint64(number), 10)
}

// suspects says which seeds and constraints the data contradict.
func (e *explainer) suspects() []string {
	all := e.r.GetSuspects()
	if len(all) == 0 {
		return nil
	}
	e.suspect(againstData)
	var named []string
	for _, s := range all[:min(listed, len(all))] {
		named = append(named, SuspectText(s, e.IDs, e.Classes))
	}
	lead := "They are"
	if len(all) > listed {
		lead = "The clearest are"
	}
	if len(all) == 1 {
		lead = "It is"
	}
	return []string{
		fmt.Sprintf("When they are held out, the best methods get %s wrong: either these are wrong, or they lie between clusters that touch.", SuspectCount(e.r)),
		fmt.Sprintf("%s %s; the last number is how clearly the data contradict it, 1 at most.", lead, strings.Join(named, ", ")),
	}
}
