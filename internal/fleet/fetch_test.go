package fleet_test

import (
	"io"
	"math"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	workerv1 "github.com/cleave-project/cleave/gen/cleave/worker/v1"
)

// A worker may fetch the data of its own jobs while they run, and no other.
func TestWorkersFetchTheDataOfTheirJobs(t *testing.T) {
	c := newCluster(t)
	c.startWorker("a")
	p := gaussianProblem(t, 203, 1)
	other, _ := c.datasets.put(t, gaussianProblem(t, 101, 2).data)
	own, size := c.datasets.put(t, p.data)
	e := c.submit(p, nil)
	conn, err := grpc.NewClient(c.addr, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fetch := func(id string, offset, length uint64) codes.Code {
		stream, err := workerv1.NewWorkerServiceClient(conn).FetchDataset(t.Context(), &workerv1.FetchDatasetRequest{
			SessionId: c.worker("a").ID, DatasetId: id, Offset: offset, Length: length,
		})
		for err == nil {
			_, err = stream.Recv()
		}
		if err == io.EOF {
			return codes.OK
		}
		return status.Code(err)
	}
	if code := fetch(own, 0, 8); code != codes.OK {
		t.Errorf("the data of its job: %v", code)
	}
	for _, offset := range []uint64{uint64(size) - 7, math.MaxUint64 - 7, 1 << 63} {
		if code := fetch(own, offset, 8); code != codes.InvalidArgument {
			t.Errorf("8 of %d bytes from byte %d on: %v", size, offset, code)
		}
	}
	if code := fetch(own, 0, 1<<63); code != codes.InvalidArgument {
		t.Errorf("more bytes than there are: %v", code)
	}
	if code := fetch(other, 0, 8); code != codes.PermissionDenied {
		t.Errorf("other data: %v", code)
	}
	e.Release()
	if code := fetch(own, 0, 8); code != codes.PermissionDenied {
		t.Errorf("the data of a job that is over: %v", code)
	}
}
