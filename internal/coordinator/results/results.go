// Package results answers the calls that read what jobs have found: their results, labels, models and scores, and the
// labels that new points get by them.
package results

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"time"

	"google.golang.org/grpc"

	statev1 "github.com/cleave-project/cleave/gen/cleave/state/v1"
	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/coordinator/datasets"
	"github.com/cleave-project/cleave/internal/coordinator/queue"
	"github.com/cleave-project/cleave/internal/coordinator/records"
	"github.com/cleave-project/cleave/internal/coordinator/runner"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/data/evaluate"
	"github.com/cleave-project/cleave/internal/data/recipe"
	"github.com/cleave-project/cleave/internal/data/table"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/fleet"
	"github.com/cleave-project/cleave/internal/wire"
)

// Service implements the methods of cleave.v1.JobService that are about results. It does not implement the others. It
// is safe for concurrent use.
type Service struct {
	cleavev1.UnimplementedJobServiceServer
	d           Dependencies
	rows        *datasets.Cache[*recipe.Rows] // the rows of recently read results of jobs on tables, by job
	predictions chan struct{}                 // semaphore: holds one value for each prediction in progress
}

// Dependencies are the parts of the coordinator that results need.
type Dependencies struct {
	Jobs      Jobs
	Room      Room
	Parts     *Parts
	Downloads *queue.DownloadMemory

	Datasets *datasets.Datasets
	Tables   datasets.Tables
	Problems *runner.ProblemMaker
	Fleet    *fleet.Fleet

	RowsBytes      int64         // memory of the cache of rows
	TurnWait       time.Duration // how long a prediction waits for its turn
	PredictionWait time.Duration // how long it waits for workers or for their memory
}

// New returns a Service.
func New(d Dependencies) *Service {
	return &Service{d: d, rows: datasets.NewCache(d.RowsBytes, datasets.Weakly[recipe.Rows]),
		predictions: make(chan struct{}, maxPredictions)}
}

// Jobs are the jobs of the coordinator; see jobs.Manager.
type Jobs interface {
	// Ended returns the record of a job that has ended, if the caller may see it.
	Ended(ctx context.Context, job string) (*statev1.JobRecord, error)
}

// Room decides whether there is room for what a call needs; see api.Room.
type Room interface {
	// Borrow waits until a call may hold data in memory, and a copy of all of it if copied is set.
	Borrow(ctx context.Context, data []Input, copied bool) (release func(), err error)
	// CheckTableRows rejects a table with too many rows, before it is read.
	CheckTableRows(ctx context.Context, table string) error
}

// Input is what a call loads: a data set, or tables and the points that are made from them.
type Input struct {
	Dataset string // "" if there is none
	Tables  []string
}

// NotStored is the reason of the error for a result that could not be stored.
const NotStored = "RESULT_NOT_STORED"

// labelsPerMessage keeps each message of labels under 1 MiB.
const labelsPerMessage = 1 << 16

// GetResult returns the result of a job that has ended.
func (s *Service) GetResult(ctx context.Context,
	request *cleavev1.GetResultRequest) (*cleavev1.GetResultResponse, error) {
	record, err := s.record(ctx, request.GetJobId())
	if err != nil {
		return nil, err
	}
	outcome, err := s.d.Parts.Outcome(ctx, record)
	if err != nil {
		return nil, err
	}
	return &cleavev1.GetResultResponse{Result: outcome.GetResult()}, nil
}

// record returns the record of a job that has a result, because it succeeded or was canceled. It fails for any
// other job.
func (s *Service) record(ctx context.Context, id string) (*statev1.JobRecord, error) {
	record, err := s.d.Jobs.Ended(ctx, id)
	if err != nil {
		return nil, err
	}
	if job := record.GetJob(); job.GetState() == cleavev1.JobState_JOB_STATE_FAILED {
		return nil, fault.New(fault.FailedPrecondition, "JOB_FAILED", "job %s failed and has no result: %s", id,
			job.GetError().GetMessage()).
			With("job_id", id).With("failure_reason", job.GetError().GetReason())
	}
	if record.GetOutcomeBlob() == "" {
		return nil,
			fault.New(fault.FailedPrecondition, NotStored, "job %s was canceled while its result could not be stored",
				id).With("job_id", id)
	}
	return record, nil
}

// resultPart describes a large part of the result of a job.
type resultPart struct {
	name   string // for messages
	blob   string // "" if the job has no such part
	offset int64  // the first byte to read
	reason string // of the error if the job has no such part
	why    string // continues the message "job ID ..." of that error
}

