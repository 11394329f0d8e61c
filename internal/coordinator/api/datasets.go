package api

import (
	"context"
	"strings"
	"time"

	"github.com/hashicorp/go-hclog"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	statev1 "github.com/cleave-project/cleave/gen/cleave/state/v1"
	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/coordinator/datasets"
	"github.com/cleave-project/cleave/internal/coordinator/imports"
	"github.com/cleave-project/cleave/internal/coordinator/queue"
	"github.com/cleave-project/cleave/internal/coordinator/runner"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/observe"
	"github.com/cleave-project/cleave/internal/wire"
)

// Datasets implements cleave.v1.DatasetService. It is safe for concurrent use.
type Datasets struct {
	cleavev1.UnimplementedDatasetServiceServer
	Receiver
	Datasets *datasets.Datasets
}

// Receiver is what data sets and tables need to be received.
type Receiver struct {
	Room     *Room
	Uploads  *datasets.Uploads
	MaxBytes int64 // of one data set or table
	Logger   hclog.Logger
	Now      func() time.Time
}

// CreateDataset implements DatasetService.
func (s *Datasets) CreateDataset(
	stream grpc.ClientStreamingServer[cleavev1.CreateDatasetRequest, cleavev1.CreateDatasetResponse],
) error {
	if err := s.Room.CheckDisk(0); err != nil {
		return err
	}
	held, err := s.Uploads.Begin(stream.Context())
	if err != nil {
		return err
	}
	defer held.End()
	checkRows := func(part *cleavev1.CreateDatasetRequest) error {
		return s.Room.Limits.CheckRows(wire.DeclaredRows(part.GetHeader()))
	}
	upload, err := receiveUpload(held, stream.Recv, wire.NewUpload(s.MaxBytes),
		(*cleavev1.CreateDatasetRequest).GetHeader, checkRows)
	if err != nil {
		return err
	}
	data, err := upload.Finish()
	if err != nil {
		return err
	}
	if err := s.Room.Limits.CheckRows(uint32(data.Rows())); err != nil {
		return err
	}
	if err := s.Room.CheckDisk(dataset.EncodedSize(data)); err != nil {
		return err
	}
	record, err := s.Datasets.Add(stream.Context(), upload.Name(), data, timestamppb.New(s.Now()))
	if err != nil {
		return err
	}
	added := record.GetDataset()
	s.Logger.Info("data set is stored", "dataset", added.GetDatasetId(), "request", observe.RequestID(stream.Context()),
		"kind", strings.TrimPrefix(added.GetKind().String(), "DATASET_KIND_"), "rows", added.GetRows(),
		"bytes", added.GetBytes())
	return stream.SendAndClose(&cleavev1.CreateDatasetResponse{Dataset: added})
}

// GetDataset implements DatasetService.
func (s *Datasets) GetDataset(ctx context.Context,
	request *cleavev1.GetDatasetRequest) (*cleavev1.GetDatasetResponse, error) {
	record, err := s.Datasets.Get(ctx, request.GetDatasetId())
	return &cleavev1.GetDatasetResponse{Dataset: record.GetDataset()}, err
}

// ListDatasets implements DatasetService.
func (s *Datasets) ListDatasets(ctx context.Context,
	request *cleavev1.ListDatasetsRequest) (*cleavev1.ListDatasetsResponse, error) {
	listed, next, err := datasets.List(ctx, s.Datasets.Store, request, (*statev1.ContentRecord).GetDataset)
	return &cleavev1.ListDatasetsResponse{Datasets: listed, NextPageToken: next}, err
}

// DeleteDataset implements DatasetService.
func (s *Datasets) DeleteDataset(ctx context.Context,
	request *cleavev1.DeleteDatasetRequest) (*cleavev1.DeleteDatasetResponse, error) {
	return &cleavev1.DeleteDatasetResponse{}, s.Datasets.Delete(ctx, request.GetDatasetId())
}

