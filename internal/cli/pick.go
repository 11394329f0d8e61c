package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/cleave-project/cleave/internal/cli/client"
	"github.com/cleave-project/cleave/internal/cli/report"
	"github.com/cleave-project/cleave/internal/cli/shell"
	"github.com/cleave-project/cleave/internal/text"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
)

// candidate is something that a shortened id may stand for. about is printed: what other users chose is escaped in it,
// by text.OneLine.
type candidate struct {
	id, about string
	names     []string // other names for it
}

// The lengths of ids: those of jobs are UUIDs, those of stored data SHA-256 hashes.
const (
	jobIDLength    = 36
	storedIDLength = 64
)

// maxCandidates is the number of candidates that an error lists.
const maxCandidates = 8

// minPrefix is the number of characters that identify something if they are not its whole id or name.
const minPrefix = 4

// pick returns the id that the user means: given is an id, a name, or a unique prefix of one. If nothing
// matches, it returns given, so that the coordinator reports the error. An empty text, such as an unset variable of a
// script, is refused: it is a prefix of everything.
func pick(what, given string, all []candidate) (string, error) {
	if given == "" {
		return "", shell.Usage("the %s is empty; give an id, a name or the beginning of one", what)
	}
	var matches []candidate
	for _, candidate := range all {
		for _, name := range append([]string{candidate.id}, candidate.names...) {
			if name == given {
				return candidate.id, nil
			}
			if strings.HasPrefix(name, given) {
				matches = append(matches, candidate)
				break
			}
		}
	}
	switch {
	case len(matches) == 0:
		return given, nil
	case len(given) < minPrefix:
		return "", shell.Usage("%q is too short; give the whole id or name of the %s, or at least its first %d characters", given, what, minPrefix)
	case len(matches) == 1:
		return matches[0].id, nil
	}
	var lines []string
	for _, candidate := range matches[:min(len(matches), maxCandidates)] {
		lines = append(lines, fmt.Sprintf("%s (%s)", candidate.id, candidate.about))
	}
	if more := len(matches) - len(lines); more > 0 {
		lines = append(lines, fmt.Sprintf("and %d more", more))
	}
	return "", shell.Usage("%q matches %d %ss: %s", given, len(matches), what, strings.Join(lines, ", "))
}

// pickListed is pick for ids of a known length. It lists candidates only if given is shorter, so that users who may
// not list can give whole ids.
func pickListed(what, given string, length int, list func() ([]candidate, error)) (string, error) {
	if len(given) >= length {
		return given, nil
	}
	all, err := list()
	if err != nil {
		return given, nil
	}
	return pick(what, given, all)
}

// jobID returns the id of the job that an id or a prefix of one stands for.
func jobID(ctx context.Context, c *client.Client, given string) (string, error) {
	return pickListed("job", given, jobIDLength, func() ([]candidate, error) {
		jobs, err := c.AllJobs(ctx, &cleavev1.ListJobsRequest{IdPrefix: given}, 0)
		return jobCandidates(jobs), err
	})
}

func jobCandidates(jobs []*cleavev1.Job) (all []candidate) {
	for _, j := range jobs {
		about := strings.ToLower(report.ShortName(j.GetState()))
		if j.GetDisplayName() != "" {
			about = text.OneLine(j.GetDisplayName()) + ", " + about
		}
		all = append(all, candidate{id: j.GetJobId(), about: about})
	}
	return all
}

// workerID returns the id of the worker that an id, a name, or a prefix of one of them stands for.
func workerID(ctx context.Context, c *client.Client, given string) (string, error) {
	workers, err := c.AllWorkers(ctx)
	if err != nil {
		return given, nil
	}
	var all []candidate
	for _, w := range workers {
		if w.GetName() == given {
			return given, nil // the coordinator reports if several workers have the name
		}
		all = append(all, candidate{w.GetWorkerId(), text.OneLine(w.GetName()), []string{w.GetName()}})
	}
	return pick("worker", given, all)
}

func datasetCandidates(ctx context.Context, c *client.Client) ([]candidate, error) {
	listed, err := c.AllDatasets(ctx)
	return candidates(listed, (*cleavev1.Dataset).GetDatasetId), err
}

func tableCandidates(ctx context.Context, c *client.Client) ([]candidate, error) {
	listed, err := c.AllTables(ctx)
	return candidates(listed, (*cleavev1.Table).GetTableId), err
}

// candidates returns what ids of stored data may stand for.
func candidates[T interface{ GetDisplayName() string }](listed []T, id func(T) string) (all []candidate) {
	for _, item := range listed {
		all = append(all, candidate{id: id(item), about: text.OneLine(item.GetDisplayName())})
	}
	return all
}
