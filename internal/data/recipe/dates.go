package recipe

import (
	"cmp"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/cleave-project/cleave/internal/data/table"
)

// date matches a date, optionally with a time: 2024-05-01, 1.5.2024, 5/1/24.
var date = regexp.MustCompile(`^(\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}([-/.])\d{1,2}[-/.](\d{4}|\d{2}))([T ` +
	`]+\d{1,2}:\d{2}(:\d{2}([.,]\d+)?)? ?([AaPp][Mm])?(Z|[+-]\d{2}:?\d{2})?)?$`)

// namedMonth matches a date whose month has a name, optionally with a time: 5-Jan-2024, 5. Januar 24, Jan 5, 2024,
// January 2024.
var namedMonth = regexp.MustCompile(`(?i)^(?:(\d{1,2})(?:st|nd|rd|th)?[-/. ]*)?` +
	`(jan(?:uary|uar)?|feb(?:ruary|ruar)?|mar(?:ch)?|mär(?:z)?|apr(?:il)?|may|mai|jun[ei]?|jul[yi]?|` +
	`aug(?:ust)?|sept?(?:ember)?|o[ck]t(?:ober)?|nov(?:ember)?|de[cz](?:ember)?)` +
	`\.?(?:[-/. ]*(\d{1,2})(?:st|nd|rd|th)?,? *)??[-/., ]+(\d{4}|\d{2})(,?[T ]+\d{1,2}:.*)?$`)

// months maps the beginnings of month names to their numbers.
var months = map[string]int{"jan": 1, "feb": 2, "mar": 3, "mär": 3, "apr": 4, "may": 5, "mai": 5, "jun": 6, "jul": 7,
	"aug": 8, "sep": 9, "oct": 10, "okt": 10, "nov": 11, "dec": 12, "dez": 12}

// monthOnly matches a month with its year: 2024-05, 5/2024.
var monthOnly = regexp.MustCompile(
	`^(?:(1[5-9]\d\d|2[01]\d\d)[-/.](0?[1-9]|1[0-2])|(0?[1-9]|1[0-2])[-/.](1[5-9]\d\d|2[01]\d\d))$`)

// digitsOnly matches a date without separators: 20240501.
var digitsOnly = regexp.MustCompile(`^((?:19|20)\d\d)(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01])$`)

// clock matches a time of day or a duration: 14:30, 1:02:03.5.
var clock = regexp.MustCompile(`^\d{1,3}:[0-5]\d(:[0-5]\d([.,]\d+)?)?$`)

// numeric returns a date with the name of a month, or without a day, as year-month-day. It returns other texts as
// they are.
func numeric(s string) string {
	if found := monthOnly.FindStringSubmatch(s); found != nil {
		return found[1] + found[4] + "-" + found[2] + found[3] + "-1"
	}
	if found := digitsOnly.FindStringSubmatch(s); found != nil {
		return found[1] + "-" + found[2] + "-" + found[3]
	}
	found := namedMonth.FindStringSubmatch(s)
	if found == nil || found[1] != "" && found[3] != "" {
		return s
	}
	day, year := found[1]+found[3], found[4]
	switch {
	case len(year) == 2 && day == "":
		return s // 24 may be the day
	case len(year) == 2:
		short, _ := strconv.Atoi(year)
		year = strconv.Itoa(century(short))
	}
	name := []rune(strings.ToLower(found[2]))[:3]
	return fmt.Sprintf("%s-%d-%s%s", year, months[string(name)], cmp.Or(day, "1"), strings.TrimPrefix(found[5], ","))
}

// century returns the year that two digits mean, from 1969 to 2068.
func century(year int) int {
	year += 1900
	if year < 1969 {
		year += 100
	}
	return year
}

// withUnit matches a number followed by other text, such as 12 kg.
var withUnit = regexp.MustCompile(`^[-+]?\d[\d.,]*\s*([^\d\s.,][^\d]*)$`)

// unitsOf returns the first cell of a column, and the first cell with another unit or "", if all cells are numbers
// followed by a unit. It returns "" for other columns.
func unitsOf(c *table.Column) (first, other string) {
	unit := ""
	for _, text := range c.FilledTexts() {
		found := withUnit.FindStringSubmatch(text)
		switch {
		case len(text) > 40 || found == nil:
			return "", ""
		case first == "":
			first, unit = text, found[1]
		case other == "" && found[1] != unit:
			other = text
		}
	}
	return first, other
}

// hasUnits reports whether all cells of a column are numbers followed by the same unit.
func hasUnits(c *table.Column) bool {
	first, other := unitsOf(c)
	return first != "" && other == ""
}

// isProse reports whether texts are sentences rather than names: they have more than four words on average.
func isProse(c *table.Column) bool {
	words := 0
	for _, text := range c.Texts {
		words += len(strings.Fields(text))
	}
	return words > 4*c.Len()
}

// whyNoFeature returns why a column of distinct texts is not a feature, and what to do.
func whyNoFeature(c *table.Column) (k kind, why string) {
	switch {
	case holdsDates(c):
		return dates, "it holds dates; --dates numbers uses them as days"
	case hasUnits(c):
		return listed, fmt.Sprintf("its numbers have a unit, such as %q; remove the unit to use the column",
			firstValue(c))
	case isProse(c):
		return listed, "its texts are sentences; to cluster by them, convert them to numbers first, such as " +
			"embeddings (.npy) or word counts (.svm)"
	}
	return rowIDs, "its values are all different, so they do not group rows; --id-column makes it the row id"
}

// holds reports whether a column has values, and all of them are of a form.
func holds(c *table.Column, form func(text string) bool) bool {
	found := false
	for row := range c.Filled() {
		if text := c.CellText(row); len(text) > 40 || !form(text) {
			return false
		}
		found = true
	}
	return found
}

