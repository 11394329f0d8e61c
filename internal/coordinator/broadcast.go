package coordinator

import (
	"google.golang.org/grpc/encoding"
	encodingproto "google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/proto"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
)

// encoded is a message that was encoded once for all streams that send it.
type encoded []byte

// encode encodes a message that is valid by construction.
func encode(message proto.Message) encoded {
	bytes, err := proto.Marshal(message)
	if err != nil {
		panic(err) // turned into an error of the run or the call
	}
	return bytes
}

func encodeEvent(e *cleavev1.Event) encoded {
	return encode(&cleavev1.WatchJobResponse{Item: &cleavev1.WatchJobResponse_Event{Event: e}})
}

func encodeProgress(p *cleavev1.Progress) encoded {
	return encode(&cleavev1.WatchJobResponse{Item: &cleavev1.WatchJobResponse_Progress{Progress: p}})
}

// sharingCodec is gRPC's codec of protobuf messages that also sends encoded ones as they are.
type sharingCodec struct{ encoding.CodecV2 }

func newSharingCodec() sharingCodec { return sharingCodec{encoding.GetCodecV2(encodingproto.Name)} }

// Marshal implements encoding.CodecV2.
func (c sharingCodec) Marshal(message any) (mem.BufferSlice, error) {
	if bytes, is := message.(encoded); is {
		return mem.BufferSlice{mem.SliceBuffer(bytes)}, nil // it is not pooled, so that streams can share it
	}
	return c.CodecV2.Marshal(message)
}
