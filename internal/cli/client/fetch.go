package client

import (
	"context"

	"google.golang.org/grpc"

	"github.com/cleave-project/cleave/client"
	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/clustering/model"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/data/table"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/numeric/choose"
	"github.com/cleave-project/cleave/internal/wire"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
)

// Outcome is what a job found. Fields are nil if the job has no such part or the extent does not include it.
type Outcome struct {
	Result      *cleavev1.Result
	Labels      []int32                // the labels of the clustered rows
	Kept        []int32                // the clustered rows of a table, in ascending order; nil means all
	IDs         []string               // the ids of the clustered rows
	Rows        *clustering.RowScores  // distances, margins and confidences of the clustered rows
	Model       *model.Model           // the centroids, landmarks or mixture
	Embedding   *clustering.Embedding  // the coordinates of spectral methods
	SolverSteps []*cleavev1.SolverStep // the steps of the eigensolver, with the embedding
	KLabels     map[int][]int32        // the labels for each k of a range
}

// TableRows returns the number of rows of the table that was clustered, including dropped rows.
func (o *Outcome) TableRows() int { return len(o.Labels) + int(o.Result.GetDroppedRows()) }

// Extent is how much of an outcome is fetched, because some parts can be large. Each extent includes those before it.
type Extent int

// The extents.
const (
	LabelsOnly Extent = iota // the result and the labels
	Scores                   // distances, margins and confidences of rows
	Everything               // the model, the embedding and the labels for each k
)

// Fetch fetches the outcome of a job that has ended.
func (c *Client) Fetch(ctx context.Context, jobID string, extent Extent) (*Outcome, error) {
	result, err := c.Result(ctx, jobID)
	if err != nil {
		return nil, err
	}
	outcome := &Outcome{Result: result}
	if err = c.fetchLabels(ctx, &cleavev1.GetLabelsRequest{JobId: jobID, WithRows: true}, outcome); err != nil {
		return nil, err
	}
	if extent >= Scores && outcome.Result.GetRowScores() != nil {
		if outcome.Rows, err = receive(ctx, c, c.Jobs.GetRowScores, &cleavev1.GetRowScoresRequest{JobId: jobID},
			wire.ReceiveRowScores); err != nil {
			return nil, err
		}
	}
	if extent < Everything {
		return outcome, nil
	}
	if outcome.Result.GetEmbedding() != nil {
		if outcome.Embedding, err = receive(ctx, c, c.Jobs.GetEmbedding, &cleavev1.GetEmbeddingRequest{JobId: jobID},
			wire.ReceiveEmbedding); err != nil {
			return nil, err
		}
		if outcome.SolverSteps, err = c.fetchSolverSteps(ctx, jobID); err != nil {
			return nil, err
		}
	}
	if outcome.Result.GetModel() != nil {
		if outcome.Model, err = c.FetchModel(ctx, jobID); err != nil {
			return nil, err
		}
	}
	for _, s := range outcome.Result.GetKSelection().GetScores() {
		labeled := &Outcome{}
		if err := c.fetchLabels(ctx, &cleavev1.GetLabelsRequest{JobId: jobID, K: s.GetK()}, labeled); err != nil {
			return nil, err
		}
		if outcome.KLabels == nil {
			outcome.KLabels = map[int][]int32{}
		}
		outcome.KLabels[int(s.GetK())] = labeled.Labels
	}
	return outcome, nil
}

// streamCall is a method of the API that streams its responses.
type streamCall[P, R any] func(context.Context, *P, ...grpc.CallOption) (grpc.ServerStreamingClient[R], error)

// receive makes a streaming call and reads the stream. It starts over if the stream breaks or the coordinator refuses
// it.
func receive[P, R, T any](
	ctx context.Context, c *Client, call streamCall[P, R], request *P, read func(next func() (*R, error)) (T, error),
) (value T, _ error) {
	err := c.Retry(ctx, func(ctx context.Context, _ func()) error {
		ctx, cancel := context.WithCancel(ctx) // ends a stream that is not read to its end
		defer cancel()
		stream, err := call(ctx, request)
		if err == nil {
			value, err = read(stream.Recv)
		}
		return err
	})
	return value, err
}

// fetchSolverSteps fetches the steps of the eigensolver from the events of a job that has ended.
func (c *Client) fetchSolverSteps(ctx context.Context, jobID string) ([]*cleavev1.SolverStep, error) {
	read := func(next func() (*cleavev1.WatchJobResponse, error)) (steps []*cleavev1.SolverStep, err error) {
		err = wire.Receive(next, func(item *cleavev1.WatchJobResponse) error {
			if step := item.GetEvent().GetSolver(); step != nil {
				steps = append(steps, step)
			}
			return nil
		})
		return steps, err
	}
	return receive(ctx, c, c.Jobs.WatchJob, &cleavev1.WatchJobRequest{JobId: jobID}, read)
}

// FetchTables returns a function that fetches tables by their ids.
func (c *Client) FetchTables(ctx context.Context) wire.Tables {
	return func(id string) (*table.Table, error) {
		return receive(ctx, c, c.Tables.GetTableRows, &cleavev1.GetTableRowsRequest{TableId: id}, wire.ReceiveTable)
	}
}

