package experiments

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/cleave-project/cleave/tools/measure"
)

// pictureFolder is the folder of the pictures, in that of the page.
const pictureFolder = "pictures"

// page returns the page docs/experiments.md.
func page() measure.Page {
	return measure.Page{Suite: "experiments", Parts: measure.Names(studies), Head: func(sections string) string {
		holds := strings.Count(sections, ": holds (")
		fails := strings.Count(sections, ": **does not hold** (")
		return fmt.Sprintf(pageHead, holds+fails, holds)
	}}
}

//nolint:lll // the paragraphs of a document
const pageHead = `# Experiments

The experiments of the papers, reproduced. Of %d findings that the papers suggest, %d hold. A comparison of two means holds if the first is at least the second, or within two standard errors of it.

` + "`make experiments DATA=folder` repeats all of it, `make experiments DATA=folder STUDIES=moons,cuts` some " +
	"studies, and keeps the sections of the others. `RUNS=10` shortens it. The folder has one subfolder per data " +
	"set, with its points and labels: `iris`, `wine`, `pendigits-389`, `letter-ijl`, `mini-newsgroups`, `hepatitis`, " +
	"`glass`, `ionosphere`, `wdbc`; `football`, `polbooks` and `karate` with edges instead of points.\n"

// Write writes the page, and its pictures into a folder beside it, or prints the page.
func (r *Report) Write(setup measure.Setup, now time.Time) error {
	sections := map[string]string{}
	for _, s := range r.Sections {
		sections[s.Study] = s.markdown(setup.When(now))
		for _, p := range s.Pictures {
			if setup.Out == "" {
				break
			}
			folder := filepath.Join(filepath.Dir(setup.Out), pictureFolder)
			if err := os.MkdirAll(folder, 0o777); err != nil {
				return err
			}
			if err := os.WriteFile(filepath.Join(folder, p.Name), p.Data, 0o666); err != nil {
				return err
			}
		}
	}
	return page().Write(setup.Out, sections)
}
