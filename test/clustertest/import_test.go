package clustertest

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"gocloud.dev/blob"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/data/table"
	"github.com/cleave-project/cleave/internal/format"
	"github.com/cleave-project/cleave/internal/wire"
	"github.com/cleave-project/cleave/test/testscale"
)

// importStore is an object store whose traffic passes a proxy of the test.
type importStore struct {
	*ObjectStore
	t      *testing.T
	link   string // the address of the proxy
	bucket *blob.Bucket

	mu      sync.Mutex
	hold    chan struct{} // while it is set, reads wait until it is closed
	waiting chan struct{} // has a value for each read that waits
}

func startImportStore(t *testing.T) *importStore {
	t.Helper()
	o := &importStore{ObjectStore: StartObjectStore(t), t: t, link: FreeAddress(t), waiting: make(chan struct{}, 1000)}
	proxy := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(&url.URL{Scheme: "http", Host: o.address})
			r.Out.Host = r.In.Host // it is signed
		},
		ErrorLog: log.New(io.Discard, "", 0),
	}
	server := &http.Server{Addr: o.link, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		o.mu.Lock()
		hold := o.hold
		o.mu.Unlock()
		if hold != nil && r.Method == http.MethodGet && r.Header.Get("Range") != "" {
			o.waiting <- struct{}{}
			select {
			case <-hold:
			case <-r.Context().Done():
				return
			}
		}
		proxy.ServeHTTP(w, r)
	})}
	ended := make(chan error, 1)
	go func() { ended <- server.ListenAndServe() }()
	t.Cleanup(func() {
		_ = server.Close()
		if err := <-ended; !errors.Is(err, http.ErrServerClosed) {
			t.Error(err)
		}
	})
	opened, err := blob.OpenBucket(t.Context(), o.url())
	o.bucket = must(t, opened, err)
	t.Cleanup(func() { _ = o.bucket.Close() })
	return o
}

// allow returns a rule for a prefix of the bucket.
func (o *importStore) allow(who, prefix string) string {
	return fmt.Sprintf("--import-allow=%s=s3://%s/%s?region=us-east-1&use_path_style=true&endpoint=http://%s", who,
		bucket, prefix, o.link)
}

func (o *importStore) put(key string, content []byte) {
	o.t.Helper()
	if err := o.bucket.WriteAll(context.WithoutCancel(o.t.Context()), key, content, nil); err != nil {
		o.t.Fatal(err)
	}
}

// stopReads makes reads of objects wait.
func (o *importStore) stopReads() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.hold = make(chan struct{})
}

// awaitReads waits until so many reads wait.
func (o *importStore) awaitReads(count int) {
	o.t.Helper()
	for range count {
		select {
		case <-o.waiting:
		case <-o.t.Context().Done():
			o.t.Fatal("no reads wait")
		}
	}
}

// allowReads lets the reads that wait go on.
func (o *importStore) allowReads() {
	o.mu.Lock()
	defer o.mu.Unlock()
	close(o.hold)
	o.hold = nil
}

// importTable imports a table and returns it.
func (c *Client) importTable(request *cleavev1.ImportTableRequest) (*cleavev1.ImportedTable, error) {
	stream, err := c.Tables.ImportTable(c.t.Context(), request)
	var last *cleavev1.ImportedTable
	if err == nil {
		err = wire.Receive(stream.Recv, func(m *cleavev1.ImportTableResponse) error {
			last = m.GetImported()
			return nil
		})
	}
	return last, err
}

func wantStatus(t *testing.T, what string, err error, code codes.Code, reason string, says ...string) {
	t.Helper()
	if status.Code(err) != code || wire.Reason(err) != reason {
		t.Errorf("%s: %v, %s; want %v, %s", what, err, wire.Reason(err), code, reason)
		return
	}
	for _, part := range says {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%s: %v does not say %q", what, err, part)
		}
	}
}

