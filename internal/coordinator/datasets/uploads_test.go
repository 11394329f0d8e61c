package datasets_test

import (
	"context"
	"errors"
	"io"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/coordinator/datasets"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/wire"
	"github.com/cleave-project/cleave/test/coordinatortest"
)

// An upload that stalls, at its beginning or halfway, is given up and leaves nothing.
func TestStalledUploads(t *testing.T) {
	cfg := coordinatortest.Config()
	cfg.UploadStall = 50 * time.Millisecond
	h := coordinatortest.StartScripted(t, cfg, coordinatortest.Steps(1))
	halfway := h.BeginUpload(2000, 1000)
	_, err := halfway.CloseAndRecv()
	coordinatortest.WantError(t, err, codes.InvalidArgument, "TOO_FEW_VALUES") // it ended, and did not stall
	halfway = h.BeginUpload(2000, 1000)
	coordinatortest.WantError(t, halfway.RecvMsg(&cleavev1.CreateDatasetResponse{}), codes.DeadlineExceeded,
		"UPLOAD_STALLED")
	atOnce, err := h.Tables.CreateTable(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	coordinatortest.WantError(t, atOnce.RecvMsg(&cleavev1.CreateTableResponse{}), codes.DeadlineExceeded,
		"UPLOAD_STALLED")
	if keys, blobs := h.Leftovers(); len(keys)+len(blobs) != 0 || h.Coordinator.Gauges().UploadReservedBytes != 0 {
		t.Errorf("left over are %v, %v and %d bytes of memory", keys, blobs, h.Coordinator.Gauges().UploadReservedBytes)
	}
}

// Uploads together have a limit; one that is alone has not. What they held is free when they end.
func TestUploadsShareMemory(t *testing.T) {
	cfg := coordinatortest.Config()
	cfg.UploadBytes = 100_000
	h := coordinatortest.StartScripted(t, cfg, coordinatortest.Steps(1))
	upload := func(values int) error {
		_, err := h.BeginUpload(values, values).CloseAndRecv()
		return err
	}
	if err := upload(20_000); err != nil {
		t.Errorf("an upload that is alone: %v", err)
	}
	held := func() int64 { return h.Coordinator.Gauges().UploadReservedBytes }
	other := h.BeginUpload(5100, 2800) // and not the rest of its values
	coordinatortest.Await(t, "the arrival of the other upload", func() bool { return held() >= 16*2800 })
	before := held()
	if err := upload(3000); err != nil { // 48,000 bytes
		t.Errorf("an upload beside another one: %v", err)
	}
	coordinatortest.WantError(t, upload(3500), codes.ResourceExhausted, "TOO_MANY_UPLOADS")
	if after := held(); after != before {
		t.Errorf("uploads that ended hold %d bytes", after-before)
	}
	_, err := other.CloseAndRecv()
	coordinatortest.WantError(t, err, codes.InvalidArgument, "TOO_FEW_VALUES")
	if err := upload(4001); err != nil {
		t.Errorf("an upload after the others: %v", err)
	}
}

// uploadOfThreeParts returns the messages of an upload with the id "nightly", a header and three parts, and the id of
// its data set.
func uploadOfThreeParts(t *testing.T) (messages []*cleavev1.CreateDatasetRequest, datasetID string) {
	t.Helper()
	points := coordinatortest.Noise(t, 3000, 100)
	datasetID, err := dataset.ID(points)
	if err != nil {
		t.Fatal(err)
	}
	err = wire.Parts("noise", points, wire.UploadStart{}, func(m *cleavev1.CreateDatasetRequest) error {
		messages = append(messages, m)
		return nil
	})
	if err != nil || len(messages) != 4 {
		t.Fatalf("%d messages, %v", len(messages), err)
	}
	messages[0].GetHeader().UploadId = "nightly"
	return messages, datasetID
}

// An upload that breaks off goes on where it was, in another call, and gives the same data set.
func TestUploadsGoOn(t *testing.T) {
	h := coordinatortest.StartScripted(t, coordinatortest.Config(), coordinatortest.Steps(1))
	parts, whole := uploadOfThreeParts(t)
	header := parts[0].GetHeader()
	send :=
		func(parts ...*cleavev1.CreateDatasetRequest) (
			stream grpc.ClientStreamingClient[cleavev1.CreateDatasetRequest, cleavev1.CreateDatasetResponse],
			leave func(),
		) {
			ctx, leave := context.WithCancel(t.Context())
			stream, err := h.Datasets.CreateDataset(ctx)
			for _, part := range parts {
				if err == nil {
					err = stream.Send(part)
				}
			}
			if err != nil && !errors.Is(err, io.EOF) {
				t.Fatal(err)
			}
			return stream, leave
		}
	arrived := func() (uint32, error) {
		response, err := h.Datasets.GetUpload(t.Context(), &cleavev1.GetUploadRequest{UploadId: "nightly"})
		return response.GetParts(), err
	}
	_, err := arrived()
	coordinatortest.WantError(t, err, codes.NotFound, "UPLOAD_NOT_FOUND")
	_, leave := send(parts[:3]...)
	coordinatortest.Await(t, "the arrival of two parts",
		func() bool { return h.Coordinator.Gauges().UploadReservedBytes >= 2*8*2<<17 })
	leave()
	coordinatortest.Await(t, "keeping two parts", func() bool { n, err := arrived(); return err == nil && n == 2 })

	header.FirstPart = 3
	early, leave := send(parts[0])
	_, err = early.CloseAndRecv()
	leave()
	coordinatortest.WantError(t, err, codes.Unavailable, "UPLOAD_PARTS_LOST")
	if n, err := arrived(); n != 2 || err != nil {
		t.Errorf("after a resume that asked for more, %d parts are kept, %v", n, err)
	}
	header.FirstPart = 2
	other := proto.CloneOf(parts[0])
	other.GetHeader().GetPoints().Columns = 10
	refused, leave := send(other)
	_, err = refused.CloseAndRecv()
	leave()
	coordinatortest.WantError(t, err, codes.NotFound,
		"UPLOAD_NOT_FOUND") // and what was kept is gone: the client starts over
	header.FirstPart = 0
	_, leave = send(parts[:2]...)
	coordinatortest.Await(t, "the arrival of a part",
		func() bool { return h.Coordinator.Gauges().UploadReservedBytes >= 8*2<<17 })
	leave()
	coordinatortest.Await(t, "keeping a part", func() bool { n, err := arrived(); return err == nil && n == 1 })
	header.FirstPart = 1
	rest, leave := send(parts[0], parts[2], parts[3])
	defer leave()
	response, err := rest.CloseAndRecv()
	if err != nil || response.GetDataset().GetDatasetId() != whole {
		t.Errorf("the data set is %v, %v; want %s", response, err, whole)
	}
	if _, err := arrived(); err == nil || h.Coordinator.Gauges().UploadReservedBytes != 0 {
		t.Errorf("after the end %d bytes are held, %v", h.Coordinator.Gauges().UploadReservedBytes, err)
	}
}

// A client whose connection breaks may try again and break again before the coordinator notices either. Whatever the
// order in which the attempts are noticed, the parts that GetUpload reported suffice to resume.
func TestAttemptsOfAnUploadThatBreakOffInAnyOrder(t *testing.T) {
	h := coordinatortest.StartScripted(t, coordinatortest.Config(), coordinatortest.Steps(1))
	parts, whole := uploadOfThreeParts(t)
	header := parts[0].GetHeader()
	begin := func(parts ...*cleavev1.CreateDatasetRequest) (leave func()) {
		t.Helper()
		before := h.Coordinator.Gauges().UploadReservedBytes
		sent := 0
		for _, part := range parts {
			sent += datasets.HeldPerByte * int(wire.MemoryOf(part))
		}
		ctx, leave := context.WithCancel(t.Context())
		stream, err := h.Datasets.CreateDataset(ctx)
		for _, part := range parts {
			if err == nil {
				err = stream.Send(part)
			}
		}
		if err != nil {
			t.Fatal(err)
		}
		coordinatortest.Await(t, "the arrival of parts",
			func() bool { return h.Coordinator.Gauges().UploadReservedBytes == before+int64(sent) })
		return leave
	}
	resume := func(firstPart int) (string, error) {
		header.FirstPart = uint32(firstPart)
		stream, err := h.Datasets.CreateDataset(t.Context())
		for _, part := range append(parts[:1:1], parts[1+firstPart:]...) {
			if err == nil {
				err = stream.Send(part)
			}
		}
		if err != nil && !errors.Is(err, io.EOF) {
			t.Fatal(err)
		}
		response, err := stream.CloseAndRecv()
		return response.GetDataset().GetDatasetId(), err
	}
	for firstPart := 1; firstPart <= 2; firstPart++ { // as many as had arrived when the client asked
		first := begin(parts[:3]...)
		second := begin(parts[:2]...)
		all := h.Coordinator.Gauges().UploadReservedBytes
		first()
		coordinatortest.Await(t, "the end of the first attempt", func() bool {
			response, err := h.Datasets.GetUpload(t.Context(), &cleavev1.GetUploadRequest{UploadId: "nightly"})
			return err == nil && response.GetParts() == 2
		})
		second()
		coordinatortest.Await(t, "the end of the second attempt",
			func() bool { return h.Coordinator.Gauges().UploadReservedBytes < all })
		if id, err := resume(firstPart); err != nil || id != whole {
			t.Errorf("from part %d on, the data set is %q, %v; want %s", firstPart, id, err, whole)
		}
		header.FirstPart = 0
	}
	_, err := resume(2)
	coordinatortest.WantError(t, err, codes.Unavailable, "UPLOAD_PARTS_LOST") // clients try again, and start over
}
