package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/cleave-project/cleave/internal/cli/shell"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/wire"
	"github.com/cleave-project/cleave/test/clitest"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
)

func TestMain(m *testing.M) {
	debug.SetGCPercent(400) // these tests make much garbage and keep little
	goleak.VerifyTestMain(m)
}

type watchStream = grpc.ServerStreamingServer[cleavev1.WatchJobResponse]

// sendSteps sends the iterations with the numbers from..to, and then the end unless it is nil.
func sendSteps(stream watchStream, from, to uint32, ended *cleavev1.JobEnded) error {
	for sequence := from; sequence <= to; sequence++ {
		event := &cleavev1.Event{Sequence: sequence,
			What: &cleavev1.Event_Iteration{Iteration: &cleavev1.Iteration{Iteration: uint32(sequence - 1),
				Objective: 1}}}
		if err := stream.Send(clitest.EventItem(event)); err != nil {
			return err
		}
	}
	if ended == nil {
		return nil
	}
	return stream.Send(clitest.EventItem(&cleavev1.Event{Sequence: to + 1, What: &cleavev1.Event_Ended{Ended: ended}}))
}

var succeeded = &cleavev1.JobEnded{State: cleavev1.JobState_JOB_STATE_SUCCEEDED,
	StopReason: cleavev1.StopReason_STOP_REASON_CONVERGED}

func TestWatchResumesAfterABreak(t *testing.T) {
	f := startFake(t)
	f.watch = func(call int, request *cleavev1.WatchJobRequest, stream watchStream) error {
		switch call {
		case 0: // breaks in the middle
			if err := sendSteps(stream, 1, 2, nil); err != nil {
				return err
			}
			return status.Error(codes.Unavailable, "shutting down")
		case 1: // ends quietly, without the job's end
			return sendSteps(stream, request.GetAfterSequence()+1, 3, nil)
		}
		return sendSteps(stream, request.GetAfterSequence()+1, 5, succeeded)
	}
	r := invoke(t, "watch job-1 --server "+f.address)
	want := `iteration 0: objective 1
iteration 1: objective 1, 0 moved
iteration 2: objective 1, 0 moved
iteration 3: objective 1, 0 moved
iteration 4: objective 1, 0 moved
SUCCEEDED: CONVERGED
`
	if r.code != 0 || r.stdout != want {
		t.Errorf("exit code %d\n%s%s\nwant\n%s", r.code, r.stdout, r.stderr, want)
	}
	if want := strings.Repeat("cleave: the connection to the coordinator broke; reconnecting\n", 2); r.stderr != want {
		t.Errorf("standard error has %q, want %q", r.stderr, want)
	}
	if !slices.Equal(f.watches, []uint32{0, 2, 3}) {
		t.Errorf("asked for what follows %v", f.watches)
	}
}

func TestWatchJSONAndAfter(t *testing.T) {
	f := startFake(t)
	f.watch = func(_ int, request *cleavev1.WatchJobRequest, stream watchStream) error {
		if err := stream.Send(clitest.ProgressItem(&cleavev1.Progress{Phase: cleavev1.Phase_PHASE_BUILDING})); err !=
			nil {
			return err
		}
		return sendSteps(stream, request.GetAfterSequence()+1, 5, succeeded)
	}
	r := invoke(t, "watch job-1 --json --after 4 --server "+f.address)
	want := `{"sequence":5,"iteration":{"iteration":4,"objective":1}}
{"sequence":6,"ended":{"state":"JOB_STATE_SUCCEEDED","stopReason":"STOP_REASON_CONVERGED"}}
`
	if r.code != 0 || r.stdout != want {
		t.Errorf("exit code %d\n%s\nwant\n%s", r.code, r.stdout, want)
	}
}

