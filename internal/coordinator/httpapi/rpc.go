package httpapi

import (
	"context"
	"errors"
	"io"
	"net/http"

	"connectrpc.com/connect"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// addRPC adds all methods in the protocols Connect, gRPC-Web and gRPC.
func (s *Server) addRPC(mux *http.ServeMux) {
	for _, method := range methods() {
		s.addMethod(mux, method)
	}
	s.addMethod(mux, healthv1.File_grpc_health_v1_health_proto.Services().ByName("Health").Methods().ByName("Check"))
}

// anyMessage is a message of any type, for handlers that serve all methods alike.
type anyMessage struct{ proto.Message }

func (s *Server) addMethod(mux *http.ServeMux, method protoreflect.MethodDescriptor) {
	path := fullMethod(method)
	options := []connect.HandlerOption{
		connect.WithSchema(method), connect.WithReadMaxBytes(s.cfg.MaxMessageBytes),
		connect.WithRequestInitializer(func(_ connect.Spec, v any) error {
			v.(*anyMessage).Message = newMessage(method.Input())
			return nil
		}),
	}
	var handler http.Handler
	switch {
	case method.IsStreamingClient():
		handler = connect.NewClientStreamHandler(path,
			func(ctx context.Context, in *connect.ClientStream[anyMessage]) (*connect.Response[anyMessage], error) {
				return s.receiveAll(ctx, method, in)
			}, options...)
	case method.IsStreamingServer():
		handler = connect.NewServerStreamHandler(path,
			func(ctx context.Context, in *connect.Request[anyMessage], out *connect.ServerStream[anyMessage]) error {
				return sendAll(ctx, method, in, out)
			}, options...)
	default:
		handler = connect.NewUnaryHandler(path,
			func(ctx context.Context, in *connect.Request[anyMessage]) (*connect.Response[anyMessage], error) {
				out, err := invoke(withHeaders(ctx, in.Header()), method, in.Msg.Message)
				if err != nil {
					return nil, connectError(err)
				}
				return connect.NewResponse(&anyMessage{out}), nil
			}, options...)
	}
	refused := connect.NewErrorWriter(options...)
	mux.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) {
		if err := s.authorize(r, path); err != nil {
			_ = refused.Write(w, r, connectError(err))
			return
		}
		w, r = s.timed(w, r)
		r, end := s.counted(unpacked(r), method, connectError)
		defer end()
		handler.ServeHTTP(w, r)
	})
}

// sendAll answers a request by the messages of a call.
func sendAll(ctx context.Context, method protoreflect.MethodDescriptor, in *connect.Request[anyMessage],
	out *connect.ServerStream[anyMessage]) error {
	ctx, cancel := context.WithCancel(withHeaders(ctx, in.Header()))
	defer cancel()
	stream, err := request(ctx, method, in.Msg.Message)
	if err != nil {
		return connectError(err)
	}
	for {
		m := newMessage(method.Output())
		err := stream.RecvMsg(m)
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return connectError(err)
		}
		if err := out.Send(&anyMessage{m}); err != nil {
			return err
		}
	}
}

// receiveAll makes a call with the messages of a request.
func (s *Server) receiveAll(ctx context.Context, method protoreflect.MethodDescriptor,
	in *connect.ClientStream[anyMessage]) (*connect.Response[anyMessage], error) {
	ctx, cancel := context.WithCancel(withHeaders(ctx, in.RequestHeader()))
	defer cancel()
	stream, err := open(ctx, method)
	if err != nil {
		return nil, connectError(err)
	}
	held, _ := s.cfg.Memory.ReserveNow(0)
	defer held.Release()
	for err == nil && in.Receive() {
		if err := cover(held, proto.Size(in.Msg().Message)); err != nil {
			return nil, connectError(err)
		}
		err = stream.SendMsg(in.Msg().Message) // io.EOF if the call has ended; RecvMsg returns why
	}
	if in.Err() != nil {
		return nil, in.Err()
	}
	out := newMessage(method.Output())
	if err = stream.CloseSend(); err == nil {
		err = stream.RecvMsg(out)
	}
	if err != nil {
		return nil, connectError(err)
	}
	return connect.NewResponse(&anyMessage{out}), nil
}

// connectError converts the error of a call.
func connectError(err error) error {
	s := statusOf(err)
	converted := connect.NewError(connect.Code(s.Code()), errors.New(s.Message()))
	for _, detail := range s.Details() {
		p, is := detail.(proto.Message)
		if !is {
			continue
		}
		if d, err := connect.NewErrorDetail(p); err == nil {
			converted.AddDetail(d)
		}
	}
	return converted
}
