package coordinator

import (
	"context"

	"google.golang.org/grpc"

	statev1 "github.com/cleave-project/cleave/gen/cleave/state/v1"
	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/coordinator/content"
	"github.com/cleave-project/cleave/internal/coordinator/downloads"
	"github.com/cleave-project/cleave/internal/coordinator/problem"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/observe"
	"github.com/cleave-project/cleave/internal/wire"
)

// datasetService implements cleave.v1.DatasetService.
type datasetService struct {
	cleavev1.UnimplementedDatasetServiceServer
	c *Coordinator
}

func (s *datasetService) CreateDataset(stream grpc.ClientStreamingServer[cleavev1.CreateDatasetRequest, cleavev1.CreateDatasetResponse]) error {
	if err := s.c.checkDisk(0); err != nil {
		return err
	}
	held, err := s.c.uploads.Begin(stream.Context())
	if err != nil {
		return err
	}
	defer held.End()
	checkRows := func(part *cleavev1.CreateDatasetRequest) error {
		return s.c.cfg.Limits.checkRows(wire.DeclaredRows(part.GetHeader()))
	}
	upload, err := receiveUpload(held, stream.Recv, wire.NewUpload(s.c.cfg.MaxDatasetBytes), (*cleavev1.CreateDatasetRequest).GetHeader, checkRows)
	if err != nil {
		return err
	}
	data, err := upload.Finish()
	if err != nil {
		return err
	}
	if err := s.c.cfg.Limits.checkRows(uint32(data.Rows())); err != nil {
		return err
	}
	if err := s.c.checkDisk(dataset.EncodedSize(data)); err != nil {
		return err
	}
	record, err := s.c.datasets.Add(stream.Context(), upload.Name(), data, s.c.now())
	if err != nil {
		return err
	}
	added := record.GetDataset()
	s.c.log.Info("data set is stored", "dataset", added.GetDatasetId(), "request", observe.RequestID(stream.Context()),
		"kind", shortName(added.GetKind(), "DATASET_KIND_"), "rows", added.GetRows(), "bytes", added.GetBytes())
	return stream.SendAndClose(&cleavev1.CreateDatasetResponse{Dataset: added})
}

func (s *datasetService) GetDataset(ctx context.Context, request *cleavev1.GetDatasetRequest) (*cleavev1.GetDatasetResponse, error) {
	record, err := s.c.datasets.Get(ctx, request.GetDatasetId())
	return &cleavev1.GetDatasetResponse{Dataset: record.GetDataset()}, err
}

func (s *datasetService) ListDatasets(ctx context.Context, request *cleavev1.ListDatasetsRequest) (*cleavev1.ListDatasetsResponse, error) {
	datasets, next, err := content.List(ctx, s.c.datasets.Store, request, (*statev1.ContentRecord).GetDataset)
	return &cleavev1.ListDatasetsResponse{Datasets: datasets, NextPageToken: next}, err
}

func (s *datasetService) DeleteDataset(ctx context.Context, request *cleavev1.DeleteDatasetRequest) (*cleavev1.DeleteDatasetResponse, error) {
	return &cleavev1.DeleteDatasetResponse{}, s.c.datasets.Delete(ctx, request.GetDatasetId())
}

// tableService implements cleave.v1.TableService.
type tableService struct {
	cleavev1.UnimplementedTableServiceServer
	c *Coordinator
}

func (s *tableService) CreateTable(stream grpc.ClientStreamingServer[cleavev1.CreateTableRequest, cleavev1.CreateTableResponse]) error {
	if err := s.c.checkDisk(0); err != nil {
		return err
	}
	held, err := s.c.uploads.Begin(stream.Context())
	if err != nil {
		return err
	}
	defer held.End()
	upload, err := receiveUpload(held, stream.Recv, wire.NewTableUpload(s.c.cfg.MaxDatasetBytes),
		(*cleavev1.CreateTableRequest).GetHeader, func(*cleavev1.CreateTableRequest) error { return nil })
	if err != nil {
		return err
	}
	t, err := upload.Finish()
	if err != nil {
		return err
	}
	if err := s.c.checkDisk(s.c.tables.Size(t)); err != nil {
		return err
	}
	record, err := s.c.tables.Add(stream.Context(), upload.Name(), t, s.c.now())
	if err != nil {
		return err
	}
	added := record.GetTable()
	problem.FreeAfter(int64(added.GetBytes())) // the parts that it arrived in
	s.c.log.Info("table is stored", "request", observe.RequestID(stream.Context()), "table", added.GetTableId(),
		"rows", added.GetRows(), "bytes", added.GetBytes())
	return stream.SendAndClose(&cleavev1.CreateTableResponse{Table: added})
}

func (s *tableService) ImportTable(request *cleavev1.ImportTableRequest, stream grpc.ServerStreamingServer[cleavev1.ImportTableResponse]) error {
	if err := checkText("request_id", request.GetRequestId()); err != nil {
		return err
	}
	return s.c.importer.Stream(stream.Context(), request, func(m *cleavev1.ImportTableResponse) error {
		problem.FreeAfter(int64(m.GetImported().GetTable().GetBytes()))
		return stream.Send(m)
	})
}

func (s *tableService) GetTable(ctx context.Context, request *cleavev1.GetTableRequest) (*cleavev1.GetTableResponse, error) {
	record, err := s.c.tables.Get(ctx, request.GetTableId())
	return &cleavev1.GetTableResponse{Table: record.GetTable()}, err
}

func (s *tableService) GetTableRows(request *cleavev1.GetTableRowsRequest, stream grpc.ServerStreamingServer[cleavev1.GetTableRowsResponse]) error {
	record, err := s.c.tables.Get(stream.Context(), request.GetTableId())
	if err != nil {
		return err
	}
	held, err := s.c.downloads.Begin(stream.Context(), record.GetTable().GetBytes())
	if err != nil {
		return err
	}
	defer held.End()
	t, err := s.c.tables.Load(stream.Context(), request.GetTableId())
	if err != nil {
		return err
	}
	if names := request.GetColumns(); len(names) > 0 {
		if t, err = t.Only(names); err != nil {
			return err
		}
	}
	return wire.SendTableRows(t, int(request.GetMaxRows()), downloads.Paced(held, stream.Send))
}

func (s *tableService) ListTables(ctx context.Context, request *cleavev1.ListTablesRequest) (*cleavev1.ListTablesResponse, error) {
	tables, next, err := content.List(ctx, s.c.tables.Store, request, func(record *statev1.ContentRecord) *cleavev1.Table {
		t := record.GetTable()
		if t != nil {
			t.Sources = nil // which earlier versions stored in the record: thousands of tables may have thousands each
		}
		return t
	})
	return &cleavev1.ListTablesResponse{Tables: tables, NextPageToken: next}, err
}

func (s *tableService) DeleteTable(ctx context.Context, request *cleavev1.DeleteTableRequest) (*cleavev1.DeleteTableResponse, error) {
	return &cleavev1.DeleteTableResponse{}, s.c.tables.Delete(ctx, request.GetTableId())
}
