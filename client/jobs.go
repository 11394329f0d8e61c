package client

import (
	"context"
	"errors"
	"io"
	"iter"
	"math"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/cleave-project/cleave/internal/dial"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/wire"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
)

// CreateJob creates a job, or returns the one that the same request ID created before. Without a request ID, each call
// creates one job, however often it is retried.
func (c *Client) CreateJob(ctx context.Context, request *cleavev1.CreateJobRequest) (*cleavev1.Job, error) {
	response, err := c.Jobs.CreateJob(ctx, request)
	return response.GetJob(), err
}

// Wait waits until a job ends, and returns it. The error is that of JobError, except that a job which its time limit
// ended is no error if it has labels: whoever sets a limit wants the labels so far. The job is nil if waiting itself
// failed. The job continues if ctx ends; Jobs.CancelJob cancels it.
func (c *Client) Wait(ctx context.Context, jobID string) (*cleavev1.Job, error) {
	ended, err := c.Watch(ctx, jobID, afterAll, func(*cleavev1.WatchJobResponse) {})
	if err != nil {
		return nil, err
	}
	response, err := c.Jobs.GetJob(ctx, &cleavev1.GetJobRequest{JobId: jobID, WithoutSpec: true})
	if err != nil {
		return nil, err
	}
	err = c.JobError(ctx, jobID, ended)
	if fault.Is(err, LabelsSoFar) {
		err = nil
	}
	return response.GetJob(), err
}

// afterAll is a sequence number that no event has, so that a watch after it gets none.
const afterAll = math.MaxInt32

// JobError returns nil if a job succeeded, and otherwise an error that says how it ended, with the job as job_id in its
// metadata: the error of a job that failed, or one with the reason JobCanceled, TimeLimit or LabelsSoFar. If the
// coordinator does not say whether there are labels, it returns that error.
func (c *Client) JobError(ctx context.Context, jobID string, ended *cleavev1.JobEnded) error {
	switch ended.GetState() {
	case cleavev1.JobState_JOB_STATE_SUCCEEDED:
		return nil
	case cleavev1.JobState_JOB_STATE_CANCELLED:
		if ended.GetStopReason() != cleavev1.StopReason_STOP_REASON_TIME_LIMIT {
			return ofFault(fault.New(fault.Canceled, JobCanceled, "job %s was canceled", jobID).With("job_id", jobID))
		}
		reason := TimeLimit
		response, err := c.Jobs.GetResult(ctx, &cleavev1.GetResultRequest{JobId: jobID})
		switch code := status.Code(err); {
		case err == nil && response.GetResult().GetRows() > 0:
			reason = LabelsSoFar
		case err != nil && code != codes.FailedPrecondition && code != codes.NotFound:
			// those say that there is no result
			return err
		}
		return ofFault(fault.New(fault.DeadlineExceeded, reason, "job %s was %s", jobID, ended.GetMessage()).With(
			"job_id", jobID))
	}
	if f, is := errors.AsType[*fault.Error](wire.FaultOf(ended.GetError())); is {
		if f.Kind == fault.Unavailable {
			f.Kind = fault.Internal // the same request returns the same failure, so a retry does not help
		}
		return ofFault(f.With("job_id", jobID))
	}
	return ofFault(fault.New(fault.Internal, "JOB_FAILED", "job %s failed", jobID).With("job_id", jobID))
}

// Result returns the result of a job, without its labels. Before the job has ended, the error is an *Error with the
// reason JOB_NOT_ENDED.
func (c *Client) Result(ctx context.Context, jobID string) (*cleavev1.Result, error) {
	response, err := c.Jobs.GetResult(ctx, &cleavev1.GetResultRequest{JobId: jobID})
	return response.GetResult(), err
}

// Labels returns the cluster of every clustered row of a job that has ended, in row order; rows that were dropped have
// none. It holds all labels in memory; see EachLabels.
func (c *Client) Labels(ctx context.Context, jobID string) (labels []uint32, _ error) {
	err := c.EachLabels(ctx, &cleavev1.GetLabelsRequest{JobId: jobID}, func(part *cleavev1.GetLabelsResponse) error {
		labels = append(labels, part.GetLabels()...)
		return nil
	})
	return labels, err
}

// EachLabels calls take with successive parts of the labels that a request asks for, with each row exactly once even if
// the stream breaks. It stops at the first error of take.
func (c *Client) EachLabels(ctx context.Context, request *cleavev1.GetLabelsRequest,
	take func(*cleavev1.GetLabelsResponse) error) error {
	request = proto.CloneOf(request)
	return c.Retry(ctx, func(ctx context.Context) error {
		ctx, cancel := context.WithCancel(ctx) // ends a stream that is not read to its end
		defer cancel()
		stream, err := c.Jobs.GetLabels(ctx, request)
		if err != nil {
			return err
		}
		return wire.Receive(stream.Recv, func(part *cleavev1.GetLabelsResponse) error {
			if part.GetFirstIndex() != request.GetFirstIndex() {
				return badAnswer("the coordinator sent labels from row %d, expected row %d", part.GetFirstIndex(),
					request.GetFirstIndex())
			}
			if err := take(part); err != nil {
				return ownError{err}
			}
			request.FirstIndex += uint32(len(part.GetLabels()))
			progressed(ctx)
			return nil
		})
	})
}

// silenceTimeout is how long a watch may be silent; progress comes every two seconds.
const silenceTimeout = 10 * time.Second

