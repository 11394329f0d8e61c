package cli

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/cli/client"
	"github.com/cleave-project/cleave/internal/cli/shell"
	"github.com/cleave-project/cleave/internal/security/access"
	"github.com/cleave-project/cleave/internal/security/credentials"
	"github.com/cleave-project/cleave/internal/security/identity"
)

func (a *app) loginCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "login --server HOST:PORT [--tls DIR] [--token-stdin]",
		Short: "Keep a coordinator and who we are to it, so that later commands need no flags",
		Args:  shell.FlagsOnly,
	}
	server := addServerFlag(cmd.Flags())
	fromStdin := cmd.Flags().Bool("token-stdin", false, "read a token from standard input, and keep it")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return a.login(cmd.Context(), *server, *fromStdin) }
	return cmd
}

func (a *app) login(ctx context.Context, server string, fromStdin bool) error {
	if server = cmp.Or(server, a.env(serverVariable)); server == "" {
		return shell.Usage("where to? Give --server HOST:PORT")
	}
	known, err := a.loadContexts()
	if err != nil {
		return err
	}
	dial, err := a.dialFor(server, nil)
	if err != nil {
		return err
	}
	if fromStdin {
		line, err := bufio.NewReader(a.stdin).ReadString('\n')
		if dial.Token = strings.TrimSpace(line); dial.Token == "" {
			return shell.Usage("there is no token on standard input: %v", err)
		}
		if err := checkToken(dial.Token); err != nil {
			return err
		}
	}
	if dial.Files, err = absolute(dial.Files); err != nil {
		return err
	}
	c, err := client.Connect(server, dial)
	if err != nil {
		return err
	}
	defer c.Close()
	if _, err := c.Cluster.ListWorkers(ctx, &cleavev1.ListWorkersRequest{PageSize: 1}); err != nil {
		return c.Explain(err) // nothing is kept that does not work
	}
	name := cmp.Or(a.access.context, defaultContext)
	known.Current = name
	known.All[name] = &loginContext{
		Server: server, CA: dial.CA, Cert: dial.Cert, Key: dial.Key,
		ServerName: dial.ServerName, Insecure: dial.Insecure, Token: dial.Token,
	}
	if err := known.save(); err != nil {
		return err
	}
	_, err = fmt.Fprintf(a.stdout, "logged in to %s; later commands go there. cleave logout forgets it\n", server)
	return err
}

// absolute are files as they are called from any folder.
func absolute(f credentials.Files) (credentials.Files, error) {
	f, err := f.Resolved()
	for _, path := range []*string{&f.CA, &f.Cert, &f.Key} {
		if *path != "" && *path != credentials.SystemCA && err == nil {
			*path, err = filepath.Abs(*path)
		}
	}
	return f, err
}

func (a *app) logoutCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "logout", Short: "Forget a login", Args: shell.FlagsOnly}
	name := cmd.Flags().String("context", "", "`NAME` of the login to forget (default: the current one)")
	cmd.RunE = func(*cobra.Command, []string) error {
		known, err := a.loadContexts()
		if err != nil {
			return err
		}
		gone := cmp.Or(*name, known.Current)
		if known.All[gone] == nil {
			return shell.Usage("there is no such login to forget; see cleave contexts")
		}
		delete(known.All, gone)
		if known.Current == gone {
			known.Current = ""
		}
		if err := known.save(); err != nil {
			return err
		}
		_, err = fmt.Fprintf(a.stdout, "forgot the login %s\n", gone)
		return err
	}
	return cmd
}

func (a *app) contextsCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "contexts [use NAME]",
		Short: "List the logins, or choose the one that commands use",
		Args:  cobra.ArbitraryArgs,
		RunE: func(_ *cobra.Command, args []string) error {
			known, err := a.loadContexts()
			if err != nil {
				return err
			}
			switch {
			case len(args) == 0:
				for _, name := range known.names() {
					mark := " "
					if name == known.Current {
						mark = "*"
					}
					fmt.Fprintf(a.stdout, "%s %s  %s\n", mark, name, known.All[name].Server)
				}
				return nil
			case len(args) != 2 || args[0] != "use":
				return shell.Usage("use cleave contexts, or cleave contexts use NAME")
			}
			if _, err := known.choose(args[1]); err != nil {
				return err
			}
			known.Current = args[1]
			return known.save()
		},
	}
}

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
