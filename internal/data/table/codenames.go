package table

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// LastWord is the last word of a name, in small letters: code of zip_code, zipCode and "zip code".
func LastWord(name string) string {
	start := 0
	for at, r := range name {
		switch {
		case !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '#':
			if at+1 < len(name) {
				start = at + utf8.RuneLen(r)
			}
		case at > start && unicode.IsUpper(r) && unicode.IsLower(rune(name[at-1])):
			start = at
		}
	}
	return strings.ToLower(strings.Trim(name[start:], " ._-"))
}

// IsCodeName tells whether a column is called as one of codes, whose numbers are not sizes.
func IsCodeName(name string) bool {
	switch LastWord(name) {
	case "zip", "zipcode", "postcode", "postalcode", "plz", "postleitzahl", "code", "codes", "type", "category":
		return true
	}
	return false
}
