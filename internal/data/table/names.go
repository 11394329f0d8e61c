package table

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Unnamed returns the name of a column that has none in its file, by its position from 0.
func Unnamed(at int) string { return "column " + strconv.Itoa(at+1) }

// TypedInList returns what to type in a shell for a column, as one of a list that is separated by commas.
func TypedInList(name string, at int) string {
	if strings.ContainsAny(name, `,"`) {
		name = `"` + strings.ReplaceAll(name, `"`, `""`) + `"`
	}
	return Typed(name, at)
}

// Typed returns what to type in a shell for a column: its name, because a number could also be the name of another
// column. Only a column whose name would break the line of a message is given by its number.
func Typed(name string, at int) string {
	if strings.ContainsAny(name, "\n\r") {
		return strconv.Itoa(at + 1)
	}
	if strings.ContainsAny(name, " \t'\"$&|;()<>[]{}*?`\\!#~") {
		return "'" + strings.ReplaceAll(name, "'", `'\''`) + "'"
	}
	return name
}

// Find returns the position of a column, given by its name or by its number from 1, and -1 if there is none. A name
// takes precedence over a number. Case and surrounding spaces matter only where several columns differ in nothing else.
func Find(names []string, name string) int {
	if at := slices.Index(names, name); at >= 0 {
		return at
	}
	like := func(other string) bool { return strings.EqualFold(other, strings.TrimSpace(name)) }
	if at := slices.IndexFunc(names, like); at >= 0 && !slices.ContainsFunc(names[at+1:], like) {
		return at
	}
	if number, err := strconv.Atoi(name); err == nil && number >= 1 && number <= len(names) {
		return number - 1
	}
	return -1
}

// Listed reports for each column whether a list has it, by its name or number; see Find.
func Listed(names, list []string) []bool {
	listed := make([]bool, len(names))
	for _, name := range list {
		if at := Find(names, name); at >= 0 {
			listed[at] = true
		}
	}
	return listed
}

// Distinct makes names distinct in place: a second "a" becomes "a.1". It returns a notice for each change.
func Distinct(names []string) (notices []string) {
	used := make(map[string]int, len(names))
	for at, name := range names {
		for used[name] > 0 {
			again := name + "." + strconv.Itoa(used[name])
			used[name]++
			if used[again] == 0 {
				notices = append(notices, fmt.Sprintf("there are several columns %q; column %d is renamed to %q",
					name, at+1, again))
				name = again
			}
		}
		used[name]++
		names[at] = name
	}
	return notices
}

// IsIDName reports whether a name is typical of a column that identifies the rows.
func IsIDName(name string) bool {
	switch lower := strings.ToLower(name); lower {
	case "id", "ids", "index", "key", "uuid", "guid", "rowid", "rownames", "#", "unnamed: 0", "unnamed: 0.1",
		"__index_level_0__":
		return true
	default:
		for _, end := range []string{"_id", "-id", " id", ".id"} {
			if strings.HasSuffix(lower, end) {
				return true
			}
		}
	}
	for _, end := range []string{"Id", "ID"} { // customerId
		if before, found := strings.CutSuffix(name, end); found && before != "" && before[len(before)-1] >= 'a' &&
			before[len(before)-1] <= 'z' {
			return true
		}
	}
	return false
}

// LastWord returns the last word of a name in lower case: code for zip_code, zipCode and "zip code".
func LastWord(name string) string {
	start := 0
	for at, r := range name {
		switch {
		case !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '#':
			// not RuneLen: the name may have invalid bytes
			if _, width := utf8.DecodeRuneInString(name[at:]); at+width < len(name) {
				start = at + width
			}
		case at > start && unicode.IsUpper(r) && unicode.IsLower(rune(name[at-1])):
			start = at
		}
	}
	return strings.ToLower(strings.Trim(name[start:], " ._-"))
}

// IsCodeName reports whether a name is typical of a column of codes, whose numbers are not quantities.
func IsCodeName(name string) bool {
	switch LastWord(name) {
	case "zip", "zipcode", "postcode", "postalcode", "plz", "postleitzahl", "code", "codes", "type", "category":
		return true
	}
	return false
}
