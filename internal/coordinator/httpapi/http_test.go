package httpapi_test

import (
	"archive/zip"
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"connectrpc.com/connect"
	"github.com/parquet-go/parquet-go"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	workerv1 "github.com/cleave-project/cleave/gen/cleave/worker/v1"
	"github.com/cleave-project/cleave/internal/coordinator"
	"github.com/cleave-project/cleave/internal/coordinator/httpapi"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/test/coordinatortest"
)

// A job by plain HTTP, from the upload of a file to its labels in every format, over HTTP/1.1 and HTTP/2.
func TestAJobOverHTTP(t *testing.T) {
	for _, two := range []bool{false, true} {
		h := coordinatortest.StartScripted(t, coordinatortest.Config(), coordinatortest.Steps(3))
		client := h.HTTPClient(nil, two)
		const base = "http://localhost"
		uploaded := client.Ask("POST", base+"/v1/datasets?format=csv&display_name=line", "x\n0\n10\n1\n11\n",
			"X-Request-Id", "mine")
		id, _ := uploaded.Field(t, "dataset", "datasetId").(string)
		if uploaded.Status != 200 || id != h.Upload() {
			t.Fatalf("%+v", uploaded)
		}
		if parts := client.Ask("POST", base+"/v1/datasets",
			`{"header": {"points": {"columns": 1}}}{"values": {"values": [0, 10]}}
			{"values": {"values": [1, 11]}}`, "Content-Type", "application/x-ndjson"); parts.Field(t, "dataset",
			"datasetId") != id {
			t.Errorf("%+v", parts)
		}

		job := fmt.Sprintf(`{"requestId": "once", "displayName": "by curl", "spec": {"datasetId": %q, "k": 2, `+
			`"kernelKmeans": {}}}`, id)
		created := client.Ask("POST", base+"/v1/jobs", job)
		jobID, _ := created.Field(t, "job", "jobId").(string)
		if again := client.Ask("POST", base+"/v1/jobs", job); again.Field(t, "job", "jobId") != jobID {
			t.Errorf("a repeated request made another job: %+v", again)
		}
		path := base + "/v1/jobs/" + jobID

		events := client.Ask("GET", path+"/events", "")
		want, _ := h.Watch(jobID, 0)
		var numbers []float64
		for line := range strings.Lines(events.Body) {
			if n, is := (coordinatortest.Answer{Body: line}).Field(t, "event").(map[string]any); is {
				numbers = append(numbers, n["sequence"].(float64))
			}
		}
		if events.Header.Get("Content-Type") != "application/x-ndjson" || len(numbers) != len(want) ||
			!slices.IsSorted(numbers) {
			t.Errorf("%d of %d events: %v", len(numbers), len(want), numbers)
		}

		stream := client.Ask("GET", path+"/events", "", "Accept", "text/event-stream", "Last-Event-ID", "2")
		if !strings.HasPrefix(stream.Body, "id: 3\ndata: {") || !strings.HasSuffix(stream.Body, "}\n\n") ||
			strings.Count(stream.Body, "\nid: ") != len(want)-3 {
			t.Errorf("%s", stream.Body)
		}
		if over := client.Ask("GET", path+"/events", "", "Accept", "text/event-stream", "Last-Event-ID",
			fmt.Sprint(len(want))); over.Status != http.StatusNoContent {
			t.Errorf("an EventSource would connect again and again: %+v", over)
		}

		if got := client.Ask("GET", path+"/labels", ""); got.Body != `{"labels":[0,1,0,1]}`+"\n" {
			t.Errorf("%s", got.Body)
		}
		if got := client.Ask("GET", path+"/labels", "", "Accept",
			"text/html;q=0.5, text/csv"); got.Body != "index,label\n0,0\n1,1\n2,0\n3,1\n" ||
			got.Header.Get("Content-Type") != "text/csv" {
			t.Errorf("%+v", got)
		}
		file := client.Ask("GET", path+"/labels", "", "Accept", "application/vnd.apache.parquet")
		rows, err := parquet.Read[struct {
			Index int64 `parquet:"index"`
			Label int64 `parquet:"label"`
		}](strings.NewReader(file.Body), int64(len(file.Body)))
		if err != nil || len(rows) != 4 || rows[3].Index != 3 || rows[3].Label != 1 {
			t.Errorf("%v, %v", rows, err)
		}
		if kind, name := file.Header.Get("Content-Type"),
			file.Header.Get("Content-Disposition"); kind != "application/vnd.apache.parquet" ||
			name != "attachment; filename=labels.parquet" {
			t.Errorf("the headers of a Parquet file: %q, %q", kind, name)
		}
		if got := client.Ask("GET", path+"/labels?format=jsonl&first_index=2",
			""); got.Body != `{"firstIndex":2,"labels":[0,1],"rows":[],"ids":[]}`+"\n" {
			t.Errorf("%s", got.Body)
		}

		if got := client.Ask("GET", path+"/result",
			""); got.Field(t, "result", "stopReason") != "STOP_REASON_CONVERGED" {
			t.Errorf("%s", got.Body)
		}
		if got := client.Ask("GET", base+"/v1/jobs?states=JOB_STATE_SUCCEEDED&page_size=5",
			""); len(got.Field(t, "jobs").([]any)) != 1 {
			t.Errorf("%s", got.Body)
		}
		if got := client.Ask("GET", base+"/v1/jobs?name_contains=nothing",
			""); got.Body != `{"jobs":[],"nextPageToken":""}`+"\n" {
			t.Errorf("%s", got.Body)
		}
		if got := client.Ask("POST", path+":cancel", ""); got.Field(t, "job", "state") != "JOB_STATE_SUCCEEDED" {
			t.Errorf("%s", got.Body)
		}
		if got := client.Ask("DELETE", path, ""); got.Status != 200 {
			t.Errorf("%+v", got)
		}
		if got := client.Ask("GET", path, ""); got.Status != 404 {
			t.Errorf("%+v", got)
		}
	}
}