// sendResult opens a part of a job's result, which part describes, and calls send with it.
func (s *Service) sendResult(ctx context.Context, id string, part func(*statev1.JobRecord) resultPart,
	send func(*statev1.JobRecord, io.Reader) error) error {
	record, err := s.record(ctx, id)
	if err != nil {
		return err
	}
	r, err := s.openResult(ctx, record, part(record))
	if err != nil {
		return err
	}
	defer r.Close()
	return send(record, r)
}

// openResult opens a part of a job's result.
func (s *Service) openResult(ctx context.Context, record *statev1.JobRecord, part resultPart) (io.ReadCloser, error) {
	id := record.GetJob().GetJobId()
	if part.blob == "" {
		return nil, fault.New(fault.FailedPrecondition, part.reason, "job %s %s", id, part.why).With("job_id", id)
	}
	return s.d.Parts.Open(ctx, id, part.blob, part.name, part.offset)
}

// labelBytes is the size of a stored label.
const labelBytes = 4

// readLabels calls yield with successive portions of a job's labels, starting at row from.
func (s *Service) readLabels(ctx context.Context, record *statev1.JobRecord, from uint32,
	yield func(first uint64, labels []int32) error) error {
	r, err := s.openResult(ctx, record, resultPart{
		name: records.PartLabels, blob: record.GetLabelsBlob(), offset: labelBytes * int64(from),
		reason: "JOB_HAS_NO_LABELS", why: "was canceled before it had labels",
	})
	if err != nil {
		return err
	}
	defer r.Close()
	return decodeLabels(r, record.GetJob().GetJobId(), from, yield)
}

// decodeLabels calls yield with successive portions of the labels in r, the first of which belongs to row from.
func decodeLabels(r io.Reader, id string, from uint32, yield func(first uint64, labels []int32) error) error {
	buffered := bufio.NewReaderSize(r, 4*labelsPerMessage)
	portion := make([]byte, 4*labelsPerMessage)
	for first := uint64(from); ; {
		n, err := io.ReadFull(buffered, portion)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
			return err
		}
		labels, err := wire.UnpackInt32s(portion[:n])
		if err != nil {
			return records.JobPart(records.PartLabels, id).Damaged(errors.New("they end within a label"))
		}
		if err := yield(first, labels); err != nil {
			return err
		}
		first += uint64(len(labels))
	}
}

// allLabels returns all labels of a job.
func (s *Service) allLabels(ctx context.Context, record *statev1.JobRecord) (labels []int32, err error) {
	err = s.readLabels(ctx, record, 0, func(_ uint64, portion []int32) error {
		labels = append(labels, portion...)
		return nil
	})
	return labels, err
}

// GetLabels sends the labels of a job in row order.
func (s *Service) GetLabels(request *cleavev1.GetLabelsRequest,
	stream grpc.ServerStreamingServer[cleavev1.GetLabelsResponse]) error {
	record, err := s.record(stream.Context(), request.GetJobId())
	if err != nil {
		return err
	}
	var rows *recipe.Rows
	sendPart := stream.Send
	if request.GetWithRows() {
		held, err := s.d.Downloads.Begin(stream.Context(), record.GetRowsBytes())
		if err != nil {
			return err
		}
		defer held.End()
		sendPart = queue.Paced(held, stream.Send)
		if rows, err = s.rowsOf(stream.Context(), record, 0); err != nil {
			return err
		}
	}
	send := func(first uint64, labels []int32) error {
		return eachLabelPart(int(first), labels, rows, labelsPerMessage, func(p labelPart) error {
			return sendPart(&cleavev1.GetLabelsResponse{FirstIndex: uint32(p.first), Labels: p.labels, Rows: p.rows,
				Ids: p.ids})
		})
	}
	if k := request.GetK(); k > 0 {
		return s.readLabelsForK(stream.Context(), record, k, request.GetFirstIndex(), send)
	}
	return s.readLabels(stream.Context(), record, request.GetFirstIndex(), send)
}

// GetModel sends the model of a job that has one.
func (s *Service) GetModel(request *cleavev1.GetModelRequest,
	stream grpc.ServerStreamingServer[cleavev1.GetModelResponse]) error {
	return s.sendResult(stream.Context(), request.GetJobId(), func(record *statev1.JobRecord) resultPart {
		return resultPart{
			name: records.PartModel, blob: record.GetModelBlob(),
			// does not overflow
			offset: wire.ValueBytes * int64(min(request.GetFirstValue(), math.MaxInt64/wire.ValueBytes)),
			reason: "JOB_HAS_NO_MODEL",
			why: "has no model: only jobs that describe clusters by centroids or by a mixture have one, and only " +
				"once they have labels",
		}
	}, func(record *statev1.JobRecord, values io.Reader) error {
		return wire.SendModel(record.GetModel(), values, stream.Send)
	})
}