// Tables implements cleave.v1.TableService. It is safe for concurrent use.
type Tables struct {
	cleavev1.UnimplementedTableServiceServer
	Receiver
	Tables    datasets.Tables
	Importer  *imports.Importer
	Downloads *queue.DownloadMemory
}

// CreateTable implements TableService.
func (s *Tables) CreateTable(
	stream grpc.ClientStreamingServer[cleavev1.CreateTableRequest, cleavev1.CreateTableResponse],
) error {
	if err := s.Room.CheckDisk(0); err != nil {
		return err
	}
	held, err := s.Uploads.Begin(stream.Context())
	if err != nil {
		return err
	}
	defer held.End()
	upload, err := receiveUpload(held, stream.Recv, wire.NewTableUpload(s.MaxBytes),
		(*cleavev1.CreateTableRequest).GetHeader, func(*cleavev1.CreateTableRequest) error { return nil })
	if err != nil {
		return err
	}
	t, err := upload.Finish()
	if err != nil {
		return err
	}
	if err := s.Room.CheckDisk(t.EncodedSize()); err != nil {
		return err
	}
	record, err := s.Tables.Add(stream.Context(), upload.Name(), t, timestamppb.New(s.Now()))
	if err != nil {
		return err
	}
	added := record.GetTable()
	runner.FreeAfter(int64(added.GetBytes())) // the parts that it arrived in
	s.Logger.Info("table is stored", "request", observe.RequestID(stream.Context()), "table", added.GetTableId(),
		"rows", added.GetRows(), "bytes", added.GetBytes())
	return stream.SendAndClose(&cleavev1.CreateTableResponse{Table: added})
}

// ImportTable implements TableService.
func (s *Tables) ImportTable(request *cleavev1.ImportTableRequest,
	stream grpc.ServerStreamingServer[cleavev1.ImportTableResponse]) error {
	if err := checkText("request_id", request.GetRequestId()); err != nil {
		return err
	}
	return s.Importer.Stream(stream.Context(), request, func(m *cleavev1.ImportTableResponse) error {
		runner.FreeAfter(int64(m.GetImported().GetTable().GetBytes()))
		return stream.Send(m)
	})
}

// GetTable implements TableService.
func (s *Tables) GetTable(ctx context.Context, request *cleavev1.GetTableRequest) (*cleavev1.GetTableResponse, error) {
	record, err := s.Tables.Get(ctx, request.GetTableId())
	return &cleavev1.GetTableResponse{Table: record.GetTable()}, err
}

// GetTableRows implements TableService.
func (s *Tables) GetTableRows(request *cleavev1.GetTableRowsRequest,
	stream grpc.ServerStreamingServer[cleavev1.GetTableRowsResponse]) error {
	record, err := s.Tables.Get(stream.Context(), request.GetTableId())
	if err != nil {
		return err
	}
	held, err := s.Downloads.Begin(stream.Context(), record.GetTable().GetBytes())
	if err != nil {
		return err
	}
	defer held.End()
	t, err := s.Tables.Load(stream.Context(), request.GetTableId())
	if err != nil {
		return err
	}
	if names := request.GetColumns(); len(names) > 0 {
		if t, err = t.Only(names); err != nil {
			return err
		}
	}
	return wire.SendTableRows(t, int(request.GetMaxRows()), queue.Paced(held, stream.Send))
}

// ListTables implements TableService.
func (s *Tables) ListTables(ctx context.Context,
	request *cleavev1.ListTablesRequest) (*cleavev1.ListTablesResponse, error) {
	tables, next, err := datasets.List(ctx, s.Tables.Store, request, (*statev1.ContentRecord).GetTable)
	return &cleavev1.ListTablesResponse{Tables: tables, NextPageToken: next}, err
}

// DeleteTable implements TableService.
func (s *Tables) DeleteTable(ctx context.Context,
	request *cleavev1.DeleteTableRequest) (*cleavev1.DeleteTableResponse, error) {
	return &cleavev1.DeleteTableResponse{}, s.Tables.Delete(ctx, request.GetTableId())
}