// Errors are the JSON of google.rpc.Status with the status of HTTP that fits.
func TestErrorsOverHTTP(t *testing.T) {
	cfg := coordinatortest.Config()
	cfg.MaxDatasetBytes, cfg.MaxMessageBytes, cfg.UploadBytes = 10_000, 2_000, 30_000
	h := coordinatortest.StartScripted(t, cfg, coordinatortest.Steps(1))
	id := h.Upload()
	client := h.HTTPClient(nil, false)
	large := strings.Repeat("1,2,3\n", 5_000)
	for _, c := range []struct {
		method, path, body string
		status             int
		code               float64
		words              string
	}{
		{"GET", "/v1/jobs/none", "", 404, 5, "there is no job"},
		{"GET", "/v1/job", "", 404, 5, "/v1/openapi.json"},
		{"GET", "/v1/uploads/morning:1", "", 404, 5, `there is no partial upload "morning:1"`},
		{"POST", "/v1/jobs/none:stop", "{}", 405, 12, "use GET or DELETE"},
		{"PUT", "/v1/jobs/none", "", 405, 12, "use GET or DELETE"},
		{"POST", "/v1/jobs", `{"spec": `, 400, 3, "not JSON"},
		{"POST", "/v1/jobs", `{"spec": {"kk": 3}}`, 400, 3, `unknown field "kk"`},
		{"POST", "/v1/jobs", fmt.Sprintf(`{"spec": {"datasetId": %q, "k": 9}}`, id), 400, 3, "k is 9"},
		{"POST", "/v1/jobs", `{"spec": "` + strings.Repeat("x", 3_000) + `"}`, 413, 8, "larger than 2000 bytes"},
		{"POST", "/v1/jobs/a:cancel", `{"jobId": "b"}`, 400, 3, "leave it out of the body"},
		{"GET", "/v1/jobs?pagesize=3", "", 400, 3, `"pagesize"`},
		{"GET", "/v1/jobs?page_size=x", "", 400, 3, "page_size"},
		{"GET", "/v1/jobs/x/labels?format=xlsx", "", 400, 3, "use json, csv, parquet or jsonl"},
		{"POST", "/v1/datasets", "1,2", 400, 3, "?format=csv"},
		{"POST", "/v1/datasets?format=csv", "a,b\n1,2\n3,red\n", 400, 3, `column "b" holds text`},
		{"POST", "/v1/datasets?format=csv", "a,b\n1,2\n3,\n", 400, 3, `row 1 has no value in column "b"`},
		{"POST", "/v1/datasets?format=csv", "1,2\n3,4,5\n", 400, 3, "the body, line 2"},
		{"POST", "/v1/datasets?format=csv", large, 413, 8, "larger than 10000 bytes"},
		{"POST", "/v1/tables?format=csv", large, 413, 8, "larger than 10000 bytes"},
		{"POST", "/v1/datasets?format=csv&kind=points", large, 413, 8, "larger than 10000 bytes"},
		{"POST", "/v1/datasets?format=csv&kind=kernel", large, 413, 8, "larger than 3000 bytes"},
		{"POST", "/v1/datasets?format=csv&kind=kernel&delimiter=;", "1;0\n0;1\n", 400, 3, `"delimiter"`},
		{"POST", "/v1/datasets?format=metis&header=no&decimals=,", "2 1\n2\n1\n", 400, 3, `"decimals"`},
		{"POST", "/v1/tables?format=csv&kind=points", "1,2\n", 400, 3, `"kind"`},
		{"POST", "/v1/datasets?format=npy", "no array", 400, 3, "the body"},
		{"POST", "/v1/datasets?format=csv&kind=tree", "1,2\n", 400, 3, "points, sparse, kernel or graph"},
		{"POST", "/v1/datasets?format=xyz", "1,2\n", 400, 3, `the format "xyz" is not supported; use one of csv, `},
		{"POST", "/v1/datasets?format=csv&shade=red", "1,2\n", 400, 3, `"shade"`},
		{"POST", "/v1/tables?format=parquet", "PAR1", 400, 3, "the body"},
		{"POST", "/v1/datasets", `{"header": {"points": {}}}`, 400, 3, "?format=csv"},
	} {
		got := client.Ask(c.method, "http://127.0.0.1:7400"+c.path, c.body)
		if message, _ := got.Field(t, "message").(string); got.Status != c.status || got.Field(t, "code") != c.code ||
			!strings.Contains(message, c.words) {
			t.Errorf("%s %s %.40q: %d %s", c.method, c.path, c.body, got.Status, got.Body)
		}
	}
	if got := client.Ask("GET", "http://localhost/v1/jobs/none", ""); !strings.Contains(got.Body,
		`"reason":"JOB_NOT_FOUND"`) {
		t.Errorf("the reason is missing: %s", got.Body)
	}
	if got := client.Ask("POST", "http://localhost/v1/jobs", fmt.Sprintf(`{"spec": {"datasetId": %q, "k": 9}}`,
		id)); !strings.Contains(got.Body, `"field":"spec.k"`) {
		t.Errorf("the field is missing: %s", got.Body)
	}
}

