package jobflags

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/data/table"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/wire"
)

// Locate is an error of the coordinator with the line that it is about: one of the data, or of a table that only the coordinator
// could read to its end, because it has the ids of the rows.
func (j *Job) Locate(err error) error {
	bad, ok := errors.AsType[*fault.Error](err)
	if !ok {
		return err
	}
	if j.Stream() == nil {
		return j.locatePoint(bad)
	}
	row, rowErr := strconv.Atoi(bad.Metadata["row"])
	for _, used := range wire.UsedTables(j.Spec) {
		path, at := j.Stream().files[used.Name()], "row "+bad.Metadata["row"]+", "
		if used.Field != bad.Field || path == "" || rowErr != nil || !strings.HasPrefix(bad.Message, at) {
			continue
		}
		located := *bad
		located.Field = ""
		located.Message = fmt.Sprintf("%s, line %d, ", path, table.LineOf(row)) + strings.TrimPrefix(bad.Message, at)
		return &located
	}
	return err
}

// locatePoint is an error about a point with its line, and the name of the column, in the table that was read.
func (j *Job) locatePoint(bad *fault.Error) error {
	point, err := strconv.Atoi(bad.Metadata["row"])
	said, about := strings.CutPrefix(bad.Message, "row "+bad.Metadata["row"])
	if err != nil || !about || j.Table == nil || j.Table.Data == nil || point < 0 || point >= j.Rows {
		return bad
	}
	if j.Filter != nil {
		point = int(j.Filter.Kept[point])
	}
	if column, err := strconv.Atoi(bad.Metadata["column"]); err == nil && column >= 0 && column < len(j.Header) {
		said = strings.Replace(said, fmt.Sprintf(", column %d", column), fmt.Sprintf(", column %q", j.Header[column]), 1)
	}
	located := *bad
	located.Message = "the row " + j.Table.Data.Place(point) + said
	return &located
}

// Localize returns the message of a notice with rows by their ids, or their numbers in the data file, and with columns by
// their names. The service numbers the points of the job.
func (j *Job) Localize(n *cleavev1.Notice) string {
	if len(n.GetParts()) == 0 {
		return n.GetMessage()
	}
	var b strings.Builder
	for _, part := range n.GetParts() {
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
			return n.GetMessage()
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

// LocalizeResult localizes the notices of a result.
func (j *Job) LocalizeResult(r *cleavev1.Result) {
	for _, n := range r.GetWarnings() {
		n.Message, n.Parts = j.Localize(n), nil
	}
}
