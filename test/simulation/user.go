package simulation

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/cli/client"
	"github.com/cleave-project/cleave/internal/dial"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/security/credentials"
	"github.com/cleave-project/cleave/internal/wire"
	"github.com/cleave-project/cleave/test/clustertest"
)

// patience is how long, in virtual time, a user waits for anything: longer than all faults of a plan may take together.
const patience = time.Hour

// user is a client who tries again until it works.
type user struct {
	*client.Client
	world *world
	node  *node
	name  string
}

func (w *world) newUser(name string) *user {
	u := &user{world: w, name: name, node: w.net.add(name, nil)}
	c, err := client.Connect(target, credentials.Dial{}, grpc.WithContextDialer(u.node.dial),
		grpc.WithChainUnaryInterceptor(u.repeat))
	if err != nil {
		w.t.Fatal(err)
	}
	u.Client = c
	return u
}

// repeat sends some requests twice, as a client does whose answer was lost.
func (u *user) repeat(ctx context.Context, method string, request, reply any, conn *grpc.ClientConn,
	call grpc.UnaryInvoker, options ...grpc.CallOption) error {
	if u.world.plan.again(u.name + method) {
		first := proto.Clone(reply.(proto.Message))
		err := call(ctx, method, request, first, conn, options...)
		if err := call(ctx, method, request, reply, conn, options...); err != nil {
			return err
		}
		if created, is := reply.(*cleavev1.CreateJobResponse); is && err == nil {
			if before := first.(*cleavev1.CreateJobResponse); before.GetJob().GetJobId() !=
				created.GetJob().GetJobId() {
				u.world.t.Errorf("one request made two jobs, %v and %v", before, created)
			}
		}
		return nil
	}
	return call(ctx, method, request, reply, conn, options...)
}

// insist repeats an operation until it succeeds.
func (u *user) insist(what string, do func(ctx context.Context) error) bool {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for {
		err := do(ctx)
		if err == nil {
			return true
		}
		if f, is := errors.AsType[*fault.Error](err); is && f.Kind != fault.Unavailable &&
			f.Kind != fault.ResourceExhausted && f.Kind != fault.DeadlineExceeded {
			u.world.t.Errorf("%s: %s is refused with %v: %v", u.name, what, f.Reason, err)
			return false
		}
		u.world.log.Info("trying again", "user", u.name, "what", what, "error", err)
		if dial.Sleep(ctx, time.Second) != nil {
			u.world.t.Errorf("%s: %s still fails after %v: %v", u.name, what, patience, err)
			return false
		}
	}
}

// collector is the event stream that a user assembles.
type collector struct {
	client.Silent
	events []*cleavev1.Event
	wrong  error
}

func (c *collector) Item(item *cleavev1.WatchJobResponse) {
	e := item.GetEvent()
	if e == nil {
		return
	}
	if want := uint32(len(c.events) + 1); e.GetSequence() != want && c.wrong == nil {
		c.wrong = fmt.Errorf("event %d came where %d should: %v", e.GetSequence(), want, e)
	}
	c.events = append(c.events, e)
}

// submit uploads the data and creates the job. It returns the ids of the job, "" if that failed, and of the request.
func (u *user) submit(load *workload) (job, request string) {
	request = uuid.NewString()
	return u.submitAs(load, request), request
}

func (u *user) submitAs(load *workload, request string) (job string) {
	u.insist("submit "+load.name, func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
		defer cancel()
		created, err := u.Submit(ctx, &cleavev1.CreateJobRequest{Spec: proto.CloneOf(load.spec), RequestId: request},
			load.data, &collector{})
		job = created.GetJobId()
		return err
	})
	return job
}

// follow watches a job to its end.
func (u *user) follow(job string) (*collector, *cleavev1.JobEnded) {
	seen := &collector{}
	return seen, u.followOn(job, seen)
}

// followOn watches a job to its end, after what was seen of it.
func (u *user) followOn(job string, seen *collector) (ended *cleavev1.JobEnded) {
	u.insist("watch", func(ctx context.Context) (err error) {
		ended, err = u.Watch(ctx, job, uint32(len(seen.events)), seen)
		return err
	})
	return ended
}

// outcome fetches all that a job found.
func (u *user) outcome(job string) (found clustertest.Outcome) {
	u.insist("fetch", func(ctx context.Context) error {
		o, err := u.Fetch(ctx, job, client.Everything)
		if err != nil {
			return err
		}
		found = clustertest.Outcome{Result: o.Result, Labels: wire.LabelsProto(o.Labels), Embedding: o.Embedding}
		if o.Rows != nil {
			found.Rows = clustertest.RowBytes(u.world.t, o.Rows)
		}
		if o.Model == nil {
			return nil
		}
		head, err := proto.MarshalOptions{Deterministic: true}.Marshal(wire.ModelHead(o.Model))
		model := bytes.NewBuffer(head)
		err = errors.Join(err, wire.WriteModel(model, o.Model))
		found.Model = model.Bytes()
		return err
	})
	return found
}