// partsOf cuts a table into files in a folder, in the formats of their names, and stores them as objects in a folder.
func (o *importStore) partsOf(t *testing.T, rows *table.Table, dir, folder string,
	names ...string) (files, uris []string) {
	t.Helper()
	for at, name := range names {
		var some []int
		for row := at * rows.Rows() / len(names); row < (at+1)*rows.Rows()/len(names); row++ {
			some = append(some, row)
		}
		file := filepath.Join(dir, name)
		writeTable(t, file, rows.Take(some))
		content, err := os.ReadFile(file)
		o.put(folder+name, must(t, content, err))
		files = append(files, file)
		uris = append(uris, "s3://"+bucket+"/"+folder+name)
	}
	return files, uris
}

// Objects that workers read become the table, and the answer, that the same files become, on a coordinator and without
// one.
func TestImportedTables(t *testing.T) {
	t.Parallel()
	o := startImportStore(t)
	dir := t.TempDir()
	rows := withClasses(t, customers(t, 3000), func(row int) bool { return row%20 == 3 })
	parquet, _ := o.partsOf(t, rows, dir, "p/", "part-0.parquet", "part-1.parquet", "part-2.parquet")
	texts, _ := o.partsOf(t, rows, dir, "c/", "part-0.csv", "part-1.csv", "part-2.csv")
	o.put("c/_SUCCESS", nil)
	c := StartCoordinator(t, Options{Args: []string{o.allow("submitter", "")}})
	for at := range 3 {
		StartWorker(t, c, fmt.Sprintf("w%d", at))
	}
	c.AwaitWorkers(3)
	for uri, files := range map[string][]string{"s3://cleave/p/*.parquet": parquet, "s3://cleave/c/": texts} {
		imported, err := c.importTable(&cleavev1.ImportTableRequest{Uris: []string{uri}, DisplayName: "imported"})
		if err != nil {
			t.Fatal(err)
		}
		reader, err := format.OpenTable(files, format.TableOptions{})
		local, err := must(t, reader, err).ReadAll()
		if got := imported.GetTable(); got.GetTableId() != must(t, local, err).ID() || got.GetRows() != 3000 ||
			got.GetDisplayName() != "imported" {
			t.Errorf("%s: %v, want %s", uri, got, local.ID())
		}
		sources := imported.GetTable().GetSources()
		if len(sources) != 3 || sources[1].GetUri() != strings.TrimSuffix(uri, "*.parquet")+filepath.Base(files[1]) ||
			sources[1].GetEtag() == "" || sources[1].GetBytes() == 0 || sources[1].GetModifyTime() == nil {
			t.Errorf("%s was read from %v", uri, sources)
		}
		described, err := c.Tables.GetTable(t.Context(),
			&cleavev1.GetTableRequest{TableId: imported.GetTable().GetTableId()})
		if len(must(t, described, err).GetTable().GetSources()) != 3 {
			t.Errorf("the sources are not stored: %v", described)
		}
	}
	run := func(out string, args ...string) string {
		t.Helper()
		out = filepath.Join(dir, out)
		ran := Command(t, "env",
			append(append([]string{"AWS_REGION=us-east-1", "AWS_ENDPOINT_URL_S3=http://" + o.link, Build(t).Cleave,
				"run"}, args...), "--k", "2", "--seed", "3", "--quiet", "--label-column", "group", "--join",
				"--algorithm", "seeded-kmeans", "--out", out)...)
		if ran.ExitCode != 0 {
			t.Fatalf("%v: exit code %d, %s", args, ran.ExitCode, ran.Stderr)
		}
		return out
	}
	local := run("local", "--data", texts[0], "--data", texts[1], "--data", texts[2], "--name", "t", "--server", c.Addr)
	sameOutput(t, "on a coordinator", local, run("remote", "--data", "s3://cleave/c/", "--name", "t",
		"--server", c.Addr))
	want, err := os.ReadFile(filepath.Join(local, "labels.csv"))
	must(t, want, err)
	got, err := os.ReadFile(filepath.Join(run("embedded", "--data", "s3://cleave/c/part-*.csv", "--name", "t"),
		"labels.csv"))
	if !bytes.Equal(must(t, got, err), want) {
		t.Error("a run without a server has other labels")
	}
	if ran := Cleave(t, "submit", "--data", "s3://cleave/p/", "--k", "2", "--server", c.Addr,
		"--wait"); ran.ExitCode != 0 {
		t.Errorf("submit: %s", ran.Stderr)
	}
	if ran := Cleave(t, "run", "--data", "s3://cleave/p/", "--beliefs", "x.csv", "--algorithm", "constrained-spectral",
		"--k", "2", "--server", c.Addr); !strings.Contains(ran.Stderr, "--beliefs needs all rows on this machine") {
		t.Errorf("a flag that needs rows: %s", ran.Stderr)
	}
	importOverHTTP(t, c, "s3://cleave/p/*.parquet")
}

