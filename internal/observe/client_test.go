package observe

import (
	"bytes"
	"strings"
	"testing"

	"github.com/hashicorp/go-hclog"
	"google.golang.org/grpc/metadata"
)

// A client passes on the trace that it is part of, even if it cannot send spans of its own.
func TestClientsPassOnTheirTrace(t *testing.T) {
	const parent = "00-0123456789abcdef0123456789abcdef-0123456789abcdef-01"
	for name, c := range map[string]struct{ endpoint, warns string }{
		"no spans of its own": {"", ""},
		"nowhere to send":     {"nonsense", "there is no trace"},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			environment := map[string]string{"TRACEPARENT": parent, "OTEL_EXPORTER_OTLP_ENDPOINT": c.endpoint}
			ctx, end := StartClient(t.Context(), "cleave run", "v1", func(name string) string {
				return environment[name]
			},
				hclog.New(&hclog.LoggerOptions{Output: &out}))
			end(false)
			sent, _ := metadata.FromOutgoingContext(ctx)
			if got := sent.Get("traceparent"); len(got) != 1 || got[0] != parent {
				t.Errorf("calls have the parent %q", got)
			}
			if says := out.String(); !strings.Contains(says, c.warns) || (says == "") != (c.warns == "") {
				t.Errorf("logged %q", says)
			}
		})
	}
	ctx, end := StartClient(t.Context(), "cleave run", "v1", func(string) string { return "" }, hclog.NewNullLogger())
	end(true)
	if _, any := metadata.FromOutgoingContext(ctx); any {
		t.Error("calls have metadata although there is no trace")
	}
}
