package format

import (
	"fmt"
	"strconv"
	"strings"
)

// npyHeader is the dictionary of an NPY file.
type npyHeader struct {
	descr   string
	fortran bool
	shape   []int64
}

// parseNPYHeader reads a Python literal such as
//
//	{'descr': '<f8', 'fortran_order': False, 'shape': (3, 4), }
//
// with its keys in any order. problem is empty if it could be parsed.
func parseNPYHeader(text string) (header *npyHeader, problem string) {
	p := &pythonParser{rest: text}
	header = &npyHeader{}
	seen := map[string]bool{}
	p.expect("{")
	for p.problem == "" && !p.take("}") {
		key := p.quoted()
		p.expect(":")
		if seen[key] {
			p.fail("key %q stands twice", key)
		}
		seen[key] = true
		switch key {
		case "descr":
			header.descr = p.quoted()
		case "fortran_order":
			header.fortran = p.boolean()
		case "shape":
			header.shape = p.tuple()
		default:
			p.fail("unknown key %q", key)
		}
		if !p.take(",") && p.problem == "" {
			p.expect("}")
			break
		}
	}
	if p.problem == "" && (!seen["descr"] || !seen["fortran_order"] || !seen["shape"]) {
		p.fail("descr, fortran_order and shape are all needed")
	}
	if p.problem == "" && strings.TrimSpace(p.rest) != "" {
		p.fail("text after the dictionary")
	}
	return header, p.problem
}

// pythonParser parses Python literals.
type pythonParser struct {
	rest    string // what is left to parse
	problem string // the first thing that was wrong
}

func (p *pythonParser) fail(format string, args ...any) {
	if p.problem == "" {
		p.problem = fmt.Sprintf(format, args...)
	}
}

func (p *pythonParser) take(token string) bool {
	p.rest = strings.TrimLeft(p.rest, " \t\r\n")
	rest, found := strings.CutPrefix(p.rest, token)
	if found {
		p.rest = rest
	}
	return found
}

func (p *pythonParser) expect(token string) {
	if !p.take(token) {
		p.fail("%q is missing", token)
	}
}

func (p *pythonParser) quoted() string {
	for _, quote := range []string{"'", `"`} {
		if !p.take(quote) {
			continue
		}
		text, rest, closed := strings.Cut(p.rest, quote)
		if !closed {
			p.fail("a string does not end")
		}
		p.rest = rest
		return text
	}
	p.fail("a string is missing (records of several fields are not supported)")
	return ""
}

func (p *pythonParser) boolean() bool {
	if p.take("True") {
		return true
	}
	p.expect("False")
	return false
}

func (p *pythonParser) tuple() []int64 {
	var numbers []int64
	p.expect("(")
	for p.problem == "" && !p.take(")") {
		p.take("") // leading space
		digits := 0
		for digits < len(p.rest) && p.rest[digits] >= '0' && p.rest[digits] <= '9' {
			digits++
		}
		number, err := strconv.ParseInt(p.rest[:digits], 10, 64)
		if err != nil {
			p.fail("the shape holds something that is no size, or one too large")
			return nil
		}
		p.rest = p.rest[digits:]
		p.take("L") // as Python 2 wrote
		numbers = append(numbers, number)
		if !p.take(",") {
			p.expect(")")
			break
		}
	}
	return numbers
}
