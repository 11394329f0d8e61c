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

// Say is a message of the service about the job's points, which numbers them, with the ids or the numbers of rows in the data file,
// and the names of columns, that people know.
func (j *Job) Say(message string) string {
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

// Name says the notices of a result, and why a way was chosen, as Say does.
func (j *Job) Name(r *cleavev1.Result) {
	for _, n := range r.GetWarnings() {
		n.Message = j.Say(n.GetMessage())
	}
	if r.GetChoice() != nil {
		r.Choice.Reason = j.Say(r.Choice.GetReason())
	}
}
