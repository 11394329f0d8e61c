package jobflags

import (
	"fmt"
	"strconv"
	"strings"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
)

// Localize returns the message of a notice with rows by their ids, or their numbers in the data file, and with columns by
// their names. The service numbers the points of the job.
func (j *Job) Localize(n *cleavev1.Notice) string { return j.localize(n.GetMessage(), n.GetParts()) }

// localize joins the parts of a message, or returns the message if it has none, or some that this version does not know.
func (j *Job) localize(message string, parts []*cleavev1.MessagePart) string {
	if len(parts) == 0 {
		return message
	}
	var b strings.Builder
	for _, part := range parts {
		switch part := part.GetPart().(type) {
		case *cleavev1.MessagePart_Text:
			b.WriteString(part.Text)
		case *cleavev1.MessagePart_Row:
			b.WriteString(j.rowName(part.Row))
		case *cleavev1.MessagePart_Column:
			if int(part.Column) < len(j.Header) {
				b.WriteString(strconv.Quote(j.Header[part.Column]))
			} else {
				fmt.Fprint(&b, part.Column)
			}
		case *cleavev1.MessagePart_Link:
			between, kind := "-", "cannot"
			if j.IDs() != nil {
				between = " and "
			}
			if part.Link.GetMustLink() {
				kind = "must"
			}
			fmt.Fprintf(&b, "%s%s%s (%s)", j.rowName(part.Link.GetRow()), between, j.rowName(part.Link.GetOther()), kind)
		default: // of a later version
			return message
		}
	}
	return b.String()
}

// rowName returns the id of a point, or its row in the data file if rows have no ids.
func (j *Job) rowName(point uint32) string {
	row := int(point)
	if j.Filter != nil && row < len(j.Filter.Kept) {
		row = int(j.Filter.Kept[row])
	}
	if j.IDs() == nil {
		return strconv.Itoa(row)
	}
	return j.IDs().Of(row)
}

// LocalizeResult localizes the notices of a result, and why its method was chosen.
func (j *Job) LocalizeResult(r *cleavev1.Result) {
	if c := r.GetChoice(); c != nil {
		c.Reason, c.ReasonParts = j.localize(c.GetReason(), c.GetReasonParts()), nil
	}
	for _, n := range r.GetWarnings() {
		n.Message, n.Parts = j.Localize(n), nil
	}
}
