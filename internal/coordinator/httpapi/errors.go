package httpapi

import (
	"errors"
	"math"
	"net/http"
	"strconv"

	"github.com/grpc-ecosystem/grpc-gateway/v2/runtime"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/wire"
)

// statusOf converts an error to a status of gRPC.
func statusOf(err error) *status.Status {
	if tooLarge, is := errors.AsType[*http.MaxBytesError](err); is {
		return status.Newf(codes.ResourceExhausted,
			"the body of the request is larger than %d bytes, the limit of this coordinator", tooLarge.Limit)
	}
	return status.Convert(wire.Status(err))
}

// httpStatus returns the HTTP status of an error.
func httpStatus(s *status.Status, err error) int {
	if _, is := errors.AsType[*http.MaxBytesError](err); is {
		return http.StatusRequestEntityTooLarge
	}
	return runtime.HTTPStatusFromCode(s.Code())
}

// errorJSON returns an error as the JSON of a google.rpc.Status.
func errorJSON(s *status.Status) []byte {
	body, err := marshal(protojson.MarshalOptions{}, s.Proto())
	if err != nil { // a detail of a type that is not linked in
		body, _ = marshal(protojson.MarshalOptions{}, status.New(s.Code(), s.Message()).Proto())
	}
	return body
}

// writeError answers a request with an error: the JSON of a google.rpc.Status.
func writeError(w http.ResponseWriter, err error) {
	s := statusOf(err)
	header := w.Header()
	header.Set("Cache-Control", "no-store")
	switch s.Code() {
	case codes.Unauthenticated:
		header.Set("WWW-Authenticate", "Bearer")
	case codes.Unavailable, codes.ResourceExhausted:
		for _, detail := range s.Details() {
			if retry, is := detail.(*errdetails.RetryInfo); is {
				header.Set("Retry-After", strconv.Itoa(int(math.Ceil(retry.GetRetryDelay().AsDuration().Seconds()))))
			}
		}
	}
	writeStatus(w, httpStatus(s, err), s)
}

// writeStatus answers with an error and a status of HTTP.
func writeStatus(w http.ResponseWriter, code int, s *status.Status) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_, _ = w.Write(append(errorJSON(s), '\n'))
}

// badRequest returns an error about a request that never becomes a call.
func badRequest(field, format string, args ...any) error {
	err := fault.Invalid("BAD_REQUEST", format, args...)
	if field != "" {
		err = err.OnField(field)
	}
	return err
}