// importOverHTTP imports by REST.
func importOverHTTP(t *testing.T, c *Coordinator, uri string) {
	t.Helper()
	response, err := http.Post("http://"+c.Addr+"/v1/tables:import", "application/json",
		strings.NewReader(`{"uris": ["`+uri+`"]}`))
	defer must(t, response, err).Body.Close()
	var last struct {
		Imported struct {
			Table struct {
				Rows    int
				Sources []struct{ URI, Etag string }
			}
		}
	}
	lines := bufio.NewScanner(response.Body)
	for lines.Scan() {
		if err := json.Unmarshal(lines.Bytes(), &last); err != nil {
			t.Fatalf("%s: %v", lines.Text(), err)
		}
	}
	if response.StatusCode != http.StatusOK || last.Imported.Table.Rows != 3000 ||
		len(last.Imported.Table.Sources) != 3 {
		t.Errorf("over HTTP: %s, %+v", response.Status, last)
	}
}

// The types of columns are found over all objects, however late a row changes them, as for files.
func TestImportedTypes(t *testing.T) {
	t.Parallel()
	o := startImportStore(t)
	dir := t.TempDir()
	var files []string
	for at, last := range []string{"1,1", "1.5,2", "7,word", "8,9"} {
		var b strings.Builder
		b.WriteString("x,y\n")
		for row := range 60_000 {
			fmt.Fprintf(&b, "%d,0%d\n", row, row)
		}
		b.WriteString(last + "\n")
		files = append(files, filepath.Join(dir, fmt.Sprintf("%d.csv", at)))
		if err := os.WriteFile(files[at], []byte(b.String()), 0o600); err != nil {
			t.Fatal(err)
		}
		o.put(fmt.Sprintf("late/%d.csv", at), []byte(b.String()))
	}
	c := StartCoordinator(t, Options{Args: []string{o.allow("submitter", "")}})
	StartWorker(t, c, "w0")
	StartWorker(t, c, "w1")
	c.AwaitWorkers(2)
	for _, some := range testscale.Some([][]int{{0, 1, 2, 3}, {0}, {0, 1}, {1}, {3, 2}}, 2) {
		var paths, uris []string
		for _, at := range some {
			paths, uris = append(paths, files[at]), append(uris, fmt.Sprintf("s3://cleave/late/%d.csv", at))
		}
		reader, err := format.OpenTable(paths, format.TableOptions{})
		local, err := must(t, reader, err).ReadAll()
		must(t, local, err)
		imported, err := c.importTable(&cleavev1.ImportTableRequest{Uris: uris})
		if err != nil || imported.GetTable().GetTableId() != local.ID() {
			t.Errorf("%v: %v, %v; want %s", some, imported, err, local.ID())
		}
	}
}

