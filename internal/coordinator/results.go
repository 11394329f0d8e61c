package coordinator

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"io"

	"google.golang.org/grpc"

	statev1 "github.com/cleave-project/cleave/gen/cleave/state/v1"
	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/evaluate"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/table"
	"github.com/cleave-project/cleave/internal/wire"
)

// labelsPerMessage keeps each message of labels under 1 MiB.
const labelsPerMessage = 1 << 16

func (s *jobService) GetResult(ctx context.Context, request *cleavev1.GetResultRequest) (*cleavev1.GetResultResponse, error) {
	record, err := s.c.resultRecord(ctx, request.GetJobId())
	if err != nil {
		return nil, err
	}
	outcome := &statev1.Outcome{}
	if err := s.c.readBlob(ctx, record.GetOutcomeBlob(), outcome); err != nil {
		return nil, err
	}
	return &cleavev1.GetResultResponse{Result: outcome.GetResult()}, nil
}

// resultRecord is the record of a job that succeeded or was canceled.
func (c *Coordinator) resultRecord(ctx context.Context, id string) (*statev1.JobRecord, error) {
	record, err := c.endedRecord(ctx, id)
	if err != nil {
		return nil, err
	}
	if job := record.GetJob(); job.GetState() == cleavev1.JobState_JOB_STATE_FAILED {
		return nil, fault.New(fault.FailedPrecondition, "JOB_FAILED", "job %s failed and has no result: %s", id, job.GetError().GetMessage()).
			With("job_id", id).With("failure_reason", job.GetError().GetReason())
	}
	return record, nil
}

// readLabels calls yield with one portion of a job's labels after the other.
func (c *Coordinator) readLabels(ctx context.Context, id string, yield func(first uint64, labels []int32) error) error {
	record, err := c.resultRecord(ctx, id)
	if err != nil {
		return err
	}
	if record.GetLabelsBlob() == "" {
		return fault.New(fault.FailedPrecondition, "JOB_HAS_NO_LABELS", "job %s was cancelled before it had labels", id).With("job_id", id)
	}
	r, err := c.blobs.Open(ctx, record.GetLabelsBlob(), 0, -1)
	if err != nil {
		return err
	}
	defer r.Close()
	buffered, portion := bufio.NewReaderSize(r, 4*labelsPerMessage), make([]byte, 4*labelsPerMessage)
	for first := uint64(0); ; {
		n, err := io.ReadFull(buffered, portion)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
			return err
		}
		labels := make([]int32, n/4)
		for at := range labels {
			labels[at] = int32(binary.LittleEndian.Uint32(portion[4*at:]))
		}
		if err := yield(first, labels); err != nil {
			return err
		}
		first += uint64(len(labels))
	}
}

func (s *jobService) GetLabels(request *cleavev1.GetLabelsRequest, stream grpc.ServerStreamingServer[cleavev1.GetLabelsResponse]) error {
	return s.c.readLabels(stream.Context(), request.GetJobId(), func(first uint64, labels []int32) error {
		return stream.Send(&cleavev1.GetLabelsResponse{FirstIndex: uint32(first), Labels: wire.LabelsProto(labels)})
	})
}

func (s *jobService) GetModel(request *cleavev1.GetModelRequest, stream grpc.ServerStreamingServer[cleavev1.GetModelResponse]) error {
	record, err := s.c.resultRecord(stream.Context(), request.GetJobId())
	if err != nil {
		return err
	}
	if record.GetModelBlob() == "" {
		return fault.New(fault.FailedPrecondition, "JOB_HAS_NO_MODEL",
			"job %s has no model: only the vector family makes centroids, and only once it has begun", request.GetJobId()).With("job_id", request.GetJobId())
	}
	values, err := s.c.blobs.Open(stream.Context(), record.GetModelBlob(), 0, -1)
	if err != nil {
		return err
	}
	defer values.Close()
	return wire.SendModel(record.GetModel(), values, stream.Send)
}

func (s *jobService) GetEmbedding(request *cleavev1.GetEmbeddingRequest, stream grpc.ServerStreamingServer[cleavev1.GetEmbeddingResponse]) error {
	record, err := s.c.resultRecord(stream.Context(), request.GetJobId())
	if err != nil {
		return err
	}
	if record.GetEmbeddingBlob() == "" {
		return fault.New(fault.FailedPrecondition, "JOB_HAS_NO_EMBEDDING",
			"job %s has no embedding: only the spectral family finds coordinates, and only when it is done with them", request.GetJobId()).With("job_id", request.GetJobId())
	}
	values, err := s.c.blobs.Open(stream.Context(), record.GetEmbeddingBlob(), 0, -1)
	if err != nil {
		return err
	}
	defer values.Close()
	return wire.SendEmbedding(record.GetEmbedding(), values, stream.Send)
}

func (s *jobService) EvaluateJob(ctx context.Context, request *cleavev1.EvaluateJobRequest) (*cleavev1.EvaluateJobResponse, error) {
	var labels []int32
	err := s.c.readLabels(ctx, request.GetJobId(), func(_ uint64, portion []int32) error {
		labels = append(labels, portion...)
		return nil
	})
	if err != nil {
		return nil, err
	}
	tables := s.c.tables.finder(ctx)
	truth, err := wire.ReadTable(request.GetTruth(), "truth", len(labels), tables, table.Labels)
	if err != nil {
		return nil, err
	}
	scoreOn, err := wire.ReadTable(request.GetScoreOn(), "score_on", len(labels), tables, table.Indices) // nil: all rows
	if err != nil {
		return nil, err
	}
	scores, err := evaluate.Compare(labels, truth, scoreOn)
	if err != nil {
		return nil, err
	}
	return &cleavev1.EvaluateJobResponse{Evaluation: wire.EvaluationProto(scores)}, nil
}
