package shell

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/cleave-project/cleave/internal/text"
)

// Group is a heading of the help, and the flags or commands under it, in this order.
type Group struct {
	Title string
	Names []string
}

// NewGroup is a group of the names in a line of text.
func NewGroup(title, names string) Group { return Group{title, strings.Fields(names)} }

// Help is how the help of a program is ordered: examples first, then what there is, in groups. A group is shown if a
// command has something of it.
type Help struct {
	Commands, Flags []Group
	Examples        map[string]string // of a command, by its path without the program: "generate picture"
	Essential       []string          // the flags that --help lists for commands with more than manyFlags; --help-all lists all
	Width           func() int        // of the screen; 0: unknown
}

// ServerHelp is the help of a program without commands that serves until it is stopped: its groups of flags, and those that
// all such programs have.
func ServerHelp(examples string, flags ...Group) *Help {
	return &Help{
		Width:    func() int { return Width(os.Stdout, os.Getenv) },
		Examples: map[string]string{"": examples},
		Flags:    append(flags, NewGroup("What it tells", "log-level log-format admin admin-insecure traces"), NewGroup("More", "config version help")),
	}
}

// others is the heading of what is in no group.
const others = "More"

// manyFlags is the number of flags above which --help lists only the essential ones, so that it fits two screens.
const manyFlags = 40

// helpAll is the flag that lists all flags of a command.
const helpAll = "help-all"

// Install makes it the help of a program and all its commands.
func (h *Help) Install(program *cobra.Command) {
	program.SetHelpFunc(func(command *cobra.Command, _ []string) { h.print(command, command.OutOrStdout(), false) })
	for _, command := range program.Commands() {
		if len(h.Essential) == 0 || countFlags(command) <= manyFlags || command.RunE == nil {
			continue
		}
		all, run := command.Flags().Bool(helpAll, false, "list all options"), command.RunE
		command.RunE = func(command *cobra.Command, args []string) error {
			if *all {
				h.print(command, command.OutOrStdout(), true)
				return nil
			}
			return run(command, args)
		}
	}
}

func countFlags(command *cobra.Command) (count int) {
	command.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			count++
		}
	})
	return count
}

// Width of help where that of the screen is unknown, and beyond which lines are hard to read.
const (
	usualWidth = 80
	wideWidth  = 100
)

func (h *Help) print(command *cobra.Command, w io.Writer, all bool) {
	width := usualWidth
	if h.Width != nil && h.Width() > 0 {
		width = min(h.Width(), wideWidth)
	}
	p := &printer{w, max(width, 20)}
	about := command.Long
	if about == "" {
		about = command.Short
	}
	for _, paragraph := range strings.Split(about, "\n\n") {
		p.paragraph("", paragraph)
		fmt.Fprintln(w)
	}
	if example := h.Examples[Path(command)]; example != "" {
		p.title("Examples")
		fmt.Fprintf(w, "  %s\n\n", strings.ReplaceAll(strings.TrimSpace(example), "\n", "\n  "))
	}
	p.title("Usage")
	use := command.UseLine()
	if !command.HasParent() && command.HasAvailableSubCommands() {
		use = command.CommandPath() + " COMMAND"
	}
	p.paragraph("  ", use)
	h.printCommands(command, p)
	short := !all && command.Flags().Lookup(helpAll) != nil
	h.printFlags(command, p, short)
	if short {
		fmt.Fprintln(w)
		p.paragraph("", fmt.Sprintf("%s --%s lists all %d options.", command.CommandPath(), helpAll, countFlags(command)))
	}
	if command.HasAvailableSubCommands() {
		fmt.Fprintln(w)
		p.paragraph("", fmt.Sprintf("%s COMMAND --help tells more of a command.", command.CommandPath()))
	}
}

// Path is a command's path without the program.
func Path(command *cobra.Command) string {
	_, path, _ := strings.Cut(command.CommandPath(), " ")
	return path
}

