package shell

import (
	"io"
	"os"
	"strconv"

	"golang.org/x/term"
)

// Width is how many letters fit on a line of where a program writes: $COLUMNS, or the width of the terminal. It is 0
// where lines may have any length, as in a file or a pipe.
func Width(w io.Writer, env func(string) string) int {
	if columns, err := strconv.Atoi(env("COLUMNS")); err == nil && columns > 0 {
		return max(columns, 20)
	}
	if file, is := w.(*os.File); is {
		if columns, _, err := term.GetSize(int(file.Fd())); err == nil {
			return max(columns, 20)
		}
	}
	return 0
}
