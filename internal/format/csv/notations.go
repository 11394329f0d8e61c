package csv

import (
	"bytes"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// notation is something that people write around the digits of a number.
type notation struct {
	bit         evidence                                    // that a cell has it
	description string                                      // to the user, after "the column is read as numbers,"
	cut         func(cell []byte) (rest []byte, found bool) // removes it
}

// notations lists the notations in the order in which they are removed. The unit of a column, such as kg, is removed
// before them; see cutUnit.
var notations = []notation{
	{sawLimit, "without signs such as < and *", cutLimit},
	{sawMinus, "with \u22125 for -5", cutMinus},
	{sawParentheses, "with (5) for -5", cutParentheses},
	mark(firstMark<<0, "%"), mark(firstMark<<1, "$"), mark(firstMark<<2, "€"), mark(firstMark<<3, "£"),
	mark(firstMark<<4, "¥"),
	mark(firstMark<<5, "EUR"), mark(firstMark<<6, "USD"), mark(firstMark<<7, "GBP"), mark(firstMark<<8, "CHF"),
	{sawParentheses, "", cutParentheses}, // $(5)
}

// strip removes the notations in a set from a cell, and returns which ones it found. unit is that of the column, ""
// for none.
func strip(cell []byte, unit string, among evidence) (bare []byte, found evidence) {
	if bytes.IndexByte(cell, 0xC2) >= 0 || bytes.IndexByte(cell, 0xE2) >= 0 { // the first bytes of these characters
		for _, s := range [][2]string{{"\u00a0", " "}, {"\u202f", " "}, {"\u2019", "'"}} {
			cell = bytes.ReplaceAll(cell, []byte(s[0]), []byte(s[1]))
		}
	}
	if unsigned := bytes.TrimPrefix(cell, []byte("-")); len(unsigned) > 0 && onlyDigits(unsigned[:1]) &&
		onlyDigits(unsigned[len(unsigned)-1:]) {
		return cell, 0 // nothing is around the digits
	}
	if unit != "" && among&sawUnit != 0 {
		if rest, has := cutUnit(cell, unit); has {
			cell, found = rest, sawUnit
		}
	}
	for at := range notations {
		n := &notations[at]
		if among&n.bit == 0 || n.bit&allMarks != 0 && found&allMarks != 0 { // a cell with two marks is a word
			continue
		}
		if rest, has := n.cut(cell); has {
			cell, found = rest, found|n.bit
		}
	}
	return bytes.TrimSpace(cell), found
}

// descriptionsOf returns the descriptions of the notations in a set.
func descriptionsOf(set evidence) (all []string) {
	for _, n := range notations {
		if set&n.bit != 0 && n.description != "" {
			all = append(all, n.description)
		}
	}
	return all
}

// mark returns the notation of numbers with a text before or after them. A column has at most one.
func mark(bit evidence, text string) notation {
	return notation{bit, "without " + strconv.Quote(text), func(cell []byte) (rest []byte, found bool) {
		if rest, found := bytes.CutSuffix(cell, []byte(text)); found {
			return bytes.TrimSpace(rest), true
		}
		rest, negative := bytes.CutPrefix(cell, []byte("-"))
		rest, found = bytes.CutPrefix(rest, []byte(text))
		if !found {
			return cell, false
		}
		rest = bytes.TrimSpace(rest)
		if negative {
			rest = append([]byte("-"), rest...)
		}
		return rest, true
	}}
}

// unitOf returns the unit of a cell like 12 kg, and "" for other cells. A unit has no digits and begins with a letter
// or °.
func unitOf(cell []byte) string {
	number, unit := splitUnit(cell)
	first, _ := utf8.DecodeRuneInString(unit)
	const longest = 16
	if len(number) == 0 || len(unit) > longest || !unicode.IsLetter(first) && first != '°' || readingsOf(number) == 0 {
		return ""
	}
	if _, found := strip(cell, "", allMarks); found != 0 {
		return ""
	}
	return singular(unit)
}

// cutUnit returns a cell without its unit, and whether it is a number with this one. A unit alone is a word.
func cutUnit(cell []byte, unit string) (bare []byte, found bool) {
	bare, written := splitUnit(cell)
	return bare, len(bare) > 0 && singular(written) == unit
}

// splitUnit splits a cell after its last digit.
func splitUnit(cell []byte) (number []byte, unit string) {
	number = bytes.TrimRightFunc(cell, func(r rune) bool { return r < '0' || r > '9' })
	return number, strings.TrimSpace(string(cell[len(number):]))
}

// singular returns a unit without the s of its plural: 1 day, 2 days.
func singular(unit string) string {
	if len(unit) > 2 {
		return strings.TrimSuffix(unit, "s")
	}
	return unit
}

// cutLimit returns a number without the signs of limits and estimates before it and of footnotes after it.
func cutLimit(cell []byte) (bare []byte, found bool) {
	bare = cell
	for _, sign := range []string{"<=", ">=", "<", ">", "\u2264", "\u2265", "~", "\u2248", "ca."} {
		if rest, has := bytes.CutPrefix(bare, []byte(sign)); has {
			bare = bytes.TrimSpace(rest)
			found = true
			break
		}
	}
	for _, sign := range []string{"*", "\u2020", "\u2021"} {
		for bytes.HasSuffix(bare, []byte(sign)) {
			bare = bytes.TrimSpace(bare[:len(bare)-len(sign)])
			found = true
		}
	}
	return bare, found
}

// cutMinus converts the minus sign of typesetters to a hyphen.
func cutMinus(cell []byte) (bare []byte, found bool) {
	if rest, has := bytes.CutPrefix(cell, []byte("\u2212")); has {
		return append([]byte("-"), rest...), true
	}
	return cell, false
}

// cutParentheses converts (5), the accounting notation, to -5.
func cutParentheses(cell []byte) (bare []byte, found bool) {
	if len(cell) < 3 || cell[0] != '(' || cell[len(cell)-1] != ')' || cell[1] == '-' || cell[1] == '+' {
		return cell, false
	}
	return append([]byte("-"), bytes.TrimSpace(cell[1:len(cell)-1])...), true
}