// Clients that send the body of an upload slowly do not keep others from theirs.
func TestSlowUploadsOverHTTP(t *testing.T) {
	h := coordinatortest.StartScripted(t, coordinatortest.Config(), coordinatortest.Steps(1))
	client := h.HTTPClient(nil, false)
	var slow sync.WaitGroup
	var bodies []*io.PipeWriter
	for range 3 {
		body, sender := io.Pipe()
		request, err := http.NewRequestWithContext(t.Context(), "POST", "http://localhost/v1/datasets?format=metis",
			body)
		if err != nil {
			t.Fatal(err)
		}
		slow.Go(func() {
			response, err := client.Do(request)
			if err != nil {
				t.Error(err)
				return
			}
			response.Body.Close()
			if response.StatusCode != 200 {
				t.Errorf("a slow upload got %s", response.Status)
			}
		})
		// more than connections buffer
		if _, err := io.WriteString(sender, strings.Repeat("% a comment\n", 1<<19)+"3 2\n"); err != nil {
			t.Fatal(err)
		}
		bodies = append(bodies, sender)
	}
	if got := client.Ask("POST", "http://localhost/v1/datasets?format=metis", "2 1\n2\n1\n"); got.Status != 200 {
		t.Errorf("%+v", got)
	}
	for _, sender := range bodies {
		if _, err := io.WriteString(sender, "2\n1 3\n2\n"); err != nil {
			t.Error(err)
		}
		sender.Close()
	}
	slow.Wait()
}