// A worker that is killed while all of them read costs nothing but time.
func TestAWorkerIsKilledDuringAnImport(t *testing.T) {
	t.Parallel()
	o := startImportStore(t)
	_, uris := o.partsOf(t, customers(t, 6000), t.TempDir(), "", "0.csv", "1.parquet", "2.csv", "3.parquet",
		"4.csv", "5.parquet")
	c := StartCoordinator(t, Options{Args: []string{o.allow("submitter", "")}})
	var workers []*Worker
	for at := range 3 {
		workers = append(workers, StartWorker(t, c, fmt.Sprintf("w%d", at)))
	}
	c.AwaitWorkers(3)
	want, err := c.importTable(&cleavev1.ImportTableRequest{Uris: uris})
	must(t, want, err)
	type result struct {
		*cleavev1.ImportedTable
		error
	}
	o.stopReads()
	done := make(chan result, 1)
	go func() {
		got, err := c.importTable(&cleavev1.ImportTableRequest{Uris: uris})
		done <- result{got, err}
	}()
	o.awaitReads(3)
	workers[1].Kill()
	o.allowReads()
	if got := <-done; got.error != nil || got.GetTable().GetTableId() != want.GetTable().GetTableId() {
		t.Errorf("%v, %v; want %s", got.ImportedTable, got.error, want.GetTable().GetTableId())
	}
}

// An object that is replaced or deleted while it is read, or between two attempts, is named.
func TestObjectsThatChange(t *testing.T) {
	t.Parallel()
	o := startImportStore(t)
	o.put("a.csv", []byte("x,y\n1,2\n3,4\n"))
	o.put("b.csv", []byte("x,y\n5,6\n7,8\n"))
	c := StartCoordinator(t, Options{Args: []string{o.allow("submitter", "")}})
	StartWorker(t, c, "w0")
	c.AwaitWorkers(1)
	request := &cleavev1.ImportTableRequest{Uris: []string{"s3://cleave/a.csv", "s3://cleave/b.csv"},
		RequestId: "nightly"}
	for what, change := range map[string]func(){
		"replaced": func() { o.put("b.csv", []byte("x,y\n5,6\n7,9\n")) },
		"deleted":  func() { must(t, 0, o.bucket.Delete(t.Context(), "b.csv")) },
	} {
		o.put("b.csv", []byte("x,y\n5,6\n7,8\n"))
		o.stopReads()
		done := make(chan error, 1)
		go func() {
			_, err := c.importTable(&cleavev1.ImportTableRequest{Uris: request.Uris, RequestId: what})
			done <- err
		}()
		o.awaitReads(1)
		change()
		o.allowReads()
		wantStatus(t, what, <-done, codes.FailedPrecondition, "OBJECT_CHANGED", "s3://cleave/b.csv was "+what)
		_, err := c.importTable(&cleavev1.ImportTableRequest{Uris: request.Uris, RequestId: what})
		wantStatus(t, what+", again", err, codes.FailedPrecondition, "OBJECT_CHANGED", "s3://cleave/b.csv")
	}
	o.put("b.csv", []byte("x,y\n5,6\n7,8\n"))
	first, err := c.importTable(request)
	must(t, first, err)
	o.put("b.csv", []byte("x,y\n0,0\n"))
	again, err := c.importTable(request)
	if must(t, again, err).GetTable().GetTableId() != first.GetTable().GetTableId() {
		t.Error("the same request id returns another table")
	}
	_, err = c.importTable(&cleavev1.ImportTableRequest{Uris: request.Uris[:1], RequestId: "nightly"})
	wantStatus(t, "another request with the same id", err, codes.AlreadyExists, "REQUEST_ID_REUSED")
}

// An object in a bucket that keeps versions may be replaced while it is read: the version that was found is read to its
// end.
func TestVersionsOfObjects(t *testing.T) {
	t.Parallel()
	o := startImportStore(t)
	var store *s3.Client
	if !o.bucket.As(&store) {
		t.Fatal("the bucket is not in S3")
	}
	name := bucket
	_, err := store.PutBucketVersioning(t.Context(), &s3.PutBucketVersioningInput{Bucket: &name,
		VersioningConfiguration: &types.VersioningConfiguration{Status: types.BucketVersioningStatusEnabled}})
	if err != nil {
		t.Fatal(err)
	}
	o.put("a.csv", []byte("x,y\n1,2\n3,4\n"))
	c := StartCoordinator(t, Options{Args: []string{o.allow("submitter", "")}})
	StartWorker(t, c, "w0")
	c.AwaitWorkers(1)
	request := &cleavev1.ImportTableRequest{Uris: []string{"s3://cleave/a.csv"}}
	want, err := c.importTable(request)
	if must(t, want, err).GetTable().GetSources()[0].GetVersion() == "" {
		t.Fatalf("the object has no version: %v", want)
	}
	o.stopReads()
	done := make(chan *cleavev1.ImportedTable, 1)
	go func() {
		got, err := c.importTable(request)
		if err != nil {
			t.Error(err)
		}
		done <- got
	}()
	o.awaitReads(1)
	o.put("a.csv", []byte("x,y\n0,0\n"))
	o.allowReads()
	if got := <-done; got.GetTable().GetTableId() != want.GetTable().GetTableId() {
		t.Errorf("%v was read instead of %v", got, want)
	}
	if got, err := c.importTable(request); err != nil || got.GetTable().GetRows() != 1 {
		t.Errorf("later: %v, %v", got, err)
	}
}

