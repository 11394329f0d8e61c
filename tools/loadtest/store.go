package loadtest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/google/uuid"
	"google.golang.org/protobuf/proto"

	statev1 "github.com/cleave-project/cleave/gen/cleave/state/v1"
	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/coordinator/records"
	"github.com/cleave-project/cleave/internal/store"
)

// bigStore opens a store with many jobs that have ended, and lists them.
func bigStore(ctx context.Context, cfg *Config) ([]row, error) {
	const dir = "store"
	if err := cfg.endOneJob(ctx, dir); err != nil {
		return nil, err
	}
	if err := multiply(ctx, filepath.Join(cfg.Dir, dir), cfg.Jobs); err != nil {
		return nil, err
	}
	var rows []row
	for _, again := range []string{"", ", again"} {
		s, err := cfg.start(ctx, dir)
		if err != nil {
			return rows, err
		}
		now, _ := s.memory()
		rows = append(rows, row{fmt.Sprintf("a store with %d jobs that have ended opens in%s", cfg.Jobs, again),
			fmt.Sprintf("%v (processor %v), with %.0f MiB", s.opened.Round(time.Millisecond), s.processor(), now),
			"5s"})
		if again != "" {
			first, all, listed, err := cfg.list(ctx, s)
			rows = append(rows,
				row{"the first page of 100 jobs", first.Round(time.Microsecond).String(), ""},
				row{fmt.Sprintf("%d jobs in pages of 1,000", listed), all.String(), ""})
			if err != nil {
				return rows, err
			}
		}
		s.stop()
	}
	return rows, nil
}

// endOneJob makes a store with one job that has ended.
func (cfg *Config) endOneJob(ctx context.Context, dir string) error {
	b, err := cfg.startBench(ctx, dir)
	if err != nil {
		return err
	}
	defer b.close()
	id, err := b.submit(ctx, 0)
	if err != nil {
		return err
	}
	if _, err := b.clients[0].jobs.CancelJob(ctx, &cleavev1.CancelJobRequest{JobId: id}); err != nil {
		return err
	}
	stream, err := b.clients[0].jobs.WatchJob(ctx, &cleavev1.WatchJobRequest{JobId: id})
	for err == nil {
		_, err = stream.Recv()
	}
	return nil
}

// multiply copies the one job of a store, with its record, its request and its blobs, until there are so many.
func multiply(ctx context.Context, dir string, jobs int) error {
	state, err := store.OpenEmbedded(ctx, dir, nil)
	if err != nil {
		return err
	}
	defer state.Close()
	if _, err := state.Lead(ctx, "load"); err != nil {
		return err
	}
	entries, err := state.List(ctx, "jobs/", "", 1)
	if err != nil || len(entries) == 0 {
		return errors.Join(err, errors.New("there is no job"))
	}
	record, err := records.Decode[statev1.JobRecord](entries[0])
	if err != nil {
		return err
	}
	const portion = 400 // in one transaction, with their requests
	for done := 1; done < jobs; {
		txn := store.Txn{}
		for ; done < jobs && len(txn.Put) < 2*portion; done++ {
			puts, err := copyJob(dir, record)
			if err != nil {
				return err
			}
			txn.Put = append(txn.Put, puts...)
		}
		if _, err := state.Commit(ctx, txn); err != nil {
			return err
		}
	}
	return nil
}

// copyJob copies the blobs of a job under a new id, and returns the entries of the copy.
func copyJob(dir string, record *statev1.JobRecord) ([]store.Entry, error) {
	unique, err := uuid.NewV7()
	if err != nil {
		return nil, err
	}
	id := unique.String()
	old := record.GetJob().GetJobId()
	for _, blob := range []string{record.GetSpecBlob(), record.GetOutcomeBlob()} {
		from := filepath.Join(dir, "blobs", blob+".sealed")
		to := strings.Replace(from, old, id, 1)
		content, err := os.ReadFile(from)
		if err := errors.Join(err, os.MkdirAll(filepath.Dir(to), 0o700), os.WriteFile(to, content, 0o600)); err != nil {
			return nil, err
		}
	}
	fresh := proto.CloneOf(record)
	fresh.Job.JobId, fresh.Job.RequestId = id, uuid.NewString()
	fresh.SpecBlob = strings.Replace(record.GetSpecBlob(), old, id, 1)
	fresh.OutcomeBlob = strings.Replace(record.GetOutcomeBlob(), old, id, 1)
	value, err := proto.Marshal(fresh)
	request, err2 := proto.Marshal(&statev1.RequestRecord{JobId: id, SpecSha256: make([]byte, 32)})
	return []store.Entry{
		{Key: "jobs/" + inverted(id), Value: value}, {Key: "requests/" + fresh.GetJob().GetRequestId(), Value: request},
	}, errors.Join(err, err2)
}

// inverted inverts the digits of an id, as the keys of jobs have them, so that the newest come first.
func inverted(id string) string {
	const digits = "0123456789abcdef"
	return strings.Map(func(r rune) rune {
		if at := strings.IndexRune(digits, r); at >= 0 {
			return rune(digits[15-at])
		}
		return r
	}, id)
}

// list lists the first page, and then all jobs.
func (cfg *Config) list(ctx context.Context, s *server) (first time.Duration, all latencies, listed int, err error) {
	c, err := cfg.connect(s.address)
	if err != nil {
		return 0, nil, 0, err
	}
	defer c.Close()
	for range 2 { // the first call also connects
		began := time.Now()
		if _, err := c.jobs.ListJobs(ctx, &cleavev1.ListJobsRequest{}); err != nil {
			return 0, nil, 0, err
		}
		first = time.Since(began)
	}
	for token := ""; ; {
		began := time.Now()
		page, err := c.jobs.ListJobs(ctx, &cleavev1.ListJobsRequest{PageSize: 1000, PageToken: token})
		if err != nil {
			return first, all, listed, err
		}
		all = append(all, time.Since(began))
		listed += len(page.GetJobs())
		if token = page.GetNextPageToken(); token == "" {
			return first, all, listed, nil
		}
	}
}