// GetRowScores sends the scores of the rows of a job.
func (s *Service) GetRowScores(request *cleavev1.GetRowScoresRequest,
	stream grpc.ServerStreamingServer[cleavev1.GetRowScoresResponse]) error {
	return s.sendResult(stream.Context(), request.GetJobId(), func(record *statev1.JobRecord) resultPart {
		return resultPart{
			name: records.PartRowScores, blob: record.GetRowScoresBlob(),
			offset: wire.ValueBytes * int64(request.GetFirstRow()) * int64(wire.RowScoreWidth(record.GetRowScores())),
			reason: "JOB_HAS_NO_ROW_SCORES",
			why:    "has no row scores: it was canceled",
		}
	}, func(record *statev1.JobRecord, values io.Reader) error {
		return wire.SendRowScores(record.GetRowScores(), values, stream.Send)
	})
}

// GetEmbedding sends the coordinates of the rows of a job.
func (s *Service) GetEmbedding(request *cleavev1.GetEmbeddingRequest,
	stream grpc.ServerStreamingServer[cleavev1.GetEmbeddingResponse]) error {
	return s.sendResult(stream.Context(), request.GetJobId(), func(record *statev1.JobRecord) resultPart {
		return resultPart{
			name: records.PartEmbedding, blob: record.GetEmbeddingBlob(),
			offset: wire.ValueBytes * int64(request.GetFirstRow()) * int64(record.GetEmbedding().GetColumns()),
			reason: "JOB_HAS_NO_EMBEDDING",
			why: "has no embedding: only the spectral family computes one, and only once its eigenvectors " +
				"are complete",
		}
	}, func(record *statev1.JobRecord, values io.Reader) error {
		return wire.SendEmbedding(record.GetEmbedding(), values, stream.Send)
	})
}

// GetNeighborGraph sends the neighbor graph that a job computed.
func (s *Service) GetNeighborGraph(request *cleavev1.GetNeighborGraphRequest,
	stream grpc.ServerStreamingServer[cleavev1.GetNeighborGraphResponse]) error {
	record, err := s.record(stream.Context(), request.GetJobId())
	if err != nil {
		return err
	}
	held, err := s.d.Downloads.Begin(stream.Context(), record.GetNeighborGraphBytes()) // before the blob is opened
	if err != nil {
		return err
	}
	defer held.End()
	stored, err := s.openResult(stream.Context(), record, resultPart{
		name: records.PartNeighborGraph, blob: record.GetNeighborGraphBlob(),
		reason: "JOB_HAS_NO_NEIGHBOR_GRAPH",
		why: "has no nearest-neighbor graph: only jobs with neighbor_graph build one, and it is stored " +
			"when they end",
	})
	if err != nil {
		return err
	}
	defer stored.Close()
	graph, err := records.DecodeObject(records.JobPart(records.PartNeighborGraph, request.GetJobId()), stored,
		func(r io.Reader) (*dataset.Graph, error) {
			decoded, err := dataset.Decode(r, int64(record.GetNeighborGraphBytes()))
			graph, is := decoded.(*dataset.Graph)
			if err == nil && !is {
				err = fmt.Errorf("it is %T", decoded)
			}
			return graph, err
		})
	if err != nil {
		return err
	}
	return wire.SendNeighborGraph(graph, queue.Paced(held, stream.Send))
}

// EvaluateJob compares the labels of a job with a truth.
func (s *Service) EvaluateJob(ctx context.Context,
	request *cleavev1.EvaluateJobRequest) (*cleavev1.EvaluateJobResponse, error) {
	record, err := s.record(ctx, request.GetJobId())
	if err != nil {
		return nil, err
	}
	size, _ := s.d.Parts.Blobs.Size(ctx, record.GetLabelsBlob()) // an error recurs when the labels are read
	held, err := s.d.Downloads.Begin(ctx, record.GetRowsBytes()+uint64(size))
	if err != nil {
		return nil, err
	}
	defer held.End()
	labels, err := s.allLabels(ctx, record)
	if err != nil {
		return nil, err
	}
	rows, err := s.rowsOf(ctx, record, len(labels))
	if err != nil {
		return nil, err
	}
	tables := s.d.Tables.Finder(ctx)
	truth, err := wire.ReadTable(request.GetTruth(), "truth", rows, tables, table.Labels)
	if err != nil {
		return nil, err
	}
	// Nil means all rows.
	scoreOn, err := wire.ReadTable(request.GetScoreOn(), "score_on", rows, tables, table.Indices)
	if err != nil {
		return nil, err
	}
	scores, err := evaluate.Compare(labels, truth, scoreOn)
	if err != nil {
		return nil, err
	}
	return &cleavev1.EvaluateJobResponse{Evaluation: wire.EvaluationProto(scores)}, nil
}