// Callers import from the prefixes of their role and user, and nothing else; all attempts are in the audit log.
func TestWhoMayImport(t *testing.T) {
	t.Parallel()
	o := startImportStore(t)
	f := NewSecureFolder(t)
	o.put("shared/a.csv", []byte("x,y\n1,2\n3,4\n"))
	o.put("secret/a.csv", []byte("x,y\n1,2\n3,4\n"))
	o.put("ann/a.csv", []byte("x,y\n1,2\n3,4\n"))
	ann := f.Token("ann", "submitter")
	bob := f.Token("bob", "submitter")
	audited := filepath.Join(t.TempDir(), "audit.log")
	c, _ := StartSecureCluster(t, f, 1, o.allow("submitter", "shared/"), o.allow("admin", ""),
		o.allow("user:ann", "ann/"), "--audit-log", audited, "--token-file", f.Path("tokens"))
	try := func(token, uri string) error {
		client := c.As(f.WithToken(token))
		_, err := client.importTable(&cleavev1.ImportTableRequest{Uris: []string{uri}})
		return err
	}
	for _, uri := range []string{"s3://cleave/shared/a.csv", "s3://cleave/shared/*.csv", "s3://cleave/shared/"} {
		if err := try(bob, uri); err != nil {
			t.Errorf("%s: %v", uri, err)
		}
	}
	if err := try(ann, "s3://cleave/ann/a.csv"); err != nil {
		t.Error(err)
	}
	for _, uri := range []string{"s3://cleave/secret/a.csv", "s3://cleave/ann/a.csv", "s3://cleave/*",
		"s3://cleave/sh*/a.csv", "s3://other/shared/a.csv", "gs://cleave/shared/a.csv"} {
		wantStatus(t, uri, try(bob, uri), codes.PermissionDenied, "IMPORT_NOT_ALLOWED",
			"you may import from s3://cleave/shared/;")
	}
	for _, uri := range []string{"file:///etc/passwd", "/etc/passwd", "mem://x", "http://127.0.0.1/",
		"s3://cleave/shared/../secret/a.csv", "s3://cleave/shared/a.csv?endpoint=http://evil",
		"s3://a:b@cleave/shared/a.csv"} {
		wantStatus(t, uri, try(bob, uri), codes.InvalidArgument, "BAD_URI")
	}
	wantStatus(t, "nothing there", try(bob, "s3://cleave/shared/none-*.csv"), codes.NotFound, "NO_OBJECTS",
		"no object matches s3://cleave/shared/none-*.csv")
	wantStatus(t, "no such object", try(bob, "s3://cleave/shared/none.csv"), codes.NotFound, "NO_OBJECTS")
	text, err := os.ReadFile(audited)
	var seen []string
	for line := range strings.Lines(string(must(t, text, err))) {
		var entry struct {
			Event, Caller, Method, Code string
			IDs                         map[string]string
		}
		if err := json.Unmarshal([]byte(line), &entry); err != nil {
			t.Fatal(err)
		}
		if entry.Event == "end" && strings.HasSuffix(entry.Method, "ImportTable") {
			seen = append(seen, fmt.Sprintf("%s %s %s %v", entry.Caller, entry.Code, entry.IDs["uris"],
				entry.IDs["table_id"] != ""))
		}
	}
	for _, line := range []string{"bob OK s3://cleave/shared/a.csv true",
		"bob PermissionDenied s3://cleave/secret/a.csv false",
		"bob InvalidArgument s3://[redacted]@cleave/shared/a.csv false"} {
		if !slices.Contains(seen, line) {
			t.Errorf("the audit log does not have %q: %q", line, seen)
		}
	}
}

