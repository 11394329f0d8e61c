package measure

import (
	"context"
	"errors"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

type part string

func (p part) PartName() string { return string(p) }

// Parts are chosen by their names, in the order of all of them, and an unknown name is refused.
func TestChoose(t *testing.T) {
	all := []part{"a", "b", "c"}
	for _, c := range []struct{ names, want []string }{{nil, []string{"a", "b", "c"}},
		{[]string{"c", "a"}, []string{"a", "c"}}} {
		if got, err := Choose(all, c.names); err != nil || !slices.Equal(Names(got), c.want) {
			t.Errorf("%v: %v, %v", c.names, got, err)
		}
	}
	if _, err := Choose(all, []string{"a", "d"}); err == nil || !strings.Contains(err.Error(), `"d"`) ||
		!strings.Contains(err.Error(), "a, b, c") {
		t.Errorf("an unknown part: %v", err)
	}
}

// A suite gets the flags of all suites and its own; whatever is no suite is answered with the list of them.
func TestRunSuite(t *testing.T) {
	var got Setup
	own := 0
	suites := []Suite{{
		Name: "sizes", About: "measures sizes", Parts: []string{"a"},
		Define: func(flags *flag.FlagSet) func(context.Context, Setup) error {
			flags.IntVar(&own, "own", 0, "")
			return func(_ context.Context, s Setup) error { got = s; return nil }
		},
	}}
	if err := run(t.Context(), []string{"sizes", "-parts", "a,b", "-own", "3", "-python", "", "-version", "v1"},
		suites); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(got.Parts, []string{"a", "b"}) || own != 3 || len(got.Pythons) != 0 ||
		got.When(time.Unix(0, 0)) != "measured on 1970-01-01 at v1" {
		t.Errorf("%+v, own %d", got, own)
	}
	for _, args := range [][]string{nil, {"other"}} {
		if err := run(t.Context(), args, suites); err == nil ||
			!strings.Contains(err.Error(), "sizes        measures sizes") {
			t.Errorf("%v: %v", args, err)
		}
	}
	if err := run(t.Context(), []string{"sizes", "more"}, suites); err == nil ||
		!strings.Contains(err.Error(), `"more"`) {
		t.Errorf("an argument: %v", err)
	}
}

// A page replaces the sections that are new, keeps the others and counts over all of them. Pages of other origin stay.
func TestPage(t *testing.T) {
	path := filepath.Join(t.TempDir(), "page.md")
	p := Page{Suite: "sizes", Parts: []string{"a", "b"}, Head: func(sections string) string {
		return strings.Repeat("x", strings.Count(sections, "new")) + "\n"
	}, Tail: "end\n"}
	for _, c := range []struct {
		sections map[string]string
		want     string
	}{
		{map[string]string{"b": "new 1\n"}, "x\n\n<!-- sizes: b -->\nnew 1\n<!-- end of b -->\nend\n"},
		{map[string]string{"a": "new 2\n"},
			"xx\n\n<!-- sizes: a -->\nnew 2\n<!-- end of a -->\n\n<!-- sizes: b -->\nnew 1\n<!-- end of b -->\nend\n"},
	} {
		if err := p.Write(path, c.sections); err != nil {
			t.Fatal(err)
		}
		page, err := os.ReadFile(path)
		first, rest, _ := strings.Cut(string(page), "\n")
		if err != nil || rest != c.want || !strings.Contains(first, "make sizes") {
			t.Errorf("%s, %v", page, err)
		}
	}
	if err := os.WriteFile(path, []byte("# Mine\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := p.Write(path, map[string]string{"a": "new\n"}); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("over another page: %v", err)
	}
}

func TestFill(t *testing.T) {
	path := filepath.Join(t.TempDir(), "document.md")
	if err := os.WriteFile(path, []byte("Before.\n<!-- sizes -->\nold\n<!-- end of sizes -->\nAfter."),
		0o666); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := FillFile(path, "sizes", "new\n"); err != nil {
			t.Fatal(err)
		}
		if got, _ := os.ReadFile(path); string(got) != "Before.\n<!-- sizes -->\nnew\n<!-- end of sizes -->\nAfter." {
			t.Errorf("%s", got)
		}
	}
	if err := FillFile(path, "other", "new\n"); err == nil || !strings.Contains(err.Error(), "<!-- other -->") {
		t.Errorf("a document without marks: %v", err)
	}
}

// A program that fails is named with its last line; one that is not there, too.
func TestRun(t *testing.T) {
	usage, err := Run(exec.Command("sh", "-c", "exit 0"))
	if err != nil || usage.Seconds <= 0 || usage.PeakBytes <= 0 {
		t.Errorf("%+v, %v", usage, err)
	}
	_, err = Run(exec.Command("sh", "-c", "echo first >&2; echo why >&2; exit 3"))
	var failure *Failure
	if !errors.As(err, &failure) || failure.Said != "why" || !errors.As(err, new(*exec.ExitError)) {
		t.Errorf("%v", err)
	}
	if _, err = Run(exec.Command(filepath.Join(t.TempDir(), "none"))); err == nil ||
		errors.As(err, new(*exec.ExitError)) {
		t.Errorf("%v", err)
	}
	if now, peak := Memory(os.Getpid()); now <= 0 || peak < now {
		t.Errorf("this process has %d bytes, at most %d", now, peak)
	}
}

func TestTable(t *testing.T) {
	var b strings.Builder
	Head(&b, "a", "b")
	Row(&b, "1", "x | y")
	if b.String() != "\n| a | b |\n|---|---|\n| 1 | x \\| y |\n" {
		t.Error(b.String())
	}
}

// What a program said last tells why it gave no answer, unless it crashed.
func TestLastLine(t *testing.T) {
	for said, want := range map[string]string{
		"":                               "",
		"warning: a\nno such file\n":     "no such file",
		"a\npanic: nil\n\ngoroutine 1\n": "panic: nil",
		strings.Repeat("é", 200):         strings.Repeat("é", 160),
	} {
		if got := lastLine(said); got != want {
			t.Errorf("%q: %q, want %q", said, got, want)
		}
	}
}
