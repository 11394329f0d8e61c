// Command openapi writes the OpenAPI document of the REST API. It reads the protos with their comments from a file that
// `buf build` makes.
package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/cleave-project/cleave/internal/coordinator/httpapi"
)

func main() {
	image := flag.String("image", "", "`FILE` that buf build made")
	out := flag.String("out", "", "`FILE` to write")
	flag.Parse()
	if err := run(*image, *out); err != nil {
		fmt.Fprintln(os.Stderr, "openapi:", err)
		os.Exit(1)
	}
}

func run(image, out string) error {
	text, err := os.ReadFile(image)
	if err != nil {
		return err
	}
	set := &descriptorpb.FileDescriptorSet{}
	if err := proto.Unmarshal(text, set); err != nil {
		return err
	}
	files, err := protodesc.NewFiles(set)
	if err != nil {
		return err
	}
	d := &document{files: files, schemas: object{}}
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", " ")
	if err := encoder.Encode(d.build()); err != nil {
		return err
	}
	return os.WriteFile(out, b.Bytes(), 0o644) //nolint:gosec // a document that everyone may read
}

type (
	object = map[string]any
	array  = []any
)

// document collects the schemas of the messages that the paths use.
type document struct {
	files   *protoregistry.Files
	schemas object
}

func (d *document) build() object {
	paths := object{}
	for _, route := range httpapi.Routes() {
		at, _ := paths[route.Path].(object)
		if at == nil {
			at = object{}
			paths[route.Path] = at
		}
		at[strings.ToLower(route.Verb)] = d.operation(route)
	}
	d.schemas["Status"] = object{
		"type": "object", "description": "An error, as google.rpc.Status.",
		"properties": object{
			"code":    object{"type": "integer", "description": "The code of gRPC, such as 3 for INVALID_ARGUMENT."},
			"message": object{"type": "string", "description": "What is wrong, where, and what to do."},
			"details": object{"type": "array",
				"description": "google.rpc.ErrorInfo with a stable reason, google.rpc.BadRequest with the field that " +
					"is wrong, google.rpc.RetryInfo.", "items": object{"type": "object"}},
		},
	}
	return object{
		"openapi": "3.1.0",
		"info": object{
			"title": "Cleave", "version": "v1",
			"description": "Clusters data under supervision. Integers of 64 bits are strings in JSON. The same " +
				"methods can be called by gRPC, gRPC-Web and Connect on the same port.",
		},
		"servers":  array{object{"url": "/"}},
		"security": array{object{"bearer": array{}}, object{}},
		"paths":    paths,
		"components": object{
			"schemas": d.schemas,
			"securitySchemes": object{"bearer": object{"type": "http", "scheme": "bearer",
				"description": "A token from `cleave token create`, or a web token of the operator's identity " +
					"provider. Client certificates work too."}},
		},
	}
}

// commented returns the descriptor that has comments.
func commented[D protoreflect.Descriptor](d *document, of D) D {
	found, err := d.files.FindDescriptorByName(of.FullName())
	if err != nil {
		return of
	}
	return found.(D)
}

// comment returns the comment before a descriptor.
func comment(of protoreflect.Descriptor) string {
	location := of.ParentFile().SourceLocations().ByDescriptor(of)
	var lines []string
	for line := range strings.Lines(location.LeadingComments) {
		lines = append(lines, strings.TrimPrefix(strings.TrimRight(line, "\n "), " "))
	}
	return strings.TrimSpace(strings.Join(lines, "\n"))
}

