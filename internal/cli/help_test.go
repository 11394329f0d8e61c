package cli

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/cleave-project/cleave/internal/cli/shell"
)

// commands are all commands of the program that people see.
func commands(t *testing.T) (all []*cobra.Command) {
	t.Helper()
	a := &app{env: func(string) string { return "" }}
	var walk func(*cobra.Command)
	walk = func(c *cobra.Command) {
		all = append(all, c)
		for _, child := range c.Commands() {
			if child.IsAvailableCommand() {
				walk(child)
			}
		}
	}
	walk(a.program())
	return all
}

// Help has examples first, is in groups without leftovers, and fits its screen.
func TestHelpOfEveryCommand(t *testing.T) {
	for _, c := range commands(t) {
		path := shell.Path(c)
		for _, width := range []int{60, 80} {
			columns := func(name string) string {
				if name == "COLUMNS" {
					return fmt.Sprint(width)
				}
				return ""
			}
			r := invokeIn(t.Context(), path+" --help", columns)
			if r.code != 0 {
				t.Fatalf("%s --help: exit code %d: %s", path, r.code, r.stderr)
			}
			for line := range strings.Lines(r.stdout) {
				if utf8.RuneCountInString(strings.TrimRight(line, "\n")) > width &&
					strings.Contains(strings.TrimSpace(line), " ") && !strings.HasPrefix(line, "  --") {
					t.Errorf("%s --help in %d columns has the line %q", path, width, line)
				}
			}
			if usage, examples := strings.Index(r.stdout, "\nUsage:\n"), strings.Index(r.stdout,
				"\nExamples:\n"); (examples < 0 || examples > usage) && path != "certs etcd" &&
				!strings.HasPrefix(path, "certs ") {
				t.Errorf("%s --help does not begin with examples:\n%s", path, r.stdout)
			}
		}
	}
}

// Commands that describe a job offer objects in a store.
func TestHelpAboutObjects(t *testing.T) {
	for _, command := range []string{"run", "plan", "submit"} {
		if !strings.Contains(succeed(t, command+" --help"), "s3://") {
			t.Errorf("%s --help does not offer objects", command)
		}
	}
}

// A group names flags that exist. Commands with many flags have each of them in a group, and no heading comes twice.
func TestGroupsOfFlags(t *testing.T) {
	var grouped []string
	for _, group := range flagGroups() {
		grouped = append(grouped, group.Names...)
	}
	exists := map[string]bool{"version": true} // of the program, from package shell
	for _, c := range commands(t) {
		c.InitDefaultHelpFlag()
		long := c.Flags().Lookup("help-all") != nil
		for _, set := range []*pflag.FlagSet{c.LocalFlags(), c.InheritedFlags()} {
			set.VisitAll(func(f *pflag.Flag) {
				if exists[f.Name] = true; long && !f.Hidden && !slices.Contains(grouped, f.Name) {
					t.Errorf("--%s of %s is in no group", f.Name, shell.Path(c))
				}
			})
		}
		if help := succeed(t, shell.Path(c)+" --help"); strings.Count(help, "\nMore:\n") > 1 {
			t.Errorf("a heading comes twice:\n%s", help)
		}
	}
	for _, name := range grouped {
		if !exists[name] {
			t.Errorf("no command has the flag --%s of a group", name)
		}
	}
}

// What most users need fits two screens; --help-all has the rest.
func TestHelpOfRunIsShort(t *testing.T) {
	if lines := strings.Count(succeed(t, "run --help"), "\n"); lines > 66 {
		t.Errorf("cleave run --help has %d lines", lines)
	}
}

// Every example is a command line that parses.
func TestExamplesParse(t *testing.T) {
	a := &app{env: func(string) string { return "" }}
	for path, text := range parseExamples(examplesText) {
		if path == "completion" {
			continue // a line for the shell
		}
		for line := range strings.Lines(strings.ReplaceAll(text, "\\\n", " ")) {
			if line = strings.TrimSpace(line); line == "" || strings.HasPrefix(line, "#") {
				continue
			}
			line, _, _ = strings.Cut(line, " <")
			command, rest, err := a.program().Find(strings.Fields(line)[1:])
			if err != nil || !command.HasParent() && !strings.HasPrefix(line, "cleave explain") {
				t.Errorf("%s: %q is no command: %v", path, line, err)
				continue
			}
			if err := command.ParseFlags(rest); err != nil {
				t.Errorf("%s: %q: %v", path, line, err)
			}
		}
	}
}

