package jobflags

import (
	"fmt"
	"strconv"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/cleave-project/cleave/internal/data/table"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
)

// Rows say which rows of the data file the points of a job are, and what rows and columns are called.
type Rows struct {
	Header []string   // the names of the columns of points; nil if they have none
	Filter *RowFilter // which rows were clustered; nil for all
	IDs    *table.IDs // of all rows of the file; nil if rows are identified by number
}

// Localize returns the message of a notice with rows by their ids, or their numbers in the data file, and with columns
// by their names. The service numbers the points of the job.
func (r *Rows) Localize(n *cleavev1.Notice) string { return r.localize(n.GetMessage(), n.GetParts()) }

// LocalizeNotices returns copies of notices with the messages that Localize returns.
func (r *Rows) LocalizeNotices(notices []*cleavev1.Notice) []*cleavev1.Notice {
	var localized []*cleavev1.Notice
	for _, n := range notices {
		n = proto.CloneOf(n)
		n.Message, n.Parts = r.Localize(n), nil
		localized = append(localized, n)
	}
	return localized
}

// LocalizeResult returns a copy of a result in which the notices are localized, and why its method was chosen.
func (r *Rows) LocalizeResult(result *cleavev1.Result) *cleavev1.Result {
	result = proto.CloneOf(result)
	result.Warnings = r.LocalizeNotices(result.GetWarnings())
	if c := result.GetChoice(); c != nil {
		c.Reason, c.ReasonParts = r.localize(c.GetReason(), c.GetReasonParts()), nil
	}
	return result
}

// localize joins the parts of a message, or returns the message if it has none, or some that this version does not
// know.
func (r *Rows) localize(message string, parts []*cleavev1.MessagePart) string {
	if len(parts) == 0 {
		return message
	}
	var b strings.Builder
	for _, part := range parts {
		switch part := part.GetPart().(type) {
		case *cleavev1.MessagePart_Text:
			b.WriteString(part.Text)
		case *cleavev1.MessagePart_Row:
			b.WriteString(r.name(part.Row))
		case *cleavev1.MessagePart_Column:
			if int(part.Column) < len(r.Header) {
				b.WriteString(strconv.Quote(r.Header[part.Column]))
			} else {
				fmt.Fprint(&b, part.Column)
			}
		case *cleavev1.MessagePart_Link:
			between, kind := "-", "cannot"
			if r.IDs != nil {
				between = " and "
			}
			if part.Link.GetMustLink() {
				kind = "must"
			}
			fmt.Fprintf(&b, "%s%s%s (%s)", r.name(part.Link.GetRow()), between, r.name(part.Link.GetOther()), kind)
		default: // of a later version
			return message
		}
	}
	return b.String()
}

// name returns the id of a point, or its row in the data file if rows have no ids.
func (r *Rows) name(point uint32) string {
	row := int(point)
	if r.Filter != nil && row < len(r.Filter.Kept) {
		row = int(r.Filter.Kept[row])
	}
	if r.IDs == nil {
		return strconv.Itoa(row)
	}
	return r.IDs.Of(row)
}
