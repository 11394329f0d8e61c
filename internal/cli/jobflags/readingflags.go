package jobflags

import (
	"strings"

	"github.com/spf13/pflag"

	"github.com/cleave-project/cleave/internal/cli/shell"
	"github.com/cleave-project/cleave/internal/format"
)

// readingFlags say how the text of a table is divided into cells.
type readingFlags struct {
	delimiter string
	header    *OptionFlag
}

// add declares the flags.
func (f *readingFlags) add(set *pflag.FlagSet) {
	f.header = NewChoice("auto", "auto", "yes", "no")
	set.StringVar(&f.delimiter, "delimiter", "", "what separates the cells of a table: comma, semicolon, tab, space, pipe or a `CHARACTER` (default: found out)")
	set.Var(f.header, "header", "whether the first line of a table names its columns")
}

// apply tells the reader of a table what the flags say.
func (f *readingFlags) apply(o *format.TableOptions) error {
	o.Header = f.header.text
	switch f.delimiter {
	case "":
	case "comma":
		o.Delimiter = ','
	case "semicolon":
		o.Delimiter = ';'
	case "tab", `\t`:
		o.Delimiter = '\t'
	case "space":
		o.Delimiter = ' '
	case "pipe":
		o.Delimiter = '|'
	default:
		if len(f.delimiter) != 1 || strings.ContainsAny(f.delimiter, "\"\r\n.-+") || f.delimiter[0] >= '0' && f.delimiter[0] <= '9' {
			return shell.Usage("--delimiter %q separates no cells; use comma, semicolon, tab, space, pipe or one character", f.delimiter)
		}
		o.Delimiter = f.delimiter[0]
	}
	return nil
}
