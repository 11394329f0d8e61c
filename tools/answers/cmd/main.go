// Command answers measures what cleave answers by its defaults, and writes the page of the documentation.
// `make answers DATA=folder` runs it. It needs the program cleave, and neither Go nor, without peers, Python.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/cleave-project/cleave/internal/format"
	"github.com/cleave-project/cleave/tools/answers"
)

func main() {
	cfg := answers.Config{Progress: os.Stderr}
	page := answers.Page{}
	var numbers, methods, python, more, out, fill string
	var pageOnly bool
	var tables string
	var draw int
	flag.StringVar(&cfg.Suite, "suite", answers.Constraints, "what is asked: "+strings.Join(answers.SuiteNames(), ", "))
	flag.StringVar(&cfg.Data, "data", "", "`folder` of data sets (default: only generated ones)")
	flag.StringVar(&cfg.Cleave, "cleave", "bin/cleave", "the cleave `program`")
	flag.StringVar(&python, "python", "/usr/bin/python3,python3", "Python `programs`, the first of which with scikit-learn runs the peers; empty for none")
	flag.StringVar(&cfg.Results, "results", "answers-out/answers.csv", "`file` that keeps the answers; what it has is not asked again")
	flag.StringVar(&more, "more", "", "comma-separated `files` of further results for the page")
	flag.StringVar(&cfg.Sets, "sets", "", "regular `expression` of the names of sets (default: all but the large ones)")
	flag.BoolVar(&cfg.Large, "large", false, "the large sets instead of the others")
	flag.StringVar(&methods, "methods", "", "`methods`: default, peers, or algorithms with flags (pc-kmeans,restarts=10,entail)")
	flag.StringVar(&numbers, "ms", "", "comma-separated `numbers` of constraints; half is n/2 (default 0,20,100,400,half); percentages of labels (default 5,20)")
	flag.IntVar(&cfg.Seeds, "seeds", 3, "`number` of draws of constraints, labels or tables")
	flag.Float64Var(&cfg.Noise, "noise", 0, "`share` of the constraints that is wrong")
	flag.IntVar(&cfg.Jobs, "jobs", 1, "runs at a `time`")
	flag.IntVar(&cfg.Threads, "threads", 1, "`threads` of each run")
	flag.DurationVar(&cfg.Limit, "limit", 5*time.Minute, "the longest `time` of a run")
	flag.BoolVar(&cfg.Again, "again", false, "ask again what the results have")
	flag.BoolVar(&pageOnly, "page", false, "ask nothing, only write the page of the results")
	flag.StringVar(&page.Subject, "subject", answers.Default, "the `method` that the page is about")
	flag.StringVar(&page.Version, "version", "an unknown version", "the `version` of this source")
	flag.StringVar(&out, "out", "", "write the sections that have results into the page in this `file` instead of printing it")
	flag.StringVar(&fill, "fill", "", "also put the table of algorithms into this `document`, between its marks")
	flag.StringVar(&tables, "write-tables", "", "ask nothing, only write the made tables below this `folder`")
	flag.IntVar(&draw, "draw", 0, "the `number` of the draw that -write-tables writes")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := func() (err error) {
		if tables != "" {
			return answers.WriteTables(tables, draw)
		}
		cfg.Methods, cfg.Pythons = answers.Methods(methods), words(python)
		if cfg.Numbers, err = counts(numbers); err != nil {
			return err
		}
		if !pageOnly {
			if err := answers.Run(ctx, cfg); err != nil {
				return err
			}
		}
		if cfg.Suite != answers.Constraints {
			fill = "" // the table of algorithms is about constraints
		}
		return write(page, append([]string{cfg.Results}, words(more)...), out, fill)
	}()
	if err != nil {
		fmt.Fprintln(os.Stderr, "answers:", err)
		stop()
		os.Exit(1)
	}
}

func words(list string) []string {
	return strings.FieldsFunc(list, func(c rune) bool { return c == ',' })
}

func counts(list string) (numbers []int, err error) {
	for _, word := range words(list) {
		m := -1
		if word != "half" {
			if m, err = strconv.Atoi(word); err != nil || m < 0 {
				return nil, fmt.Errorf("-ms: %q is no number of constraints; give numbers from 0 on, or half", word)
			}
		}
		numbers = append(numbers, m)
	}
	return numbers, nil
}

func write(page answers.Page, results []string, out, fill string) error {
	for _, path := range results {
		list, err := answers.Load(path)
		if err != nil {
			return err
		}
		page.Answers = append(page.Answers, list...)
	}
	if fill != "" {
		document, err := os.ReadFile(fill)
		if err != nil {
			return err
		}
		text, err := page.Fill(string(document))
		if err != nil {
			return fmt.Errorf("%s: %w", fill, err)
		}
		if err := os.WriteFile(fill, []byte(text), 0o666); err != nil {
			return err
		}
	}
	document := answers.EmptyPage()
	if out != "" {
		switch old, err := os.ReadFile(out); {
		case err == nil:
			document = string(old)
		case !errors.Is(err, fs.ErrNotExist):
			return err
		}
	}
	document, err := page.Update(document, time.Now())
	if err != nil {
		return fmt.Errorf("%s: %w", out, err)
	}
	if out == "" {
		_, err = io.WriteString(os.Stdout, document)
		return err
	}
	return format.WriteFile(out, func(w io.Writer) error {
		_, err := io.WriteString(w, document)
		return err
	})
}