func TestWatchOfAJobThatEndedBefore(t *testing.T) {
	f := startFake(t)
	f.job = &cleavev1.Job{JobId: "job-1", State: cleavev1.JobState_JOB_STATE_SUCCEEDED,
		StopReason: cleavev1.StopReason_STOP_REASON_CYCLE}
	f.watch = func(int, *cleavev1.WatchJobRequest, watchStream) error { return nil }
	if r := invoke(t, "watch job-1 --after 99 --server "+f.address); r.code != 0 || r.stdout != "SUCCEEDED: CYCLE\n" {
		t.Errorf("exit code %d, %q, %q", r.code, r.stdout, r.stderr)
	}
}

// fullDisk is an output that takes nothing.
type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, errors.New("no space left on device") }

func TestOutputThatCannotBeWrittenIsAnError(t *testing.T) {
	clitest.Folder(t, clitest.SmallFiles)
	f := startFake(t)
	f.watch = func(_ int, _ *cleavev1.WatchJobRequest, stream watchStream) error {
		return sendSteps(stream, 1, 1, succeeded)
	}
	for _, command := range []string{"watch job-1", "watch --json job-1", "submit --quiet --data p.csv --k 2"} {
		var stderr strings.Builder
		code := Main(t.Context(), strings.Fields(command+" --server "+f.address), strings.NewReader(""), fullDisk{},
			&stderr, func(string) string { return "" })
		if code != 1 || !strings.Contains(stderr.String(), "no space left on device") {
			t.Errorf("%s: exit code %d, %q", command, code, stderr.String())
		}
	}
}

// A watch whose lines cannot be written ends while the job still runs.
func TestWatchEndsIfNobodyReadsIt(t *testing.T) {
	f := startFake(t)
	f.watch = func(_ int, _ *cleavev1.WatchJobRequest, stream watchStream) error {
		if err := sendSteps(stream, 1, 1, nil); err != nil {
			return err
		}
		<-stream.Context().Done()
		return nil
	}
	for _, command := range []string{"watch job-1", "watch --json job-1"} {
		var stderr strings.Builder
		code := Main(t.Context(), strings.Fields(command+" --server "+f.address), strings.NewReader(""), fullDisk{},
			&stderr, func(string) string { return "" })
		if code != 1 || !strings.Contains(stderr.String(), "no space left on device") {
			t.Errorf("%s: exit code %d, %q", command, code, stderr.String())
		}
	}
}

func TestHowAJobEndsIsTheExitCode(t *testing.T) {
	for _, c := range []struct {
		end  *cleavev1.JobEnded
		code int
		want string
	}{
		{&cleavev1.JobEnded{State: cleavev1.JobState_JOB_STATE_FAILED,
			Error: &cleavev1.Error{Code: int32(codes.InvalidArgument), Reason: "ISOLATED_VERTICES",
				Message: "vertex 7 has degree 0"}}, 2, "cleave: vertex 7 has degree 0\n"},
		{&cleavev1.JobEnded{State: cleavev1.JobState_JOB_STATE_FAILED,
			Error: &cleavev1.Error{Code: int32(codes.Internal), Reason: "INTERNAL",
				Message: "a tile broke"}}, 1, "cleave: a tile broke\n"},
		{&cleavev1.JobEnded{State: cleavev1.JobState_JOB_STATE_CANCELLED}, 130, "cleave: job job-1 was canceled\n"},
	} {
		f := startFake(t)
		f.watch = func(_ int, _ *cleavev1.WatchJobRequest, stream watchStream) error {
			return sendSteps(stream, 1, 0, c.end)
		}
		if r := invoke(t, "watch job-1 --server "+f.address); r.code != c.code || r.stderr != c.want {
			t.Errorf("%v: exit code %d, %q; want %d, %q", c.end, r.code, r.stderr, c.code, c.want)
		}
	}
}

