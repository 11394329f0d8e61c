package text

import (
	"fmt"
	"strings"
)

// Message is a text in parts, some of which refer to rows or columns by their numbers. A reader who knows their names
// can show those instead.
type Message []Part

// Part is a piece of a Message. The zero value is empty text.
type Part struct {
	Kind PartKind
	Text string // of PlainText
	I, J int    // the row or column; the two rows of a link
}

// PartKind is what a Part refers to.
type PartKind uint8

// The kinds of parts.
const (
	PlainText PartKind = iota
	RowNumber
	ColumnNumber
	MustLink
	CannotLink
)

// Plain returns a part that refers to nothing.
func Plain(format string, args ...any) Part { return Part{Text: fmt.Sprintf(format, args...)} }

// Row returns a reference to a row.
func Row(i int) Part { return Part{Kind: RowNumber, I: i} }

// Column returns a reference to a column.
func Column(i int) Part { return Part{Kind: ColumnNumber, I: i} }

// Link returns a reference to a constraint between two rows.
func Link(i, j int, must bool) Part {
	if must {
		return Part{Kind: MustLink, I: i, J: j}
	}
	return Part{Kind: CannotLink, I: i, J: j}
}

// String writes a part with numbers: "3", or "3-5 (must)".
func (p Part) String() string {
	switch p.Kind {
	case RowNumber, ColumnNumber:
		return fmt.Sprint(p.I)
	case MustLink:
		return fmt.Sprintf("%d-%d (must)", p.I, p.J)
	case CannotLink:
		return fmt.Sprintf("%d-%d (cannot)", p.I, p.J)
	default:
		return p.Text
	}
}

// String writes the message with the numbers of rows and columns.
func (m Message) String() string {
	var b strings.Builder
	for _, p := range m {
		b.WriteString(p.String())
	}
	return b.String()
}

// FirstParts returns the beginning of a list, up to a limit, and how many more there are, as "a, b and 3 more".
func FirstParts(list []Part, limit int) Message {
	var m Message
	for at, p := range list[:min(len(list), limit)] {
		if at > 0 {
			m = append(m, Plain(", "))
		}
		m = append(m, p)
	}
	if more := len(list) - limit; more > 0 {
		m = append(m, Plain(" and %d more", more))
	}
	return m
}
