package recipe

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/cleave-project/cleave/internal/data/table"
)

// date is how dates are written, perhaps with a time: 2024-05-01, 1.5.2024, 5/1/24.
var date = regexp.MustCompile(`^(\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}([-/.])\d{1,2}[-/.](\d{4}|\d{2}))([T ]+\d{1,2}:\d{2}(:\d{2}([.,]\d+)?)? ?([AaPp][Mm])?(Z|[+-]\d{2}:?\d{2})?)?$`)

// withUnit is a number with something after it, such as 12 kg.
var withUnit = regexp.MustCompile(`^[-+]?\d[\d.,]*\s*([^\d\s.,][^\d]*)$`)

// hasUnits tells whether all texts of a column are numbers with the same after them.
func hasUnits(c *table.Column) bool {
	unit := ""
	for _, text := range c.Texts {
		if len(text) > 40 {
			return false
		}
		found := withUnit.FindStringSubmatch(text)
		if found == nil || unit != "" && found[1] != unit {
			return false
		}
		unit = found[1]
	}
	return true
}

// isProse tells whether texts are sentences rather than names: of more than four words on average.
func isProse(c *table.Column) bool {
	words := 0
	for _, text := range c.Texts {
		words += len(strings.Fields(text))
	}
	return words > 4*c.Len()
}

// whyNoFeature says what a column of texts is, all different.
func whyNoFeature(c *table.Column) string {
	switch {
	case holdsDates(c):
		return "it holds dates; --dates numbers uses them as days"
	case hasUnits(c):
		return fmt.Sprintf("it holds numbers with something after them, such as %q; without that they would be a feature", c.Texts[0])
	}
	return "its texts are all different, so that no two rows are alike by it; --id-column names rows by it"
}

// holdsDates tells whether all texts of a column are dates.
func holdsDates(c *table.Column) bool {
	found := false
	for row, text := range c.Texts {
		if c.IsEmpty(row) {
			continue
		}
		if len(text) > 40 || !date.MatchString(text) {
			return false
		}
		found = true
	}
	return found
}