// A job that reached its time limit ends with code 3 if it has labels, and with 1 if it has none.
func TestTimeLimitIsTheExitCode(t *testing.T) {
	clitest.Folder(t, clitest.SmallFiles)
	late := &cleavev1.JobEnded{State: cleavev1.JobState_JOB_STATE_CANCELLED,
		StopReason: cleavev1.StopReason_STOP_REASON_TIME_LIMIT, Message: "ended by its time limit"}
	for _, c := range []struct{ rows, code int }{{4, 3}, {0, 1}} {
		f := startFake(t)
		f.result = &cleavev1.Result{Rows: uint32(c.rows)}
		f.watch = func(_ int, _ *cleavev1.WatchJobRequest, stream watchStream) error {
			return sendSteps(stream, 1, 1, late)
		}
		for _, command := range []string{"watch job-1", "watch --json job-1",
			"submit --quiet --wait --data p.csv --k 2", "submit --quiet --json --wait --data p.csv --k 2"} {
			r := invoke(t, command+" --server "+f.address)
			if r.code != c.code || !strings.Contains(r.stderr, "cleave: job job-1 was ended by its time limit\n") {
				t.Errorf("%s: exit code %d, %q; want %d", command, r.code, r.stderr, c.code)
			}
		}
	}
}

func TestErrorsOfTheCoordinatorAreSentences(t *testing.T) {
	f := startFake(t)
	f.watch = func(int, *cleavev1.WatchJobRequest, watchStream) error {
		return wire.Status(fault.New(fault.NotFound, "JOB_NOT_FOUND", "there is no job job-9"))
	}
	if r := invoke(t, "watch job-9 --server "+f.address); r.code != 2 || r.stderr != "cleave: there is no job job-9\n" {
		t.Errorf("exit code %d, %q", r.code, r.stderr)
	}
	if r := invoke(t, "workers --server "+f.address); r.code != 2 ||
		!strings.HasSuffix(r.stderr, " is not a Cleave coordinator; check the host and the port\n") {
		t.Errorf("a service that is not there: exit code %d, %q", r.code, r.stderr)
	}
	const id = "019a0000-0000-7000-8000-000000000009"
	r := invoke(t, "watch "+id+" --server 127.0.0.1:1")
	lost := "cleave: job " + id + " cannot be watched, and may still be running: " +
		"the coordinator at 127.0.0.1:1 does not answer: "
	if r.code != 75 || !strings.HasPrefix(r.stderr, lost) ||
		!strings.HasSuffix(r.stderr, "connection refused\n") {
		t.Errorf("nobody there: exit code %d, %q", r.code, r.stderr)
	}
}

func TestSubmit(t *testing.T) {
	clitest.Folder(t, clitest.SmallFiles)
	f := startFake(t)
	f.refusals = 1
	environment := func(name string) string { return map[string]string{serverVariable: f.address}[name] }
	r := invokeIn(t.Context(), "submit --graph e.csv --k 2 --constraints c.csv", environment)
	if r.code != 0 || r.stdout != "job-1\n" {
		t.Fatalf("exit code %d, %q, %q", r.code, r.stdout, r.stderr)
	}
	if len(f.requests) != 2 || f.requests[0].GetRequestId() == "" ||
		f.requests[0].GetRequestId() != f.requests[1].GetRequestId() {
		t.Errorf("the retry is not the same request: %v", f.requests)
	}
	if spec := f.requests[1].GetSpec(); f.datasets[spec.GetDatasetId()] == nil ||
		f.tables[spec.GetSupervision().GetConstraints().GetTableId()].GetRows() != 2 {
		t.Errorf("submitted %v", spec)
	}
	const id = "4a8ec0ab-4ea1-4d7d-8a4e-0d5e4c1d1b3f"
	if r := invokeIn(t.Context(), "submit --graph e.csv --k 3 --json --request-id "+id, environment); r.code != 0 ||
		!strings.Contains(r.stdout, `"jobId": "job-1"`) {
		t.Errorf("exit code %d, %q, %q", r.code, r.stdout, r.stderr)
	}
	if got := f.requests[2].GetRequestId(); got != id {
		t.Errorf("request id %q", got)
	}
	if f.uploads != 1 {
		t.Errorf("the same graph was uploaded %d times", f.uploads)
	}
	dataset := f.requests[2].GetSpec().GetDatasetId()
	if err := os.WriteFile("byid.yaml", fmt.Appendf(nil, "datasetId: %s\nk: 2\n", dataset), 0o666); err != nil {
		t.Fatal(err)
	}
	if r := invokeIn(t.Context(), "submit -f byid.yaml --constraints c.csv", environment); r.code != 0 ||
		f.requests[3].GetSpec().GetDatasetId() != dataset {
		t.Errorf("exit code %d, %q", r.code, r.stderr)
	}
	if r := invokeIn(t.Context(), "submit -f byid.yaml --kernel linear", environment); r.code != 2 ||
		!strings.Contains(r.stderr, "--kernel does not apply to a graph") {
		t.Errorf("a kernel over a stored graph: exit code %d, %q", r.code, r.stderr)
	}
}