func TestDidYouMean(t *testing.T) {
	for _, c := range []struct{ args, want string }{
		{"rnu", `there is no command "rnu"; did you mean run?`},
		{"rnu --data x.csv", `there is no command "rnu"; did you mean run?`},
		{"jobs", `there is no command "jobs"; did you mean list?`},
		{"fit", `there is no command "fit"; did you mean run?`},
		{"help_test.go --k 3", `there is no command "help_test.go"; to cluster a file, use cleave run --data ` +
			`help_test.go --k N`},
		{"run -k 3", "unknown flag: -k; did you mean --k?"},
		{"run -data x.csv", "unknown flag: -data; did you mean --data?"},
		{"run --data https://x.org/a.csv --k 3",
			"https://x.org/a.csv: Cleave does not download files; download it, or pipe it"},
		{"help rnu", `there is no command "rnu"; did you mean run?`},
		{"help xyzzy", `there is no command "xyzzy"; see cleave --help`},
		{"xyzzy", `there is no command "xyzzy"; see cleave --help`},
		{"run --constrains c.csv", "unknown flag: --constrains; did you mean --constraints?"},
		{"run --xyzzy", "unknown flag: --xyzzy; see cleave run --help"},
		{"run --algorithm kmaens", "; did you mean kmeans?"},
		{"run --kernel gausian", "; did you mean gaussian?"},
		{"run --kernel cube", "polynomial, sigmoid or cosine\n"},
		{"list --state succeedd", "; did you mean succeeded?"},
		{"generate two-moon --out x", "; did you mean two-moons?"},
		{"completion bsh", "; did you mean bash?"},
	} {
		if r := invoke(t, c.args); r.code != 2 || !strings.Contains(r.stderr, c.want) {
			t.Errorf("%s: exit code %d, %q; want %q", c.args, r.code, r.stderr, c.want)
		}
	}
}

func TestHelpCommand(t *testing.T) {
	if asked, flag := succeed(t, "help run"), succeed(t, "run --help"); asked != flag {
		t.Errorf("cleave help run prints\n%s", asked)
	}
}

func TestVersionOfTheProgram(t *testing.T) {
	for _, args := range []string{"--version", "version"} {
		if out := succeed(t, args); !strings.HasPrefix(out, "cleave ") || !strings.Contains(out, "commit ") ||
			!strings.Contains(out, "go1.") {
			t.Errorf("%s: %q", args, out)
		}
	}
}

func TestPick(t *testing.T) {
	all := []candidate{{"0199a1b2", "first", nil}, {"0199a1c3", "second", nil}, {"02", "third", []string{"worker-2"}},
		{"0199a1", "short", nil}}
	for _, c := range []struct{ given, want, fails string }{
		{given: "0199a1b", want: "0199a1b2"},
		{given: "0199a1", want: "0199a1"}, // one's whole id, though others begin so
		{given: "worker", want: "02"},
		{given: "7", want: "7"},
		{given: "02", want: "02"},
		{given: "wor",
			fails: `"wor" is too short; give the whole id or name of the job, or at least its first 4 characters`},
		{given: "0199", fails: `"0199" matches 3 jobs: 0199a1b2 (first), 0199a1c3 (second), 0199a1 (short)`},
	} {
		got, err := pick("job", c.given, all)
		if c.fails != "" {
			if err == nil || !strings.Contains(err.Error(), c.fails) {
				t.Errorf("%s: %v; want %s", c.given, err, c.fails)
			}
			continue
		}
		if err != nil || got != c.want {
			t.Errorf("%s: %q, %v; want %q", c.given, got, err, c.want)
		}
	}
}

// Arguments that are files are completed to files, and others are not.
func TestArgumentsAreCompleted(t *testing.T) {
	for args, want := range map[string]string{
		"generate image-affinity p": ":0\n", "rerun o": ":0\n", "run p": ":4\n", "up h": ":4\n",
		"tables li": "list\ndelete\n:4\n", // shells choose among them
	} {
		if got := succeed(t, "__complete "+args); got != want {
			t.Errorf("%s: %q, want %q", args, got, want)
		}
	}
}