// A body that cannot be read is the client's fault, and nothing is stored.
func TestBodiesThatCannotBeRead(t *testing.T) {
	h := coordinatortest.StartScripted(t, coordinatortest.Config(), coordinatortest.Steps(1))
	for _, c := range []struct{ path, kind, body string }{
		{"/v1/tables?format=csv", "", "a,b\n1,2\n"},
		{"/v1/datasets?format=csv", "", "a,b\n1,2\n"},
		{"/v1/datasets?format=metis", "", "2 1\n2\n1\n"},
		{"/v1/datasets", "application/x-ndjson", `{"header": {"points": {"columns": 1}}}{"values": {"values": [0]}}`},
		{"/v1/jobs:plan", "", `{"spec":{}}`},
		{"/cleave.v1.JobService/PlanJob", "application/json", `{"spec":{}}`},
	} {
		conn, err := h.Listener.Dial(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Type: %s\r\nTransfer-Encoding: "+
			"chunked\r\n\r\n%x\r\n%s\r\nnot a chunk\r\n",
			c.path, c.kind, len(c.body), c.body)
		response, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(response.Body)
		if err != nil || response.StatusCode != http.StatusBadRequest ||
			!strings.Contains(string(text), "the request body cannot be read: ") {
			t.Errorf("%s: %s, %s, %v", c.path, response.Status, text, err)
		}
		conn.Close()
	}
	for _, list := range []string{"tables", "datasets"} {
		if got := h.HTTPClient(nil, false).Ask("GET", "http://localhost/v1/"+list,
			""); len(got.Field(t, list).([]any)) != 0 {
			t.Errorf("%s", got.Body)
		}
	}
}

// Files of every form are stored as the data sets that gRPC stores.
func TestUploadsOfFilesOverHTTP(t *testing.T) {
	h := coordinatortest.StartScripted(t, coordinatortest.Config(), coordinatortest.Steps(1))
	client := h.HTTPClient(nil, false)
	for _, c := range []struct{ query, body, kind string }{
		{"datasets?format=tsv", "a\tb\n1\t2\n3\t4\n", "DATASET_KIND_POINTS"},
		{"datasets?format=csv&header=no&decimals=,&delimiter=;", "1,5;2\n3;4\n", "DATASET_KIND_POINTS"},
		{"datasets?format=svmlight", "1 1:2 3:4\n0 2:1\n", "DATASET_KIND_SPARSE_POINTS"},
		{"datasets?format=csv&kind=graph", "src,dst,weight\n0,1,1\n1,2,0.5\n", "DATASET_KIND_GRAPH"},
		{"datasets?format=csv&kind=kernel", "1,0.5\n0.5,1\n", "DATASET_KIND_KERNEL"},
		{"datasets?format=metis", "3 2\n2\n1 3\n2\n", "DATASET_KIND_GRAPH"},
	} {
		got := client.Ask("POST", "http://localhost/v1/"+c.query, c.body)
		if got.Status != 200 || got.Field(t, "dataset", "kind") != c.kind {
			t.Errorf("%s: %+v", c.query, got)
		}
	}
	// The last row turns a column of numbers into words, after much was sent.
	var table bytes.Buffer
	table.WriteString("code,value\n")
	for row := range 200_000 {
		fmt.Fprintf(&table, "%d,%d\n", row%7, row)
	}
	table.WriteString("A7,1\n")
	got := client.Ask("POST", "http://localhost/v1/tables", table.String(), "Content-Type",
		"text/csv; charset=utf-8")
	if columns, _ := got.Field(t, "table", "columns").([]any); got.Status != 200 || len(columns) != 2 ||
		columns[0].(map[string]any)["type"] != "COLUMN_TYPE_TEXT" || got.Field(t, "table", "rows") != 200_001.0 {
		t.Errorf("%+v", got)
	}
}

// Whoever uploads a file learns how it was read, as from the command line.
func TestNoticesOfUploadsOverHTTP(t *testing.T) {
	h := coordinatortest.StartScripted(t, coordinatortest.Config(), coordinatortest.Steps(1))
	client := h.HTTPClient(nil, false)
	const body = "price;share\n1.234,50 €;12 %\n3 €;7,5 %\n"
	want := []any{`column "price" is read as numbers, without "€" and with "." between thousands`,
		`column "share" is read as numbers, without "%"`}
	for _, path := range []string{"tables", "datasets"} {
		got := client.Ask("POST", "http://localhost/v1/"+path+"?format=csv", body)
		if notices := got.Field(t, "notices"); !reflect.DeepEqual(notices, want) {
			t.Errorf("%s: %v", path, notices)
		}
	}
	if got := client.Ask("POST", "http://localhost/v1/tables?format=csv", body); got.Field(t, "decimals") != "," {
		t.Errorf("%+v", got)
	}
}

