package eventlog

import (
	"google.golang.org/grpc"
	"google.golang.org/grpc/encoding"
	encodingproto "google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/proto"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
)

// Stream sends the events of a job to a client that watches it.
type Stream = grpc.ServerStreamingServer[cleavev1.WatchJobResponse]

// Encoded is a message that was encoded once for all streams that send it.
type Encoded []byte

// encode encodes a message that is valid by construction.
func encode(message proto.Message) Encoded {
	bytes, err := proto.Marshal(message)
	if err != nil {
		panic(err) // turned into an error of the run or the call
	}
	return bytes
}

// EncodeProgress encodes a message that tells clients what a job does at this moment.
func EncodeProgress(p *cleavev1.Progress) Encoded {
	return encode(&cleavev1.WatchJobResponse{Item: &cleavev1.WatchJobResponse_Progress{Progress: p}})
}

// sharingCodec is gRPC's codec of protobuf messages that also sends encoded ones as they are.
type sharingCodec struct{ encoding.CodecV2 }

// NewSharingCodec returns the codec of a server that sends messages encoded by this package without encoding them
// again.
func NewSharingCodec() encoding.CodecV2 {
	return sharingCodec{encoding.GetCodecV2(encodingproto.Name)}
}

// Marshal implements encoding.CodecV2.
func (c sharingCodec) Marshal(message any) (mem.BufferSlice, error) {
	if bytes, is := message.(Encoded); is {
		return mem.BufferSlice{mem.SliceBuffer(bytes)}, nil // it is not pooled, so that streams can share it
	}
	return c.CodecV2.Marshal(message)
}

// SendEvent sends an event that no other stream has been sent in encoded form.
func SendEvent(stream Stream, e *cleavev1.Event) error {
	return stream.Send(&cleavev1.WatchJobResponse{Item: &cleavev1.WatchJobResponse_Event{Event: e}})
}
