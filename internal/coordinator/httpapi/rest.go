package httpapi

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/grpc-ecosystem/grpc-gateway/v2/runtime"
	"github.com/grpc-ecosystem/grpc-gateway/v2/utilities"
	"google.golang.org/genproto/googleapis/api/annotations"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
)

// methods returns the methods that can be called over HTTP.
func methods() []protoreflect.MethodDescriptor {
	var all []protoreflect.MethodDescriptor
	for _, file := range []protoreflect.FileDescriptor{
		cleavev1.File_cleave_v1_dataset_proto, cleavev1.File_cleave_v1_table_proto,
		cleavev1.File_cleave_v1_job_service_proto, cleavev1.File_cleave_v1_cluster_proto,
	} {
		for i := range file.Services().Len() {
			service := file.Services().Get(i)
			for at := range service.Methods().Len() {
				all = append(all, service.Methods().Get(at))
			}
		}
	}
	return all
}

// Route is the URL of a method, from its google.api.http annotation.
type Route struct {
	Method protoreflect.MethodDescriptor
	Verb   string // such as GET
	Path   string // such as /v1/jobs/{job_id}:cancel
	Body   bool   // the request has a body with all fields that are not in the path
}

// Routes returns the URLs of all methods.
func Routes() []Route {
	var all []Route
	for _, method := range methods() {
		rule, _ := proto.GetExtension(method.Options(), annotations.E_Http).(*annotations.HttpRule)
		r := Route{Method: method, Body: rule.GetBody() == "*"}
		switch pattern := rule.GetPattern().(type) {
		case *annotations.HttpRule_Get:
			r.Verb, r.Path = http.MethodGet, pattern.Get
		case *annotations.HttpRule_Post:
			r.Verb, r.Path = http.MethodPost, pattern.Post
		case *annotations.HttpRule_Delete:
			r.Verb, r.Path = http.MethodDelete, pattern.Delete
		default:
			panic(fmt.Sprintf("%s has no URL", method.FullName()))
		}
		all = append(all, r)
	}
	return all
}

var parameter = regexp.MustCompile(`\{(\w+)\}`)

// parameters returns the names of the fields in the path.
func (r Route) parameters() (names []string) {
	for _, found := range parameter.FindAllStringSubmatch(r.Path, -1) {
		names = append(names, found[1])
	}
	return names
}

// pattern returns the path for http.ServeMux, which has no verbs after a parameter: they become a segment of their
// own.
func (r Route) pattern() string { return strings.Replace(r.Path, "}:", "}/:", 1) }

// splitVerb makes a segment of the verb at the end of a path, as in pattern. Other colons belong to an id.
func splitVerb(next http.Handler) http.Handler {
	verbs := map[string]bool{}
	for _, route := range Routes() {
		if _, verb, has := strings.Cut(route.Path, "}:"); has {
			verbs[verb] = true
		}
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		colon := strings.LastIndexByte(r.URL.Path, ':')
		if verbs[r.URL.Path[colon+1:]] && colon > strings.LastIndexByte(r.URL.Path, '/')+1 {
			url := *r.URL
			url.Path = url.Path[:colon] + "/" + url.Path[colon:]
			url.RawPath = ""
			copied := *r
			copied.URL = &url
			r = &copied
		}
		next.ServeHTTP(w, r)
	})
}

// addREST adds the URLs of all methods.
func (s *Server) addREST(mux *http.ServeMux) {
	byPath := map[string][]string{}
	for _, route := range Routes() {
		handle := s.unary
		switch {
		case route.Method.IsStreamingClient():
			handle = s.upload
		case route.Method.Name() == "GetLabels":
			handle = s.labels
		case route.Method.IsStreamingServer():
			handle = s.stream
		}
		mux.HandleFunc(route.Verb+" "+route.pattern(), func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Cache-Control", "no-store")
			w, r = s.timed(w, r)
			r, end := s.counted(r, route.Method, func(err error) error { return err })
			defer end()
			err := s.authorize(r, fullMethod(route.Method))
			query := url.Values{}
			if err == nil {
				query, err = parameters(r)
			}
			if err == nil {
				err = handle(w, r.WithContext(withHeaders(r.Context(), r.Header)), route, query)
			}
			if err != nil {
				writeError(w, err)
			}
		})
		byPath[route.pattern()] = append(byPath[route.pattern()], route.Verb)
	}
	for path, verbs := range byPath {
		mux.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Allow", strings.Join(verbs, ", "))
			writeStatus(w, http.StatusMethodNotAllowed,
				status.Newf(codes.Unimplemented, "%.20s is not supported here; use %s", r.Method,
					strings.Join(verbs, " or ")))
		})
	}
}

