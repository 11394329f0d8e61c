package table

import "strings"

// place is where a word stands for a missing value.
type place uint8

const (
	inTexts      place = 1 << iota // in a column of texts
	inNumbers                      // in a column of numbers
	amongNumbers                   // in a column of texts most of which are numbers, without what surrounds the word
	asClass                        // in a column of classes, without what surrounds the word
)

// missing lists the words for missing values in lower case.
var missing = map[string]place{
	"": inTexts | inNumbers | amongNumbers | asClass,
	// Of people, pandas and R, databases (which write \N), and spreadsheets in English and German.
	"?": inTexts | inNumbers, "n.a.": inTexts | inNumbers, "<na>": inTexts | inNumbers, `\n`: inTexts | inNumbers,
	"#n/a": inTexts | inNumbers, "#nv": inTexts | inNumbers,
	"na": inTexts | inNumbers | amongNumbers, "n/a": inTexts | inNumbers | amongNumbers,
	"nan": inTexts | inNumbers | amongNumbers, "null": inTexts | inNumbers | amongNumbers,
	// Of reports, SAS and statistical offices.
	"-": inNumbers, "--": inNumbers, "–": inNumbers, "—": inNumbers, ".": inNumbers, "..": inNumbers,
	"none": inNumbers | amongNumbers,
	// Explanations.
	"n.a": amongNumbers, "nd": amongNumbers, "n.d": amongNumbers, "nil": amongNumbers, "missing": amongNumbers,
	"blank": amongNumbers, "empty": amongNumbers,
	"pending": amongNumbers, "no data": amongNumbers, "not recorded": amongNumbers, "not applicable": amongNumbers,
	"not available": amongNumbers,
	"not known":     amongNumbers, "k.a": amongNumbers, "ka": amongNumbers, "keine angabe": amongNumbers,
	"fehlt":   amongNumbers,
	"unknown": amongNumbers | asClass, "undefined": amongNumbers | asClass, "tbd": amongNumbers | asClass,
	"unbekannt": amongNumbers | asClass, "inconnu": amongNumbers | asClass, "desconocido": amongNumbers | asClass,
	"unlabeled": asClass, "unlabelled": asClass, "not labeled": asClass, "to do": asClass, "todo": asClass,
}

// IsMissingText reports whether a cell of a column of texts stands for a missing value.
func IsMissingText[T []byte | string](cell T) bool { return shortMissing(cell, inTexts) }

// IsMissingNumber reports whether a cell of a column of numbers stands for a missing value. Besides words it accepts
// the errors of formulas in spreadsheets, such as #DIV/0!, #NAME?, or in German #WERT!.
func IsMissingNumber(cell []byte) bool {
	if len(cell) > longestShort {
		last := cell[len(cell)-1]
		return cell[0] == '#' && (last == '!' || last == '?') && len(cell) <= 9
	}
	return shortMissing(cell, inNumbers)
}

// longestShort is the length of the longest word in texts and in numbers.
const longestShort = 4

// shortMissing looks up a word of at most longestShort bytes, without allocating.
func shortMissing[T []byte | string](cell T, at place) bool {
	var lower [longestShort]byte
	if len(cell) > len(lower) {
		return false
	}
	for i := range len(cell) {
		c := cell[i]
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		lower[i] = c
	}
	return missing[string(lower[:len(cell)])]&at != 0
}

// IsPlaceholder reports whether a text among numbers stands for an unknown value.
func IsPlaceholder(text string) bool {
	return missing[strings.ToLower(strings.Trim(text, " ().?*-_"))]&amongNumbers != 0
}

// IsUnknownClass reports whether a cell of a column of classes says that the class is unknown.
func IsUnknownClass(cell string) bool {
	return missing[strings.ToLower(strings.Trim(cell, " ()<>[]?-"))]&asClass != 0
}