func TestRequestIDsThatCannotWork(t *testing.T) {
	clitest.Folder(t, clitest.SmallFiles)
	for args, want := range map[string]string{
		"run --data p.csv --k 2 --request-id= --server 127.0.0.1:1":    "--request-id is empty",
		"submit --data p.csv --k 2 --request-id= --server 127.0.0.1:1": "--request-id is empty",
		"run --data p.csv --k 2 --request-id x": "--request-id identifies a job on a " +
			"coordinator; give --server",
		"run --data p.csv --k 2 --on-term cancel --server 127.0.0.1:1": "--on-term requires --request-id",
		"cancel job-1 --request-id x --server 127.0.0.1:1":             "give a job or --request-id",
	} {
		if r := invoke(t, args); r.code != 2 || !strings.Contains(r.stderr, want) {
			t.Errorf("%s: exit code %d, %q; want %q", args, r.code, r.stderr, want)
		}
	}
}

func TestSubmitAndWait(t *testing.T) {
	clitest.Folder(t, clitest.SmallFiles)
	f := startFake(t)
	f.watch = func(_ int, _ *cleavev1.WatchJobRequest, stream watchStream) error {
		return sendSteps(stream, 1, 2, succeeded)
	}
	r := invoke(t, "submit --data p.csv --k 2 --wait --server "+f.address)
	if r.code != 0 || r.stdout != "job-1\n" || r.stderr != "" {
		t.Errorf("exit code %d, %q, %q", r.code, r.stdout, r.stderr)
	}
}

// An interrupted run cancels its job. A job that is only watched goes on, and the message says so.
func TestInterrupt(t *testing.T) {
	clitest.Folder(t, clitest.SmallFiles)
	for _, c := range []struct {
		command  string
		lost     int
		canceled int
		want     string
	}{
		{"run --quiet --data p.csv --k 2 --out o", 0, 1,
			"cleave: canceled job job-1. Its labels so far, if it had any: cleave result job-1 --server "},
		{"run --quiet --data p.csv --k 2 --out o", 1, 2,
			"cleave: canceled job job-1. Its labels so far, if it had any: cleave result job-1 --server "},
		{"submit --quiet --wait --data p.csv --k 2", 0, 0,
			"cleave: interrupted; job job-1 continues. Watch it: cleave watch job-1. Fetch its result: cleave result " +
				"job-1. Stop it: cleave cancel job-1\n"},
		{"watch job-1", 0, 0, "cleave: the watch ended; job job-1 continues. Watch it: cleave watch job-1. Fetch its " +
			"result: cleave result job-1. Stop it: cleave cancel job-1\n"},
		{"watch --json job-1", 0, 0, "cleave: the watch ended; job job-1 continues. Watch it: cleave watch job-1. " +
			"Fetch its result: cleave result job-1. Stop it: cleave cancel job-1\n"},
	} {
		f := startFake(t)
		f.lost = c.lost
		ctx, interrupt := context.WithCancel(t.Context())
		defer interrupt()
		f.watch = func(_ int, _ *cleavev1.WatchJobRequest, stream watchStream) error {
			if err := sendSteps(stream, 1, 1, nil); err != nil {
				return err
			}
			interrupt()
			<-stream.Context().Done()
			return stream.Context().Err()
		}
		r := invokeIn(ctx, c.command+" --server "+f.address, func(string) string { return "" })
		if r.code != 130 || !strings.HasPrefix(r.stderr, c.want) {
			t.Errorf("%s: exit code %d, %q; want 130, %q", c.command, r.code, r.stderr, c.want)
		}
		if len(f.canceled) != c.canceled {
			t.Errorf("%s: canceled %v", c.command, f.canceled)
		}
		if _, err := os.Stat("o"); err == nil {
			t.Error("an interrupted run left a folder behind")
		}
	}
}

