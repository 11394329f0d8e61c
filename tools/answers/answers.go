// Package answers measures what `cleave` answers when it is given data, a number of clusters and constraints, and
// nothing else; what its algorithms answer that a user might name, and what other programs do: `make answers
// DATA=folder`. It may import any package; none imports it.
package answers

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/cleave-project/cleave/tools/measure"
)

// Config says what to ask. Without a folder of data, only generated sets are asked about.
type Config struct {
	measure.Setup
	Results string   // the file that keeps the answers
	Sets    string   // a regular expression of whole names; empty: all but the large sets
	Large   bool     // the large sets instead of the others
	Methods []string // empty: no algorithm, the usual algorithms and the peers
	// of constraints; -1 stands for n/2; empty: 0, 20, 100, 400 and n/2. Of labels, percentages; empty: 5 and 20
	Numbers []int
	Seeds   int
	Noise   float64 // the share of the constraints that is wrong
	Jobs    int     // runs at a time
	Limit   time.Duration
	Again   bool // also ask what the results have
}

// Suite returns the suite of `make answers`.
func Suite() measure.Suite {
	return measure.Suite{
		Name: "answers", About: "scores what cleave answers by its defaults, and peers", Parts: measure.Names(suites),
		Define: func(flags *flag.FlagSet) func(context.Context, measure.Setup) error {
			var cfg Config
			var page Page
			var more []string
			flags.StringVar(&cfg.Results, "results", "answers-out/answers.csv",
				"`file` that keeps the answers; what it has is not asked again")
			measure.List(flags, &more, "more", "", "comma-separated `files` of further results for the page")
			flags.StringVar(&cfg.Sets, "sets", "",
				"regular `expression` of the names of sets (default: all but the large ones)")
			flags.BoolVar(&cfg.Large, "large", false, "the large sets instead of the others")
			flags.Func("methods", "`methods`: default, peers, or algorithms with flags (pc-kmeans,restarts=10,entail)",
				func(list string) error {
					cfg.Methods = Methods(list)
					return nil
				})
			flags.Func("ms", "comma-separated `numbers` of constraints; half is n/2 (default 0,20,100,400,half); "+
				"percentages of labels (default 5,20)", func(list string) (err error) {
				cfg.Numbers, err = counts(list)
				return err
			})
			flags.IntVar(&cfg.Seeds, "seeds", 3, "`number` of draws of constraints, labels or tables")
			flags.Float64Var(&cfg.Noise, "noise", 0, "`share` of the constraints that is wrong")
			flags.IntVar(&cfg.Jobs, "jobs", 1, "runs at a `time`")
			flags.DurationVar(&cfg.Limit, "limit", 5*time.Minute, "the longest `time` of a run")
			flags.BoolVar(&cfg.Again, "again", false, "ask again what the results have")
			pageOnly := flags.Bool("page", false, "ask nothing, only write the page of the results")
			flags.StringVar(&page.Subject, "subject", Default, "the `method` that the page is about")
			tables := flags.String("write-tables", "", "ask nothing, only write the made tables below this `folder`")
			draw := flags.Int("draw", 0, "the `number` of the draw that -write-tables writes")
			return func(ctx context.Context, setup measure.Setup) error {
				if *tables != "" {
					return WriteTables(*tables, *draw)
				}
				if cfg.Setup, page.Setup = setup, setup; len(cfg.Parts) == 0 {
					cfg.Parts = []string{Constraints}
				}
				if !*pageOnly {
					if err := Run(ctx, cfg); err != nil {
						return err
					}
				}
				for _, path := range append([]string{cfg.Results}, more...) {
					list, err := Load(path)
					if err != nil {
						return err
					}
					page.Answers = append(page.Answers, list...)
				}
				if cfg.Fill != "" && slices.Contains(cfg.Parts, Constraints) {
					if err := measure.FillFile(cfg.Fill, algorithmsMark, page.algorithms()); err != nil {
						return err
					}
				}
				return document().Write(cfg.Out, page.sections(time.Now()))
			}
		},
	}
}

// counts reads numbers of constraints.
func counts(list string) (numbers []int, err error) {
	for word := range strings.SplitSeq(list, ",") {
		m := half
		if word != "half" {
			if m, err = strconv.Atoi(word); err != nil || m < 0 {
				return nil, fmt.Errorf("%q is no number of constraints; give numbers from 0 on, or half", word)
			}
		}
		numbers = append(numbers, m)
	}
	return numbers, nil
}

// study is what the runs of one suite share.
type study struct {
	Config
	suite                string
	temp, python, script string
}