// fetchLabels fetches labels into o, with the rows and ids of a table if the request asks for them.
func (c *Client) fetchLabels(ctx context.Context, request *cleavev1.GetLabelsRequest, o *Outcome) error {
	err := c.EachLabels(ctx, request, func(part *cleavev1.GetLabelsResponse) error {
		o.Labels = appendSigned(o.Labels, part.GetLabels())
		o.Kept = appendSigned(o.Kept, part.GetRows())
		o.IDs = append(o.IDs, part.GetIds()...)
		return nil
	})
	if err == nil && (o.Kept != nil && len(o.Kept) != len(o.Labels) || o.IDs != nil && len(o.IDs) != len(o.Labels)) {
		err = badAnswer("the coordinator sent %d labels with %d rows and %d ids", len(o.Labels), len(o.Kept),
			len(o.IDs))
	}
	return err
}

// badAnswer returns the error for an answer that cannot be right.
func badAnswer(format string, args ...any) error {
	return fault.New(fault.Internal, client.BadAnswer, format, args...)
}

func appendSigned(to []int32, numbers []uint32) []int32 {
	for _, number := range numbers {
		to = append(to, int32(number))
	}
	return to
}

// joinPrediction joins the parts of a prediction, which may include distances and margins, and confidences by a
// mixture.
func joinPrediction(next func() (*cleavev1.PredictJobResponse, error)) (*clustering.Prediction, error) {
	p := &clustering.Prediction{}
	scores := &clustering.RowScores{Measure: clustering.MeasureDistortion}
	err := wire.Receive(next, func(part *cleavev1.PredictJobResponse) error {
		if first := int(part.GetFirstIndex()); first != len(p.Labels) {
			return badAnswer("the coordinator sent labels from row %d, expected row %d", first, len(p.Labels))
		}
		p.Labels = appendSigned(p.Labels, part.GetLabels())
		scores.Distance, scores.Margin = append(scores.Distance, part.GetDistances()...),
			append(scores.Margin, part.GetMargins()...)
		scores.Confidence = append(scores.Confidence, part.GetConfidences()...)
		return nil
	})
	if err != nil {
		return nil, err
	}
	for _, list := range [][]float64{scores.Distance, scores.Margin, scores.Confidence} {
		if len(list) != 0 && len(list) != len(p.Labels) {
			return nil, badAnswer("the coordinator sent %d labels with %d distances, %d margins and %d confidences",
				len(p.Labels), len(scores.Distance), len(scores.Margin), len(scores.Confidence))
		}
	}
	if scores.Distance != nil && scores.Margin != nil {
		p.Rows = scores
	}
	scores.Posterior = scores.Confidence != nil
	return p, nil
}

// FetchModel fetches the model of a job that has one.
func (c *Client) FetchModel(ctx context.Context, jobID string) (*model.Model, error) {
	return receive(ctx, c, c.Jobs.GetModel, &cleavev1.GetModelRequest{JobId: jobID}, wire.ReceiveModel)
}

// FetchNeighborGraph fetches the neighbor graph that a job clustered.
func (c *Client) FetchNeighborGraph(ctx context.Context, jobID string) (*dataset.Graph, error) {
	return receive(ctx, c, c.Jobs.GetNeighborGraph, &cleavev1.GetNeighborGraphRequest{JobId: jobID},
		wire.ReceiveNeighborGraph)
}

// Predict uploads new points and has the coordinator assign them to the clusters of a job.
func (c *Client) Predict(ctx context.Context, jobID string, points dataset.Dataset,
	w Watcher) (*clustering.Prediction, error) {
	id, err := c.upload(ctx, points, "new points", w)
	if err != nil {
		return nil, err
	}
	return receive(ctx, c, c.Jobs.PredictJob, &cleavev1.PredictJobRequest{JobId: jobID, DatasetId: id}, joinPrediction)
}

// EachTableRows calls yield with successive parts of a table, with each row exactly once even if the stream breaks. It
// returns the first error of yield and does not call it again, even if that is an error for which calls to a
// coordinator are repeated. If columns are named, the parts have only these.
func (c *Client) EachTableRows(ctx context.Context, tableID string, yield func(*table.Table) error,
	columns ...string) error {
	done := 0 // the number of rows that yield has had
	return c.Retry(ctx, func(ctx context.Context, progressed func()) error {
		ctx, cancel := context.WithCancel(ctx) // ends a stream that is not read to its end
		defer cancel()
		stream, err := c.Tables.GetTableRows(ctx, &cleavev1.GetTableRowsRequest{TableId: tableID, Columns: columns})
		if err != nil {
			return err
		}
		end := 0 // the number of rows of the parts so far
		return wire.Receive(stream.Recv, func(part *cleavev1.GetTableRowsResponse) error {
			t, err := wire.TableRows(part.GetRows())
			if err != nil {
				return err
			}
			if end += t.Rows(); end <= done {
				return nil
			}
			if skip := t.Rows() - (end - done); skip > 0 {
				t = t.Take(choose.All[int](t.Rows())[skip:])
			}
			done = end
			if err := yield(t); err != nil {
				return client.Final(err)
			}
			progressed()
			return nil
		})
	})
}

// SampleTable fetches evenly spaced rows of a table, see choose.Even.
func (c *Client) SampleTable(ctx context.Context, tableID string, rows int) (*table.Table, error) {
	return receive(ctx, c, c.Tables.GetTableRows, &cleavev1.GetTableRowsRequest{TableId: tableID,
		MaxRows: uint32(rows)}, wire.ReceiveTable)
}