// What is wrong with objects is said with their names.
func TestBadObjects(t *testing.T) {
	t.Parallel()
	o := startImportStore(t)
	for key, text := range map[string]string{
		"good.csv": "x,y\n1,2\n3,4\n", "empty.csv": "", "header.csv": "x,y\n", "other.csv": "x,z\n1,2\n",
		"wider.csv":  "x,y,z\n1,2,3\n",
		"ragged.csv": "x,y\n1,2\n3,4,5\n", "broken.parquet": "PAR1 and no more", "page.html": "<!doctype html>",
		"points.npy": "\x93NUMPY",
	} {
		o.put("bad/"+key, []byte(text))
	}
	c := StartCoordinator(t, Options{Args: []string{o.allow("submitter", "")}})
	StartWorker(t, c, "w0")
	StartWorker(t, c, "w1")
	c.AwaitWorkers(2)
	for _, bad := range []struct {
		keys   string
		reason string
		says   string
	}{
		{"empty.csv", "EMPTY_DATA", "s3://cleave/bad/empty.csv: the file is empty"},
		{"header.csv", "EMPTY_DATA", "s3://cleave/bad/header.csv"},
		{"good.csv other.csv", "COLUMNS_DIFFER",
			`s3://cleave/bad/other.csv: column 2 is "z", but in s3://cleave/bad/good.csv it is "y"`},
		{"good.csv wider.csv", "COLUMNS_DIFFER", `s3://cleave/bad/wider.csv: the file has a column "z"`},
		{"good.csv ragged.csv", "RAGGED_ROWS", "s3://cleave/bad/ragged.csv, line 3"},
		{"good.csv broken.parquet", "CORRUPT_FILE", "s3://cleave/bad/broken.parquet"},
		{"page.html", "UNKNOWN_FORMAT", "s3://cleave/bad/page.html: this is a web page"},
		{"points.npy", "UNKNOWN_FORMAT", "s3://cleave/bad/points.npy"},
		{"good.csv good.csv", "BAD_URI", "s3://cleave/bad/good.csv is named twice"},
	} {
		var uris []string
		for _, key := range strings.Fields(bad.keys) {
			uris = append(uris, "s3://cleave/bad/"+key)
		}
		_, err := c.importTable(&cleavev1.ImportTableRequest{Uris: uris})
		wantStatus(t, bad.keys, err, codes.InvalidArgument, bad.reason, bad.says)
	}
	_, err := c.importTable(&cleavev1.ImportTableRequest{Uris: []string{"s3://cleave/bad/good.csv"},
		Reading: &cleavev1.TableReading{Format: "npy"}})
	wantStatus(t, "a format that is no table", err, codes.InvalidArgument, "BAD_READING")
	_, err = c.importTable(&cleavev1.ImportTableRequest{})
	wantStatus(t, "no URIs", err, codes.InvalidArgument, "FIELD_REQUIRED")

	// The store is gone once the objects are known.
	o.stopReads()
	done := make(chan error, 1)
	go func() {
		_, err := c.importTable(&cleavev1.ImportTableRequest{Uris: []string{"s3://cleave/bad/good.csv"}})
		done <- err
	}()
	o.awaitReads(1)
	o.Kill()
	o.allowReads()
	wantStatus(t, "the store is gone", <-done, codes.FailedPrecondition, "OBJECT_UNREADABLE", `worker "w`,
		"s3://cleave/bad/good.csv, and neither can 1 other worker")
	_, err = c.importTable(&cleavev1.ImportTableRequest{Uris: []string{"s3://cleave/bad/*.csv"}})
	wantStatus(t, "the store is gone before", err, codes.FailedPrecondition, "STORE_FAILED")
}
