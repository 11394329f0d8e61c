package httpapi

import (
	"bytes"
	"encoding/json"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
)

// newMessage returns an empty message of a type of the API.
func newMessage(desc protoreflect.MessageDescriptor) proto.Message {
	kind, err := protoregistry.GlobalTypes.FindMessageByName(desc.FullName())
	if err != nil {
		panic(err) // the types of all methods are linked in
	}
	return kind.New().Interface()
}

// restJSON writes the JSON of REST. Fields have their value even if it is the default, so that programs can use a
// list that is empty.
var restJSON = protojson.MarshalOptions{EmitDefaultValues: true}

// marshal returns a message in JSON without spaces. protojson adds some of them at random, so that nobody relies on
// its output; people who read it or compare it in scripts do.
func marshal(options protojson.MarshalOptions, p proto.Message) ([]byte, error) {
	text, err := options.Marshal(p)
	if err != nil {
		return nil, err
	}
	compact := bytes.NewBuffer(make([]byte, 0, len(text)))
	err = json.Compact(compact, text)
	return compact.Bytes(), err
}
