package jobflags

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

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
