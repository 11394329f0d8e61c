package documents

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/cleave-project/cleave/internal/clustering/catalog"
	"github.com/cleave-project/cleave/test/programs"
	"github.com/cleave-project/cleave/test/testscale"
)

// reference is the folder with a page for each algorithm.
const reference = "docs/reference"

// parts are the sections of a page, in order.
var parts = []string{"Objective", "When to use it", "When not to use it", "Example", "Complexity", "Options"}

// maxPicture is the size in bytes of the largest picture of a page.
const maxPicture = 60_000

var picture = regexp.MustCompile(`!\[[^\]]+\]\(([^)]+)\)`)

// TestEveryAlgorithmHasAPage: every algorithm of the catalog has a page with all sections, and there are no other
// pages.
func TestEveryAlgorithmHasAPage(t *testing.T) {
	for _, a := range catalog.Algorithms {
		page := readDocument(t, filepath.Join(reference, a.Name+".md"))
		wrong := func(format string, args ...any) {
			t.Helper()
			t.Errorf(a.Name+".md: "+format, args...)
		}
		if !strings.HasPrefix(page, "# "+a.Name+"\n\n<!-- catalog: summary of "+a.Name+" -->\n") {
			wrong("does not begin with its name and its summary")
		}
		var titles []string
		for _, s := range sections(page) {
			titles = append(titles, s.title)
			switch s.title {
			case "Objective":
				if !strings.Contains(s.text, "$") {
					wrong("the objective has no equation")
				}
			case "Example":
				checkExample(t, a, s)
			case "Options":
				if !strings.Contains(s.text, "<!-- catalog: options of "+a.Name+" -->\n|") {
					wrong("has no table of its options")
				}
			}
			if len(strings.TrimSpace(s.text)) < 20 {
				wrong("%s has no text", s.title)
			}
		}
		if !slices.Equal(titles, parts) {
			wrong("has the sections %q, want %q", titles, parts)
		}
	}
	entries, err := os.ReadDir(filepath.Join(root, reference))
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		if _, known := catalog.FindAlgorithm(strings.TrimSuffix(entry.Name(), ".md")); !known {
			t.Errorf("%s/%s is not the page of an algorithm", reference, entry.Name())
		}
	}
}

// checkExample checks that an example runs its algorithm and shows a picture of a moderate size.
func checkExample(t *testing.T, a catalog.Algorithm, s section) {
	t.Helper()
	runs := slices.ContainsFunc(s.blocks, func(b block) bool {
		return b.language == "console" && slices.ContainsFunc(b.lines, func(line string) bool {
			return strings.HasPrefix(line, "$ cleave run ") &&
				(a.Name == catalog.DefaultAlgorithm || strings.Contains(line, "--algorithm "+a.Name+" "))
		})
	})
	if !runs {
		t.Errorf("%s.md: the example does not run the algorithm", a.Name)
	}
	pictures := picture.FindAllStringSubmatch(s.text, -1)
	if len(pictures) == 0 {
		t.Errorf("%s.md: the example has no picture", a.Name)
	}
	for _, match := range pictures {
		switch info, err := os.Stat(filepath.Join(root, reference, match[1])); {
		case err != nil:
			t.Errorf("%s.md: %v", a.Name, err)
		case info.Size() > maxPicture:
			t.Errorf("%s.md: %s has %d bytes, more than %d", a.Name, match[1], info.Size(), maxPicture)
		}
	}
}

// CLEAVE_RECORD_ANSWERS, set to anything in the environment, writes what the commands of the pages print, and the
// pictures, anew.
var recording = os.Getenv("CLEAVE_RECORD_ANSWERS") != ""

// buildCleave builds cleave, and returns the folder that has it.
func buildCleave(t *testing.T) string {
	t.Helper()
	folder, err := programs.Build("cleave")
	if err != nil {
		t.Fatal(err)
	}
	return folder
}

