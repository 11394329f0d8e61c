package shell

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/cleave-project/cleave/internal/text"
)

// Chosen is a flag's value that is one of a few words.
type Chosen interface{ Words() []string }

// Suggest asks whether a name that is like a mistaken one was meant; "" where none is.
func Suggest(mistaken string, names []string) string {
	if name := text.Similar(mistaken, names); name != "" && name != mistaken {
		return fmt.Sprintf("; did you mean %s?", name)
	}
	return ""
}

// misuse says what is wrong with a command line, what was probably meant, and which help to read.
func misuse(command *cobra.Command, err error) error {
	var value *pflag.InvalidValueError
	if errors.As(err, &value) {
		suggestion := ""
		if chosen, is := value.GetFlag().Value.(Chosen); is {
			suggestion = Suggest(value.GetValue(), chosen.Words())
		}
		return Usage("--%s is %q; %s%s", value.GetFlag().Name, value.GetValue(), sentence(errors.Unwrap(value)), suggestion)
	}
	var unknown *pflag.NotExistError
	if errors.As(err, &unknown) && unknown.GetSpecifiedShortnames() == "" {
		var names []string
		command.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, "--"+f.Name) })
		if suggestion := Suggest("--"+unknown.GetSpecifiedName(), names); suggestion != "" {
			return Usage("%s%s", sentence(err), suggestion)
		}
	}
	return Usage("%s; see %s --help", sentence(err), command.CommandPath())
}

// NoCommand is the error of a command that a program does not have.
func NoCommand(program *cobra.Command, name string) error {
	var names []string
	for _, command := range program.Commands() {
		if command.IsAvailableCommand() {
			names = append(names, command.Name())
		}
	}
	if suggestion := Suggest(name, names); suggestion != "" {
		return Usage("there is no command %q%s", name, suggestion)
	}
	return Usage("there is no command %q; see %s --help", name, program.CommandPath())
}
