package cli

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/cleave-project/cleave/internal/cli/client"
	"github.com/cleave-project/cleave/internal/cli/shell"
	"github.com/cleave-project/cleave/internal/coordinator"
	"github.com/cleave-project/cleave/internal/security/access"
	"github.com/cleave-project/cleave/internal/security/credentials"
	"github.com/cleave-project/cleave/internal/security/identity"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
)

func (a *app) loginCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "login --server HOST:PORT [--tls DIR] [--token-stdin]",
		Short: "Store the address of a coordinator and credentials, so that later commands need no flags",
		Args:  shell.FlagsOnly,
	}
	server := addServerFlag(cmd.Flags())
	fromStdin := cmd.Flags().Bool("token-stdin", false, "read a token from standard input, and store it")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return a.login(cmd.Context(), *server, *fromStdin) }
	return cmd
}

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
		return c.Explain(err) // do not store what does not work
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
	cmd := &cobra.Command{Use: "logout", Short: "Delete a login", Args: shell.FlagsOnly}
	name := cmd.Flags().String("context", "", "`NAME` of the login to delete (default: the current one)")
	cmd.RunE = func(*cobra.Command, []string) error {
		known, err := a.loadContexts()
		if err != nil {
			return err
		}
		gone := cmp.Or(*name, known.Current)
		if known.All[gone] == nil {
			return shell.Usage("there is no such login; see cleave contexts")
		}
		delete(known.All, gone)
		if known.Current == gone {
			known.Current = ""
		}
		if err := known.save(); err != nil {
			return err
		}
		return a.printf("deleted the login %s\n", gone)
	}
	return cmd
}

func (a *app) contextsCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "contexts [use NAME]",
		Short: "List the logins, or select the one that commands use",
		Args:  cobra.ArbitraryArgs,
		RunE: func(_ *cobra.Command, args []string) error {
			known, err := a.loadContexts()
			if err != nil {
				return err
			}
			switch {
			case len(args) == 0:
				for _, name := range slices.Sorted(maps.Keys(known.All)) {
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
	return groupCommand("token", "Create tokens for clients without a certificate", a.tokenCreateCommand())
}

func (a *app) tokenCreateCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "create --name NAME [--role ROLE] [--file FILE]",
		Short: "Print a new token, and its line for the coordinator's --token-file",
		Args:  shell.FlagsOnly,
	}
	set := cmd.Flags()
	name := set.String("name", "", "`NAME` of the user, who owns the jobs and data that they create")
	role := set.String("role", identity.Submitter.String(), "role of the user: reader, submitter or admin")
	days := set.Int("days", 0, "number of days after which it expires (default: never)")
	file := set.String("file", "", "append the line to this token `FILE`")
	cmd.RunE = func(*cobra.Command, []string) error {
		caller := identity.Caller{Name: *name}
		var err error
		if caller.Role, err = identity.ParseRole(*role); err != nil {
			return err
		}
		var expires time.Time
		if *days < 0 {
			return shell.Usage("--days is %d; it must not be negative", *days)
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
			fmt.Fprintf(a.stderr, "the line for the coordinator's --token-file:\n%s\nthe token, which is shown only this time:\n", line)
		} else {
			if err := appendLine(*file, line); err != nil {
				return err
			}
			fmt.Fprintf(a.stderr, "added a line to %s; the token, which is shown only this time:\n", *file)
		}
		_, err = fmt.Fprintln(a.stdout, token)
		return err
	}
	return cmd
}

// appendLine appends a line to a file. The file need not exist or end with a line break.
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

// tokenVariable is the environment variable with a token. There is no flag for a token, because all users of the machine can
// see flags.
const tokenVariable = "CLEAVE_TOKEN"

// accessFlags tell how a coordinator is reached and with which credentials.
type accessFlags struct {
	dial      credentials.Dial
	tokenFile string
	context   string
}

// addAccessFlags declares the access flags for every command that has --server.
func (a *app) addAccessFlags(root *cobra.Command) {
	for _, cmd := range root.Commands() {
		set := cmd.Flags()
		if set.Lookup("server") == nil {
			continue
		}
		a.access.dial.AddFlags(set)
		set.StringVar(&a.access.tokenFile, "token-file", "", "`FILE` with a token to send (default $"+tokenVariable+")")
		set.StringVar(&a.access.context, "context", "", "`NAME` of the login to use (default $"+contextVariable+", or the last one)")
	}
}

// target is the coordinator that a command calls.
type target struct {
	server string        // HOST:PORT, or a comma-separated list; "" if there is none
	source string        // where the address comes from; "" for --server
	login  *loginContext // credentials; may be nil
}

// target returns the coordinator that --server, the environment or a login names.
func (a *app) target(server string) (target, error) {
	known, err := a.loadContexts()
	if err != nil {
		return target{}, err
	}
	login, err := known.choose(a.access.context, a.env(contextVariable))
	if err != nil {
		return target{}, err
	}
	t := target{server: withPorts(server), login: login}
	if t.server == "" && a.access.context == "" {
		t.server, t.source = withPorts(a.env(serverVariable)), "$"+serverVariable
	}
	if t.server == "" && login != nil {
		t.server, t.source = login.Server, "your login"
	}
	if t.server != "" && a.access.context != "" && t.server != login.Server {
		return target{}, shell.Usage("--context %s is for %s and not for %s; give one of the two flags", a.access.context, login.Server, t.server)
	}
	return t, nil
}

// withPorts adds the default port to addresses without one.
func withPorts(servers string) string {
	_, port, _ := net.SplitHostPort(coordinator.DefaultConfig().Listen)
	list := strings.Split(servers, ",")
	for at, server := range list {
		if server = strings.TrimSpace(server); server != "" && !strings.ContainsAny(server, ":/") {
			server = net.JoinHostPort(server, port)
		}
		list[at] = server
	}
	return strings.Join(list, ",")
}

// connectTo connects to a coordinator with its credentials.
func (a *app) connectTo(t target) (*client.Client, error) {
	dial, err := a.dialFor(t.server, t.login)
	if err != nil {
		return nil, err
	}
	c, err := client.Connect(t.server, dial)
	if err == nil {
		c.Warn = a.warn
	}
	return c, err
}

// dialFor returns how to reach a server: with the credentials of the flags, or else of the login, if it is for that server.
func (a *app) dialFor(server string, login *loginContext) (credentials.Dial, error) {
	dial := a.access.dial
	if login != nil && login.Server == server && dial == (credentials.Dial{}) {
		dial = credentials.Dial{Files: credentials.Files{CA: login.CA, Cert: login.Cert, Key: login.Key}, ServerName: login.ServerName, Insecure: login.Insecure, Token: login.Token}
	}
	if token := a.env(tokenVariable); token != "" {
		dial.Token = strings.TrimSpace(token)
	}
	if a.access.tokenFile != "" {
		content, err := os.ReadFile(a.access.tokenFile)
		if err != nil {
			return dial, shell.Usage("the token cannot be read: %v", err)
		}
		dial.Token = strings.TrimSpace(string(content))
	}
	return dial, checkToken(dial.Token)
}

// checkToken refuses characters that a token cannot have. The error does not repeat the token.
func checkToken(token string) error {
	if strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r >= 0x7f }) {
		return shell.Usage("the token has invalid characters; it must be one line and nothing else")
	}
	return nil
}

const (
	// contextVariable is the environment variable with the name of the login to use.
	contextVariable = "CLEAVE_CONTEXT"
	// configVariable is the environment variable with the folder of logins, instead of the one in the user's configuration.
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
	if dir == "" && (a.env("HOME") != "" || a.env("AppData") != "") {
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
