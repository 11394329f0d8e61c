package answers

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/cleave-project/cleave/internal/clustering/catalog"
	"github.com/cleave-project/cleave/tools/measure"
)

// The suites.
const (
	Tables      = "tables"      // ordinary tables and their number of clusters
	Labels      = "labels"      // labels of some rows
	Range       = "range"       // ordinary tables and a range of the number of clusters
	Constraints = "constraints" // pairs of points
)

// suite is a kind of questions, and the section of the page that tells the answers.
type suite struct {
	name      string
	questions func(s *study, ctx context.Context) ([]question, error)
	write     func(p Page, b *strings.Builder, now time.Time)
}

var suites = []suite{
	{Tables, (*study).tableQuestions, Page.writeTables},
	{Labels, (*study).labelQuestions, Page.writeLabels},
	{Range, (*study).rangeQuestions, Page.writeRange},
	{Constraints, (*study).constraintQuestions, Page.writeConstraints},
}

// PartName returns the name that selects the suite.
func (s suite) PartName() string { return s.name }

// methods returns the methods that are asked, or the usual ones.
func (s *study) methods(usual string) []string {
	if len(s.Methods) > 0 {
		return s.Methods
	}
	return Methods(usual)
}

// about asks all methods about a set of one draw.
func (s *study) about(set *set, m, draw int) []question {
	var list []question
	for _, method := range s.methods("default peers") {
		if applies(method, s.suite, set, m) && (!isPeer(method) || s.python != "") {
			list = append(list, question{suite: s.suite, set: set, method: method, m: m, seed: draw})
		}
	}
	return list
}

// madeSets returns the made tables of a draw.
func (s *study) madeSets(draw int) []*set {
	var sets []*set
	for _, kind := range madeKinds {
		made := &set{name: kind.name, group: Made, kind: Table, n: kind.rows,
			file: filepath.Join(s.temp, fmt.Sprintf("%s-%d.csv", kind.name, draw))}
		made.make = func(context.Context) error {
			table := kind.draw(draw)
			made.tell(table.truth)
			return os.WriteFile(made.file, table.csv(), 0o666)
		}
		sets = append(sets, made)
	}
	return sets
}

// bundled returns the sets that come with scikit-learn, which is asked to write them, unless the folder of data has a
// set of the same name.
func (s *study) bundled(found []*set) []*set {
	if s.python == "" {
		return nil
	}
	var sets []*set
	for _, b := range []struct {
		name string
		n    int
	}{{"iris", 150}, {"wine", 178}, {"wdbc", 569}, {"digits", 1797}} {
		if slices.ContainsFunc(found, func(other *set) bool { return other.name == b.name }) {
			continue
		}
		set := &set{name: b.name, group: Real, kind: catalog.Points, n: b.n,
			file: filepath.Join(s.temp, b.name, "data.csv")}
		set.make = func(ctx context.Context) error {
			if _, err := measure.Run(exec.CommandContext(ctx, s.python, s.script, "export", b.name,
				filepath.Dir(set.file))); err != nil {
				return err
			}
			truth, err := readAnswer(filepath.Join(filepath.Dir(set.file), "labels.csv"))
			set.tell(truth)
			return err
		}
		sets = append(sets, set)
	}
	return sets
}

// tables returns the sets of a draw that are tables: made ones, and in the first draw, those of the folder and of
// scikit-learn.
func (s *study) tables(ctx context.Context, draw int) ([]*set, error) {
	all := s.madeSets(draw)
	if draw == 0 {
		found, err := s.found()
		if err != nil {
			return nil, err
		}
		found = slices.DeleteFunc(found, func(set *set) bool { return set.kind != catalog.Points })
		found = append(found, s.bundled(found)...)
		for _, set := range found {
			set.kind = Table
		}
		all = append(all, found...)
	}
	return s.made(ctx, all)
}

// tableQuestions returns tables and their number of clusters.
func (s *study) tableQuestions(ctx context.Context) ([]question, error) {
	var list []question
	for draw := range s.Seeds {
		sets, err := s.tables(ctx, draw)
		if err != nil {
			return nil, err
		}
		for _, set := range sets {
			list = append(list, s.about(set, 0, draw)...)
		}
	}
	return list, nil
}