// readLabelsForK calls yield with successive portions of the labels for one k of a job that ran a range of k, starting
// at row from.
func (s *Service) readLabelsForK(ctx context.Context, record *statev1.JobRecord, k, from uint32,
	yield func(first uint64, labels []int32) error) error {
	id := record.GetJob().GetJobId()
	outcome, err := s.d.Parts.Outcome(ctx, record)
	if err != nil {
		return err
	}
	result := outcome.GetResult()
	if record.GetKLabelsBlob() == "" {
		if k == result.GetK() {
			return s.readLabels(ctx, record, from, yield)
		}
		return noSuchK(id, "job %s has labels for k = %d alone", id, result.GetK())
	}
	first := record.GetKMin()
	count := uint32(len(result.GetKSelection().GetScores()))
	if k < first || k-first >= count {
		return noSuchK(id, "job %s has labels for k = %d to %d, not for %d", id, first, first+count-1, k)
	}
	if from > result.GetRows() {
		return fault.Invalid("OFFSET_OUT_OF_RANGE", "job %s has %d labels, which end before label %d", id,
			result.GetRows(), from).OnField("first_index")
	}
	rows := int64(result.GetRows())
	r, err := s.d.Parts.Open(ctx, id, record.GetKLabelsBlob(), records.PartLabels,
		labelBytes*(int64(k-first)*rows+int64(from)))
	if err != nil {
		return err
	}
	defer r.Close()
	return decodeLabels(io.LimitReader(r, labelBytes*(rows-int64(from))), id, from, yield)
}

func noSuchK(id, format string, args ...any) error {
	return fault.Invalid("NO_SUCH_K", format, args...).OnField("k").With("job_id", id)
}

// If a job clustered a table, what it reports about points refers to rows of that table. The row numbers and names
// are stored with the result, because the table may be deleted.

// rowsOf returns the table rows that the points of a job came from. For a data set, the rows are the points
// themselves. The caller holds a download of their size.
func (s *Service) rowsOf(ctx context.Context, record *statev1.JobRecord, points int) (*recipe.Rows, error) {
	if record.GetRowsBlob() == "" {
		return recipe.NewRows(points, nil, nil), nil
	}
	job := record.GetJob().GetJobId()
	if rows, found := s.rows.Get(job); found {
		return rows, nil
	}
	r, err := s.d.Parts.Open(ctx, job, record.GetRowsBlob(), records.PartRows, 0)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	t, err := records.DecodeObject(records.JobPart(records.PartRows, job), r, func(r io.Reader) (*table.Table, error) {
		return table.Decode(r, int64(record.GetRowsBytes()))
	})
	if err != nil {
		return nil, err
	}
	rows := recipe.RowsOf(t)
	s.rows.Put(job, rows, runner.TableBytes(t))
	return rows, nil
}

// labelPart is a portion of the labels of a job or of new points, with the rows that they belong to.
type labelPart struct {
	first  int
	labels []uint32
	rows   []uint32
	ids    []string
}

// idBytes keeps each message of ids around 1 MiB.
const idBytes = 1 << 20

// eachLabelPart calls send with successive portions of labels, the first of which belongs to point first. A portion
// has at most limit labels, and fewer if its ids would make the message too large. rows may be nil.
func eachLabelPart(first int, labels []int32, rows *recipe.Rows, limit int, send func(labelPart) error) error {
	for len(labels) > 0 {
		part := labelPart{first: first}
		count, bytes := 0, 0
		for count < min(len(labels), limit) && bytes < idBytes {
			point := first + count
			row := point
			if rows != nil && rows.Kept != nil {
				row = int(rows.Kept[point])
				part.rows = append(part.rows, uint32(row))
			}
			if rows != nil && rows.IDs != nil {
				part.ids = append(part.ids, rows.IDs[row])
				bytes += len(rows.IDs[row])
			}
			count++
		}
		part.labels = wire.LabelsProto(labels[:count])
		if err := send(part); err != nil {
			return err
		}
		first, labels = first+count, labels[count:]
	}
	return nil
}