// TestReferenceExamplesRun runs the commands of the pages, and compares what they print.
func TestReferenceExamplesRun(t *testing.T) {
	bin := buildCleave(t)
	algorithms := testscale.Some(catalog.Algorithms, 3)
	if recording {
		algorithms = catalog.Algorithms
	}
	for _, a := range algorithms {
		t.Run(a.Name, func(t *testing.T) {
			folder := t.TempDir()
			page := filepath.Join(reference, a.Name+".md")
			for _, s := range sections(readDocument(t, page)) {
				for _, b := range s.blocks {
					switch {
					case b.language == "console" && recording:
						record(t, folder, bin, a.Name, b)
					case b.language == "console":
						runCommands(t, folder, bin, b)
					}
				}
			}
		})
	}
}

// unstable matches the lines of a summary that are not shown: warnings, and what comes after the scores.
var unstable = regexp.MustCompile(`(?m)^(warning: .*\n)+|^time (?s:.*)`)

// record runs the commands of a block of a page, and writes what they print to the page. The picture that has the name
// of the page is that of its run.
func record(t *testing.T, folder, bin, name string, b block) {
	t.Helper()
	fresh := ""
	lines, _ := b.commands()
	for _, line := range lines {
		output, err := runCommand(folder, bin, line)
		if err != nil {
			t.Fatalf("$ %s\n%s%v", line, output, err)
		}
		fresh += "$ " + line + "\n" + unstable.ReplaceAllString(output, "...\n")
		_, out, _ := strings.Cut(line, " --out ")
		drawn, err := os.ReadFile(filepath.Join(folder, out, "clusters.svg"))
		picture := filepath.Join(root, "docs/pictures/reference", name+".svg")
		if _, exists := os.Stat(picture); err == nil && exists == nil {
			write(t, picture, drawn)
		}
	}
	page := filepath.Join(reference, name+".md")
	text := strings.Replace(readDocument(t, page), strings.Join(b.lines, "\n")+"\n", fresh, 1)
	write(t, filepath.Join(root, page), []byte(text))
}

// TestGuideRuns runs the commands of the README and the guide, page after page in one folder, because later pages use
// data of earlier ones. A block without a language shows some lines of what the commands before it print; pages leave
// out what depends on the machine, such as times. Commands that name a HOST do not run, nor do those of the README that
// show no output.
func TestGuideRuns(t *testing.T) {
	folder := t.TempDir()
	docs, err := filepath.Abs(filepath.Join(root, "docs"))
	if err != nil {
		t.Fatal(err)
	}
	for name, target := range map[string]string{"bin": buildCleave(t), "docs": docs} {
		if err := os.Symlink(target, filepath.Join(folder, name)); err != nil {
			t.Fatal(err)
		}
	}
	for _, page := range testscale.Some([]string{"README.md", "docs/guide/running.md", "docs/guide/algorithms.md",
		"docs/guide/files.md", "docs/guide/pictures.md"}, 1) {
		for _, s := range sections("## \n" + readDocument(t, page)) {
			printed := ""
			for at, b := range s.blocks {
				command := strings.Join(b.lines, "\n")
				shown := at+1 < len(s.blocks) && s.blocks[at+1].language == ""
				switch {
				case b.language == "" && printed != "":
					checkShown(t, page, b.lines, printed)
				case b.language == "sh" && !strings.Contains(command, "HOST") && (shown || page != "README.md"):
					printed = run(t, folder, "bash", "-euo", "pipefail", "-c", command)
				}
			}
		}
	}
}

// checkShown checks that every line that a page shows is, apart from its spaces, a part of what was printed.
func checkShown(t *testing.T, page string, lines []string, printed string) {
	t.Helper()
	all := spaces.ReplaceAllString(printed, " ")
	missing := slices.DeleteFunc(slices.Clone(lines), func(line string) bool {
		return strings.Contains(all, strings.TrimSpace(spaces.ReplaceAllString(line, " ")))
	})
	if len(missing) > 0 {
		t.Errorf("%s shows\n%s\nbut the commands print\n%s", page, strings.Join(missing, "\n"), printed)
	}
}
