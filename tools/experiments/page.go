package experiments

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/cleave-project/cleave/internal/format"
)

// pictureFolder is the folder of the pictures, in that of the page.
const pictureFolder = "pictures"

// sectionMark finds the name of the study in the text of a section.
var sectionMark = regexp.MustCompile("Study `([a-z]+)`")

// WriteFiles writes the page to a path, and its pictures into a folder beside it. A page that exists keeps
// its sections of other studies.
func (r *Report) WriteFiles(path, version string, now time.Time) error {
	previous, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	folder := filepath.Join(filepath.Dir(path), pictureFolder)
	for _, s := range r.Sections {
		for _, p := range s.Pictures {
			if err := os.MkdirAll(folder, 0o777); err != nil {
				return err
			}
			if err := os.WriteFile(filepath.Join(folder, p.Name), p.Data, 0o666); err != nil {
				return err
			}
		}
	}
	return format.WriteFile(path, func(w io.Writer) error { return r.WriteMarkdown(w, string(previous), version, now) })
}

// WriteMarkdown writes the page of the documentation. Studies that were not run keep the sections that they
// have on the previous page, which may be empty.
func (r *Report) WriteMarkdown(w io.Writer, previous, version string, now time.Time) error {
	sections, err := sectionsOf(previous)
	if err != nil {
		return err
	}
	for _, s := range r.Sections {
		sections[s.Study] = s.markdown(fmt.Sprintf("measured on %s at %s", now.UTC().Format(time.DateOnly), version))
	}
	var body strings.Builder
	for _, study := range StudyNames() {
		if text, there := sections[study]; there {
			body.WriteString("\n" + strings.TrimRight(text, "\n") + "\n")
		}
	}
	text := body.String()
	holds, fails := strings.Count(text, ": holds ("), strings.Count(text, ": **does not hold** (")
	_, err = fmt.Fprintf(w, pageHead+"%s", holds+fails, holds, text)
	return err
}

const pageHead = "<!-- Written by make experiments. Do not edit: change tools/experiments and run it again. -->\n" +
	`# Experiments

The experiments of the papers, reproduced. Of %d findings that the papers suggest, %d hold. A comparison of two means holds if the first is at least the second, or within two standard errors of it.

` + "`make experiments DATA=folder` repeats all of it, `make experiments DATA=folder STUDIES=moons,cuts` some studies, and keeps the sections of the others. `RUNS=10` shortens it. The folder has one subfolder per data set, with its points and labels: `iris`, `wine`, `pendigits-389`, `letter-ijl`, `mini-newsgroups`, `hepatitis`, `glass`, `ionosphere`, `wdbc`; `football`, `polbooks` and `karate` with edges instead of points.\n"

// sectionsOf are the sections of a page by their studies.
func sectionsOf(text string) (map[string]string, error) {
	sections := map[string]string{}
	parts := strings.Split("\n"+text, "\n## ")
	for _, part := range parts[1:] {
		title, _, _ := strings.Cut(part, "\n")
		mark := sectionMark.FindStringSubmatch(part)
		if mark == nil || !slices.Contains(StudyNames(), mark[1]) {
			return nil, fmt.Errorf("the section %q of the page names no study", title)
		}
		sections[mark[1]] = "## " + part
	}
	return sections, nil
}
