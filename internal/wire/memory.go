package wire

import (
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// MemoryOf returns about how many bytes a decoded message takes. That may be several times what it takes on the wire,
// where a small integer is one byte and a text has no header.
func MemoryOf(m proto.Message) int64 { return memoryOf(m.ProtoReflect()) }

// Bytes of a message without its fields, and of what refers to a text or a list.
const (
	messageBytes = 64
	textHeader   = 16
	listHeader   = 24
)

func memoryOf(m protoreflect.Message) int64 {
	bytes := messageBytes + int64(len(m.GetUnknown()))
	m.Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		switch {
		case f.IsMap():
			v.Map().Range(func(key protoreflect.MapKey, value protoreflect.Value) bool {
				bytes += valueMemory(f.MapKey().Kind(), key.Value()) + valueMemory(f.MapValue().Kind(), value)
				return true
			})
		case f.IsList():
			bytes += listMemory(f.Kind(), v.List())
		default:
			bytes += valueMemory(f.Kind(), v)
		}
		return true
	})
	return bytes
}

func listMemory(kind protoreflect.Kind, list protoreflect.List) int64 {
	switch kind {
	case protoreflect.StringKind, protoreflect.BytesKind, protoreflect.MessageKind:
		bytes := int64(listHeader)
		for at := range list.Len() {
			bytes += valueMemory(kind, list.Get(at))
		}
		return bytes
	}
	return listHeader + int64(list.Len())*valueMemory(kind, protoreflect.Value{})
}

func valueMemory(kind protoreflect.Kind, v protoreflect.Value) int64 {
	switch kind {
	case protoreflect.StringKind:
		return textHeader + int64(len(v.String()))
	case protoreflect.BytesKind:
		return listHeader + int64(len(v.Bytes()))
	case protoreflect.MessageKind:
		return memoryOf(v.Message())
	case protoreflect.Int32Kind, protoreflect.Sint32Kind, protoreflect.Uint32Kind, protoreflect.Fixed32Kind,
		protoreflect.Sfixed32Kind,
		protoreflect.FloatKind, protoreflect.EnumKind:
		return 4
	}
	return 8
}
