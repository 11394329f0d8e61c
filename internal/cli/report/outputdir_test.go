package report

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/cleave-project/cleave/internal/cli/jobflags"
	"github.com/cleave-project/cleave/internal/cli/shell"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/test/clitest"
)

// texts returns files whose content is their name.
func texts(names ...string) (files []File) {
	for _, name := range names {
		files = append(files, File{name, func(w io.Writer) error {
			_, err := io.WriteString(w, name)
			return err
		}})
	}
	return files
}

// writeOutput writes files as a run does.
func writeOutput(t *testing.T, dir string, files []File) error {
	t.Helper()
	out, err := OpenOutput(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	return out.Write(t.Context(), files)
}

// wantFolder checks the names in a folder, in alphabetical order.
func wantFolder(t *testing.T, dir, want string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	if got := strings.Join(names, " "); got != want {
		t.Errorf("the folder has %s; want %s", got, want)
	}
}

// A run removes the files that the run before listed, and nothing else.
func TestOutputOfAnEarlierRunIsReplaced(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "o")
	if err := writeOutput(t, dir, texts("labels.csv", "k.svg", "result.json")); err != nil {
		t.Fatal(err)
	}
	clitest.Write(t, filepath.Join(dir, "suspects.csv"), "of the user")
	if err := writeOutput(t, dir, texts("labels.csv", "result.json")); err != nil {
		t.Fatal(err)
	}
	wantFolder(t, dir, "_MANIFEST.json labels.csv result.json suspects.csv")
	if got := clitest.Read(t, filepath.Join(dir, "suspects.csv")); got != "of the user" {
		t.Errorf("a file of the user is %q", got)
	}
}

func TestSuccessMarker(t *testing.T) {
	dir := t.TempDir()
	out, err := OpenOutput(t.Context(), dir)
	if err == nil {
		err = errors.Join(out.Write(t.Context(), texts("labels.csv")), out.Succeed())
	}
	if err != nil {
		t.Fatal(err)
	}
	wantFolder(t, dir, "_MANIFEST.json _SUCCESS labels.csv")
	if _, err := OpenOutput(t.Context(), dir); err != nil {
		t.Fatal(err)
	}
	wantFolder(t, dir, "_MANIFEST.json labels.csv") // from the start of the next run
}

// Whatever a run that ended early has left, the next one leaves only its own files.
func TestOutputAfterARunThatEndedEarly(t *testing.T) {
	fails := File{"result.json", func(io.Writer) error { return errors.New("no space left") }}
	dir := t.TempDir()
	if err := writeOutput(t, dir, texts("labels.csv", "old.svg", "result.json")); err != nil {
		t.Fatal(err)
	}
	if err := writeOutput(t, dir, append(texts("labels.csv", "new.svg"), fails)); err == nil {
		t.Fatal("a file that cannot be written is no error")
	}
	wantFolder(t, dir, "_MANIFEST.json labels.csv old.svg result.json") // nothing was replaced
	// Killed after some files were moved to their places, and with others still in the subfolder.
	killed := filepath.Join(dir, ".partial-ABC234")
	if err := os.Mkdir(killed, 0o777); err != nil {
		t.Fatal(err)
	}
	clitest.Write(t, filepath.Join(killed, "result.json"), "half")
	clitest.Write(t, filepath.Join(dir, "new.svg"), "moved")
	clitest.Write(t, filepath.Join(dir, "_MANIFEST.json.tmp"), "half")
	clitest.Write(t, filepath.Join(dir, manifestFile),
		`{"files": ["labels.csv", "new.svg", "old.svg", "result.json"], "partial": ".partial-ABC234"}`)
	if err := writeOutput(t, dir, texts("labels.csv", "result.json")); err != nil {
		t.Fatal(err)
	}
	wantFolder(t, dir, "_MANIFEST.json labels.csv result.json")
}

func TestOutputWritesNothingAfterAnInterrupt(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "o")
	out, err := OpenOutput(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := out.Write(ctx, texts("labels.csv")); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	out.Abandon()
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("the folder is still there: %v", err)
	}
}

// What a disk refuses is not the fault of the command line.
func TestOutputThatTheDiskRefuses(t *testing.T) {
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "labels.csv", "inside"), 0o777); err != nil {
		t.Fatal(err)
	}
	err := writeOutput(t, dir, texts("labels.csv"))
	if err == nil || shell.ExitCode(err) != 1 ||
		!strings.Contains(err.Error(), "labels.csv cannot be written or removed") {
		t.Errorf("exit code %d: %v", shell.ExitCode(err), err)
	}
}