func (d *document) operation(route httpapi.Route) object {
	method := commented(d, route.Method)
	text := comment(method)
	summary, _, _ := strings.Cut(strings.ReplaceAll(text, "\n", " "), ". ")
	o := object{
		"operationId": string(method.Name()), "tags": array{string(method.Parent().Name())},
		"summary": strings.TrimSuffix(summary, "."), "description": text,
	}
	var parameters array
	inPath := map[string]bool{}
	fields := method.Input().Fields()
	for i := range fields.Len() {
		f := fields.Get(i)
		if strings.Contains(route.Path, "{"+string(f.Name())+"}") {
			inPath[string(f.Name())] = true
			parameters = append(parameters, object{"name": string(f.Name()), "in": "path", "required": true,
				"description": comment(f), "schema": object{"type": "string"}})
		}
	}
	if !route.Body {
		for i := range fields.Len() {
			if f := fields.Get(i); !inPath[string(f.Name())] {
				parameters = append(parameters, object{"name": string(f.Name()), "in": "query",
					"description": comment(f), "schema": d.field(f)})
			}
		}
	}
	switch {
	case method.IsStreamingClient():
		parameters = append(parameters, uploadParameters(method.Name() == "CreateDataset")...)
		o["requestBody"] = object{"required": true, "content": d.upload(method)}
	case route.Body:
		o["requestBody"] = object{
			"content": object{"application/json": object{"schema": d.message(method.Input(), inPath)}}}
	}
	content := object{"application/json": object{"schema": d.message(method.Output(), nil)}}
	if method.IsStreamingServer() {
		content = object{"application/x-ndjson": object{"schema": d.message(method.Output(), nil)}}
	}
	description := "The response."
	switch method.Name() {
	case "WatchJob":
		description = "One message per line, or per server-sent event, whose id is the number of the event. If the " +
			"last line has a field error, the stream broke: continue after the last event."
		content["text/event-stream"] = object{"schema": object{"type": "string"}}
		parameters = append(parameters, object{"name": "Last-Event-ID", "in": "header",
			"description": "The same as after_sequence, sent by an EventSource that connects again. If nothing " +
				"follows, the status is 204.", "schema": object{"type": "string"}})
	case "GetLabels":
		description = "All labels in one object, as a table with the columns index (or id) and label, or one message " +
			"per line. rows and ids are always sent where they differ from the positions."
		content["application/json"] = object{"schema": d.message(method.Output(), map[string]bool{"first_index": true})}
		content["text/csv"] = object{"schema": object{"type": "string"}}
		content["application/vnd.apache.parquet"] = object{
			"schema": object{"type": "string", "contentMediaType": "application/vnd.apache.parquet"}}
		parameters = append(parameters, object{"name": "format", "in": "query",
			"description": "The type of content, instead of an Accept header.",
			"schema":      object{"type": "string", "enum": array{"json", "csv", "parquet", "jsonl"}}})
	default:
		if method.IsStreamingServer() {
			description = "One message per line. If the last line has a field error, the stream broke."
		}
	}
	if parameters != nil {
		o["parameters"] = parameters
	}
	o["responses"] = object{
		"200": object{"description": description, "content": content},
		"default": object{"description": "An error.",
			"content": object{"application/json": object{"schema": object{"$ref": "#/components/schemas/Status"}}}},
	}
	return o
}

func uploadParameters(dataset bool) array {
	text := func(name, description string, enum ...any) object {
		schema := object{"type": "string"}
		if len(enum) > 0 {
			schema["enum"] = enum
		}
		return object{"name": name, "in": "query", "description": description, "schema": schema}
	}
	all := array{
		text("format", "The format of the body, such as csv, tsv, parquet or arrow; for data sets also npy, npz, mtx "+
			"and svmlight. Compressed bodies are recognized. Without it, the type of content tells."),
		text("display_name", "A name for people."),
		text("header", "Whether the first line of a text table is a header; the default is to find out.", "yes", "no"),
		text("delimiter", "The character between the cells of a text table; the default is to find out."),
		text("decimals", "The decimal separator of a text table that is ambiguous.", ".", ","),
	}
	if dataset {
		all = append(all, text("kind", "What the body holds; the default follows from the format.", "points", "sparse",
			"kernel", "graph"))
	}
	return all
}

func (d *document) upload(method protoreflect.MethodDescriptor) object {
	file := func(kind string) object {
		return object{"schema": object{"type": "string", "contentMediaType": kind}}
	}
	return object{
		"application/x-ndjson":           object{"schema": d.message(method.Input(), nil)},
		"text/csv":                       file("text/csv"),
		"application/vnd.apache.parquet": file("application/vnd.apache.parquet"),
		"application/octet-stream":       file("application/octet-stream"),
	}
}