func (h *Help) printCommands(command *cobra.Command, p *printer) {
	about := map[string]string{}
	for _, c := range command.Commands() {
		if c.IsAvailableCommand() {
			about[c.Name()] = c.Short
		}
	}
	names := sortedKeys(about)
	for _, group := range grouped(h.Commands, names, "Commands") {
		p.gap(group.Title)
		for _, name := range group.Names {
			p.entry(name, about[name], 12)
		}
	}
}

func (h *Help) printFlags(command *cobra.Command, p *printer, short bool) {
	flags, names := map[string]*pflag.Flag{}, []string{}
	add := func(f *pflag.Flag) {
		if short && !slices.Contains(h.Essential, f.Name) {
			return
		}
		if !f.Hidden && flags[f.Name] == nil {
			flags[f.Name] = f
			names = append(names, f.Name)
		}
	}
	command.LocalFlags().VisitAll(add)
	command.InheritedFlags().VisitAll(add)
	for _, group := range grouped(h.Flags, names, others) {
		p.gap(group.Title)
		for _, name := range group.Names {
			head, about := describe(flags[name])
			p.entry(head, about, 24)
		}
	}
}

// grouped are the groups of some names; those that are in none come last.
func grouped(groups []Group, names []string, rest string) (found []Group) {
	left := slices.Clone(names)
	for _, group := range groups {
		some := Group{Title: group.Title}
		for _, name := range group.Names {
			if at := slices.Index(left, name); at >= 0 {
				some.Names = append(some.Names, name)
				left = slices.Delete(left, at, at+1)
			}
		}
		if len(some.Names) > 0 {
			found = append(found, some)
		}
	}
	if len(left) > 0 {
		found = append(found, Group{rest, left})
	}
	return found
}

// kinds are what stands for a value whose flag does not say, by its type.
var kinds = map[string]string{"bool": "", "string": "TEXT", "strings": "LIST", "duration": "TIME", "int": "N", "uint": "N", "float": "NUMBER"}

// describe is a flag as it is typed, and what it does.
func describe(f *pflag.Flag) (head, about string) {
	value, about := pflag.UnquoteUsage(f)
	if plain, is := kinds[value]; is {
		value = plain
	}
	head = "--" + f.Name
	if f.Shorthand != "" {
		head = "-" + f.Shorthand + ", " + head
	}
	if value != "" {
		head += " " + value
	}
	value = f.DefValue
	if size, is := f.Value.(*Bytes); is {
		value = text.Bytes(uint64(*size))
	}
	if !slices.Contains([]string{"", "0", "0 B", "0s", "false", "[]"}, value) && !strings.Contains(about, "(default") {
		about += " (default " + value + ")"
	}
	return head, about
}

// printer writes help of a width.
type printer struct {
	w     io.Writer
	width int
}

func (p *printer) title(title string) { p.paragraph("", title+":") }

func (p *printer) gap(title string) {
	fmt.Fprintln(p.w)
	p.title(title)
}

// paragraph writes lines that begin alike.
func (p *printer) paragraph(begin, says string) {
	for _, line := range text.Wrap(says, p.width-len(begin)) {
		fmt.Fprintln(p.w, begin+line)
	}
}

// narrow is the width below which what is explained stands above the explanation.
const narrow = 72

// entry writes what is explained, and the explanation beside it or, where that leaves no room, below it.
func (p *printer) entry(head, about string, beside int) {
	const before, between = 2, 2
	indent := before + beside + between
	if p.width < narrow && beside > 12 {
		indent = 6
	}
	first := strings.Repeat(" ", before) + head
	lines := text.Wrap(about, p.width-indent)
	if len(first)+between <= indent {
		fmt.Fprintf(p.w, "%-*s%s\n", indent, first, lines[0])
		lines = lines[1:]
	} else {
		fmt.Fprintln(p.w, first)
	}
	for _, line := range lines {
		fmt.Fprintf(p.w, "%*s%s\n", indent, "", line)
	}
}