// Follow returns the events of a job with sequence numbers above after, and live progress between them, until the job
// ends. If the connection breaks, it reconnects and continues after the last event, so that each event comes exactly
// once. To resume later, pass the sequence number of the last event. The last event says how the job ended; JobError
// makes an error of it. If the job has ended and has no event above after, there are none; Watch says how it ended.
func (c *Client) Follow(ctx context.Context, jobID string, after uint32) iter.Seq2[*cleavev1.WatchJobResponse, error] {
	return func(yield func(*cleavev1.WatchJobResponse, error) bool) {
		_, err := c.watch(ctx, jobID, after, func(item *cleavev1.WatchJobResponse) bool { return yield(item, nil) })
		if err != nil && !errors.Is(err, errStopped) {
			yield(nil, err)
		}
	}
}

// Watch passes the events that Follow returns to take until the job ends, and returns how it ended, even if it has no
// event above after. The error is that of the watch; JobError makes an error of how the job ended.
func (c *Client) Watch(
	ctx context.Context, jobID string, after uint32, take func(*cleavev1.WatchJobResponse),
) (*cleavev1.JobEnded, error) {
	return c.watch(ctx, jobID, after, func(item *cleavev1.WatchJobResponse) bool {
		take(item)
		return true
	})
}

// errStopped is the error of a watch whose caller takes no more.
var errStopped = errors.New("client: the watch was stopped")

// watch passes the events of a job to take, as Follow does, until the job ends, and returns how it ended. It returns
// errStopped after take has returned false.
func (c *Client) watch(ctx context.Context, jobID string, after uint32,
	take func(*cleavev1.WatchJobResponse) bool) (*cleavev1.JobEnded, error) {
	tries := c.leader.attempts()
	for {
		ended, err := c.watchOnce(ctx, jobID, &after, take, tries.reached)
		if errors.Is(err, io.EOF) {
			if ended, err = c.endOf(tries.calledOnce(ctx), jobID); ended == nil && err == nil {
				err = status.Error(codes.Unavailable, "the stream ended before the job")
			}
		}
		switch {
		case ended != nil:
			return ended, nil
		case errors.Is(err, errStopped):
			return nil, err
		case ctx.Err() != nil:
			return nil, ctx.Err()
		}
		pause, again := tries.next(err)
		if !again {
			return nil, watchLost(jobID, c.explain(err))
		}
		if tries.failures == 1 && (tries.heard || tries.refusals > 0) {
			dial.Warn(ctx, c.warn)("%s", whyAgain(err))
		}
		if err := dial.Sleep(ctx, pause); err != nil {
			return nil, err
		}
	}
}

// reasonSlowReader is the reason of the error by which a coordinator ends a stream that is not read.
const reasonSlowReader = "SLOW_READER"

// whyAgain says why a watch is restarted.
func whyAgain(err error) string {
	_, refused := wire.RetryDelay(err)
	switch {
	case wire.Reason(err) == reasonSlowReader:
		return "the coordinator ended the watch because it was not read for a while; continuing after the last event"
	case refused:
		return status.Convert(err).Message() + "; trying again"
	}
	return "the connection to the coordinator broke; reconnecting"
}

// watchOnce follows one stream until the job ends, and calls heard after take has taken a message. It returns io.EOF if
// the stream ends before the job.
func (c *Client) watchOnce(ctx context.Context, jobID string, after *uint32, take func(*cleavev1.WatchJobResponse) bool,
	heard func()) (*cleavev1.JobEnded, error) {
	watching, cancel := context.WithCancel(ctx)
	defer cancel()
	silence := time.AfterFunc(silenceTimeout, cancel)
	defer silence.Stop()
	address, _, err := c.leader.choose()
	if err != nil {
		return nil, err
	}
	stream, err := c.Jobs.WatchJob(watching, &cleavev1.WatchJobRequest{JobId: jobID, AfterSequence: *after})
	for {
		var item *cleavev1.WatchJobResponse
		if err == nil {
			item, err = stream.Recv()
		}
		silence.Stop() // until take has taken the message
		if watching.Err() != nil && ctx.Err() == nil {
			// Nothing was heard for too long, perhaps not even a connection was made.
			err = status.Error(codes.Unavailable, "the coordinator is silent")
			c.leader.failed(address, err)
			return nil, err
		}
		if err != nil {
			return nil, err
		}
		if event := item.GetEvent(); event != nil {
			*after = event.GetSequence()
		}
		if !take(item) {
			return nil, errStopped
		}
		if ended := item.GetEvent().GetEnded(); ended != nil {
			return ended, nil
		}
		heard()
		silence.Reset(silenceTimeout)
	}
}

// endOf returns how a job ended, or nil if it has not ended. A stream that begins after the last event ends without
// one.
func (c *Client) endOf(ctx context.Context, jobID string) (*cleavev1.JobEnded, error) {
	response, err := c.Jobs.GetJob(ctx, &cleavev1.GetJobRequest{JobId: jobID, WithoutSpec: true})
	if err != nil {
		return nil, err
	}
	job := response.GetJob()
	switch job.GetState() {
	case cleavev1.JobState_JOB_STATE_SUCCEEDED, cleavev1.JobState_JOB_STATE_FAILED,
		cleavev1.JobState_JOB_STATE_CANCELLED:
		return &cleavev1.JobEnded{State: job.GetState(), StopReason: job.GetStopReason(),
			Message: job.GetStatusMessage(), Error: job.GetError()}, nil
	}
	return nil, nil
}