// unary answers a request by one call.
func (s *Server) unary(w http.ResponseWriter, r *http.Request, route Route, query url.Values) error {
	in, err := s.read(w, r, route, query)
	if err != nil {
		return err
	}
	out, err := invoke(r.Context(), route.Method, in)
	if err != nil {
		return err
	}
	return writeMessage(w, out)
}

// writeMessage answers a request with a message in JSON.
func writeMessage(w http.ResponseWriter, m proto.Message) error {
	body, err := marshal(restJSON, m)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", typeJSON)
	_, _ = w.Write(append(body, '\n'))
	return nil
}

// read builds the message of a request from its body, its path and its query.
func (s *Server) read(w http.ResponseWriter, r *http.Request, route Route, query url.Values) (proto.Message, error) {
	p := newMessage(route.Method.Input())
	if route.Body {
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, int64(s.cfg.MaxMessageBytes)))
		if err != nil {
			return nil, err
		}
		if err := unmarshal(body, p); err != nil {
			return nil, err
		}
	}
	used := [][]string{}
	for _, name := range route.parameters() {
		field := p.ProtoReflect().Descriptor().Fields().ByName(protoreflect.Name(name))
		given := p.ProtoReflect().Get(field).String()
		if given != "" && given != r.PathValue(name) {
			return nil, badRequest(name, "%s is %.80q in the body and %.80q in the URL; leave it out of the body", name,
				given, r.PathValue(name))
		}
		p.ProtoReflect().Set(field, protoreflect.ValueOfString(r.PathValue(name)))
		used = append(used, []string{name})
	}
	for _, name := range slices.Sorted(maps.Keys(query)) {
		if p.ProtoReflect().Descriptor().Fields().ByName(protoreflect.Name(name)) == nil &&
			p.ProtoReflect().Descriptor().Fields().ByJSONName(name) == nil {
			return nil, badRequest(name, "the URL has a parameter %.80q, which %s does not have", name, route.Path)
		}
	}
	if err := runtime.PopulateQueryParameters(p, query, utilities.NewDoubleArray(used)); err != nil {
		return nil, badRequest("", "the parameters of the URL cannot be read: %v", err)
	}
	return p, nil
}

// parameters returns the parameters in the URL of a request. A semicolon belongs to a value, as in delimiter=; where
// URL.Query would drop the parameter.
func parameters(r *http.Request) (url.Values, error) {
	query, err := url.ParseQuery(strings.ReplaceAll(r.URL.RawQuery, ";", "%3B"))
	if err != nil {
		return nil, badRequest("", "the parameters of the URL cannot be read: %v", err)
	}
	return query, nil
}

// unmarshal reads a message from JSON. An empty text is an empty message.
func unmarshal(text []byte, p proto.Message) error {
	if len(bytes.TrimSpace(text)) == 0 {
		return nil
	}
	err := protojson.Unmarshal(text, p)
	if err == nil {
		return nil
	}
	if !json.Valid(text) {
		return badRequest("", "the body is not JSON: %v", json.Unmarshal(text, new(json.RawMessage)))
	}
	_, reason, _ := strings.Cut(err.Error(), ":") // without "proto", which protojson varies on purpose
	return badRequest("", "the body is not a %s: %s", p.ProtoReflect().Descriptor().Name(),
		strings.TrimSpace(strings.ReplaceAll(reason, "\u00a0", " ")))
}