// message returns the schema of a message. If fields are left out, it is not shared.
func (d *document) message(of protoreflect.MessageDescriptor, without map[string]bool) object {
	of = commented(d, of)
	name := strings.TrimPrefix(string(of.FullName()), string(of.ParentFile().Package())+".")
	shared := len(without) == 0
	if _, known := d.schemas[name]; known && shared {
		return object{"$ref": "#/components/schemas/" + name}
	}
	properties := object{}
	schema := object{"type": "object", "properties": properties}
	if text := comment(of); text != "" {
		schema["description"] = text
	}
	if shared {
		d.schemas[name] = schema // before its fields, which may refer to it
	}
	for i := range of.Fields().Len() {
		f := of.Fields().Get(i)
		if without[string(f.Name())] {
			continue
		}
		property := d.field(f)
		text := comment(f)
		if one := f.ContainingOneof(); one != nil && !one.IsSynthetic() {
			var others []string
			for j := range one.Fields().Len() {
				if other := one.Fields().Get(j); other != f {
					others = append(others, other.JSONName())
				}
			}
			text = strings.TrimSpace(text + "\nExcludes " + strings.Join(others, ", ") + ".")
		}
		if text != "" {
			property["description"] = text
		}
		properties[f.JSONName()] = property
	}
	if !shared {
		return schema
	}
	return object{"$ref": "#/components/schemas/" + name}
}

// field returns the schema of a field.
func (d *document) field(f protoreflect.FieldDescriptor) object {
	switch {
	case f.IsMap():
		return object{"type": "object", "additionalProperties": d.value(f.MapValue())}
	case f.IsList():
		return object{"type": "array", "items": d.value(f)}
	}
	return d.value(f)
}

// value returns the schema of one value of a field, as protobuf's JSON has it.
func (d *document) value(f protoreflect.FieldDescriptor) object {
	switch f.Kind() {
	case protoreflect.BoolKind:
		return object{"type": "boolean"}
	case protoreflect.Int32Kind, protoreflect.Sint32Kind, protoreflect.Sfixed32Kind:
		return object{"type": "integer", "format": "int32"}
	case protoreflect.Uint32Kind, protoreflect.Fixed32Kind:
		return object{"type": "integer", "minimum": 0, "maximum": uint32(1<<32 - 1)}
	case protoreflect.Int64Kind, protoreflect.Sint64Kind, protoreflect.Sfixed64Kind:
		return object{"type": "string", "format": "int64"}
	case protoreflect.Uint64Kind, protoreflect.Fixed64Kind:
		return object{"type": "string", "format": "uint64"}
	case protoreflect.FloatKind, protoreflect.DoubleKind:
		return object{"type": "number", "format": "double"}
	case protoreflect.BytesKind:
		return object{"type": "string", "contentEncoding": "base64"}
	case protoreflect.EnumKind:
		return d.enum(f.Enum())
	case protoreflect.MessageKind, protoreflect.GroupKind:
		switch f.Message().FullName() {
		case "google.protobuf.Timestamp":
			return object{"type": "string", "format": "date-time"}
		case "google.protobuf.Duration":
			return object{"type": "string", "description": "Seconds, such as 1.5s."}
		case "google.protobuf.Struct":
			return object{"type": "object"}
		}
		return d.message(f.Message(), nil)
	}
	return object{"type": "string"}
}

func (d *document) enum(of protoreflect.EnumDescriptor) object {
	of = commented(d, of)
	name := string(of.Name())
	if _, known := d.schemas[name]; !known {
		var values array
		lines := []string{comment(of)}
		for i := range of.Values().Len() {
			v := of.Values().Get(i)
			values = append(values, string(v.Name()))
			if text := comment(v); text != "" {
				lines = append(lines, "- "+string(v.Name())+": "+strings.ReplaceAll(text, "\n", " "))
			}
		}
		d.schemas[name] = object{"type": "string", "enum": values,
			"description": strings.Join(slices.DeleteFunc(lines, func(s string) bool { return s == "" }), "\n")}
	}
	return object{"$ref": "#/components/schemas/" + name}
}