// Pages of other origins, and names that could be anyone's, are refused.
func TestPagesOfOtherOrigins(t *testing.T) {
	cfg := coordinatortest.Config()
	cfg.HTTP = coordinator.HTTP{Origins: []string{"https://app.example"}, Hosts: []string{"cleave.example"}}
	cfg.Election.Advertise = "coordinator-1.example:7400"
	h := coordinatortest.StartScripted(t, cfg, coordinatortest.Steps(1))
	client := h.HTTPClient(nil, false)
	const base = "http://localhost:7400"
	for host, status := range map[string]int{
		"localhost:7400": 200, "127.0.0.1": 200, "[::1]:7400": 200, "192.168.1.7:7400": 200, "cleave.example": 200,
		"CLEAVE.example.": 200, "coordinator-1.example:7400": 200,
		"evil.example": 421, "localhost.evil.example": 421, "127.0.0.1.evil.example": 421,
	} {
		if got := client.Ask("GET", base+"/v1/limits", "", "Host", host); got.Status != status {
			t.Errorf("as %s: %+v", host, got)
		}
	}
	for origin, status := range map[string]int{"http://localhost:7400": 200, "https://app.example": 200,
		"https://evil.example": 403, "http://localhost:7401": 403, "null": 403,
		"https://app.example.evil.example": 403} {
		got := client.Ask("POST", base+"/v1/jobs:plan", "{}", "Origin", origin)
		if forbidden := got.Status == 403; forbidden != (status == 403) ||
			(got.Header.Get("Access-Control-Allow-Origin") != "") != (origin == "https://app.example") {
			t.Errorf("from %s: %+v", origin, got)
		}
	}
	if got := client.Ask("GET", base+"/v1/limits", "", "Sec-Fetch-Site", "cross-site"); got.Status != 403 {
		t.Errorf("%+v", got)
	}
	preflight := client.Ask("OPTIONS", base+"/v1/jobs", "", "Origin", "https://app.example",
		"Access-Control-Request-Method", "POST", "Access-Control-Request-Headers", "authorization")
	if preflight.Status != 204 || !strings.Contains(preflight.Header.Get("Access-Control-Allow-Headers"),
		"Authorization") {
		t.Errorf("%+v", preflight)
	}
	if got := client.Ask("OPTIONS", base+"/v1/jobs", "", "Origin", "https://evil.example",
		"Access-Control-Request-Method", "POST"); got.Status != 403 {
		t.Errorf("%+v", got)
	}
	cfg.Listen = "127.0.0.1:0"
	for _, origin := range []string{"app.example", "https://", "https://app.example/page", ""} {
		cfg.HTTP.Origins = []string{origin}
		if _, err := coordinator.New(t.Context(), cfg); !fault.Is(err, "INVALID_CONFIG") {
			t.Errorf("the origin %q: %v", origin, err)
		}
	}
}

// Roles, tokens and certificates mean the same as by gRPC.
func TestCallersOverHTTP(t *testing.T) {
	s := coordinatortest.StartSecured(t, coordinatortest.Config(), coordinatortest.Steps(1))
	ca, err := os.ReadFile(filepath.Join(s.Files.Dir, "ca", "ca.pem"))
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(ca)
	pair, err := tls.LoadX509KeyPair(filepath.Join(s.Files.Dir, "alice", "cert.pem"),
		filepath.Join(s.Files.Dir, "alice", "key.pem"))
	if err != nil {
		t.Fatal(err)
	}
	const base = "https://localhost"
	for _, two := range []bool{false, true} {
		stranger := s.HTTPClient(&tls.Config{RootCAs: roots}, two)
		alice := s.HTTPClient(&tls.Config{RootCAs: roots, Certificates: []tls.Certificate{pair}}, two)
		bearer := func(name string) []string { return []string{"Authorization", "Bearer " + s.Tokens[name]} }

		if got := stranger.Ask("GET", base+"/v1/jobs", ""); got.Status != 401 ||
			got.Header.Get("WWW-Authenticate") != "Bearer" {
			t.Errorf("%+v", got)
		}
		if got := stranger.Ask("GET", base+"/v1/jobs", "", "Authorization", "Bearer wrong"); got.Status != 401 {
			t.Errorf("%+v", got)
		}
		if got := stranger.Ask("POST", base+"/v1/tables?format=csv", "a\n1\n",
			bearer("rita")...); got.Status != 403 {
			t.Errorf("a reader uploads: %+v", got)
		}
		if got := stranger.Ask("POST", base+"/v1/workers/w:drain", "", bearer("alice")...); got.Status != 403 {
			t.Errorf("a submitter drains: %+v", got)
		}
		// With a certificate, alone, and the token of somebody else on the same connection.
		uploaded := alice.Ask("POST", base+"/v1/datasets?format=csv", "x\n0\n10\n1\n11\n")
		id, _ := uploaded.Field(t, "dataset", "datasetId").(string)
		if uploaded.Status != 200 {
			t.Fatalf("%+v", uploaded)
		}
		path := base + "/v1/datasets/" + id
		if got := stranger.Ask("GET", path, "", bearer("alice")...); got.Status != 200 {
			t.Errorf("%+v", got)
		}
		if got := stranger.Ask("GET", path, "", bearer("bob")...); got.Status != 404 {
			t.Errorf("bob sees alice's data: %+v", got)
		}
		if got := stranger.Ask("GET", path, "", bearer("ada")...); got.Status != 200 {
			t.Errorf("%+v", got)
		}
		if got := stranger.Ask("GET", path, ""); got.Status != 401 {
			t.Errorf("the connection kept a token: %+v", got)
		}
	}
}