// An id that cannot be right is refused without a call, and a coordinator that refuses to list is asked once.
func TestIDsAreListedOnlyIfThatHelps(t *testing.T) {
	whole := "019a0000-0000-7000-8000-000000000001"
	for _, c := range []struct {
		name, given string
		unlisted    error
		lists, code int
		says        string
	}{
		{"empty", "", nil, 0, 2, "the job is empty"},
		{"short", "019", nil, 0, 2, `"019" is too short`},
		{"whole", whole, nil, 0, 0, ""},
		{"beginning", whole[:8], nil, 1, 0, ""},
		{"not allowed", whole[:8], status.Error(codes.PermissionDenied, "submitters only"), 1, 0, ""},
		{"broken", whole[:8], status.Error(codes.Internal, "out of order"), 1, 1, "out of order"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := startFake(t)
			f.job.JobId, f.unlisted = whole, c.unlisted
			var stdout, stderr bytes.Buffer
			code := Main(t.Context(), []string{"get", c.given, "--server", f.address},
				strings.NewReader(""), &stdout, &stderr, func(string) string { return "" })
			if code != c.code || !strings.Contains(stderr.String(), c.says) || len(f.lists) != c.lists {
				t.Errorf("exit code %d, %d lists, %s", code, len(f.lists), stderr.String())
			}
			for _, list := range f.lists {
				if list.GetPageSize() != maxCandidates+1 {
					t.Errorf("asked for %d jobs", list.GetPageSize())
				}
			}
		})
	}
}

// Jobs go by the beginning of their ids, lists are as long as asked for, and several jobs are deleted at once.
func TestJobsByTheBeginningOfTheirIDs(t *testing.T) {
	t.Chdir(t.TempDir())
	succeed(t, "generate gaussians --n 20 --out g")
	address := startServe(t, "--workers 1 --data-dir state")
	var ids []string
	for range 3 {
		ids = append(ids,
			strings.TrimSpace(succeed(t, "submit --wait --quiet --data g/data.csv --k 2 --algorithm kmeans --server "+
				address)))
	}
	if out := succeed(t, "list --limit 2 --server "+address); strings.Count(out, "\n") != 3 ||
		!strings.Contains(out, ids[2]) || strings.Contains(out, ids[0]) {
		t.Errorf("list --limit 2: %s", out)
	}
	beginning := ids[0][:len(ids[0])-1]
	for _, command := range []string{"get", "watch", "result", "cancel"} {
		if out := succeed(t, command+" "+beginning+" --server "+address); out == "" {
			t.Errorf("%s by the beginning of an id says nothing", command)
		}
	}
	succeed(t, "predict --job "+beginning+" --data g/data.csv --server "+address)
	if r := invoke(t, "delete "+beginning+" "+ids[1][:minPrefix]+" --server "+address); r.code != 2 ||
		!strings.Contains(r.stderr, "matches 3") {
		t.Errorf("an ambiguous delete: exit code %d, %s", r.code, r.stderr)
	}
	if out := succeed(t, "delete "+beginning+" "+ids[1]+" --server "+address); out != ids[0]+": deleted\n"+ids[1]+
		": deleted\n" {
		t.Errorf("delete says %q", out)
	}
	if out := succeed(t, "list --server "+address); strings.Count(out, "\n") != 2 {
		t.Errorf("list: %s", out)
	}
}

// A list is short unless more is asked for, and says that it is.
func TestListOfTheNewestJobs(t *testing.T) {
	f := startFake(t)
	for _, c := range []struct {
		jobs     int
		flags    string
		listed   int
		abridged bool
	}{
		{listedJobs, "", listedJobs, false},
		{listedJobs + 1, "", listedJobs, true},
		{listedJobs + 1, "--limit 0", listedJobs + 1, false},
		{listedJobs + 1, "--limit 10", 10, false},
		{listedJobs + 1, "--json", listedJobs + 1, false},
	} {
		f.more = c.jobs - 1
		r := invoke(t, "list "+c.flags+" --server "+f.address)
		if listed := strings.Count(r.stdout, f.job.GetJobId()); r.code != 0 || listed != c.listed ||
			strings.Contains(r.stderr, "--limit 0 lists all") != c.abridged {
			t.Errorf("%d jobs %s: %d listed, exit code %d, %s", c.jobs, c.flags, listed, r.code, r.stderr)
		}
	}
}

// The help of run fits two screens; --help-all has every option.
func TestHelpOfRunFitsTwoScreens(t *testing.T) {
	short := succeed(t, "run --help")
	all := succeed(t, "run --help-all")
	if lines := strings.Count(short, "\n"); lines > 80 || !strings.Contains(short, "--help-all") ||
		strings.Contains(short, "--coef0") {
		t.Errorf("the short help has %d lines:\n%s", lines, short)
	}
	for _, flag := range []string{"--data", "--coef0", "--folds", "--tls-ca", "--sample-constraints"} {
		if !strings.Contains(all, "\n  "+flag) {
			t.Errorf("%s is not in the whole help", flag)
		}
	}
}
