package shell

import (
	"io"

	"github.com/hashicorp/go-hclog"
	"github.com/spf13/pflag"

	"github.com/cleave-project/cleave/internal/security/redact"
)

// Logs configures the log of a program. The zero Format is text.
type Logs struct{ Level, Format string }

// AddFlags declares --log-level and --log-format. level is the default level.
func (l *Logs) AddFlags(set *pflag.FlagSet, level string) {
	set.StringVar(&l.Level, "log-level", level, "trace, debug, info, warn, error or off")
	set.StringVar(&l.Format, "log-format", "text", "text, or json for one object a line")
}

// Logger returns a logger that writes to w and redacts secrets.
func (l *Logs) Logger(name string, w io.Writer) (hclog.Logger, error) {
	level := hclog.LevelFromString(l.Level)
	if level == hclog.NoLevel {
		return nil, Usage("the log level %q is unknown; use trace, debug, info, warn, error or off", l.Level)
	}
	if l.Format != "text" && l.Format != "json" && l.Format != "" {
		return nil, Usage("the log format %q is unknown; use text or json", l.Format)
	}
	return hclog.New(&hclog.LoggerOptions{Name: name, Level: level, Output: redact.Writer(w), JSONFormat: l.Format == "json"}), nil
}
