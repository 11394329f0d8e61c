package clustertest

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"strings"
	"sync"

	"github.com/google/uuid"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/wire"
)

// clientFaults are what clients do to a coordinator.
func clientFaults() []disturbance {
	return []disturbance{
		{name: "clients are gone in the middle of uploads", load: faultPoints, strike: abandonUploads,
			check: (*faultRun).noRemains},
		{name: "clients are gone while they watch", load: faultPoints, soakOnly: true, strike: abandonWatches},
		{name: "requests come twice", load: faultPoints, soakOnly: true, strike: repeatRequests},
	}
}

// abandonUploads begins uploads whose clients vanish after some parts.
func abandonUploads(r *faultRun) {
	for range 5 {
		r.iterate()
		client := r.c.As(r.c.options.Dial) // with a connection of its own
		stream, err := client.Datasets.CreateDataset(r.Context())
		must(r, stream, err)
		parts := r.rng.IntN(8)
		gone := errors.New("gone") // 10 MB are more than eight
		err = wire.Parts("abandoned", largeUpload(), wire.UploadStart{},
			func(part *cleavev1.CreateDatasetRequest) error {
				if parts--; parts < 0 {
					return gone
				}
				return stream.Send(part)
			})
		if !errors.Is(err, gone) {
			r.Fatal(err)
		}
		client.Conn.Close()
	}
}

var largeUpload = sync.OnceValue(func() *dataset.Points { return gaussians(20_000, 64, 1, 1) })

// noRemains checks that no file and no data set is left of uploads that did not end.
func (r *faultRun) noRemains() {
	r.Helper()
	listed, err := r.c.Datasets.ListDatasets(r.Context(), &cleavev1.ListDatasetsRequest{})
	for _, data := range must(r, listed, err).GetDatasets() {
		if data.GetDisplayName() == "abandoned" {
			r.Errorf("an upload that did not end made %v", data)
		}
	}
	Eventually(r, "no temporary file is left", func() (bool, string) {
		remains := ""
		err := filepath.WalkDir(filepath.Join(r.c.DataDir, "blobs"),
			func(path string, entry fs.DirEntry, err error) error {
				if err == nil && !entry.IsDir() && strings.Contains(filepath.Base(path), "tmp") {
					remains = path
				}
				return nil // a file may have gone meanwhile
			})
		return err == nil && remains == "", remains
	})
}

// abandonWatches has many clients that watch the job and vanish.
func abandonWatches(r *faultRun) {
	for range 5 {
		r.iterate()
		client := r.c.As(r.c.options.Dial)
		for range 20 {
			stream, err := client.Jobs.WatchJob(context.WithoutCancel(r.Context()),
				&cleavev1.WatchJobRequest{JobId: r.job})
			must(r, stream, err)
			for range r.rng.IntN(3) {
				item, err := stream.Recv()
				must(r, item, err)
			}
		}
		client.Conn.Close()
	}
}

// repeatRequests sends requests several times, at the same time and one after the other.
func repeatRequests(r *faultRun) {
	r.iterate()
	request := &cleavev1.CreateJobRequest{Spec: warmUp().on(r.c), RequestId: uuid.NewString()}
	ids := make([]string, 8)
	failed := make(chan error, 8)
	for i := range ids {
		go func() {
			var err error
			ids[i], err = r.submit(request)
			failed <- err
		}()
	}
	for range ids {
		if err := <-failed; err != nil {
			r.Fatal(err)
		}
	}
	r.made = append(r.made, ids[0])
	for _, id := range ids {
		if id != ids[0] {
			r.Errorf("one request made the jobs %s and %s", ids[0], id)
		}
	}
	if first, second := r.c.Upload(warmUp().data), r.c.Upload(warmUp().data); first != second {
		r.Errorf("one data set was stored as %s and %s", first, second)
	}
	other := proto.CloneOf(request)
	other.Spec.Clusters = &cleavev1.JobSpec_K{K: other.GetSpec().GetK() + 1}
	_, err := r.c.Jobs.CreateJob(r.Context(), other)
	wantError(r, "the request id with another spec", err, codes.AlreadyExists, "REQUEST_ID_REUSED")
}
