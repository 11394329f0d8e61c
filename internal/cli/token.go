package cli

import (
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/cleave-project/cleave/internal/cli/shell"
	"github.com/cleave-project/cleave/internal/security/access"
	"github.com/cleave-project/cleave/internal/security/identity"
)

func (a *app) tokenCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "token",
		Short: "Make tokens, by which clients are known that have no certificate",
		Args:  cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return shell.Usage("what is %q? Use token create", args[0])
			}
			return cmd.Help()
		},
	}
	cmd.AddCommand(a.tokenCreateCommand())
	return cmd
}

func (a *app) tokenCreateCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "create --name NAME [--role ROLE] [--file FILE]",
		Short: "Print a new token, once, and the line for the coordinator's --token-file",
		Args:  shell.FlagsOnly,
	}
	set := cmd.Flags()
	name := set.String("name", "", "`NAME` of whom it is for; they own the jobs and data that they create")
	role := set.String("role", identity.Submitter.String(), "what they may do: reader, submitter or admin")
	days := set.Int("days", 0, "after how many days it expires (default: never)")
	file := set.String("file", "", "append the line to this token `FILE`")
	cmd.RunE = func(*cobra.Command, []string) error {
		caller := identity.Caller{Name: *name}
		var err error
		if caller.Role, err = identity.ParseRole(*role); err != nil {
			return err
		}
		var expires time.Time
		if *days < 0 {
			return shell.Usage("a token that expires after %d days is of no use", *days)
		}
		if *days > 0 {
			expires = time.Now().AddDate(0, 0, *days)
		}
		token := access.NewToken()
		line, err := access.TokenLine(token, caller, expires)
		if err != nil {
			return err
		}
		if *file == "" {
			fmt.Fprintf(a.stderr, "the line for the coordinator's --token-file:\n%s\nthe token, which is shown this once:\n", line)
		} else {
			if err := appendLine(*file, line); err != nil {
				return err
			}
			fmt.Fprintf(a.stderr, "%s has its line; the token, which is shown this once:\n", *file)
		}
		_, err = fmt.Fprintln(a.stdout, token)
		return err
	}
	return cmd
}

// appendLine appends a line to a file, which need not be there, nor end with a line.
func appendLine(path, line string) error {
	before, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return shell.Usage("the token file cannot be read: %v", err)
	}
	if len(before) > 0 && before[len(before)-1] != '\n' {
		line = "\n" + line
	}
	file, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return shell.Usage("the token file cannot be written: %v", err)
	}
	_, err = file.WriteString(line + "\n")
	return errors.Join(err, file.Sync(), file.Close())
}
