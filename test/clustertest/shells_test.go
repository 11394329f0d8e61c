package clustertest

import (
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// completedLines are beginnings of command lines, and what pressing the tabulator key makes of them.
var completedLines = []struct{ begun, whole string }{
	{"cleave exp", "cleave explain"},
	{"cleave run --constr", "cleave run --constraints"},
	{"cleave run --algorithm cop", "cleave run --algorithm cop-kmeans"},
	{"cleave generate two-m", "cleave generate two-moons"},
	{"cleave completion z", "cleave completion zsh"},
}

// TestCompletionInFish asks fish what it would complete lines to.
func TestCompletionInFish(t *testing.T) {
	t.Parallel()
	fish, err := exec.LookPath("fish")
	if err != nil {
		t.Skip("fish is not installed")
	}
	bin := filepath.Dir(Build(t).Cleave)
	home := t.TempDir()
	const script = `set -x PATH $argv[1] $PATH; cleave completion fish | source; or exit 1; complete -C "$argv[2]"`
	for _, line := range completedLines {
		r := Command(t, "env", "HOME="+home, "XDG_CONFIG_HOME="+home, fish, "--no-config", "-c", script,
			bin, line.begun)
		word, _, _ := strings.Cut(strings.TrimSpace(r.Stdout), "\t") // a description follows
		if want := line.whole[strings.LastIndexByte(line.whole, ' ')+1:]; r.ExitCode != 0 || word != want {
			t.Errorf("%q: exit code %d, %q, %s; want %q", line.begun, r.ExitCode, r.Stdout, r.Stderr, want)
		}
	}
}

// typing runs zsh in a terminal of its own, types each line and the tabulator key, and waits for what is to be there
// then.
const typing = `
zmodload zsh/zpty || exit 1
PATH=$1:$PATH
export TERM=dumb COLUMNS=200 HOME=$2 ZDOTDIR=$2
zpty -b z zsh -f -i
zpty -w z "PS1= RPS1= ; unsetopt beep"
zpty -w z "autoload -Uz compinit && compinit -u -D && source <(cleave completion zsh) && print LOAD''ED"
zpty -r -m z got '*LOADED*' || exit 2
for begun whole in "${@:3}"; do
    print -r -- $begun
    zpty -w -n z $begun$'\t'
    zpty -r -m z got "*$whole*" || exit 3
    zpty -w -n z $'\x15' # which deletes the line
done
zpty -d z
`

// TestCompletionInZsh types lines into zsh.
func TestCompletionInZsh(t *testing.T) {
	t.Parallel()
	zsh, err := exec.LookPath("zsh")
	if err != nil {
		t.Skip("zsh is not installed")
	}
	arguments := []string{"60", zsh, "-f", "-c", typing, "zsh", filepath.Dir(Build(t).Cleave), t.TempDir()}
	for _, line := range completedLines {
		arguments = append(arguments, line.begun, line.whole)
	}
	if r := Command(t, "timeout", arguments...); r.ExitCode != 0 {
		typed := slices.Collect(strings.Lines(r.Stdout))
		t.Errorf("exit code %d after %q: %s", r.ExitCode, typed[max(0, len(typed)-1):], r.Stderr)
	}
}
