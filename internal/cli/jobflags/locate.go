package jobflags

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/table"
	"github.com/cleave-project/cleave/internal/wire"
)

// Locate is an error of the coordinator with the file and the line that it is about, where that is a table which only the
// coordinator could read to its end: it has the ids of the rows.
func (j *Job) Locate(err error) error {
	bad, ok := errors.AsType[*fault.Error](err)
	if !ok || j.Stream() == nil {
		return err
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
