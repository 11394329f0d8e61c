package client

import (
	"context"
	"fmt"

	"google.golang.org/grpc"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/data/table"
	"github.com/cleave-project/cleave/internal/wire"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
)

// Outcome is what a job found.
type Outcome struct {
	Result      *cleavev1.Result
	Labels      []int32                // of the rows that were clustered
	Kept        []int32                // these rows, of a table; nil: all
	IDs         []string               // of these rows; nil: they have none
	Rows        *clustering.RowScores  // distances, margins and confidences of these rows; nil: there are none or they were not wanted
	Model       *clustering.Model      // nil: there is none or it was not wanted
	Embedding   *clustering.Embedding  // nil: likewise
	SolverSteps []*cleavev1.SolverStep // of the eigensolver, with the embedding
	KLabels     map[int][]int32        // of a job with a range of k: the labels for each of them; nil: likewise
}

// Extent is how much of an outcome is fetched, since some of it can be large.
type Extent int

// Each extent has what those before it have.
const (
	Labels     Extent = iota // with the result's numbers
	Scores                   // of the rows: distances, margins and confidences
	Everything               // the model, the embedding and the labels for each k
)

// Fetch fetches the outcome of a job.
func (c *Client) Fetch(ctx context.Context, jobID string, extent Extent) (*Outcome, error) {
	response, err := c.Jobs.GetResult(ctx, &cleavev1.GetResultRequest{JobId: jobID})
	if err != nil {
		return nil, c.Explain(err)
	}
	o := &Outcome{Result: response.GetResult()}
	if err = c.fetchLabels(ctx, jobID, o); err != nil {
		return nil, err
	}
	if extent >= Scores && o.Result.GetRowScores() != nil {
		if o.Rows, err = receive(ctx, c, c.Jobs.GetRowScores, &cleavev1.GetRowScoresRequest{JobId: jobID}, wire.ReceiveRowScores); err != nil {
			return nil, err
		}
	}
	if extent < Everything {
		return o, nil
	}
	if o.Result.GetEmbedding() != nil {
		if o.Embedding, err = c.fetchEmbedding(ctx, jobID); err != nil {
			return nil, err
		}
		if o.SolverSteps, err = c.fetchSolverSteps(ctx, jobID); err != nil {
			return nil, err
		}
	}
	if o.Result.GetModel() != nil {
		if o.Model, err = c.FetchModel(ctx, jobID); err != nil {
			return nil, err
		}
	}
	o.KLabels, err = c.fetchKLabels(ctx, jobID, o.Result.GetKSelection())
	return o, err
}

// receive makes a call and reads what it sends. A stream that breaks, that the coordinator refuses, or gives up because it was
// read too slowly, is read again.
func receive[P, R, T any](ctx context.Context, c *Client, call func(context.Context, *P, ...grpc.CallOption) (grpc.ServerStreamingClient[R], error), request *P, read func(receive func() (*R, error)) (T, error)) (value T, _ error) {
	err := c.repeat(ctx, func() error {
		stream, err := call(ctx, request)
		if err == nil {
			value, err = read(stream.Recv)
		}
		return err
	})
	return value, c.Explain(err)
}

// fetchEmbedding fetches the coordinates that a job of the spectral family found.
func (c *Client) fetchEmbedding(ctx context.Context, jobID string) (*clustering.Embedding, error) {
	return receive(ctx, c, c.Jobs.GetEmbedding, &cleavev1.GetEmbeddingRequest{JobId: jobID}, wire.ReceiveEmbedding)
}

// fetchSolverSteps fetches the steps of the eigensolver of a job that has ended, from its events.
func (c *Client) fetchSolverSteps(ctx context.Context, jobID string) ([]*cleavev1.SolverStep, error) {
	return receive(ctx, c, c.Jobs.WatchJob, &cleavev1.WatchJobRequest{JobId: jobID}, func(receive func() (*cleavev1.WatchJobResponse, error)) (steps []*cleavev1.SolverStep, err error) {
		err = wire.Receive(receive, func(item *cleavev1.WatchJobResponse) error {
			if step := item.GetEvent().GetSolver(); step != nil {
				steps = append(steps, step)
			}
			return nil
		})
		return steps, err
	})
}

