// Package measure runs suites of measurements: bench, answers, experiments, loadtest, links and simulate. It has what
// they share: the command line, the choice of parts, a description of the machine, programs in processes of their own,
// Python with the libraries that Cleave is compared with (the peers), tables, and the documents that show what was
// found. It imports no suite.
package measure

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"
)

// Suite is one kind of measurement, a command of its own.
type Suite struct {
	Name  string
	About string
	Parts []string // that can be measured alone, in the order of the page
	// Define adds the flags of the suite and returns what measures, once they are parsed.
	Define func(flags *flag.FlagSet) func(ctx context.Context, s Setup) error
}

// Setup has what all suites need.
type Setup struct {
	Parts    []string  // to measure; empty means those that the suite usually measures
	Data     string    // a folder of data sets; "" if there is none
	Cleave   string    // the program; "" does not measure it
	Pythons  []string  // the first of these programs that has what the peers need runs them
	Threads  int       // for us and for the peers
	Version  string    // of this source
	Out      string    // the page of the documentation to write; "" prints it
	Fill     string    // another document that shows a part of what was found; "" if there is none
	Progress io.Writer // gets a line for each step; nil discards them
}

// Main runs the suite that the first argument names, and exits.
func Main(suites ...Suite) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:], suites); err != nil {
		fmt.Fprintln(os.Stderr, "measure:", err)
		stop()
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, suites []Suite) error {
	at := -1
	if len(args) > 0 {
		at = slices.IndexFunc(suites, func(s Suite) bool { return s.Name == args[0] })
	}
	if at < 0 {
		var lines strings.Builder
		for _, s := range suites {
			fmt.Fprintf(&lines, "\n  %-12s %s", s.Name, s.About)
		}
		return fmt.Errorf("name what to measure, and give -help after it for its flags:%s", &lines)
	}
	chosen := suites[at]
	setup := Setup{Progress: os.Stderr}
	flags := flag.NewFlagSet(chosen.Name, flag.ExitOnError)
	List(flags, &setup.Parts, "parts", "", "comma-separated `parts` to measure: "+strings.Join(chosen.Parts, ", "))
	List(flags, &setup.Pythons, "python", "/usr/bin/python3,python3",
		"comma-separated Python `programs`, the first of which with the libraries of the peers runs them; "+
			"empty for none")
	flags.StringVar(&setup.Data, "data", "", "`folder` of data sets")
	flags.StringVar(&setup.Cleave, "cleave", "bin/cleave", "the cleave `program`; empty for none")
	flags.IntVar(&setup.Threads, "threads", runtime.GOMAXPROCS(0), "threads, ours and the peers'")
	flags.StringVar(&setup.Version, "version", "an unknown version", "the `version` of this source")
	flags.StringVar(&setup.Out, "out", "",
		"write what was measured into the page in this `file`, which keeps its other parts, instead of printing it")
	flags.StringVar(&setup.Fill, "fill", "", "also put what was found into this `document`, between its marks")
	measure := chosen.Define(flags)
	if err := flags.Parse(args[1:]); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("%s takes flags only, not %q", chosen.Name, flags.Arg(0))
	}
	if err := measure(ctx, setup); err != nil {
		return fmt.Errorf("%s: %w", chosen.Name, err)
	}
	return nil
}

// List defines a flag whose words are separated by commas.
func List(flags *flag.FlagSet, into *[]string, name, value, usage string) {
	split := func(list string) error {
		*into = strings.FieldsFunc(list, func(c rune) bool { return c == ',' })
		return nil
	}
	_ = split(value)
	if value != "" {
		usage += fmt.Sprintf(" (default %s)", value)
	}
	flags.Func(name, usage, split)
}

// Part is one part of a suite: a stage, a study, a kind of question.
type Part interface{ PartName() string }

// Names returns the names of parts.
func Names[P Part](parts []P) []string {
	var names []string
	for _, p := range parts {
		names = append(names, p.PartName())
	}
	return names
}

// Choose returns the named parts in the order of all, or all if none is named. It refuses unknown names.
func Choose[P Part](all []P, names []string) ([]P, error) {
	known := Names(all)
	for _, name := range names {
		if !slices.Contains(known, name) {
			return nil, fmt.Errorf("there is no part %q; the parts are %s", name, strings.Join(known, ", "))
		}
	}
	if len(names) == 0 {
		return all, nil
	}
	return slices.DeleteFunc(slices.Clone(all), func(p P) bool { return !slices.Contains(names, p.PartName()) }), nil
}

// Say writes what is being done to Progress.
func (s Setup) Say(format string, arguments ...any) {
	if s.Progress != nil {
		fmt.Fprintf(s.Progress, format+"\n", arguments...)
	}
}

// When says when and at which version something is measured, for the text of a page.
func (s Setup) When(now time.Time) string {
	return fmt.Sprintf("measured on %s at %s", now.UTC().Format(time.DateOnly), s.Version)
}
