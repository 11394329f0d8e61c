package coordinator_test

import (
	"context"
	"encoding/binary"
	"io"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	statev1 "github.com/cleave-project/cleave/gen/cleave/state/v1"
	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/coordinator"
	"github.com/cleave-project/cleave/internal/coordinator/records"
	"github.com/cleave-project/cleave/internal/store"
	"github.com/cleave-project/cleave/test/coordinatortest"
)

// rawCodec sends bytes as they are, and drops those that come back.
type rawCodec struct{}

func (rawCodec) Name() string { return "proto" }

func (rawCodec) Marshal(v any) (mem.BufferSlice, error) {
	return mem.BufferSlice{mem.SliceBuffer(v.([]byte))}, nil
}

func (rawCodec) Unmarshal(mem.BufferSlice, any) error { return nil }

var _ encoding.CodecV2 = rawCodec{}

// publicMethods are all methods of the public API.
func publicMethods() (methods []protoreflect.MethodDescriptor) {
	for _, file := range []protoreflect.FileDescriptor{
		cleavev1.File_cleave_v1_cluster_proto, cleavev1.File_cleave_v1_dataset_proto,
		cleavev1.File_cleave_v1_job_service_proto, cleavev1.File_cleave_v1_table_proto,
	} {
		for s := range file.Services().Len() {
			for m := range file.Services().Get(s).Methods().Len() {
				methods = append(methods, file.Services().Get(s).Methods().Get(m))
			}
		}
	}
	return methods
}

// FuzzRequests calls every method of the public API with any bytes, on a coordinator that has a data set and a job.
// Each call is answered, and no answer blames the coordinator.
func FuzzRequests(f *testing.F) {
	methods := publicMethods()
	for at := range methods {
		f.Add(byte(at), []byte{})
		f.Add(byte(at), []byte("\x0a\x04job1"))
	}
	id := "8aa1f4c9d4bd9be7a5b2b2b8a37d1ec41ea2d8f1b2ae6d53c9e1f6a5c7d4e3b2"
	create, _ := proto.Marshal(&cleavev1.CreateJobRequest{Spec: coordinatortest.Spec(id),
		RequestId: "6ba7b810-9dad-11d1-80b4-00c04fd430c8"})
	list, _ := proto.Marshal(&cleavev1.ListJobsRequest{PageSize: 3, PageToken: records.PageToken("jobs/x")})
	for at := range methods {
		f.Add(byte(at), create)
		f.Add(byte(at), list)
	}
	f.Fuzz(func(t *testing.T, method byte, request []byte) {
		h := coordinatortest.StartScripted(t, coordinatortest.Config(), coordinatortest.Steps(1))
		h.End(h.Create(coordinatortest.Spec(h.Upload())))
		m := methods[int(method)%len(methods)]
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		path := "/" + string(m.Parent().FullName()) + "/" + string(m.Name())
		stream, err := h.Conn.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true, ClientStreams: true}, path,
			grpc.ForceCodecV2(rawCodec{}))
		if err == nil {
			err = stream.SendMsg(request)
		}
		_ = stream.CloseSend()
		for err == nil {
			err = stream.RecvMsg(nil)
		}
		undecodable := proto.Unmarshal(request, requestOf(m)) != nil
		switch code := status.Code(err); {
		case err == io.EOF: //nolint:errorlint // as gRPC gives it
		case undecodable && code == codes.Internal: // as gRPC answers
		case code == codes.Internal, code == codes.Unknown, code == codes.DataLoss, code == codes.DeadlineExceeded:
			t.Fatalf("%s of %x gives %v", path, request, err)
		}
	})
}

func requestOf(m protoreflect.MethodDescriptor) proto.Message {
	message, err := protoregistry.GlobalTypes.FindMessageByName(m.Input().FullName())
	if err != nil {
		panic(err)
	}
	return message.New().Interface()
}

