package coordinator

import (
	"context"
	"errors"
	"io"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	statev1 "github.com/cleave-project/cleave/gen/cleave/state/v1"
	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/wire"
)

// datasetService implements cleave.v1.DatasetService.
type datasetService struct {
	cleavev1.UnimplementedDatasetServiceServer
	c *Coordinator
}

func (s *datasetService) CreateDataset(stream grpc.ClientStreamingServer[cleavev1.CreateDatasetRequest, cleavev1.CreateDatasetResponse]) error {
	upload := wire.NewUpload(s.c.cfg.MaxDatasetBytes)
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
	name := upload.Name()
	data, err := upload.Finish()
	if err != nil {
		return err
	}
	added, err := s.c.datasets.add(stream.Context(), name, data, s.c.now())
	if err != nil {
		return err
	}
	s.c.log.Info("data set is stored", "dataset", added.GetDatasetId(), "kind", wire.Kind(added.GetKind()), "rows", added.GetRows(), "bytes", added.GetBytes())
	return stream.SendAndClose(&cleavev1.CreateDatasetResponse{Dataset: added})
}

func (s *datasetService) GetDataset(ctx context.Context, request *cleavev1.GetDatasetRequest) (*cleavev1.GetDatasetResponse, error) {
	if err := required("dataset_id", request.GetDatasetId()); err != nil {
		return nil, err
	}
	record, err := s.c.datasets.record(ctx, request.GetDatasetId())
	if err != nil {
		return nil, err
	}
	return &cleavev1.GetDatasetResponse{Dataset: record.GetDataset()}, nil
}

func (s *datasetService) ListDatasets(ctx context.Context, request *cleavev1.ListDatasetsRequest) (*cleavev1.ListDatasetsResponse, error) {
	size, err := pageSize(request.GetPageSize())
	if err != nil {
		return nil, err
	}
	after, err := pageStart(request.GetPageToken(), datasetPrefix)
	if err != nil {
		return nil, err
	}
	entries, err := s.c.state.List(ctx, datasetPrefix, after, size+1)
	if err != nil {
		return nil, err
	}
	response := &cleavev1.ListDatasetsResponse{}
	for at, entry := range entries {
		if at == size {
			response.NextPageToken = pageToken(entries[at-1].Key)
			break
		}
		record := &statev1.DatasetRecord{}
		if err := proto.Unmarshal(entry.Value, record); err != nil {
			return nil, err
		}
		response.Datasets = append(response.Datasets, record.GetDataset())
	}
	return response, nil
}

// DeleteDataset succeeds also when there is no such data set, so that it can be repeated when its answer was
// lost.
func (s *datasetService) DeleteDataset(ctx context.Context, request *cleavev1.DeleteDatasetRequest) (*cleavev1.DeleteDatasetResponse, error) {
	id := request.GetDatasetId()
	if err := required("dataset_id", id); err != nil {
		return nil, err
	}
	s.c.admission.Lock()
	defer s.c.admission.Unlock()
	if user := s.c.jobUsing(id); user != "" {
		return nil, fault.New(fault.FailedPrecondition, "DATASET_IN_USE",
			"job %s has not ended and uses this data set; wait for it or cancel it first", user).With("job_id", user)
	}
	blob, err := s.c.datasets.remove(ctx, id)
	if fault.Is(err, reasonDatasetNotFound) {
		return &cleavev1.DeleteDatasetResponse{}, nil
	}
	if err != nil {
		return nil, err
	}
	// The data set is gone. If this fails, the next coordinator does it.
	if err := s.c.deleteGarbage(s.c.storeCtx, blob); err != nil {
		s.c.log.Warn("the blob of a deleted data set is left until the next start", "dataset", id, "error", err)
	}
	return &cleavev1.DeleteDatasetResponse{}, nil
}

// jobUsing is the id of an unfinished job that uses a data set, "" when there is none.
func (c *Coordinator) jobUsing(dataset string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	for id, j := range c.jobs {
		if j.datasetID == dataset {
			return id
		}
	}
	return ""
}

func (c *Coordinator) now() *timestamppb.Timestamp { return timestamppb.New(c.cfg.Now()) }
