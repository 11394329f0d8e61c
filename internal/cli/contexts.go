package cli

import (
	"encoding/json"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/cleave-project/cleave/internal/cli/shell"
	"github.com/cleave-project/cleave/internal/security/credentials"
)

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
