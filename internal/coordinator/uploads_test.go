package coordinator

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
)

type datasetUpload = grpc.ClientStreamingClient[cleavev1.CreateDatasetRequest, cleavev1.CreateDatasetResponse]

// beginUpload sends the header of an upload of so many rows of one column, and the first values.
func (h *harness) beginUpload(rows, values int) datasetUpload {
	h.t.Helper()
	stream, err := h.datasets.CreateDataset(h.t.Context())
	if err != nil {
		h.t.Fatal(err)
	}
	header := &cleavev1.DatasetHeader{
		Form: &cleavev1.DatasetHeader_Points{Points: &cleavev1.PointsForm{Rows: uint32(rows), Columns: 1}}}
	if err := stream.Send(&cleavev1.CreateDatasetRequest{
		Part: &cleavev1.CreateDatasetRequest_Header{Header: header}}); err != nil {
		h.t.Fatal(err)
	}
	part := &cleavev1.CreateDatasetRequest_Values{Values: &cleavev1.DenseValues{Values: make([]float64, values)}}
	if err := stream.Send(&cleavev1.CreateDatasetRequest{Part: part}); err != nil {
		h.t.Fatal(err)
	}
	return stream
}

// An upload that stalls, at its beginning or halfway, is given up and leaves nothing.
func TestStalledUploads(t *testing.T) {
	cfg := testConfig()
	cfg.UploadStall = 50 * time.Millisecond
	h := newHarness(t, cfg, scripted(steps(1)))
	halfway := h.beginUpload(2000, 1000)
	_, err := halfway.CloseAndRecv()
	wantError(t, err, codes.InvalidArgument, "TOO_FEW_VALUES") // it ended, and did not stall
	halfway = h.beginUpload(2000, 1000)
	wantError(t, halfway.RecvMsg(&cleavev1.CreateDatasetResponse{}), codes.DeadlineExceeded, "UPLOAD_STALLED")
	atOnce, err := h.tables().CreateTable(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	wantError(t, atOnce.RecvMsg(&cleavev1.CreateTableResponse{}), codes.DeadlineExceeded, "UPLOAD_STALLED")
	if keys, blobs := h.leftovers(); len(keys)+len(blobs) != 0 || h.c.memory.uploads.Held() != 0 {
		t.Errorf("left over are %v, %v and %d bytes of memory", keys, blobs, h.c.memory.uploads.Held())
	}
}

// Uploads together have a limit; one that is alone has not. What they held is free when they end.
func TestUploadsShareMemory(t *testing.T) {
	cfg := testConfig()
	cfg.UploadBytes = 100_000
	h := newHarness(t, cfg, scripted(steps(1)))
	upload := func(values int) error {
		_, err := h.beginUpload(values, values).CloseAndRecv()
		return err
	}
	if err := upload(20_000); err != nil {
		t.Errorf("an upload that is alone: %v", err)
	}
	other, err := h.c.uploads.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := other.Hold(50_000); err != nil {
		t.Fatal(err)
	}
	if err := upload(3000); err != nil { // 48,000 bytes
		t.Errorf("an upload beside another one: %v", err)
	}
	wantError(t, upload(3500), codes.ResourceExhausted, "TOO_MANY_UPLOADS")
	if held := h.c.memory.uploads.Held(); held != 50_000 {
		t.Errorf("uploads that ended hold %d bytes", held-50_000)
	}
	other.End()
	if err := upload(4001); err != nil {
		t.Errorf("an upload after the others: %v", err)
	}
}

// uploadOfThreeParts returns the messages of an upload with the id "nightly", a header and three parts, and the id of
// its data set.
func uploadOfThreeParts(t *testing.T) (messages []*cleavev1.CreateDatasetRequest, datasetID string) {
	t.Helper()
	points := noise(t, 3000, 100)
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
	h := newHarness(t, testConfig(), scripted(steps(1)))
	parts, whole := uploadOfThreeParts(t)
	header := parts[0].GetHeader()
	send :=
		func(parts ...*cleavev1.CreateDatasetRequest) (
			stream grpc.ClientStreamingClient[cleavev1.CreateDatasetRequest, cleavev1.CreateDatasetResponse],
			leave func(),
		) {
			ctx, leave := context.WithCancel(t.Context())
			stream, err := h.datasets.CreateDataset(ctx)
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
		response, err := h.datasets.GetUpload(t.Context(), &cleavev1.GetUploadRequest{UploadId: "nightly"})
		return response.GetParts(), err
	}
	_, err := arrived()
	wantError(t, err, codes.NotFound, "UPLOAD_NOT_FOUND")
	_, leave := send(parts[:3]...)
	await(t, "the arrival of two parts", func() bool { return h.c.memory.uploads.Held() >= 2*8*2<<17 })
	leave()
	await(t, "keeping two parts", func() bool { n, err := arrived(); return err == nil && n == 2 })

	header.FirstPart = 3
	early, leave := send(parts[0])
	_, err = early.CloseAndRecv()
	leave()
	wantError(t, err, codes.Unavailable, "UPLOAD_NOT_FOUND")
	if n, err := arrived(); n != 2 || err != nil {
		t.Errorf("after a resume that asked for more, %d parts are kept, %v", n, err)
	}
	header.FirstPart = 2
	other := proto.CloneOf(parts[0])
	other.GetHeader().GetPoints().Columns = 10
	refused, leave := send(other)
	_, err = refused.CloseAndRecv()
	leave()
	wantError(t, err, codes.NotFound, "UPLOAD_NOT_FOUND") // and what was kept is gone: the client starts over
	header.FirstPart = 0
	_, leave = send(parts[:2]...)
	await(t, "the arrival of a part", func() bool { return h.c.memory.uploads.Held() >= 8*2<<17 })
	leave()
	await(t, "keeping a part", func() bool { n, err := arrived(); return err == nil && n == 1 })
	header.FirstPart = 1
	rest, leave := send(parts[0], parts[2], parts[3])
	defer leave()
	response, err := rest.CloseAndRecv()
	if err != nil || response.GetDataset().GetDatasetId() != whole {
		t.Errorf("the data set is %v, %v; want %s", response, err, whole)
	}
	if _, err := arrived(); err == nil || h.c.memory.uploads.Held() != 0 {
		t.Errorf("after the end %d bytes are held, %v", h.c.memory.uploads.Held(), err)
	}
}

// A client whose connection breaks may try again and break again before the coordinator notices either. Whatever the
// order in which the attempts are noticed, the parts that GetUpload reported suffice to resume.
func TestAttemptsOfAnUploadThatBreakOffInAnyOrder(t *testing.T) {
	h := newHarness(t, testConfig(), scripted(steps(1)))
	parts, whole := uploadOfThreeParts(t)
	header := parts[0].GetHeader()
	begin := func(parts ...*cleavev1.CreateDatasetRequest) (leave func()) {
		t.Helper()
		before := h.c.memory.uploads.Held()
		sent := 0
		for _, part := range parts {
			sent += datasets.HeldPerByte * int(wire.MemoryOf(part))
		}
		ctx, leave := context.WithCancel(t.Context())
		stream, err := h.datasets.CreateDataset(ctx)
		for _, part := range parts {
			if err == nil {
				err = stream.Send(part)
			}
		}
		if err != nil {
			t.Fatal(err)
		}
		await(t, "the arrival of parts", func() bool { return h.c.memory.uploads.Held() == before+int64(sent) })
		return leave
	}
	resume := func(firstPart int) (string, error) {
		header.FirstPart = uint32(firstPart)
		stream, err := h.datasets.CreateDataset(t.Context())
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
		all := h.c.memory.uploads.Held()
		first()
		await(t, "the end of the first attempt", func() bool {
			response, err := h.datasets.GetUpload(t.Context(), &cleavev1.GetUploadRequest{UploadId: "nightly"})
			return err == nil && response.GetParts() == 2
		})
		second()
		await(t, "the end of the second attempt", func() bool { return h.c.memory.uploads.Held() < all })
		if id, err := resume(firstPart); err != nil || id != whole {
			t.Errorf("from part %d on, the data set is %q, %v; want %s", firstPart, id, err, whole)
		}
		header.FirstPart = 0
	}
	_, err := resume(2)
	wantError(t, err, codes.Unavailable, "UPLOAD_NOT_FOUND") // clients try again, and start over
}
