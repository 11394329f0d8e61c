package httpapi

import (
	"net"
	"net/http"
	"net/url"
	"os"
	"runtime/debug"
	"slices"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/cleave-project/cleave/internal/observe"
)

// guard refuses requests that a web page makes without permission. A page of another origin could otherwise use
// whatever this machine or its network lets the browser reach, either directly or under a name of its own that it
// makes resolve to the address of the coordinator (DNS rebinding).
func (s *Server) guard(next http.Handler) http.Handler {
	hosts := append([]string{"localhost"}, s.cfg.Hosts...)
	if name, err := os.Hostname(); err == nil {
		hosts = append(hosts, name)
	}
	next = splitVerb(next)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer s.recover(w)
		// The calls that the request becomes have the same id.
		id := observe.RequestIDFor(r.Header.Get(observe.RequestIDHeader))
		r.Header.Set(observe.RequestIDHeader, id)
		w.Header().Set(observe.RequestIDHeader, id)
		w.Header().Set("X-Content-Type-Options", "nosniff")
		if host := hostOf(r.Host); !isKnown(hosts, host, r) {
			writeStatus(w, http.StatusMisdirectedRequest, status.Newf(codes.PermissionDenied,
				"this coordinator is not known as %.100q; the operator can allow the name: coordinator "+
					"--http-host %.100s", host, host))
			return
		}
		origin := r.Header.Get("Origin")
		w.Header().Add("Vary", "Origin")
		switch {
		case origin == "" && r.Header.Get("Sec-Fetch-Site") != "cross-site", sameOrigin(origin, r):
		case !s.allows(origin):
			writeStatus(w, http.StatusForbidden, status.Newf(codes.PermissionDenied,
				"pages of the origin %.100q may not call this coordinator; the operator can allow it: coordinator "+
					"--cors-origin %.100s", origin, origin))
			return
		default:
			allow(w, r, origin)
			if r.Method == http.MethodOptions && r.Header.Get("Access-Control-Request-Method") != "" {
				w.WriteHeader(http.StatusNoContent)
				return
			}
		}
		next.ServeHTTP(w, r)
	})
}

// recover answers a request whose handler panicked. A response that has begun is cut off, so that the client does not
// take it for complete.
func (s *Server) recover(w http.ResponseWriter) {
	switch p := recover(); p {
	case nil:
	case http.ErrAbortHandler:
		panic(p)
	default:
		s.cfg.Logger.Error("a request panicked", "panic", p, "stack", string(debug.Stack()))
		if w.Header().Get("Content-Type") != "" {
			panic(http.ErrAbortHandler)
		}
		writeError(w, status.Errorf(codes.Internal, "this is a defect in Cleave, please report it: %v", p))
	}
}

// hostOf returns the name in a Host header, without the port.
func hostOf(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	return strings.ToLower(strings.Trim(strings.TrimSuffix(host, "."), "[]"))
}

// isKnown reports whether clients may call the server by a name. An address cannot be made to resolve to another one,
// and a client of a TLS connection has checked that the certificate is for the name.
func isKnown(hosts []string, host string, r *http.Request) bool {
	if net.ParseIP(strings.Split(host, "%")[0]) != nil || slices.ContainsFunc(hosts, func(h string) bool {
		return strings.EqualFold(h, host)
	}) {
		return true
	}
	c, _ := r.Context().Value(callerKey{}).(*caller)
	if c == nil || c.client.TLS() == nil {
		return false
	}
	return host != "" && strings.EqualFold(c.client.TLS().ServerName, host)
}

// sameOrigin reports whether an origin is that of the server itself.
func sameOrigin(origin string, r *http.Request) bool {
	u, err := url.Parse(origin)
	return err == nil && u.Host != "" && strings.EqualFold(u.Host, r.Host)
}

func (s *Server) allows(origin string) bool {
	return origin != "" && slices.ContainsFunc(s.cfg.Origins, func(allowed string) bool {
		return allowed == "*" || strings.EqualFold(strings.TrimSuffix(allowed, "/"), origin)
	})
}

// allow adds the headers that let a page of another origin read the response.
func allow(w http.ResponseWriter, r *http.Request, origin string) {
	header := w.Header()
	header.Set("Access-Control-Allow-Origin", origin)
	header.Set("Access-Control-Expose-Headers",
		"Grpc-Status, Grpc-Message, Grpc-Status-Details-Bin, X-Request-Id, Retry-After, Content-Disposition")
	if r.Method == http.MethodOptions {
		header.Set("Access-Control-Allow-Methods", "GET, POST, DELETE")
		header.Set("Access-Control-Allow-Headers",
			"Accept, Authorization, Content-Type, Last-Event-ID, X-Request-Id, "+
				"Connect-Protocol-Version, Connect-Timeout-Ms, Grpc-Timeout, X-Grpc-Web, X-User-Agent")
		header.Set("Access-Control-Max-Age", "7200")
	}
}
