package jobflags

import (
	"fmt"
	"regexp"
	"strconv"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
)

var (
	pairInMessage   = regexp.MustCompile(`\b(\d+)-(\d+) \((must|cannot)\)`)
	pointsInMessage = regexp.MustCompile(`points \d+ and \d+ cannot be together, but must-links join them: [0-9= .]*\d|^seeds that .* is not shown it: [0-9, ]*\d`)
	columnInMessage = regexp.MustCompile(`^column \d+ has|span of column \d+|same value in column \d+`)
	numberInMessage = regexp.MustCompile(`\d+`)
)

// Localize returns a message of the service with the rows and columns as people know them: by their ids or their numbers in
// the data file, and by the names of columns. The service numbers the points of the job.
func (j *Job) Localize(message string) string {
	if j.IDs() != nil || j.Filter != nil {
		between := "-"
		if j.IDs() != nil {
			between = " and "
		}
		row := func(number string) string {
			at, err := strconv.Atoi(number)
			if err != nil {
				return number
			}
			if j.Filter != nil && at < len(j.Filter.Kept) {
				at = int(j.Filter.Kept[at])
			}
			if j.IDs() == nil {
				return strconv.Itoa(at)
			}
			return j.IDs().Of(at)
		}
		message = pairInMessage.ReplaceAllStringFunc(message, func(pair string) string {
			parts := pairInMessage.FindStringSubmatch(pair)
			return fmt.Sprintf("%s%s%s (%s)", row(parts[1]), between, row(parts[2]), parts[3])
		})
		message = pointsInMessage.ReplaceAllStringFunc(message, func(points string) string {
			return numberInMessage.ReplaceAllStringFunc(points, row)
		})
	}
	return columnInMessage.ReplaceAllStringFunc(message, func(found string) string {
		return numberInMessage.ReplaceAllStringFunc(found, func(number string) string {
			at, err := strconv.Atoi(number)
			if err != nil || at >= len(j.Header) {
				return number
			}
			return strconv.Quote(j.Header[at])
		})
	})
}

// LocalizeResult localizes the notices of a result and the reason of its choice.
func (j *Job) LocalizeResult(r *cleavev1.Result) {
	for _, n := range r.GetWarnings() {
		n.Message = j.Localize(n.GetMessage())
	}
	if r.GetChoice() != nil {
		r.Choice.Reason = j.Localize(r.Choice.GetReason())
	}
}
