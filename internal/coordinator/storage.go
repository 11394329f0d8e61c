package coordinator

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/cleave-project/cleave/internal/coordinator/datasets"
	"github.com/cleave-project/cleave/internal/coordinator/jobs"
	"github.com/cleave-project/cleave/internal/coordinator/records"
	"github.com/cleave-project/cleave/internal/coordinator/results"
	"github.com/cleave-project/cleave/internal/security/credentials"
	"github.com/cleave-project/cleave/internal/store"
)

// Stores are already open stores, such as simulated ones. The coordinator closes them.
type Stores struct {
	State store.State
	Blobs store.Blobs
}

// close closes the stores that are open.
func (s Stores) close() error {
	var errs []error
	if s.Blobs != nil {
		errs = append(errs, s.Blobs.Close())
	}
	if s.State != nil {
		errs = append(errs, s.State.Close())
	}
	return errors.Join(errs...)
}

// openStores opens the state and the blobs, unless the configuration provides them. It returns what is open even if it
// fails.
func openStores(ctx context.Context, cfg Config, log hclog.Logger, unchecked bool) (s Stores, err error) {
	s = cfg.Stores
	if s.State == nil {
		sharing := store.Sharing{Lease: cfg.Election.Lease, Dial: cfg.Security.Store, Unchecked: unchecked}
		if sharing.Dial == (credentials.Dial{}) {
			sharing.Dial.Insecure = cfg.Security.Serve.Insecure
		}
		if s.State, err = store.Open(ctx, cfg.Store, cfg.DataDir, sharing, log.Named("store")); err != nil {
			return s, err
		}
	}
	if s.Blobs == nil {
		if s.Blobs, err = store.OpenBlobs(ctx, cfg.Blobs); err != nil {
			return s, err
		}
		if cfg.Blobs != blobsInMemory { // memory cannot hang
			s.Blobs = store.WithStallTimeout(s.Blobs, cfg.BlobsStall, log)
		}
	}
	return s, nil
}

// storage is what is stored, and what reads and writes it.
type storage struct {
	state   store.State
	blobs   store.Blobs
	writer  *records.Writer
	garbage *records.Collector
	hold    *records.Hold // no blob is deleted while a backup reads them

	blobBytes  atomic.Int64 // of all blobs; negative until they are counted
	freedBytes atomic.Int64 // of all blobs that were deleted so far

	unfinished *jobs.UnfinishedJobs // the jobs that use data sets and tables
	datasets   *datasets.Datasets
	tables     datasets.Tables
	parts      *results.Parts
}

// newStorage returns the storage in open stores. ctx is that of everything that is written.
func newStorage(ctx context.Context, cfg Config, log hclog.Logger, memory parts, open Stores) *storage {
	s := &storage{
		state: store.MeterState(open.State, cfg.Observe), blobs: store.MeterBlobs(open.Blobs, cfg.Observe),
		hold: &records.Hold{}, unfinished: jobs.NewUnfinishedJobs(),
	}
	s.blobBytes.Store(-1) // until the first sweep counts them
	if cfg.Retention.Quota > 0 {
		s.blobs = store.CountBlobs(s.blobs, &s.blobBytes, &s.freedBytes)
	}
	s.writer = &records.Writer{State: s.state, Context: ctx, Logger: log}
	s.garbage = &records.Collector{Blobs: s.blobs, Writer: s.writer, Hold: s.hold, Logger: log}
	s.parts = &results.Parts{Blobs: s.blobs, Writer: s.writer}
	data := datasets.Config{
		Blobs: s.blobs, Writer: s.writer, Logger: log, Now: cfg.Now,
		CacheBytes: memory.datasets, UseGrain: cfg.Retention.UseGrain(), Users: s.unfinished,
		DeleteBlob: func(name string) error { return s.garbage.Delete(ctx, name) },
	}
	s.datasets = datasets.NewDatasets(data)
	data.CacheBytes = memory.tables
	s.tables = datasets.NewTables(data)
	return s
}

// removeLeftovers deletes what earlier coordinators left behind: temporary files, specs of jobs below newest that were
// not created, and garbage. Nothing depends on it, and it may take long, since it looks at all blobs.
func (s *storage) removeLeftovers(newest string, needed records.NotGarbage) error {
	ctx := s.writer.Context
	s.blobs.RemoveTemporary(ctx)
	return errors.Join(s.garbage.DeleteSpecs(ctx, newest), s.garbage.Collect(ctx, needed))
}

// failure returns why the state failed on its own, or nil if it did not.
func (s *storage) failure(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	_, err := s.state.Get(ctx, records.CreatedKey)
	if store.AnswerOf(err) == store.Failed {
		return err
	}
	return nil // also if it cannot be reached, since another coordinator may lead then
}
