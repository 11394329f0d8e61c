// Package answers measures what `cleave` answers when it is given data, a number of clusters and constraints, and
// nothing else; what its algorithms answer that a user might name, and what other programs do: `make answers DATA=folder`.
// It may import any package; none imports it.
package answers

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"sync"
	"time"
)

// Config says what to ask, and whom.
type Config struct {
	Suite   string   // what is asked: a name of SuiteNames
	Data    string   // a folder of data sets; empty: only those that are generated
	Cleave  string   // the program
	Pythons []string // programs, the first of which that has scikit-learn runs the peers
	Results string   // the file that keeps the answers
	Sets    string   // a regular expression of whole names; empty: all but the large sets
	Large   bool     // the large sets instead of the others
	Methods []string // empty: no algorithm, the usual algorithms and the peers
	Numbers []int    // of constraints; -1 stands for n/2; empty: 0, 20, 100, 400 and n/2. Of labels, percentages; empty: 5 and 20
	Seeds   int
	Noise   float64 // the share of the constraints that is wrong
	Jobs    int     // runs at a time
	Threads int     // of each
	Limit   time.Duration
	Again   bool // also ask what the results have
	// Progress is told of every run.
	Progress io.Writer
}

// study is what the runs share.
type study struct {
	Config
	temp, python, script string
}

// Run asks all questions that the results do not answer yet, and adds the answers to them.
func Run(ctx context.Context, cfg Config) error {
	temp, err := os.MkdirTemp("", "answers-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(temp)
	s := &study{Config: cfg, temp: temp, script: filepath.Join(temp, "peer.py")}
	if s.python = findPython(cfg.Pythons); s.python != "" {
		if err := os.WriteFile(s.script, peerScript, 0o666); err != nil {
			return err
		}
	} else {
		fmt.Fprintln(cfg.Progress, "no Python with scikit-learn: the peers are not asked")
	}
	questions, err := s.questions(ctx)
	if err != nil {
		return err
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

// constraintQuestions are sets with m constraints, set by set.
func (s *study) constraintQuestions(ctx context.Context) ([]question, error) {
	sets, err := s.sets(ctx)
	if err != nil {
		return nil, err
	}
	methods, numbers := s.methods("default own peers"), s.Numbers
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
				if !applies(method, s.Suite, set, m) || isPeer && s.python == "" {
					continue
				}
				for seed := range s.Seeds {
					if seed == 0 || !p.once {
						list = append(list, question{suite: s.Suite, set: set, method: method, m: m, seed: seed, noise: s.Noise})
					}
				}
			}
		}
	}
	return list, nil
}

// sets are the sets that are asked about, their files made.
func (s *study) sets(ctx context.Context) ([]*set, error) {
	all, err := s.found()
	if err != nil {
		return nil, err
	}
	return s.made(ctx, append(all, generated(s.Cleave, s.temp)...))
}

// found are the sets in the folder of data.
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
		return set.large() != s.Large && (s.Suite != Tables || set.group != Made)
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
		return have[Answer{Suite: q.suite, Set: q.set.name, Method: q.method, M: q.m, Noise: q.noise, Seed: q.seed}.key()]
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
			fmt.Fprintf(s.Progress, "%d of %d: %s m=%d seed %d %s: ARI %.3f, %.1f s, %s %s\n", done, len(batches), a.Set, a.M, a.Seed, a.Method, a.ARI, a.Seconds, a.Status, a.Chosen)
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
