package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/cleave-project/cleave/internal/cli/client"
	"github.com/cleave-project/cleave/internal/cli/shell"
	"github.com/cleave-project/cleave/internal/coordinator"
	"github.com/cleave-project/cleave/internal/security/credentials"
)

// tokenVariable has a token. There is no flag for one: everyone on the machine sees flags.
const tokenVariable = "CLEAVE_TOKEN"

// accessFlags say how a coordinator is reached, and who we are to it.
type accessFlags struct {
	dial      credentials.Dial
	tokenFile string
	context   string
}

// addAccessFlags declares them for every command that has --server.
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

// target is a coordinator that a command talks to.
type target struct {
	server string        // HOST:PORT, or several with commas between them; empty: there is none
	source string        // where the address comes from; empty: --server
	login  *loginContext // whose credentials may be used; nil: there is none
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
		t.server, t.source = login.Server, "you are logged in there"
	}
	if t.server != "" && a.access.context != "" && t.server != login.Server {
		return target{}, shell.Usage("--context %s is for %s and not for %s; give one of the two flags", a.access.context, login.Server, t.server)
	}
	return t, nil
}

// withPorts adds the port that coordinators listen on by default to addresses without one.
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

// connect connects to the coordinator that --server, the environment or a login names; nil if none does.
func (a *app) connect(server string) (*client.Client, error) {
	t, err := a.target(server)
	if err != nil || t.server == "" {
		return nil, err
	}
	return a.connectTo(t)
}

// connectTo connects to a coordinator with the credentials for it.
func (a *app) connectTo(t target) (*client.Client, error) {
	dial, err := a.dialFor(t.server, t.login)
	if err != nil {
		return nil, err
	}
	c, err := client.Connect(t.server, dial)
	if err == nil {
		c.Warn = func(format string, args ...any) { fmt.Fprintf(a.stderr, "cleave: "+format+"\n", args...) }
	}
	return c, err
}

// dialFor is how a server is reached: as the flags say, or else the login, whose credentials go to its own server only.
func (a *app) dialFor(server string, login *loginContext) (credentials.Dial, error) {
	dial := a.access.dial
	if login != nil && login.Server == server && dial == (credentials.Dial{}) {
		dial = credentials.Dial{Files: login.files(), ServerName: login.ServerName, Insecure: login.Insecure, Token: login.Token}
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

// checkToken refuses what cannot be sent as a token. It does not repeat it.
func checkToken(token string) error {
	if strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r >= 0x7f }) {
		return shell.Usage("the token has characters that no token has; is it one line, and nothing else?")
	}
	return nil
}

const (
	// contextVariable names the login to use.
	contextVariable = "CLEAVE_CONTEXT"
	// configVariable is the folder of logins, in place of the one in the user's configuration.
	configVariable = "CLEAVE_CONFIG_DIR"
	// defaultContext is the name of a login that was given none.
	defaultContext = "default"
)

// loginContext is what a login keeps, so that later commands need no flags.
type loginContext struct {
	Server     string `json:"server"`
	CA         string `json:"ca,omitempty"`
	Cert       string `json:"cert,omitempty"`
	Key        string `json:"key,omitempty"`
	ServerName string `json:"serverName,omitempty"`
	Insecure   bool   `json:"insecure,omitempty"`
	Token      string `json:"token,omitempty"`
}

func (c *loginContext) files() credentials.Files {
	return credentials.Files{CA: c.CA, Cert: c.Cert, Key: c.Key}
}

// contexts are all logins of a user, in a file that only they can read.
type contexts struct {
	Current string                   `json:"current,omitempty"`
	All     map[string]*loginContext `json:"contexts"`

	path string // empty: there is no place to keep them
}

// loadContexts reads the logins; there may be none.
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
		return nil, shell.Usage("the logins in %s cannot be read: %v; mend or delete the file", c.path, err)
	}
	if c.All == nil {
		c.All = map[string]*loginContext{}
	}
	return c, nil
}

// choose is the login by the first of some names that is not empty, or else the current one; nil: there is none.
func (c *contexts) choose(names ...string) (*loginContext, error) {
	for _, name := range names {
		if name == "" {
			continue
		}
		if c.All[name] == nil {
			return nil, shell.Usage("there is no login %q; there are: %s", name, strings.Join(append(c.names(), "(no more)"), ", "))
		}
		return c.All[name], nil
	}
	return c.All[c.Current], nil
}

func (c *contexts) names() []string { return slices.Sorted(maps.Keys(c.All)) }

// save writes the logins. The file is never seen half-written, and never readable by others.
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
