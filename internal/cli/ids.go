package cli

import (
	"context"
	"fmt"
	"strings"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/cli/client"
	"github.com/cleave-project/cleave/internal/cli/jobflags"
	"github.com/cleave-project/cleave/internal/cli/report"
	"github.com/cleave-project/cleave/internal/cli/shell"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/data/table"
	"github.com/cleave-project/cleave/internal/text"
)

// candidate is something that an id may mean.
type candidate struct {
	id, about string
	names     []string // that also stand for it
}

// The lengths of whole ids: a job's is a UUID, that of what is stored a SHA-256.
const (
	jobIDLength    = 36
	storedIDLength = 64
)

// maxCandidates is how many candidates an error lists.
const maxCandidates = 8

// pick is the id that was meant: it was given whole, or by a name, or by a beginning that only one has. What nothing begins
// with stays as it is, for the coordinator to say that there is none.
func pick(what, given string, all []candidate) (string, error) {
	var begun []candidate
	for _, c := range all {
		for _, name := range append([]string{c.id}, c.names...) {
			if name == given {
				return c.id, nil
			}
			if strings.HasPrefix(name, given) {
				begun = append(begun, c)
				break
			}
		}
	}
	switch len(begun) {
	case 0:
		return given, nil
	case 1:
		return begun[0].id, nil
	}
	var lines []string
	for _, c := range begun[:min(len(begun), maxCandidates)] {
		lines = append(lines, fmt.Sprintf("%s (%s)", c.id, c.about))
	}
	if more := len(begun) - len(lines); more > 0 {
		lines = append(lines, fmt.Sprintf("and %d more", more))
	}
	return "", shell.Usage("which %s? %q is the beginning of %d: %s", what, given, len(begun), strings.Join(lines, ", "))
}

// pickListed is pick for an id of a known length, among what is listed only if the given one is shorter. Whoever may not list
// can give whole ids.
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

// jobID is the job that an id, or the beginning of one, means.
func jobID(ctx context.Context, c *client.Client, given string) (string, error) {
	return pickListed("job", given, jobIDLength, func() ([]candidate, error) {
		jobs, err := c.ListJobs(ctx, &cleavev1.ListJobsRequest{}, 0)
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

// workerID is the worker that an id, a name, or the beginning of one of them means.
func workerID(ctx context.Context, c *client.Client, given string) (string, error) {
	workers, err := c.ListWorkers(ctx)
	if err != nil {
		return given, nil
	}
	var all []candidate
	for _, w := range workers {
		if w.GetName() == given {
			return given, nil // the coordinator says so where several have the name
		}
		all = append(all, candidate{w.GetWorkerId(), w.GetName(), []string{w.GetName()}})
	}
	return pick("worker", given, all)
}

// inputOf is the spec of a job for a coordinator, and the data to be sent for it. A remote coordinator gets an ordinary table as
// it is, and makes the points, so that its result has the recipe; in this process the points are there already, and the same
// to the last bit.
func (a *app) inputOf(ctx context.Context, c *client.Client, j *jobflags.Job, w client.Watcher) (*cleavev1.JobSpec, dataset.Dataset, error) {
	if !c.Remote() {
		return j.Spec, j.Data, nil
	}
	if s := j.Stream(); s != nil {
		id, err := a.stream(ctx, c, j, s)
		if err != nil {
			return nil, nil, err
		}
		spec, _ := j.OfRows()
		spec.GetTable().TableId = id
		return spec, nil, nil
	}
	spec, table := j.OfRows()
	if table == nil {
		return j.Spec, j.Data, nil
	}
	id, err := c.UploadTable(ctx, j.Name, table, w)
	spec.GetTable().TableId = id
	return spec, nil, err
}

// stream sends a table as it is read, completes the spec by what was read of it, and returns its id.
func (a *app) stream(ctx context.Context, c *client.Client, j *jobflags.Job, s *jobflags.Stream) (string, error) {
	var notices []string
	stored, err := c.StreamTable(ctx, j.Name, func(send func(next func() (*table.Table, error)) error) (err error) {
		notices, err = s.Read(send)
		return err
	})
	if err == nil {
		var more []string
		more, err = j.Sent(int(stored.GetRows()))
		notices = append(notices, more...)
	}
	for _, notice := range notices {
		fmt.Fprintf(a.stderr, "cleave: %s\n", notice)
	}
	return stored.GetTableId(), err
}
