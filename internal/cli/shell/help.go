package shell

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/cleave-project/cleave/internal/cli/screen"
	"github.com/cleave-project/cleave/internal/text"
)

// Group is a heading in the help and the names of the flags or commands under it.
type Group struct {
	Title string
	Names []string
}

// ExitMeaning says what an exit code means.
type ExitMeaning struct {
	Code  int
	Means string
}

// NewGroup returns a group of names that are separated by spaces.
func NewGroup(title, names string) Group { return Group{title, strings.Fields(names)} }

// Help prints the help of a program and its commands: examples first, then commands and flags in groups. It omits a
// group if the command has none of its entries.
type Help struct {
	Commands, Flags []Group
	Examples        map[string]string // by the path of a command without the program: "generate picture"
	// flags that --help lists for commands with more than manyFlags; --help-all lists all
	Essential []string
	ExitCodes []ExitMeaning // for the help of the program and for --help-all
	Width     func() int    // width of the screen, 0 if unknown; nil means unknown
}

// ServerHelp returns the help of a server program without commands: its groups of flags, and one of those that all
// programs have.
func ServerHelp(examples string, flags ...Group) *Help {
	return &Help{
		Width:    func() int { return screen.Width(os.Stdout, os.Getenv) },
		Examples: map[string]string{"": examples},
		Flags:    append(flags, NewGroup(others, "config version help")),
	}
}

// others is the heading for names in no group.
const others = "More"

// manyFlags is the number of flags above which --help lists only the essential ones.
const manyFlags = 40

const helpAll = "help-all"

// Install makes h the help of a program and its commands, and adds --help-all to commands with many flags.
func (h *Help) Install(program *cobra.Command) {
	program.SetHelpFunc(func(command *cobra.Command, _ []string) { h.print(command, command.OutOrStdout(), false) })
	for _, command := range program.Commands() {
		if len(h.Essential) == 0 || countFlags(command) <= manyFlags || command.RunE == nil {
			continue
		}
		all := command.Flags().Bool(helpAll, false, "list all options")
		run := command.RunE
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

// The width of help if that of the screen is unknown, and the width beyond which lines are hard to read.
const (
	usualWidth = 80
	wideWidth  = 100
)

// print writes the help of a command. It lists only essential flags of a command with many, unless all is set.
func (h *Help) print(command *cobra.Command, w io.Writer, all bool) {
	width := usualWidth
	if h.Width != nil && h.Width() > 0 {
		width = min(h.Width(), wideWidth)
	}
	p := &printer{w, max(width, 20)}
	for paragraph := range strings.SplitSeq(cmp.Or(command.Long, command.Short), "\n\n") {
		p.paragraph("", paragraph)
		fmt.Fprintln(w)
	}
	if example := h.Examples[Path(command)]; example != "" {
		p.title("Examples")
		fmt.Fprintf(w, "  %s\n\n", strings.ReplaceAll(strings.TrimSpace(example), "\n", "\n  "))
	}
	p.title("Usage")
	use := command.UseLine()
	if command.HasAvailableSubCommands() && command.Use == command.Name() { // it takes nothing else
		use = command.CommandPath() + " COMMAND"
	}
	p.paragraph("  ", use)
	h.printCommands(command, p)
	short := !all && command.Flags().Lookup(helpAll) != nil
	h.printFlags(command, p, short)
	if short {
		fmt.Fprintln(w)
		p.paragraph("", fmt.Sprintf("%s --%s lists all %d options.", command.CommandPath(), helpAll,
			countFlags(command)))
	}
	if (all || !command.HasParent()) && len(h.ExitCodes) > 0 {
		p.gap("Exit codes")
		for _, code := range h.ExitCodes {
			p.entry(strconv.Itoa(code.Code), code.Means, 12)
		}
	}
	if command.HasAvailableSubCommands() {
		fmt.Fprintln(w)
		p.paragraph("", fmt.Sprintf("%s COMMAND --help describes a command.", command.CommandPath()))
	}
}

// Path returns the path of a command without the program: "generate picture".
func Path(command *cobra.Command) string {
	_, path, _ := strings.Cut(command.CommandPath(), " ")
	return path
}

// printCommands lists the subcommands by group, those in no group last.
func (h *Help) printCommands(command *cobra.Command, p *printer) {
	about := map[string]string{}
	for _, c := range command.Commands() {
		if c.IsAvailableCommand() {
			about[c.Name()] = c.Short
		}
	}
	for _, group := range grouped(h.Commands, slices.Sorted(maps.Keys(about)), "Commands") {
		p.gap(group.Title)
		for _, name := range group.Names {
			p.entry(name, about[name], 12)
		}
	}
}

// printFlags lists the flags by group, inherited ones too; if short is set, only the essential ones.
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

// grouped sorts names into groups. Those in no group come last, under the heading rest, before others under it.
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
	switch last := len(found) - 1; {
	case len(left) == 0:
	case last >= 0 && found[last].Title == rest:
		found[last].Names = append(left, found[last].Names...)
	default:
		found = append(found, Group{rest, left})
	}
	return found
}

// kinds are the placeholders for values of flags whose usage text has none, by type.
var kinds = map[string]string{"bool": "", "string": "TEXT", "strings": "LIST", "duration": "TIME", "int": "N",
	"uint": "N", "float": "NUMBER"}

// describe returns a flag as it is typed, and its usage with the default value.
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
	if size, is := f.Value.(*Size); is {
		value = text.Bytes(int64(*size))
	}
	if !slices.Contains([]string{"", "0", "0 B", "0s", "false", "[]"}, value) && !strings.Contains(about, "(default") {
		about += " (default " + value + ")"
	}
	return head, about
}

// printer writes help that fits a width.
type printer struct {
	w     io.Writer
	width int
}

func (p *printer) title(title string) { p.paragraph("", title+":") }

func (p *printer) gap(title string) {
	fmt.Fprintln(p.w)
	p.title(title)
}

// paragraph wraps text and writes its lines with a prefix.
func (p *printer) paragraph(begin, says string) {
	for _, line := range text.Wrap(says, p.width-len(begin)) {
		fmt.Fprintln(p.w, begin+line)
	}
}

// narrow is the width below which explanations go below the flags.
const narrow = 72

// entry writes a flag or command with its explanation beside it, or below it if there is no room.
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
