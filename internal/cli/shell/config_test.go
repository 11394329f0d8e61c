package shell

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
)

// settings are the flags of a program under test, of every kind that our programs have.
type settings struct {
	name    string
	wait    time.Duration
	size    Size
	threads int
	on      bool
	roots   []string
}

// configured runs a program with a command line, an environment and the content of a file; "" for none.
func configured(t *testing.T, args, environ []string, file string) (settings, string) {
	t.Helper()
	s := settings{name: "default", wait: time.Second, threads: 1}
	cmd := &cobra.Command{Use: "prog", Short: "Do it", Args: FlagsOnly, RunE: func(*cobra.Command, []string) error {
		return nil
	}}
	set := cmd.Flags()
	set.StringVar(&s.name, "name", s.name, "")
	set.DurationVar(&s.wait, "wait-time", s.wait, "")
	set.Var(&s.size, "size", "")
	set.IntVar(&s.threads, "threads", s.threads, "")
	set.BoolVar(&s.on, "enabled", false, "")
	set.StringSliceVar(&s.roots, "roots", nil, "")
	Configurable(cmd, "CLEAVE_PROG", environ)
	if file != "" {
		path := filepath.Join(t.TempDir(), "config.yaml")
		if err := os.WriteFile(path, []byte(file), 0o600); err != nil {
			t.Fatal(err)
		}
		args = append([]string{"--config", path}, args...)
	}
	var stderr bytes.Buffer
	Run(t.Context(), cmd, args, &stderr)
	return s, stderr.String()
}

func TestTheCommandLineComesBeforeTheEnvironmentAndThatBeforeTheFile(t *testing.T) {
	file := "# ours\nname: file\nwait-time: 3s\nsize: 4GiB\nthreads: 3\nenabled: true\nroots: [/a, /b]\n"
	environ := []string{"PATH=/bin", "CLEAVE_PROG_NAME=environment", "CLEAVE_PROG_WAIT_TIME=2s", "CLEAVE_PROGRAM=x",
		"CLEAVE_PROG_THREADS="}
	got, says := configured(t, []string{"--name", "line"}, environ, file)
	want := settings{name: "line", wait: 2 * time.Second, size: 4 << 30, threads: 3, on: true,
		roots: []string{"/a", "/b"}}
	if fmt.Sprint(got) != fmt.Sprint(want) || says != "" {
		t.Errorf("%+v, %q; want %+v", got, says, want)
	}
	got, says = configured(t, nil, []string{"CLEAVE_PROG_ROOTS=/x,/y", "CLEAVE_PROG_ENABLED=true"}, "")
	if !got.on || len(got.roots) != 2 || got.name != "default" || says != "" {
		t.Errorf("%+v, %q", got, says)
	}
}

func TestTheFileMayBeNamedByTheEnvironment(t *testing.T) {
	path := filepath.Join(t.TempDir(), "config.yaml")
	if err := os.WriteFile(path, []byte("threads: 7"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, says := configured(t, nil, []string{"CLEAVE_PROG_CONFIG=" + path}, ""); got.threads != 7 {
		t.Errorf("%+v, %q", got, says)
	}
	if got, says := configured(t, nil, nil, "name: off # not false"); got.name != "off" || says != "" {
		t.Errorf("%+v, %q", got, says)
	}
	if _, says := configured(t, nil, nil, "# nothing yet"); says != "" {
		t.Errorf("an empty file: %q", says)
	}
}

func TestWrongSettings(t *testing.T) {
	for _, c := range []struct {
		name    string
		environ []string
		file    string
		want    string
	}{
		{"unknown variable", []string{"CLEAVE_PROG_TREADS=1"}, "",
			"prog: the environment variable CLEAVE_PROG_TREADS does not name a flag; did you mean " +
				"CLEAVE_PROG_THREADS?"},
		{"bad variable", []string{"CLEAVE_PROG_SIZE=lots"}, "",
			`prog: CLEAVE_PROG_SIZE is "lots"; "lots" is not a size in bytes`},
		{"unknown key", nil, "wait_time: 3s", `has the key "wait_time", which is not a flag; did you mean wait-time?`},
		{"a file that names a file", nil, "config: other.yaml", `has the key "config", which is not a flag`},
		{"bad value", nil, "threads: many", `config.yaml: threads is "many"`},
		{"a key twice", nil, "name: a\nname: b", `line 2 repeats the key "name"`},
		{"a list for one value", nil, "name: [a, b]", "name is a list; give one value"},
		{"a list of lists", nil, "roots: [[a, b]]", "line 1: the value of roots cannot be used for a flag"},
		{"nested", nil, "name: {first: a}", "the value of name cannot be used for a flag"},
		{"no value", nil, "name:", "the value of name cannot be used for a flag"},
		{"no keys", nil, "- a\n- b", "cannot be parsed: "},
		{"no YAML", nil, "a: b: c", "cannot be parsed: "},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, says := configured(t, nil, c.environ, c.file); !strings.Contains(says, c.want) {
				t.Errorf("said %q, want %q", says, c.want)
			}
		})
	}
	if _, says := configured(t, []string{"--config", "/no/such/file"}, nil, ""); !strings.Contains(says,
		"/no/such/file cannot be read: no such file or directory") {
		t.Errorf("said %q", says)
	}
}

func TestVariablesThatKubernetesSetsAreNotOurs(t *testing.T) {
	environ := []string{
		"CLEAVE_PROG_SERVICE_HOST=10.0.0.1", "CLEAVE_PROG_SERVICE_PORT=7400", "CLEAVE_PROG_SERVICE_PORT_GRPC=7400",
		"CLEAVE_PROG_PORT=tcp://10.0.0.1:7400",
		"CLEAVE_PROG_PORT_7400_TCP=tcp://10.0.0.1:7400", "CLEAVE_PROG_PORT_7400_TCP_ADDR=10.0.0.1",
	}
	if _, says := configured(t, nil, environ, ""); says != "" {
		t.Errorf("said %q", says)
	}
}
