package httpapi

import (
	"bytes"
	"encoding/json"
	"fmt"

	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
)

// message is an encoded message of the API. It is decoded only to convert it to or from JSON.
type message struct {
	kind protoreflect.MessageType
	data []byte
}

func newMessage(desc protoreflect.MessageDescriptor) *message {
	kind, err := protoregistry.GlobalTypes.FindMessageByName(desc.FullName())
	if err != nil {
		panic(err) // the types of all methods are linked in
	}
	return &message{kind: kind}
}

// decoded returns the message as a struct.
func (m *message) decoded() (proto.Message, error) {
	p := m.kind.New().Interface()
	return p, proto.Unmarshal(m.data, p)
}

// set encodes a struct.
func (m *message) set(p proto.Message) (err error) {
	m.data, err = proto.Marshal(p)
	return err
}

// restJSON writes the JSON of REST. Fields have their value even if it is the default, so that programs can use a list that is
// empty.
var restJSON = protojson.MarshalOptions{EmitDefaultValues: true}

// json returns the message in JSON.
func (m *message) json(options protojson.MarshalOptions) ([]byte, error) {
	p, err := m.decoded()
	if err != nil {
		return nil, err
	}
	return marshal(options, p)
}

// marshal returns a message in JSON without spaces. protojson adds some of them at random, so that nobody relies on its
// output; people who read it or compare it in scripts do.
func marshal(options protojson.MarshalOptions, p proto.Message) ([]byte, error) {
	text, err := options.Marshal(p)
	if err != nil {
		return nil, err
	}
	compact := bytes.NewBuffer(make([]byte, 0, len(text)))
	err = json.Compact(compact, text)
	return compact.Bytes(), err
}

// grpcCodec passes encoded messages on to gRPC.
type grpcCodec struct{}

var _ encoding.CodecV2 = grpcCodec{}

func (grpcCodec) Name() string { return "proto" }

func (grpcCodec) Marshal(v any) (mem.BufferSlice, error) {
	m, is := v.(*message)
	if !is {
		return nil, fmt.Errorf("httpapi: %T is not a message", v)
	}
	return mem.BufferSlice{mem.SliceBuffer(m.data)}, nil
}

func (grpcCodec) Unmarshal(data mem.BufferSlice, v any) error {
	m, is := v.(*message)
	if !is {
		return fmt.Errorf("httpapi: %T is not a message", v)
	}
	m.data = data.Materialize()
	return nil
}

// protoCodec passes encoded messages on to Connect.
type protoCodec struct{}

func (protoCodec) Name() string { return "proto" }

func (protoCodec) Marshal(v any) ([]byte, error) {
	switch m := v.(type) {
	case *message:
		return m.data, nil
	case proto.Message: // the status of an error
		return proto.Marshal(m)
	}
	return nil, fmt.Errorf("httpapi: %T is not a message", v)
}

func (protoCodec) Unmarshal(data []byte, v any) error {
	v.(*message).data = append([]byte(nil), data...)
	return nil
}

// jsonCodec converts messages of Connect to and from JSON. As Connect demands, it ignores fields that it does not know.
type jsonCodec struct{ name string }

func (c jsonCodec) Name() string { return c.name }

func (jsonCodec) Marshal(v any) ([]byte, error) {
	switch m := v.(type) {
	case *message:
		return m.json(protojson.MarshalOptions{})
	case proto.Message:
		return protojson.Marshal(m)
	}
	return nil, fmt.Errorf("httpapi: %T is not a message", v)
}

func (jsonCodec) Unmarshal(data []byte, v any) error {
	m := v.(*message)
	p := m.kind.New().Interface()
	if err := (protojson.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(data, p); err != nil {
		return err
	}
	return m.set(p)
}