func TestInterruptBeforeThereIsAJob(t *testing.T) {
	clitest.Folder(t, clitest.SmallFiles)
	for _, command := range []string{"run", "submit"} {
		f := startFake(t)
		ctx, interrupt := context.WithCancel(t.Context())
		defer interrupt()
		f.stall = interrupt
		r := invokeIn(ctx, command+" --data p.csv --k 2 --server "+f.address, func(string) string { return "" })
		if r.code != 130 || r.stderr != "cleave: canceled\n" || len(f.requests) != 0 {
			t.Errorf("%s: exit code %d, %q, %d jobs", command, r.code, r.stderr, len(f.requests))
		}
	}
}

// SIGTERM replaces the error of a run only if the same command again can still get its result.
func TestWhatSIGTERMReplaces(t *testing.T) {
	ctx, end := context.WithCancelCause(t.Context())
	end(shell.Terminated)
	f := &runFlags{requestID: "night", onTerm: shell.NewChoice(detachOnTerm, detachOnTerm, cancelOnTerm)}
	full := errors.New("the disk is full")
	for _, c := range []struct {
		ended bool
		err   error
		want  string
	}{
		{false, ctx.Err(), "terminated; job job-1 continues. Run the same command again to wait for it"},
		{true, ctx.Err(), "terminated; job job-1 has ended. Run the same command again to get its result"},
		{true, status.Error(codes.Canceled, "stopped"),
			"terminated; job job-1 has ended. Run the same command again to get its result"},
		{true, full, "the disk is full"},
	} {
		if got := (&runner{flags: f, jobID: "job-1", ended: c.ended}).detached(ctx, c.err); got.Error() != c.want {
			t.Errorf("ended %v, %v: got %q, want %q", c.ended, c.err, got, c.want)
		}
	}
}

// What cannot be written is refused before the result is fetched, as it is before a run.
func TestResultIsRefusedBeforeItIsFetched(t *testing.T) {
	clitest.Folder(t, map[string]string{"file": "", "o/labels.csv": "x,y\n1,2\n"})
	for args, want := range map[string]string{
		"--out file":                        "this is a file; --out needs a folder",
		"--out o --data o/labels.csv":       "would be overwritten by the labels.csv of the result",
		"--save-graph g.csv":                "--save-graph requires --knn",
		"--out new --save-graph new/g.csv":  "--save-graph requires --knn",
		"--out file/new --save-graph g.csv": "the folder cannot be",
	} {
		f := startFake(t)
		f.spec, f.result = &cleavev1.JobSpec{}, &cleavev1.Result{}
		r := invoke(t, "result job-1 "+args+" --server "+f.address)
		if r.code != 2 || !strings.Contains(r.stderr, want) || f.downloads > 0 {
			t.Errorf("%s: exit code %d, %s after %d downloads", args, r.code, r.stderr, f.downloads)
		}
	}
	if _, err := os.Stat("new"); err == nil {
		t.Error("a refused result left a folder behind")
	}
}
