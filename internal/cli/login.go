package cli

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/cleave-project/cleave/internal/cli/client"
	"github.com/cleave-project/cleave/internal/cli/shell"
	"github.com/cleave-project/cleave/internal/security/credentials"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
)

func (a *app) loginCommand() *cobra.Command {
	var server string
	var fromStdin bool
	const use, short = "login --server HOST:PORT [--tls DIR] [--token-stdin]",
		"Store the address of a coordinator and credentials, so that later commands need no flags"
	cmd, set := flagsCommand(use, short, func(ctx context.Context) error { return a.login(ctx, server, fromStdin) })
	addServerFlag(set, &server)
	set.BoolVar(&fromStdin, "token-stdin", false, "read a token from standard input, and store it")
	return cmd
}

// login stores the address of a coordinator and credentials under the name of the context, after it has called the
// coordinator with them. fromStdin reads a token from the first line of standard input.
func (a *app) login(ctx context.Context, server string, fromStdin bool) error {
	if server = withPorts(cmp.Or(server, a.env(serverVariable))); server == "" {
		return shell.Usage("no coordinator to log in to; give --server HOST:PORT")
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
		switch dial.Token = strings.TrimSpace(line); {
		case err != nil && !errors.Is(err, io.EOF):
			return shell.Usage("standard input cannot be read: %v", err)
		case dial.Token == "":
			return shell.Usage("the first line of standard input has no token")
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
		return err // do not store what does not work
	}
	name := cmp.Or(a.access.context, a.env(contextVariable), defaultContext)
	known.Current = name
	known.All[name] = &loginContext{
		Server: server, CA: dial.CA, Cert: dial.Cert, Key: dial.Key,
		ServerName: dial.ServerName, Insecure: dial.Insecure, Token: dial.Token,
	}
	if err := known.save(); err != nil {
		return err
	}
	return a.printf("logged in to %s; later commands use it until cleave logout\n", server)
}

// absolute returns the files with absolute paths.
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
	name := ""
	cmd, set := flagsCommand("logout", "Delete a login", func(context.Context) error {
		known, err := a.loadContexts()
		if err != nil {
			return err
		}
		gone := cmp.Or(name, a.env(contextVariable), known.Current)
		if gone == "" {
			return shell.Usage("you are not logged in; see cleave contexts")
		}
		if _, err := known.choose(gone); err != nil {
			return err
		}
		delete(known.All, gone)
		if known.Current == gone {
			known.Current = ""
		}
		if err := known.save(); err != nil {
			return err
		}
		return a.printf("deleted the login %s\n", gone)
	})
	set.StringVar(&name, "context", "", "`NAME` of the login to delete (default $"+contextVariable+
		", or the current one)")
	return cmd
}

func (a *app) contextsCommand() *cobra.Command {
	cmd, _ := argsCommand("contexts [use NAME]", "List the logins, or select the one that commands use",
		func(_ context.Context, args []string) error {
			known, err := a.loadContexts()
			if err != nil {
				return err
			}
			switch {
			case len(args) == 0 && len(known.All) == 0:
				a.warn("there are no logins; cleave login --server HOST:PORT stores one")
				return nil
			case len(args) == 0:
				for _, name := range slices.Sorted(maps.Keys(known.All)) {
					mark := " "
					if name == cmp.Or(a.env(contextVariable), known.Current) {
						mark = "*"
					}
					if err := a.printf("%s %s  %s\n", mark, name, known.All[name].Server); err != nil {
						return err
					}
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
		})
	cmd.ValidArgsFunction = fixed("use")
	return cmd
}

const (
	// contextVariable is the environment variable with the name of the login to use.
	contextVariable = "CLEAVE_CONTEXT"
	// configVariable is the environment variable with the folder of logins, instead of the one in the user's
	// configuration.
	configVariable = "CLEAVE_CONFIG_DIR"
	// defaultContext is the name of a login without a name.
	defaultContext = "default"
)

// loginContext is what a login stores, so that later commands need no flags.
type loginContext struct {
	Server     string `json:"server"`
	CA         string `json:"ca,omitempty"`
	Cert       string `json:"cert,omitempty"`
	Key        string `json:"key,omitempty"`
	ServerName string `json:"serverName,omitempty"`
	Insecure   bool   `json:"insecure,omitempty"`
	Token      string `json:"token,omitempty"`
}

// contexts are all logins of a user, in a file that only the user can read.
type contexts struct {
	Current string                   `json:"current,omitempty"`
	All     map[string]*loginContext `json:"contexts"`

	path string // "" if there is no folder to store them in
}

// loadContexts reads the logins. There may be none.
func (a *app) loadContexts() (*contexts, error) {
	c := &contexts{All: map[string]*loginContext{}}
	dir := a.env(configVariable)
	if dir == "" && cmp.Or(a.env("HOME"), a.env("AppData"), a.env("XDG_CONFIG_HOME")) != "" {
		if user, err := os.UserConfigDir(); err == nil {
			dir = filepath.Join(user, "cleave")
		}
	}
	if dir == "" {
		return c, nil
	}
	c.path = filepath.Join(dir, "contexts.json")
	content, err := os.ReadFile(c.path)
	if errors.Is(err, os.ErrNotExist) {
		return c, nil
	}
	if err == nil {
		err = json.Unmarshal(content, c)
	}
	if err != nil {
		return nil, shell.Usage("the logins in %s cannot be read: %v; repair or delete the file", c.path, err)
	}
	if c.All == nil {
		c.All = map[string]*loginContext{}
	}
	maps.DeleteFunc(c.All, func(_ string, l *loginContext) bool { return l == nil })
	return c, nil
}

// choose returns the login with the first name that is not empty, or else the current one, or nil if there is none.
func (c *contexts) choose(names ...string) (*loginContext, error) {
	name := cmp.Or(names...)
	if name == "" {
		return c.All[c.Current], nil
	}
	if c.All[name] == nil {
		return nil, shell.Usage("there is no login %q; see cleave contexts", name)
	}
	return c.All[name], nil
}

// save writes the logins atomically, to a file that others cannot read.
func (c *contexts) save() error {
	if c.path == "" {
		return shell.Usage("there is no folder for your configuration; set %s", configVariable)
	}
	if err := os.MkdirAll(filepath.Dir(c.path), 0o700); err != nil {
		return err
	}
	content, err := json.MarshalIndent(c, "", "  ")
	if err != nil {
		return err
	}
	temporary, err := os.CreateTemp(filepath.Dir(c.path), ".contexts-*") // with mode 0600
	if err != nil {
		return err
	}
	defer os.Remove(temporary.Name())
	_, err = temporary.Write(append(content, '\n'))
	if err := errors.Join(err, temporary.Sync(), temporary.Close()); err != nil {
		return err
	}
	return os.Rename(temporary.Name(), c.path)
}
