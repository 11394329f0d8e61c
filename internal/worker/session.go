package worker

import (
	"context"
	"sync"

	workerv1 "github.com/cleave-project/cleave/gen/cleave/worker/v1"
	"github.com/cleave-project/cleave/internal/signal"
	"github.com/cleave-project/cleave/internal/wire"
	"github.com/cleave-project/cleave/internal/worker/exchange"
)

// session is the state that the coordinator knows about: the jobs, and the answers that are not sent yet. It outlives
// streams.
type session struct {
	worker *worker
	client workerv1.WorkerServiceClient // client of the coordinator
	id     string
	term   int64                // the coordinator's term as the leader
	source exchange.Coordinator // the coordinator as a source of data sets
	ctx    context.Context      // ends with the session
	cancel context.CancelFunc
	wake   chan struct{} // signals that there are answers to send

	// mu guards the fields below.
	mu     sync.Mutex
	jobs   map[string]*job
	outbox []*workerv1.Answer
}

func newSession(w *worker, client workerv1.WorkerServiceClient, m *workerv1.Welcome) *session {
	ctx, cancel := context.WithCancel(context.Background())
	return &session{
		worker: w, client: client, id: m.GetSessionId(), term: m.GetTerm(), ctx: ctx, cancel: cancel,
		source: exchange.Coordinator{Client: client, SessionID: m.GetSessionId(),
			PeerID: wire.PeerID(m.GetSessionId())},
		wake: make(chan struct{}, 1), jobs: map[string]*job{},
	}
}

// end drops all jobs.
func (s *session) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, j := range s.jobs {
		j.stop()
	}
	s.cancel()
}

// endKeeping ends the session and returns its jobs, which keep their tiles.
func (s *session) endKeeping() []*job {
	s.mu.Lock()
	defer s.mu.Unlock()
	var jobs []*job
	for _, j := range s.jobs {
		j.keep()
		jobs = append(jobs, j)
	}
	clear(s.jobs)
	s.cancel()
	return jobs
}

// offers describes the jobs of the session.
func (s *session) offers() []*workerv1.Offer {
	s.mu.Lock()
	defer s.mu.Unlock()
	return offersOf(s.jobs)
}

// accept handles a command without blocking. A release is not queued behind other commands: it cancels the running
// command of the job and drops the rest.
func (s *session) accept(c *workerv1.Command) {
	s.mu.Lock()
	defer s.mu.Unlock()
	j := s.jobs[c.GetJobId()]
	switch c.GetOperation().(type) {
	case *workerv1.Command_Release:
		if j != nil {
			delete(s.jobs, c.GetJobId())
			j.stop()
		}
		s.queueAnswerLocked(done(c, &workerv1.Done{}))
		return
	case *workerv1.Command_Prepare, *workerv1.Command_ReadObject:
		if j == nil {
			j = newJob(s.worker)
			s.jobs[c.GetJobId()] = j
			j.bind(s, c.GetJobId())
		}
	case *workerv1.Command_Adopt:
		if j == nil {
			if j = s.worker.kept.take(c.GetAdopt().GetOffer()); j != nil {
				s.jobs[c.GetJobId()] = j
				j.bind(s, c.GetJobId())
			}
		}
	}
	if j == nil {
		s.queueAnswerLocked(failed(c, workerv1.FailureKind_FAILURE_KIND_UNPREPARED, "UNPREPARED",
			"the worker does not know the job"))
		return
	}
	if again := j.commands.add(c); again != nil {
		s.queueAnswerLocked(again)
	}
}

// progress returns the progress of the running commands. s may be nil.
func (s *session) progress() []*workerv1.Progress {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var running []*workerv1.Progress
	for _, j := range s.jobs {
		if p := j.progress(); p != nil {
			running = append(running, p)
		}
	}
	return running
}

// answer queues an answer for the stream.
func (s *session) answer(a *workerv1.Answer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.queueAnswerLocked(a)
}

// queueAnswerLocked queues an answer. The caller holds s.mu.
func (s *session) queueAnswerLocked(a *workerv1.Answer) {
	s.outbox = append(s.outbox, a)
	signal.Wake(s.wake)
}

// takeAnswers removes the queued answers and returns them.
func (s *session) takeAnswers() []*workerv1.Answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	waiting := s.outbox
	s.outbox = nil
	return waiting
}

func done(c *workerv1.Command, d *workerv1.Done) *workerv1.Answer {
	return &workerv1.Answer{CommandId: c.GetCommandId(), Outcome: &workerv1.Answer_Done{Done: d}}
}

func failed(c *workerv1.Command, kind workerv1.FailureKind, reason, message string) *workerv1.Answer {
	return &workerv1.Answer{CommandId: c.GetCommandId(), Outcome: &workerv1.Answer_Failure{
		Failure: &workerv1.Failure{Kind: kind, Reason: reason, Message: message},
	}}
}