// FuzzStored starts a coordinator on stores of any content: records, events and blobs that a defect, or a hand, has
// changed. It starts or says why not, and answers calls.
func FuzzStored(f *testing.F) {
	const job = "00000000-0000-7000-8000-000000000001"
	marshal := func(m proto.Message) []byte {
		encoded, _ := proto.Marshal(m)
		return encoded
	}
	record := &statev1.JobRecord{SpecBlob: records.SpecBlob(job),
		Job: &cleavev1.Job{JobId: job, DatasetId: "d", State: cleavev1.JobState_JOB_STATE_RUNNING}}
	ended := proto.CloneOf(record)
	ended.Job.State = cleavev1.JobState_JOB_STATE_SUCCEEDED
	ended.OutcomeBlob = "jobs/" + job + "/1-0/outcome"
	ended.LabelsBlob = "jobs/" + job + "/1-0/labels"
	events := marshal(
		&statev1.EventBatch{
			Events: []*cleavev1.Event{{Sequence: 1,
				What: &cleavev1.Event_Iteration{Iteration: &cleavev1.Iteration{}}}}})
	outcome := marshal(&statev1.Outcome{Events: []*cleavev1.Event{{Sequence: 1}}, Result: &cleavev1.Result{}})
	f.Add(marshal(record), events, marshal(&statev1.ContentRecord{Blob: "datasets/d/1"}),
		marshal(coordinatortest.Spec("d")))
	f.Add(marshal(ended), []byte{}, []byte{}, outcome)
	f.Add(marshal(ended), events, []byte{}, binary.LittleEndian.AppendUint32(nil, 7))
	f.Fuzz(func(t *testing.T, job0, events, content, blob []byte) {
		blobs := coordinatortest.SharedBlobs(t)
		for _, name := range []string{records.SpecBlob(job), "jobs/" + job + "/1-0/outcome",
			"jobs/" + job + "/1-0/labels", "datasets/d/1"} {
			if err := blobs.Put(t.Context(), name, func(w io.Writer) error {
				_, err := w.Write(blob)
				return err
			}); err != nil {
				t.Fatal(err)
			}
		}
		open := store.SharedMemory()
		state := open()
		if _, err := state.Lead(t.Context(), "fuzz"); err != nil {
			t.Fatal(err)
		}
		_, err := state.Commit(t.Context(), store.Txn{Put: []store.Entry{
			{Key: records.CreatedKey}, {Key: records.JobKey(job), Value: job0}, {Key: records.UnfinishedKey(job)},
			{Key: records.EventKey(job, 1), Value: events},
			{Key: "datasets/d", Value: content}, {Key: records.RequestKey("", "6ba7b810-9dad-11d1-80b4-00c04fd430c8"),
				Value: content},
		}})
		if err != nil {
			t.Fatal(err)
		}
		state.Close()
		cfg := coordinatortest.Config()
		cfg.Stores = coordinator.Stores{State: open(), Blobs: blobs}
		askStored(t, cfg, job)
	})
}

// askStored asks a coordinator for all that it has of a job, if it starts.
func askStored(t *testing.T, cfg coordinator.Config, job string) {
	t.Helper()
	probe := cfg
	probe.Engine = coordinatortest.Scripted(coordinatortest.Steps(1))
	probe.Listen, probe.Listener = "127.0.0.1:0", nil
	c, err := coordinator.New(t.Context(), probe)
	if err != nil {
		return
	}
	defer c.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	s := c.JobService()
	answered := func(what string, err error) {
		t.Helper()
		if ctx.Err() != nil {
			t.Fatalf("%s hangs: %v", what, err)
		}
	}
	_, err = s.ListJobs(ctx, &cleavev1.ListJobsRequest{})
	answered("ListJobs", err)
	_, err = s.GetJob(ctx, &cleavev1.GetJobRequest{JobId: job})
	answered("GetJob", err)
	_, err = s.GetResult(ctx, &cleavev1.GetResultRequest{JobId: job})
	answered("GetResult", err)
	_, err = c.Datasets().Load(ctx, "d")
	answered("load", err)
	_, err = c.JobService().CreateJob(ctx, &cleavev1.CreateJobRequest{Spec: coordinatortest.Spec("d"),
		RequestId: "6ba7b810-9dad-11d1-80b4-00c04fd430c8"})
	answered("CreateJob", err)
}