// Run asks all questions that the results do not answer yet, and adds the answers to them.
func Run(ctx context.Context, cfg Config) error {
	temp, err := os.MkdirTemp("", "answers-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(temp)
	chosen, err := measure.Choose(suites, cfg.Parts)
	if err != nil {
		return err
	}
	s := &study{Config: cfg, temp: temp, script: filepath.Join(temp, "peer.py")}
	if s.python = measure.FindPython(cfg.Pythons); s.python != "" {
		if err := os.WriteFile(s.script, peerScript, 0o666); err != nil {
			return err
		}
	} else {
		cfg.Say("no Python with scikit-learn: the peers are not asked")
	}
	var questions []question
	for _, suite := range chosen {
		s.suite = suite.name
		list, err := suite.questions(s, ctx)
		if err != nil {
			return err
		}
		questions = append(questions, list...)
	}
	if !cfg.Again {
		done, err := Load(cfg.Results)
		if err != nil {
			return err
		}
		questions = unanswered(questions, done, cfg.Limit)
	}
	batches := batch(questions)
	results, err := openLog(cfg.Results)
	if err != nil {
		return err
	}
	return errors.Join(s.askAll(ctx, batches, results), results.close())
}

// constraintQuestions returns sets with m constraints, set by set.
func (s *study) constraintQuestions(ctx context.Context) ([]question, error) {
	sets, err := s.sets(ctx)
	if err != nil {
		return nil, err
	}
	methods := s.methods("default own peers")
	numbers := s.Numbers
	if len(numbers) == 0 {
		numbers = standardNumbers
	}
	var list []question
	for _, set := range sets {
		for _, m := range set.numbers(numbers) {
			if m == 0 && s.Noise > 0 {
				continue // nothing to be wrong
			}
			for _, method := range methods {
				p, isPeer := findPeer(method)
				if !applies(method, s.suite, set, m) || isPeer && s.python == "" {
					continue
				}
				for seed := range s.Seeds {
					if seed == 0 || !p.once {
						list = append(list, question{suite: s.suite, set: set, method: method, m: m, seed: seed,
							noise: s.Noise})
					}
				}
			}
		}
	}
	return list, nil
}

// sets makes the files of the sets that are asked about, and returns the sets.
func (s *study) sets(ctx context.Context) ([]*set, error) {
	all, err := s.found()
	if err != nil {
		return nil, err
	}
	return s.made(ctx, append(all, generated(s.Cleave, s.temp)...))
}

// found returns the sets in the folder of data.
func (s *study) found() ([]*set, error) {
	if s.Data == "" {
		return nil, nil
	}
	return discover(s.Data, s.temp)
}

// made leaves only the sets that are asked about, and makes their files.
func (s *study) made(ctx context.Context, all []*set) ([]*set, error) {
	wanted, err := regexp.Compile("^(" + s.Sets + ")$")
	if err != nil {
		return nil, err
	}
	all = slices.DeleteFunc(all, func(set *set) bool {
		if s.Sets != "" {
			return !wanted.MatchString(set.name)
		}
		return set.large() != s.Large && (s.suite != Tables || set.group != Made)
	})
	for _, set := range all {
		if set.make != nil {
			if err := set.make(ctx); err != nil {
				return nil, err
			}
		}
	}
	return all, nil
}

// unanswered leaves out what is done, but not runs that took too long by a shorter limit.
func unanswered(questions []question, done []Answer, limit time.Duration) []question {
	have := map[string]bool{}
	for _, a := range done {
		have[a.key()] = have[a.key()] || a.Status != Late || a.Seconds >= limit.Seconds()
	}
	return slices.DeleteFunc(questions, func(q question) bool {
		return have[Answer{Suite: q.suite, Set: q.set.name, Method: q.method, M: q.m, Noise: q.noise,
			Seed: q.seed}.key()]
	})
}

// askAll asks several questions at a time and writes the answers as they come.
func (s *study) askAll(ctx context.Context, batches [][]question, results *log) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var next, done int
	var mutex sync.Mutex // of next, done and the results
	take := func() (batch []question, more bool) {
		mutex.Lock()
		defer mutex.Unlock()
		if next == len(batches) || ctx.Err() != nil {
			return nil, false
		}
		next++
		return batches[next-1], true
	}
	keep := func(list []Answer) error {
		mutex.Lock()
		defer mutex.Unlock()
		done++
		for _, a := range list {
			s.Say("%d of %d: %s m=%d seed %d %s: ARI %.3f, %.1f s, %s %s", done, len(batches), a.Set, a.M, a.Seed,
				a.Method, a.ARI, a.Seconds, a.Status, a.Chosen)
			if err := results.write(a.record()); err != nil {
				return err
			}
		}
		return nil
	}
	var all sync.WaitGroup
	for range max(s.Jobs, 1) {
		all.Go(func() {
			for batch, more := take(); more; batch, more = take() {
				list, err := s.ask(ctx, batch)
				if err == nil {
					err = keep(list)
				}
				if err != nil {
					stop(err)
					return
				}
			}
		})
	}
	all.Wait()
	return context.Cause(ctx)
}
