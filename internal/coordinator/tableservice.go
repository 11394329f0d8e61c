package coordinator

import (
	"context"
	"errors"
	"io"
	"slices"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	statev1 "github.com/cleave-project/cleave/gen/cleave/state/v1"
	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/wire"
)

// tableService serves the tables to clients.
type tableService struct {
	cleavev1.UnimplementedTableServiceServer
	c *Coordinator
}

func (s *tableService) CreateTable(stream grpc.ClientStreamingServer[cleavev1.CreateTableRequest, cleavev1.CreateTableResponse]) error {
	upload := wire.NewTableUpload(s.c.cfg.MaxDatasetBytes)
	for {
		part, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		if err := upload.Add(part); err != nil {
			return err
		}
	}
	t, err := upload.Finish()
	if err != nil {
		return err
	}
	added, err := s.c.tables.add(stream.Context(), upload.Name(), t, s.c.now())
	if err != nil {
		return err
	}
	s.c.log.Info("table is stored", "table", added.GetTableId(), "rows", added.GetRows(), "bytes", added.GetBytes())
	return stream.SendAndClose(&cleavev1.CreateTableResponse{Table: added})
}

func (s *tableService) GetTable(ctx context.Context, request *cleavev1.GetTableRequest) (*cleavev1.GetTableResponse, error) {
	if err := required("table_id", request.GetTableId()); err != nil {
		return nil, err
	}
	record, err := s.c.tables.record(ctx, request.GetTableId())
	if err != nil {
		return nil, err
	}
	return &cleavev1.GetTableResponse{Table: record.GetTable()}, nil
}

func (s *tableService) GetTableRows(request *cleavev1.GetTableRowsRequest, stream grpc.ServerStreamingServer[cleavev1.GetTableRowsResponse]) error {
	if err := required("table_id", request.GetTableId()); err != nil {
		return err
	}
	t, err := s.c.tables.load(stream.Context(), request.GetTableId())
	if err != nil {
		return err
	}
	return wire.SendTableRows(t, stream.Send)
}

func (s *tableService) ListTables(ctx context.Context, request *cleavev1.ListTablesRequest) (*cleavev1.ListTablesResponse, error) {
	size, err := pageSize(request.GetPageSize())
	if err != nil {
		return nil, err
	}
	after, err := pageStart(request.GetPageToken(), tablePrefix)
	if err != nil {
		return nil, err
	}
	entries, err := s.c.state.List(ctx, tablePrefix, after, size+1)
	if err != nil {
		return nil, err
	}
	response := &cleavev1.ListTablesResponse{}
	for at, entry := range entries {
		if at == size {
			response.NextPageToken = pageToken(entries[at-1].Key)
			break
		}
		record := &statev1.TableRecord{}
		if err := proto.Unmarshal(entry.Value, record); err != nil {
			return nil, err
		}
		response.Tables = append(response.Tables, record.GetTable())
	}
	return response, nil
}

// DeleteTable succeeds also when there is no such table, so that it can be repeated when its answer was lost.
func (s *tableService) DeleteTable(ctx context.Context, request *cleavev1.DeleteTableRequest) (*cleavev1.DeleteTableResponse, error) {
	id := request.GetTableId()
	if err := required("table_id", id); err != nil {
		return nil, err
	}
	s.c.admission.Lock()
	defer s.c.admission.Unlock()
	if user := s.c.jobUsingTable(id); user != "" {
		return nil, fault.New(fault.FailedPrecondition, "TABLE_IN_USE",
			"job %s has not ended and uses this table; wait for it or cancel it first", user).With("job_id", user)
	}
	blob, err := s.c.tables.remove(ctx, id)
	if fault.Is(err, reasonTableNotFound) {
		return &cleavev1.DeleteTableResponse{}, nil
	}
	if err != nil {
		return nil, err
	}
	// The table is gone. If this fails, the next coordinator does it.
	if err := s.c.deleteGarbage(s.c.storeCtx, blob); err != nil {
		s.c.log.Warn("the blob of a deleted table is left until the next start", "table", id, "error", err)
	}
	return &cleavev1.DeleteTableResponse{}, nil
}

// jobUsingTable is the id of an unfinished job that uses a table, "" when there is none.
func (c *Coordinator) jobUsingTable(table string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	for id, j := range c.jobs {
		if slices.Contains(j.tableIDs, table) {
			return id
		}
	}
	return ""
}