// The body of an upload is not read before it is known that its sender may upload.
func TestStrangersUploadNothing(t *testing.T) {
	s := coordinatortest.StartSecured(t, coordinatortest.Config(), coordinatortest.Steps(1))
	client := s.HTTPClient(&tls.Config{InsecureSkipVerify: true},
		false) //nolint:gosec // the certificate is not what is tested
	for _, path := range []string{"tables?format=csv", "datasets?format=csv", "datasets?format=npy",
		"datasets?format=csv&kind=graph"} {
		body := &countingReader{}
		request, err := http.NewRequestWithContext(t.Context(), "POST", "https://localhost/v1/"+path, body)
		if err != nil {
			t.Fatal(err)
		}
		response, err := client.Do(request)
		if err != nil {
			continue // the connection was closed while the body was sent
		}
		response.Body.Close()
		if response.StatusCode != 401 || body.read.Load() > 64<<20 {
			t.Errorf("%s: %d after %d bytes", path, response.StatusCode, body.read.Load())
		}
	}
}

// Nothing of a body is read before it is known that its sender may make the call, whatever the protocol.
func TestStrangersSendNoMessages(t *testing.T) {
	s := coordinatortest.StartSecured(t, coordinatortest.Config(), coordinatortest.Steps(1))
	for _, two := range []bool{false, true} {
		client := s.HTTPClient(&tls.Config{InsecureSkipVerify: true},
			two) //nolint:gosec // the certificate is not what is tested
		send := func(path, authorization string) {
			t.Helper()
			body := &countingReader{}
			request, err := http.NewRequestWithContext(t.Context(), "POST", "https://localhost/"+path, body)
			if err != nil {
				t.Fatal(err)
			}
			request.Header.Set("Content-Type", "application/json")
			want := 401
			if authorization != "" {
				request.Header.Set("Authorization", "Bearer "+authorization)
				want = 403
			}
			response, err := client.Do(request)
			if err != nil {
				return // the connection was closed while the body was sent
			}
			response.Body.Close()
			if response.StatusCode != want || body.read.Load() > 8<<20 {
				t.Errorf("%s: %d after %d bytes", path, response.StatusCode, body.read.Load())
			}
		}
		for _, path := range []string{"v1/jobs", "v1/jobs:plan", "cleave.v1.JobService/CreateJob"} {
			send(path, "")
			send(path, s.Tokens["rita"]) // a reader
			if got := client.Ask("POST", "https://localhost/"+path, "x", "Content-Type", "application/json",
				"Authorization", "Bearer "+s.Tokens["alice"]); got.Status != 400 {
				t.Errorf("alice at %s: %d %s", path, got.Status, got.Body)
			}
		}
	}
}

// countingReader is a body without end.
type countingReader struct{ read atomic.Int64 }

func (r *countingReader) Read(p []byte) (int, error) {
	before := int(r.read.Add(int64(len(p)))) - len(p)
	for at := range p {
		p[at] = "1\n"[(before+at)%2]
	}
	return len(p), nil
}

