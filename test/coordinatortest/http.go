package coordinatortest

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
)

// HTTPClient is an HTTP client of a test.
type HTTPClient struct {
	*http.Client
	t *testing.T
}

// HTTPClient returns an HTTP client of the coordinator, by HTTP/1.1 or, with two, by HTTP/2.
func (h *Harness) HTTPClient(config *tls.Config, two bool) HTTPClient {
	protocols := new(http.Protocols)
	protocols.SetHTTP1(!two)
	protocols.SetUnencryptedHTTP2(two && config == nil)
	protocols.SetHTTP2(two && config != nil)
	transport := &http.Transport{
		DialContext:     func(ctx context.Context, _, _ string) (net.Conn, error) { return h.Dial(ctx) },
		TLSClientConfig: config, Protocols: protocols,
	}
	h.T.Cleanup(transport.CloseIdleConnections)
	return HTTPClient{&http.Client{Transport: transport}, h.T}
}

// Answer is a response with its body.
type Answer struct {
	Status int
	Header http.Header
	Body   string
}

// Ask makes a request. headers are names and values in turn. It checks that the response, whatever it is, has an id.
func (c HTTPClient) Ask(method, url, body string, headers ...string) Answer {
	t := c.t
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for at := 0; at < len(headers); at += 2 {
		request.Header.Set(headers[at], headers[at+1])
		if headers[at] == "Host" {
			request.Host = headers[at+1]
		}
	}
	response, err := c.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	if got, sent := response.Header.Get("X-Request-Id"), request.Header.Get("X-Request-Id"); got == "" ||
		sent != "" && got != sent {
		t.Errorf("%s %s: the id of the request is %q, and that of the response %q", method, url, sent, got)
	}
	return Answer{response.StatusCode, response.Header, string(text)}
}

// Field returns a value in the JSON of an answer.
func (a Answer) Field(t *testing.T, path ...string) any {
	t.Helper()
	var value any
	if err := json.Unmarshal([]byte(a.Body), &value); err != nil {
		t.Fatalf("%v: %s", err, a.Body)
	}
	for _, name := range path {
		value = value.(map[string]any)[name]
	}
	return value
}
