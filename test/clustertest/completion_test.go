package clustertest

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// completing is what bash does when the tabulator key is pressed at the end of a line: it calls the function that
// `complete` registered, with the words that its own rules make of the line.
const completing = `
PATH=$1:$PATH
line=$2
source <(cleave completion bash) || exit 1
function=$(complete -p cleave | sed 's/.*-F \([^ ]*\).*/\1/')
COMP_LINE=$line COMP_POINT=${#line} COMP_TYPE=9 COMP_KEY=9
read -ra COMP_WORDS <<< "${line//[:=]/ & }"
[[ $line == *" " ]] && COMP_WORDS+=("")
COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
compopt() { :; } # there is no line editor here
$function cleave
printf '%s\n' "${COMPREPLY[@]}"
`

// TestCompletionInBash: bash completes commands, flags, their words, and the ids of jobs of a real coordinator.
func TestCompletionInBash(t *testing.T) {
	t.Parallel()
	c, _ := StartCluster(t, 1)
	out := t.TempDir()
	generated := Cleave(t, "generate", "gaussians", "--n", "20", "--out", filepath.Join(out, "g"))
	if generated.ExitCode != 0 {
		t.Fatal(generated.Stderr)
	}
	submitted := Cleave(t, "submit", "--wait", "--quiet", "--data", filepath.Join(out, "g", "data.csv"), "--k", "2",
		"--algorithm", "kmeans", "--server", c.Addr)
	if submitted.ExitCode != 0 {
		t.Fatal(submitted.Stderr)
	}
	job := strings.TrimSpace(submitted.Stdout)
	bin := filepath.Dir(Build(t).Cleave)
	for _, test := range []struct {
		line string
		want []string // all of them, in this order; nil: bash completes files itself
	}{
		{"cleave exp", []string{"explain"}},
		{"cleave run --algorithm c", []string{"constrained-kmeans", "cop-kmeans", "constrained-spectral"}},
		{"cleave run --kernel ", []string{"gaussian", "linear", "laplacian", "polynomial", "sigmoid", "cosine"}},
		{"cleave run --kernel=l", []string{"linear", "laplacian"}},
		{"cleave run --constr", []string{"--constraints"}},
		{"cleave run --init labels", []string{"labels:"}},
		{"cleave run --data ", nil},
		{"cleave generate two", []string{"two-circles", "two-moons"}},
		{"cleave completion z", []string{"zsh"}},
		{"cleave get --server " + c.Addr + " ", []string{job}},
		{"cleave delete --server " + c.Addr + " " + job + " " + job[:4], []string{job}},
		{"cleave predict --server " + c.Addr + " --job ", []string{job}},
		{"cleave drain --server " + c.Addr + " ", []string{"w0"}},
		{"cleave get --server localhost:1 ", nil},
	} {
		r := Command(t, "bash", "--norc", "-c", completing, "bash", bin, test.line)
		var got []string
		for line := range strings.Lines(r.Stdout) {
			if word, _, _ := strings.Cut(strings.TrimSpace(line), " "); word != "" { // descriptions follow in brackets
				got = append(got, word)
			}
		}
		if r.ExitCode != 0 || !slices.Equal(got, test.want) {
			t.Errorf("%q: exit code %d, %q, %s; want %q", test.line, r.ExitCode, got, r.Stderr, test.want)
		}
	}
	if r := Cleave(t, "drain", "w", "--server", c.Addr); r.ExitCode != 2 || !strings.Contains(r.Stderr, "too short") {
		t.Errorf("drain by one letter: exit code %d, %s, %s", r.ExitCode, r.Stdout, r.Stderr)
	}
	if r := Cleave(t, "drain", "w0", "--server", c.Addr); r.ExitCode != 0 || !strings.HasPrefix(r.Stdout, "w0 (") ||
		!strings.Contains(r.Stdout, "draining; ") {
		t.Errorf("drain by name: exit code %d, %s, %s", r.ExitCode, r.Stdout, r.Stderr)
	}
	for shell, has := range map[string]string{"zsh": "#compdef cleave", "fish": "complete -c cleave"} {
		if r := Cleave(t, "completion", shell); r.ExitCode != 0 || !strings.Contains(r.Stdout, has) {
			t.Errorf("completion %s: exit code %d, %s", shell, r.ExitCode, r.Stderr)
		}
	}
}

// TestVersions: all programs say what they are.
func TestVersions(t *testing.T) {
	t.Parallel()
	bin := filepath.Dir(Build(t).Cleave)
	for _, name := range []string{"cleave", "coordinator", "worker"} {
		r := Command(t, filepath.Join(bin, name), "--version")
		if r.ExitCode != 0 || !strings.HasPrefix(r.Stdout, name+" ") || !strings.Contains(r.Stdout, "(commit ") ||
			!strings.Contains(r.Stdout, ", go1.") {
			t.Errorf("%s --version: exit code %d, %q", name, r.ExitCode, r.Stdout)
		}
		if r := Command(t, filepath.Join(bin, name), "--help"); r.ExitCode != 0 ||
			!strings.Contains(r.Stdout, "\nExamples:\n") {
			t.Errorf("%s --help: exit code %d, %q", name, r.ExitCode, r.Stdout)
		}
	}
}