// FetchTables fetches tables by their ids.
func (c *Client) FetchTables(ctx context.Context) wire.Tables {
	return func(id string) (*table.Table, error) {
		return receive(ctx, c, c.Tables.GetTableRows, &cleavev1.GetTableRowsRequest{TableId: id}, wire.ReceiveTable)
	}
}

// fetchLabels fetches the labels of a job that has ended, with the rows and ids of a table.
func (c *Client) fetchLabels(ctx context.Context, jobID string, o *Outcome) (err error) {
	request := &cleavev1.GetLabelsRequest{JobId: jobID, WithRows: true}
	_, err = receive(ctx, c, c.Jobs.GetLabels, request, func(receive func() (*cleavev1.GetLabelsResponse, error)) (none struct{}, err error) {
		return none, wire.Receive(receive, func(part *cleavev1.GetLabelsResponse) (err error) {
			if o.Labels, err = appendLabels(o.Labels, part.GetFirstIndex(), part.GetLabels()); err != nil {
				return err
			}
			for _, row := range part.GetRows() {
				o.Kept = append(o.Kept, int32(row))
			}
			o.IDs = append(o.IDs, part.GetIds()...)
			request.FirstIndex = uint32(len(o.Labels)) // if the stream breaks, the next one goes on from here
			return nil
		})
	})
	if err == nil && (o.Kept != nil && len(o.Kept) != len(o.Labels) || o.IDs != nil && len(o.IDs) != len(o.Labels)) {
		err = fmt.Errorf("the coordinator sent %d labels with %d rows and %d ids", len(o.Labels), len(o.Kept), len(o.IDs))
	}
	return err
}

// joinLabels joins the parts of a stream of labels.
func joinLabels(receive func() (*cleavev1.GetLabelsResponse, error)) (labels []int32, err error) {
	err = wire.Receive(receive, func(part *cleavev1.GetLabelsResponse) error {
		labels, err = appendLabels(labels, part.GetFirstIndex(), part.GetLabels())
		return err
	})
	return labels, err
}

func appendLabels(labels []int32, first uint32, more []uint32) ([]int32, error) {
	if int(first) != len(labels) {
		return nil, fmt.Errorf("the coordinator sent labels from %d on where %d was next", first, len(labels))
	}
	for _, label := range more {
		labels = append(labels, int32(label))
	}
	return labels, nil
}

// joinPrediction joins the parts of a stream of labels of new points, which may come with their distances.
func joinPrediction(receive func() (*cleavev1.PredictJobResponse, error)) (*clustering.Prediction, error) {
	p, scores := &clustering.Prediction{}, &clustering.RowScores{Measure: clustering.MeasureDistortion}
	err := wire.Receive(receive, func(part *cleavev1.PredictJobResponse) (err error) {
		p.Labels, err = appendLabels(p.Labels, part.GetFirstIndex(), part.GetLabels())
		scores.Distance, scores.Margin = append(scores.Distance, part.GetDistances()...), append(scores.Margin, part.GetMargins()...)
		return err
	})
	if len(scores.Distance) == len(p.Labels) && len(scores.Margin) == len(p.Labels) {
		p.Rows = scores
	}
	return p, err
}

// FetchModel fetches the model of a job of the k-means family.
func (c *Client) FetchModel(ctx context.Context, jobID string) (*clustering.Model, error) {
	return receive(ctx, c, c.Jobs.GetModel, &cleavev1.GetModelRequest{JobId: jobID}, wire.ReceiveModel)
}

// FetchNeighborGraph fetches the graph of neighbors that a job clustered.
func (c *Client) FetchNeighborGraph(ctx context.Context, jobID string) (*dataset.Graph, error) {
	return receive(ctx, c, c.Jobs.GetNeighborGraph, &cleavev1.GetNeighborGraphRequest{JobId: jobID}, wire.ReceiveNeighborGraph)
}

// Predict has the coordinator assign new points to the clusters of one of its jobs.
func (c *Client) Predict(ctx context.Context, jobID string, points dataset.Dataset, w Watcher) (*clustering.Prediction, error) {
	id, err := c.upload(ctx, points, "new points", w)
	if err != nil {
		return nil, err
	}
	return receive(ctx, c, c.Jobs.PredictJob, &cleavev1.PredictJobRequest{JobId: jobID, DatasetId: id}, joinPrediction)
}
