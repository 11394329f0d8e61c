package client

import (
	"context"
	"errors"
	"io"
	"iter"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

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
	job, err := c.job(ctx, jobID)
	if err != nil {
		return nil, watchLost(jobID, err)
	}
	ended := endOf(job)
	if ended == nil {
		ended, err = c.watch(ctx, jobID, job.GetLastSequence(), c.leader.warn,
			func(*cleavev1.WatchJobResponse) bool { return true })
		if err != nil {
			return nil, err
		}
		if job, err = c.job(ctx, jobID); err != nil {
			return nil, watchLost(jobID, err)
		}
	}
	err = c.JobError(ctx, jobID, ended)
	if fault.Is(err, LabelsSoFar) {
		err = nil
	}
	return job, err
}

// job returns a job without its spec.
func (c *Client) job(ctx context.Context, jobID string) (*cleavev1.Job, error) {
	response, err := c.Jobs.GetJob(ctx, &cleavev1.GetJobRequest{JobId: jobID, WithoutSpec: true})
	return response.GetJob(), err
}

// endOf returns how a job ended, or nil if it has not ended.
func endOf(job *cleavev1.Job) *cleavev1.JobEnded {
	switch job.GetState() {
	case cleavev1.JobState_JOB_STATE_SUCCEEDED, cleavev1.JobState_JOB_STATE_FAILED,
		cleavev1.JobState_JOB_STATE_CANCELLED:
		return &cleavev1.JobEnded{State: job.GetState(), StopReason: job.GetStopReason(),
			Message: job.GetStatusMessage(), Error: job.GetError()}
	}
	return nil
}

// JobError returns nil if a job succeeded, and otherwise an error that says how it ended, with the job as job_id in its
// metadata: the error of a job that failed, or one with the reason JobCanceled, TimeLimit or LabelsSoFar, or BadAnswer
// if ended is nil or has a state in which no job ends. If the coordinator does not say whether there are labels, it
// returns that error.
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
		switch code := status.Code(unexplained(err)); {
		case err == nil && response.GetResult().GetRows() > 0:
			reason = LabelsSoFar
		case err != nil && code != codes.FailedPrecondition && code != codes.NotFound:
			// those say that there is no result
			return err
		}
		return ofFault(fault.New(fault.DeadlineExceeded, reason, "job %s was %s", jobID, ended.GetMessage()).With(
			"job_id", jobID))
	case cleavev1.JobState_JOB_STATE_FAILED:
		if f, is := errors.AsType[*fault.Error](wire.FaultOf(ended.GetError())); is {
			if f.Kind == fault.Unavailable {
				f.Kind = fault.Internal // the same request returns the same failure, so a retry does not help
			}
			return ofFault(f.With("job_id", jobID))
		}
		return ofFault(fault.New(fault.Internal, JobFailed, "job %s failed", jobID).With("job_id", jobID))
	}
	return ofFault(fault.New(fault.Internal, BadAnswer,
		"the coordinator says that job %s ended in the state %v, which is no end", jobID, ended.GetState()).With(
		"job_id", jobID))
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
	return c.Retry(ctx, func(ctx context.Context, progressed func()) error {
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
				return Final(err)
			}
			request.FirstIndex += uint32(len(part.GetLabels()))
			progressed()
			return nil
		})
	})
}

// Follow returns the events of a job with sequence numbers above after, and live progress between them, until the job
// ends. If the connection breaks, it reconnects and continues after the last event, so that each event comes exactly
// once. To resume later, pass the sequence number of the last event. The last event says how the job ended; JobError
// makes an error of it. If the job has ended and has no event above after, there are none; Watch says how it ended.
func (c *Client) Follow(ctx context.Context, jobID string, after uint32) iter.Seq2[*cleavev1.WatchJobResponse, error] {
	return func(yield func(*cleavev1.WatchJobResponse, error) bool) {
		_, err := c.watch(ctx, jobID, after, c.leader.warn, func(item *cleavev1.WatchJobResponse) bool {
			return yield(item, nil)
		})
		if err != nil && !errors.Is(err, errStopped) {
			yield(nil, err)
		}
	}
}

// Watcher is told about a job. Calls do not overlap.
type Watcher interface {
	// Item is called with every event of the job, and with live progress between them. It may take any time.
	Item(*cleavev1.WatchJobResponse)
	// Warn is called when the connection breaks.
	Warn(format string, args ...any)
}

// Watch passes the events that Follow returns to w until the job ends, and returns how it ended, even if it has no
// event above after. The error is that of the watch; JobError makes an error of how the job ended.
func (c *Client) Watch(ctx context.Context, jobID string, after uint32, w Watcher) (*cleavev1.JobEnded, error) {
	return c.watch(ctx, jobID, after, w.Warn, func(item *cleavev1.WatchJobResponse) bool {
		w.Item(item)
		return true
	})
}

// errStopped is the error of a watch whose caller takes no more.
var errStopped = errors.New("client: the watch was stopped")

// watch passes the events of a job to take, as Follow does, until the job ends, and returns how it ended. It returns
// errStopped after take has returned false.
func (c *Client) watch(ctx context.Context, jobID string, after uint32, warn func(format string, args ...any),
	take func(*cleavev1.WatchJobResponse) bool) (ended *cleavev1.JobEnded, _ error) {
	err := c.leader.repeat(ctx, warn, func(ctx context.Context, progressed func()) (err error) {
		ended, err = c.watchOnce(ctx, jobID, &after, take, progressed)
		if !errors.Is(err, io.EOF) {
			return err
		}
		job, err := c.job(ctx, jobID) // a stream that begins after the last event ends without one
		if ended = endOf(job); ended == nil && err == nil {
			err = status.Error(codes.Unavailable, "the stream ended before the job")
		}
		return err
	})
	switch {
	case err == nil:
		return ended, nil
	case errors.Is(err, errStopped):
		return nil, err
	}
	return nil, watchLost(jobID, c.explain(ctx, err))
}

// silenceTimeout is how long a watch may be silent; progress comes every two seconds.
const silenceTimeout = 10 * time.Second

// watchOnce follows one stream until the job ends, and calls progressed after take has taken a message. It returns
// io.EOF if the stream ends before the job.
func (c *Client) watchOnce(ctx context.Context, jobID string, after *uint32, take func(*cleavev1.WatchJobResponse) bool,
	progressed func()) (*cleavev1.JobEnded, error) {
	watching, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	silence := time.AfterFunc(silenceTimeout, func() { cancel(errSilent) })
	defer silence.Stop()
	stream, err := c.Jobs.WatchJob(watching, &cleavev1.WatchJobRequest{JobId: jobID, AfterSequence: *after})
	for {
		var item *cleavev1.WatchJobResponse
		if err == nil {
			item, err = stream.Recv()
		}
		silence.Stop() // until take has taken the message
		if watching.Err() != nil && ctx.Err() == nil {
			return nil, errSilent // perhaps not even a connection was made
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
		progressed()
		silence.Reset(silenceTimeout)
	}
}