// A body that is held in memory as a whole decompresses to no more than it may have itself.
func TestACompressedBodyIsLimited(t *testing.T) {
	cfg := coordinatortest.Config()
	cfg.MaxDatasetBytes = 1 << 16
	h := coordinatortest.StartScripted(t, cfg, coordinatortest.Steps(1))
	client := h.HTTPClient(nil, false)
	edges := strings.Repeat("0 1\n", 1<<16)
	var packed bytes.Buffer
	gz := gzip.NewWriter(&packed)
	_, _ = io.WriteString(gz, edges)
	gz.Close()
	var archive bytes.Buffer
	zipped := zip.NewWriter(&archive)
	entry, err := zipped.Create("points.npy")
	if err != nil {
		t.Fatal(err)
	}
	const shape = "{'descr': '<f8', 'fortran_order': False, 'shape': (16384, 2), }"
	fmt.Fprintf(entry, "\x93NUMPY\x01\x00%c\x00%s\n", len(shape)+1, shape)
	_, _ = entry.Write(make([]byte, 16384*2*8))
	zipped.Close()
	for format, body := range map[string]string{"edges": packed.String(), "npz": archive.String()} {
		got := client.Ask("POST", "http://localhost/v1/datasets?format="+format, body)
		if got.Status != 429 || !strings.Contains(got.Body, "FILE_TOO_LARGE") || len(body) > 1<<14 {
			t.Errorf("%d bytes of %s: %d %s", len(body), format, got.Status, got.Body)
		}
	}
}

// Connect, gRPC-Web and gRPC reach the same methods through the HTTP server.
func TestRPCProtocols(t *testing.T) {
	h := coordinatortest.StartScripted(t, coordinatortest.Config(), coordinatortest.Steps(2))
	id := h.Create(coordinatortest.Spec(h.Upload()))
	h.End(id)
	want, _ := h.Watch(id, 0)
	for name, options := range map[string][]connect.ClientOption{
		"connect": nil, "connect with JSON": {connect.WithProtoJSON()}, "gRPC-Web": {connect.WithGRPCWeb()},
		"gRPC-Web with JSON": {connect.WithGRPCWeb(), connect.WithProtoJSON()}, "gRPC": {connect.WithGRPC()},
	} {
		// The first request of the connection is not gRPC, so that the HTTP server gets it.
		client := h.HTTPClient(nil, true)
		if got := client.Ask("GET", "http://localhost/v1/limits", ""); got.Status != 200 {
			t.Fatalf("%+v", got)
		}
		const base = "http://localhost/cleave.v1."
		get := connect.NewClient[cleavev1.GetJobRequest, cleavev1.GetJobResponse](client, base+"JobService/GetJob",
			options...)
		job, err := get.CallUnary(t.Context(), connect.NewRequest(&cleavev1.GetJobRequest{JobId: id}))
		if err != nil || job.Msg.GetJob().GetJobId() != id || job.Header().Get("X-Request-Id") == "" {
			t.Fatalf("%s: %v, %v", name, job, err)
		}
		_, err = get.CallUnary(t.Context(), connect.NewRequest(&cleavev1.GetJobRequest{JobId: "none"}))
		if connect.CodeOf(err) != connect.CodeNotFound || len(details(err)) == 0 {
			t.Errorf("%s: %v, %v", name, err, details(err))
		}
		watch := connect.NewClient[cleavev1.WatchJobRequest, cleavev1.WatchJobResponse](client,
			base+"JobService/WatchJob", options...)
		events, err := watch.CallServerStream(t.Context(), connect.NewRequest(&cleavev1.WatchJobRequest{JobId: id}))
		if err != nil {
			t.Fatal(err)
		}
		count := 0
		for events.Receive() {
			if events.Msg().GetEvent() != nil {
				count++
			}
		}
		if events.Err() != nil || count != len(want) {
			t.Errorf("%s: %d of %d events, %v", name, count, len(want), events.Err())
		}
		create := connect.NewClient[cleavev1.CreateDatasetRequest, cleavev1.CreateDatasetResponse](client,
			base+"DatasetService/CreateDataset", options...)
		upload := create.CallClientStream(t.Context())
		_ = upload.Send(&cleavev1.CreateDatasetRequest{
			Part: &cleavev1.CreateDatasetRequest_Header{
				Header: &cleavev1.DatasetHeader{
					Form: &cleavev1.DatasetHeader_Points{Points: &cleavev1.PointsForm{Columns: 1}}}}})
		_ = upload.Send(&cleavev1.CreateDatasetRequest{
			Part: &cleavev1.CreateDatasetRequest_Values{
				Values: &cleavev1.DenseValues{Values: []float64{0, 10, 1, 11}}}})
		stored, err := upload.CloseAndReceive()
		if err != nil || stored.Msg.GetDataset().GetRows() != 4 {
			t.Errorf("%s: %v, %v", name, stored, err)
		}
		// Workers' methods are not among those that HTTP reaches, whatever the protocol.
		attach := connect.NewClient[workerv1.FetchDatasetRequest, workerv1.FetchDatasetResponse](client,
			"http://localhost/cleave.worker.v1.WorkerService/FetchDataset", options...)
		if stream, err := attach.CallServerStream(t.Context(),
			connect.NewRequest(&workerv1.FetchDatasetRequest{})); err == nil {
			if stream.Receive() || connect.CodeOf(stream.Err()) != connect.CodeUnimplemented &&
				connect.CodeOf(stream.Err()) != connect.CodeNotFound {
				t.Errorf("%s: a method of workers answers: %v", name, stream.Err())
			}
		}
	}
}