// GetUpload returns how many parts of an interrupted upload are kept, of a data set or of a table.
func (s *Datasets) GetUpload(ctx context.Context,
	request *cleavev1.GetUploadRequest) (*cleavev1.GetUploadResponse, error) {
	if err := fault.Required("upload_id", request.GetUploadId()); err != nil {
		return nil, err
	}
	parts, found := s.Uploads.Arrived(ctx, request.GetUploadId())
	if !found {
		return nil, uploadNotFound(request.GetUploadId())
	}
	return &cleavev1.GetUploadResponse{Parts: parts}, nil
}

func uploadNotFound(id string) error {
	return fault.New(fault.NotFound, "UPLOAD_NOT_FOUND",
		"there is no partial upload %.60q; start again from the first part", id).With("upload_id", id)
}

// uploadLost returns the error for a resumed upload whose parts were discarded after GetUpload had counted them.
// Clients call GetUpload and try again.
func uploadLost(id string) error {
	return fault.New(fault.Unavailable, "UPLOAD_PARTS_LOST",
		"some parts of the upload %.60q are gone; call GetUpload, and resume after the parts that it reports", id).With(
		"upload_id", id)
}

// uploadHeader is the header in the first message of an upload. GetFirstPart is 0 unless the upload is resumed.
type uploadHeader interface {
	comparable
	proto.Message
	GetUploadId() string
	GetFirstPart() uint32
}

// receiveUpload feeds the parts of an upload to into and returns it. If an upload with an id breaks off, its parts are
// kept, and a later upload whose header asks for it continues from them. The client may resend parts that arrived after
// its GetUpload call, because the server notices a broken connection late; they are skipped. check may reject a part
// before it is added.
func receiveUpload[P proto.Message, H uploadHeader, U interface{ Add(P) error }](
	held *datasets.Upload, receive func() (P, error), into U, headerOf func(P) H, check func(P) error,
) (U, error) {
	var none, header H
	parts, repeated, refused := uint32(0), uint32(0), false
	err := datasets.Receive(held, receive, func(part P) (err error) {
		defer func() { refused = err != nil }()
		if h := headerOf(part); header == none && h != none && h.GetUploadId() != "" {
			header = h
			if err := checkText("upload_id", h.GetUploadId()); err != nil {
				return err
			}
			kept := held.Resume(h.GetUploadId(), h.GetFirstPart())
			if first := h.GetFirstPart(); first > 0 {
				if kept == nil {
					return uploadLost(h.GetUploadId())
				}
				before, same := resumed[U](kept, h)
				if !same {
					return uploadNotFound(h.GetUploadId())
				}
				into, parts, repeated = before, kept.Parts, kept.Parts-first
				return nil
			}
		} else if h == none {
			if repeated > 0 {
				repeated--
				return nil
			}
			parts++
		}
		if err := check(part); err != nil {
			return err
		}
		return into.Add(part)
	})
	if err != nil && !refused && header != none {
		held.Keep(header.GetUploadId(), &datasets.KeptUpload{Header: header, Value: into, Parts: parts})
	}
	return into, err
}

// resumed returns the receiver of a kept upload. same is false unless it has the expected type and the same header.
func resumed[U any, H uploadHeader](kept *datasets.KeptUpload, header H) (into U, same bool) {
	if !proto.Equal(withoutFirstPart(kept.Header), withoutFirstPart(header)) {
		return into, false
	}
	into, same = kept.Value.(U)
	return into, same
}

// withoutFirstPart returns a copy of a header with first_part cleared, as if the upload started over.
func withoutFirstPart(header proto.Message) proto.Message {
	header = proto.Clone(header)
	m := header.ProtoReflect()
	m.Clear(m.Descriptor().Fields().ByName("first_part"))
	return header
}
