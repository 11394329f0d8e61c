package httpapi_test

import (
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"github.com/cleave-project/cleave/test/coordinatortest"
)

// The temporary copy of an uploaded table takes no space once the upload has been answered.
func TestUploadsOverHTTPReleaseTheirCopies(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // the garbage collector would close forgotten files
	folder := t.TempDir()
	t.Setenv("TMPDIR", folder)
	h := coordinatortest.StartScripted(t, coordinatortest.Config(), coordinatortest.Steps(1))
	client := h.HTTPClient(nil, false)
	for _, path := range []string{"/v1/tables?format=csv", "/v1/datasets?format=csv", "/v1/datasets?format=parquet"} {
		client.Ask("POST", "http://localhost"+path, "x,y\n0,1\n10,11\n")
	}
	deadline := time.Now().Add(time.Minute)
	for left := openFiles(t, folder); len(left) > 0; left = openFiles(t, folder) {
		if time.Now().After(deadline) {
			t.Fatalf("still open: %v", left)
		}
		<-time.After(10 * time.Millisecond) // the handler returns after the response
	}
}

// openFiles returns the open files of this process in a folder, deleted or not.
func openFiles(t *testing.T, folder string) (open []string) {
	t.Helper()
	links, err := filepath.Glob("/proc/self/fd/*")
	if err != nil {
		t.Fatal(err)
	}
	for _, link := range links {
		if file, err := os.Readlink(link); err == nil && strings.HasPrefix(file, folder) {
			open = append(open, file)
		}
	}
	return open
}
