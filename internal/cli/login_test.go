package cli

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/cleave-project/cleave/test/clitest"
)

func TestAddressesWithoutAPort(t *testing.T) {
	for servers, want := range map[string]string{
		"":                     "",
		"localhost":            "localhost:7400",
		"a, b:1":               "a:7400,b:1",
		"10.0.0.1,[::1]:7":     "10.0.0.1:7400,[::1]:7",
		"::1,[::1]":            "[::1]:7400,[::1]:7400",
		"unix:///run/cleave":   "unix:///run/cleave",
		"dns:///cleave.svc:70": "dns:///cleave.svc:70",
	} {
		if got := withPorts(servers); got != want {
			t.Errorf("%q becomes %q, want %q", servers, got, want)
		}
	}
}

// login adds the port as other commands do, so that what it stores is for the same server.
func TestLoginAddsThePort(t *testing.T) {
	r := invokeIn(t.Context(), "login --server 127.9.9.9", func(name string) string {
		return map[string]string{configVariable: t.TempDir()}[name]
	})
	if r.code != 75 || !strings.Contains(r.stderr, "the coordinator at 127.9.9.9:7400 does not answer") {
		t.Errorf("exit code %d, %q", r.code, r.stderr)
	}
}

// A damaged entry in the file of logins is none.
func TestLoginsThatAreNot(t *testing.T) {
	dir := t.TempDir()
	env := func(name string) string { return map[string]string{configVariable: dir}[name] }
	for _, c := range []struct{ file, args, want string }{
		{`{"contexts": {"a": null, "b": {"server": "h:1"}}}`, "contexts", "  b  h:1\n"},
		{`{"contexts": {"a": null}}`, "logout --context a", `there is no login "a"; see cleave contexts`},
		{`{"contexts": {"a": null}, "current": "a"}`, "logout", `there is no login "a"; see cleave contexts`},
		{`{}`, "logout", "you are not logged in"},
	} {
		clitest.Write(t, filepath.Join(dir, "contexts.json"), c.file)
		if r := invokeIn(t.Context(), c.args, env); !strings.Contains(r.stdout+r.stderr, c.want) {
			t.Errorf("%s: %s: exit code %d, %q; want %q", c.file, c.args, r.code, r.stdout+r.stderr, c.want)
		}
	}
}

// An empty line is no token, and nothing else is wrong with it.
func TestLoginWithoutAToken(t *testing.T) {
	env := func(name string) string { return map[string]string{configVariable: t.TempDir()}[name] }
	for _, stdin := range []string{"", "\n"} {
		var stderr strings.Builder
		code := Main(t.Context(), []string{"login", "--server", "h", "--token-stdin"}, strings.NewReader(stdin),
			&strings.Builder{}, &stderr, env)
		if code != 2 || !strings.HasSuffix(stderr.String(), "the first line of standard input has no token\n") {
			t.Errorf("%q: exit code %d, %q", stdin, code, stderr.String())
		}
	}
}

// CLEAVE_CONTEXT names the login for the commands that manage logins, too.
func TestLoginOfTheEnvironment(t *testing.T) {
	dir := t.TempDir()
	address := startServe(t, "--workers 1")
	env := func(name string) string { return map[string]string{configVariable: dir, contextVariable: "test"}[name] }
	clitest.Write(t, filepath.Join(dir, "contexts.json"),
		`{"contexts": {"prod": {"server": "h:1"}, "test": {"server": "h:2"}}, "current": "prod"}`)
	for _, c := range []struct{ args, want string }{
		{"contexts", "  prod  h:1\n* test  h:2\n"},
		{"logout", "deleted the login test\n"},
		{"login --server " + address, "logged in to " + address},
		{"contexts", "  prod  h:1\n* test  " + address + "\n"},
	} {
		if r := invokeIn(t.Context(), c.args, env); r.code != 0 || !strings.HasPrefix(r.stdout, c.want) {
			t.Errorf("%s: exit code %d, %q, %q; want %q", c.args, r.code, r.stdout, r.stderr, c.want)
		}
	}
}

// A service may have a folder for its configuration, but no home.
func TestLoginsWithoutAHome(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("XDG_CONFIG_HOME is for Linux")
	}
	dir := t.TempDir()
	t.Setenv("HOME", "")
	t.Setenv("XDG_CONFIG_HOME", dir)
	if err := os.Mkdir(filepath.Join(dir, "cleave"), 0o700); err != nil {
		t.Fatal(err)
	}
	clitest.Write(t, filepath.Join(dir, "cleave/contexts.json"), `{"contexts": {"b": {"server": "h:1"}}}`)
	if r := invokeIn(t.Context(), "contexts", os.Getenv); !strings.Contains(r.stdout, "  b  h:1\n") {
		t.Errorf("exit code %d, %q, %q", r.code, r.stdout, r.stderr)
	}
}

// A complete --server needs no login, so that one that is wrong does not matter.
func TestServerWithoutALogin(t *testing.T) {
	dir := t.TempDir()
	wrong := ""
	env := func(name string) string { return map[string]string{configVariable: dir, contextVariable: wrong}[name] }
	const workers = "workers --server 127.0.0.1:1"
	for _, c := range []struct{ file, name, want string }{
		{`{"contexts": {}}`, "deleted", `your logins are not used: there is no login "deleted"`},
		{`{"contexts": `, "", "your logins are not used: "},
	} {
		clitest.Write(t, filepath.Join(dir, "contexts.json"), c.file)
		wrong = c.name
		if r := invokeIn(t.Context(), workers, env); r.code != 75 || !strings.Contains(r.stderr, c.want) ||
			!strings.Contains(r.stderr, "does not answer") {
			t.Errorf("%s, %q: exit code %d, %q", c.file, c.name, r.code, r.stderr)
		}
		for _, args := range []string{"workers", workers + " --context prod"} {
			if r := invokeIn(t.Context(), args, env); r.code != 2 {
				t.Errorf("%s, %q, %s: exit code %d, %q", c.file, c.name, args, r.code, r.stderr)
			}
		}
	}
}