// A manifest can name nothing outside of its folder.
func TestForeignManifests(t *testing.T) {
	for _, text := range []string{
		`{"files": ["../precious"]}`, `{"files": ["/etc/passwd"]}`, `{"files": ["a/b"]}`, `{"files": ["."]}`,
		`{"files": [""]}`, `{"files": [], "inputs": {"../x": ""}}`,
		`{"partial": "data"}`, `{"partial": ".partial-../x"}`, `{"files": "labels.csv"}`, `{"name": "mine"}`, `{`, ``,
	} {
		dir := t.TempDir()
		clitest.Write(t, filepath.Join(dir, manifestFile), text)
		if _, err := OpenOutput(t.Context(), dir); !fault.Is(err, "BAD_OUTPUT") ||
			!strings.Contains(err.Error(), fmt.Sprintf("%s is not a list", filepath.Join(dir, manifestFile))) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// A file that an earlier run wrote, and that is now an input, is not removed by this run nor by the next.
func TestInputsOfAnEarlierRunAreKept(t *testing.T) {
	folder := t.TempDir()
	if err := writeOutput(t, folder, texts("joined.csv", "labels.csv")); err != nil {
		t.Fatal(err)
	}
	out, err := OpenOutput(t.Context(), folder)
	if err == nil {
		err = errors.Join(out.ProtectInputs(t.Context(), []jobflags.NamedFile{{Path: "joined.csv"}}, folder),
			out.Write(t.Context(), texts("labels.csv")))
	}
	if err != nil {
		t.Fatal(err)
	}
	wantFolder(t, folder, "_MANIFEST.json joined.csv labels.csv")
	if err := writeOutput(t, folder, texts("labels.csv")); err != nil {
		t.Fatal(err)
	}
	wantFolder(t, folder, "_MANIFEST.json joined.csv labels.csv")
}

// An input is never overwritten, unless an earlier run wrote it.
func TestInputsAreSpared(t *testing.T) {
	folder := t.TempDir()
	out, err := OpenOutput(t.Context(), folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		input   string
		refused bool
	}{
		{"labels.csv", true}, {"labels-k3.csv", true}, {"joined.parquet", true}, {"data.csv", false},
		{"../labels.csv", false}, {"labels", false}, {"forest.csv", true}, {"centroidsxcsv", false},
		{"labels-k3.csv.csv", false}, {"my-labels.csv", false},
	} {
		if err := out.ProtectInputs(t.Context(), []jobflags.NamedFile{{Path: c.input}},
			folder); (err != nil) != c.refused {
			t.Errorf("%s: %v", c.input, err)
		}
	}
	if err := out.Write(t.Context(), []File{{"labels.csv", func(io.Writer) error { return nil }}}); err != nil {
		t.Fatal(err)
	}
	if err := out.ProtectInputs(t.Context(), []jobflags.NamedFile{{Path: "labels.csv"}}, folder); err != nil {
		t.Errorf("the labels of an earlier run: %v", err)
	}
}

// A table that is missing in the list could overwrite an input.
func TestTablesAreListed(t *testing.T) {
	source, err := os.ReadFile("report.go")
	if err != nil {
		t.Fatal(err)
	}
	declared := regexp.MustCompile(`(?m)^\t\w+File\s+= "(.+?)"`).FindAllSubmatch(source, -1)
	if len(declared) < len(tables) {
		t.Errorf("only %d files are declared in the form that this test looks for", len(declared))
	}
	for _, match := range declared {
		if name := string(match[1]); name != ResultFile && !slices.Contains(tables, name) {
			t.Errorf("%s is not in the list of tables", name)
		}
	}
}

// The same run on a table of an earlier run can be repeated, also after another run.
func TestInputsOfAnEarlierRunAreRemembered(t *testing.T) {
	dir := t.TempDir()
	if err := writeOutput(t, dir, texts("embedding.csv", "labels.csv")); err != nil {
		t.Fatal(err)
	}
	for _, input := range []string{"embedding.csv", "embedding.csv", "elsewhere.csv", "embedding.csv"} {
		out, err := OpenOutput(t.Context(), dir)
		if err == nil {
			err = out.ProtectInputs(t.Context(), []jobflags.NamedFile{{Path: input}}, dir)
		}
		if err == nil {
			err = out.Write(t.Context(), texts("labels.csv"))
		}
		if err != nil {
			t.Fatal(err)
		}
		wantFolder(t, dir, "_MANIFEST.json embedding.csv labels.csv")
	}
}

// A file of the user that has the name of an input of an earlier run is not overwritten.
func TestInputsOfAnEarlierRunExpire(t *testing.T) {
	dir := t.TempDir()
	open := func() (*OutputDir, error) {
		out, err := OpenOutput(t.Context(), dir)
		if err != nil {
			t.Fatal(err)
		}
		return out, out.ProtectInputs(t.Context(), []jobflags.NamedFile{{Path: "embedding.csv"}}, dir)
	}
	if err := writeOutput(t, dir, texts("embedding.csv", "labels.csv")); err != nil {
		t.Fatal(err)
	}
	out, err := open()
	if err := errors.Join(err, out.Write(t.Context(), texts("labels.csv"))); err != nil {
		t.Fatal(err)
	}
	clitest.Write(t, filepath.Join(dir, "embedding.csv"), "of the user")
	if _, err := open(); !fault.Is(err, "BAD_OUTPUT") {
		t.Errorf("a file of the user may be overwritten: %v", err)
	}
	if err := writeOutput(t, dir, texts("labels.csv")); err != nil {
		t.Fatal(err)
	}
	if manifest := clitest.Read(t, filepath.Join(dir, manifestFile)); strings.Contains(manifest, "embedding.csv") {
		t.Errorf("a file of the user is listed: %s", manifest)
	}
	wantFolder(t, dir, "_MANIFEST.json embedding.csv labels.csv")
}

func TestReplacedFilesKeepTheirPermissions(t *testing.T) {
	dir := t.TempDir()
	if err := writeOutput(t, dir, texts("labels.csv")); err != nil {
		t.Fatal(err)
	}
	err := errors.Join(os.Chmod(filepath.Join(dir, "labels.csv"), 0o640),
		os.Chmod(filepath.Join(dir, manifestFile), 0o600))
	if err := errors.Join(err, writeOutput(t, dir, texts("labels.csv"))); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]os.FileMode{"labels.csv": 0o640, manifestFile: 0o600} {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s has mode %v, want %v: %v", name, info.Mode().Perm(), want, err)
		}
	}
}