// holdsDates reports whether all cells of a column are dates.
func holdsDates(c *table.Column) bool {
	return holds(c, func(text string) bool { return date.MatchString(numeric(text)) })
}

// holdsTimes reports whether all cells of a column are times or durations.
func holdsTimes(c *table.Column) bool { return c.Type == table.Text && holds(c, clock.MatchString) }

// dateParts captures the parts of a date and its time.
var dateParts = regexp.MustCompile(`^(\d+)([-/.])(\d+)[-/.](\d+)(?:[T ]+(\d{1,2}):(\d{2})(?::(\d{2}(?:[.,]\d+)?))?)? ` +
	`?([AaPp][Mm])?(?:Z|([+-])(\d{2}):?(\d{2}))?$`)

// The orders in which year, month and day are written, and the notation of times.
const yearFirst, dayFirst, monthFirst, hours = "ymd", "dmy", "mdy", "hm"

// orderOf returns the order of year, month and day in the dates of a column, or "" if the formats differ or a cell is
// not a date. Where both orders are possible, a slash means that the month is first.
func orderOf(c *table.Column) string {
	order, mark := "", ""
	day, month := false, false // day: some first number is above 12; month: some second number is
	for row := range c.Filled() {
		s := c.CellText(row)
		found := dateParts.FindStringSubmatch(numeric(s))
		if found == nil {
			return ""
		}
		this := dayFirst
		if len(found[1]) == 4 {
			this = yearFirst
		}
		if order != "" && (this != order || found[2] != mark) {
			return ""
		}
		order, mark = this, found[2]
		first, _ := strconv.Atoi(found[1])
		second, _ := strconv.Atoi(found[3])
		day, month = day || first > 12, month || second > 12
	}
	switch {
	case order != dayFirst:
	case day && month || month && mark == ".":
		return ""
	case month || !day && mark == "/":
		return monthFirst
	}
	return order
}

// days converts a date in the given order to days since 1970-01-01 UTC, with the time as a fraction. Years of two
// digits are from 1969 to 2068. ok is false if s is not a valid date.
func days(s, order string) (since1970 float64, ok bool) {
	found := dateParts.FindStringSubmatch(numeric(s))
	if found == nil {
		return 0, false
	}
	at := func(part int) int { n, _ := strconv.Atoi(found[part]); return n }
	year := at(1)
	month := at(3)
	day := at(4)
	switch order {
	case dayFirst:
		day = at(1)
		month = at(3)
		year = at(4)
	case monthFirst:
		month = at(1)
		day = at(3)
		year = at(4)
	}
	if order != yearFirst && len(found[4]) == 2 {
		year = century(year)
	}
	hour := at(5)
	minute := at(6)
	second, _ := strconv.ParseFloat(strings.Replace(found[7], ",", ".", 1), 64) // 0 if there is none
	if half := strings.ToLower(found[8]); half != "" {
		hour %= 12
		if half == "pm" {
			hour += 12
		}
	}
	if month < 1 || month > 12 || day < 1 || day > daysIn(year, month) || hour > 24 || minute > 59 || second >= 61 ||
		year > 9999 {
		return 0, false
	}
	offset := 60*at(10) + at(11)
	if found[9] == "-" {
		offset = -offset
	}
	seconds := float64(3600*hour+60*(minute-offset)) + second
	return float64(civilDay(year, month, day)) + seconds/86400, true
}

// hoursOf converts a time such as 1:30 to hours.
func hoursOf(s string) (count float64, ok bool) {
	if !clock.MatchString(s) {
		return 0, false
	}
	unit := 1.0
	for part := range strings.SplitSeq(s, ":") {
		v, err := strconv.ParseFloat(strings.Replace(part, ",", ".", 1), 64)
		if err != nil {
			return 0, false
		}
		count, unit = count+float64(v*unit), unit/60
	}
	return count, true
}

// daysIn returns the number of days of a month in the Gregorian calendar.
func daysIn(year, month int) int {
	switch month {
	case 2:
		if year%4 == 0 && (year%100 != 0 || year%400 == 0) {
			return 29
		}
		return 28
	case 4, 6, 9, 11:
		return 30
	}
	return 31
}

// civilDay returns the days from 1970-01-01 to a date. It lets years begin in March, so that a leap day is the last
// of its year.
func civilDay(year, month, day int) int {
	if month <= 2 {
		year, month = year-1, month+12
	}
	return 365*year + year/4 - year/100 + year/400 + (153*(month-3)+2)/5 + day - 1 - 719468
}

// moment is a notation of dates or times.
type moment struct {
	parse  func(s string) (number float64, ok bool)
	notice string // to the user, after the name of the column
}

// momentOf returns the notation that Feature.Dates names.
func momentOf(name string) moment {
	if name == hours {
		return moment{parse: hoursOf, notice: "holds times, read as hours"}
	}
	parse := func(s string) (float64, bool) { return days(s, name) }
	notice := "holds dates, read as days since 1970"
	switch name {
	case dayFirst:
		notice += ", with the day first: 3/4/2024 is April 3"
	case monthFirst:
		notice += ", with the month first: 3/4/2024 is March 4"
	}
	return moment{parse: parse, notice: notice}
}

// convert converts a column of dates or times to numbers. If cells are not in the notation, it returns nil and the row
// of the first of them.
func (m moment) convert(c *table.Column) (read *table.Column, stray int) {
	read = &table.Column{Name: c.Name, Type: table.Number, Numbers: make([]float64, c.Len())}
	for row := range c.Len() {
		if c.IsEmpty(row) {
			read.MarkEmpty(row)
			continue
		}
		v, ok := m.parse(c.CellText(row))
		if !ok {
			return nil, row
		}
		read.Numbers[row] = v
	}
	return read, -1
}