func details(err error) []*connect.ErrorDetail {
	e, is := errors.AsType[*connect.Error](err)
	if !is {
		return nil
	}
	return e.Details()
}

// A watch of a job that does nothing begins at once, ends when the coordinator shuts down, and says so.
func TestWatchingOverHTTPEndsWithTheCoordinator(t *testing.T) {
	g := coordinatortest.NewBarrier()
	h := coordinatortest.StartScripted(t, coordinatortest.Config(), g.Run)
	id := h.Create(coordinatortest.Spec(h.Upload()))
	<-g.Entered
	client := h.HTTPClient(nil, false)
	request, err := http.NewRequestWithContext(t.Context(), "GET", "http://localhost/v1/jobs/"+id+"/events", nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Accept", "text/event-stream")
	response, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	lines := bufio.NewReader(response.Body)
	for line := ""; !strings.Contains(line, `"iteration"`); {
		if line, err = lines.ReadString('\n'); err != nil {
			t.Fatal(err)
		}
	}
	var closing sync.WaitGroup
	closing.Go(h.Close)
	rest, err := io.ReadAll(lines)
	closing.Wait()
	if err != nil || !strings.Contains(string(rest), "event: failure\ndata: {\"code\":14") ||
		!strings.Contains(string(rest), "SHUTTING_DOWN") {
		t.Errorf("%s %v", rest, err)
	}
}

// A client that leaves ends the call that was made for it.
func TestAClientThatLeavesEndsItsCall(t *testing.T) {
	g := coordinatortest.NewBarrier()
	h := coordinatortest.StartScripted(t, coordinatortest.Config(), g.Run)
	id := h.Create(coordinatortest.Spec(h.Upload()))
	<-g.Entered
	ctx, leave := context.WithCancel(t.Context())
	request, err := http.NewRequestWithContext(ctx, "GET", "http://localhost/v1/jobs/"+id+"/events", nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := h.HTTPClient(nil, false).Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	h.Settle(0, 1)
	leave()
	h.Settle(0, 0)
}

// The document that is served describes all URLs.
func TestTheOpenAPIDocument(t *testing.T) {
	h := coordinatortest.StartScripted(t, coordinatortest.Config(), coordinatortest.Steps(1))
	got := h.HTTPClient(nil, false).Ask("GET", "http://localhost/v1/openapi.json", "")
	paths, _ := got.Field(t, "paths").(map[string]any)
	for _, route := range httpapi.Routes() {
		operations, _ := paths[route.Path].(map[string]any)
		if operations[strings.ToLower(route.Verb)] == nil {
			t.Errorf("%s %s is missing", route.Verb, route.Path)
		}
	}
}

// The copies of uploads leave free what the disk must have left. Tables need a copy only if they have to be read again.
func TestUploadsOverHTTPLeaveTheDiskFree(t *testing.T) {
	cfg := coordinatortest.Config()
	cfg.Limits.FreeDisk = 1 << 60
	h := coordinatortest.StartScripted(t, cfg, coordinatortest.Steps(1))
	client := h.HTTPClient(nil, false)
	edge, row := "0 1\n", "1,2\n"
	long := 2 << 20 / len(edge) // shorter copies are kept in memory
	for _, upload := range []struct {
		path, body string
		status     int
	}{
		{"/v1/datasets?kind=graph&format=edges", edge, http.StatusOK},
		{"/v1/datasets?kind=graph&format=edges", strings.Repeat(edge, long), http.StatusTooManyRequests},
		{"/v1/tables?format=csv", strings.Repeat(row, long), http.StatusOK},
	} {
		a := client.Ask("POST", "http://localhost"+upload.path, upload.body)
		if a.Status != upload.status || a.Status != http.StatusOK && !strings.Contains(a.Body, "TMPDIR") {
			t.Errorf("%d bytes to %s: %d, %.300s", len(upload.body), upload.path, a.Status, a.Body)
		}
	}
}
