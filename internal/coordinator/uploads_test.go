package coordinator

import (
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
)

type datasetUpload = grpc.ClientStreamingClient[cleavev1.CreateDatasetRequest, cleavev1.CreateDatasetResponse]

// beginUpload sends the header of an upload of so many rows of one column, and the first values.
func (h *harness) beginUpload(rows, values int) datasetUpload {
	h.t.Helper()
	stream, err := h.datasets.CreateDataset(h.t.Context())
	if err != nil {
		h.t.Fatal(err)
	}
	header := &cleavev1.DatasetHeader{Form: &cleavev1.DatasetHeader_Points{Points: &cleavev1.PointsForm{Rows: uint64(rows), Columns: 1}}}
	if err := stream.Send(&cleavev1.CreateDatasetRequest{Part: &cleavev1.CreateDatasetRequest_Header{Header: header}}); err != nil {
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
	if keys, blobs := h.leftovers(); len(keys)+len(blobs) != 0 || h.c.uploads.Reserved() != 0 {
		t.Errorf("left over are %v, %v and %d bytes of memory", keys, blobs, h.c.uploads.Reserved())
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
	if held := h.c.uploads.Reserved(); held != 50_000 {
		t.Errorf("uploads that ended hold %d bytes", held-50_000)
	}
	other.End()
	if err := upload(4001); err != nil {
		t.Errorf("an upload after the others: %v", err)
	}
}
