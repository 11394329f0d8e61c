package clustertest

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/cleave-project/cleave/test/programs"
)

// The keys of the S3 server of tests.
const (
	accessKey = "cleave-test"
	secretKey = "cleave-test-secret"
	bucket    = "cleave"
)

// setKeys gives the keys to this process and to those that it starts.
func setKeys() {
	for name, value := range map[string]string{"AWS_ACCESS_KEY_ID": accessKey, "AWS_SECRET_ACCESS_KEY": secretKey} {
		if err := os.Setenv(name, value); err != nil {
			panic(err)
		}
	}
}

// ObjectStore is an S3 server: a process that keeps objects in a directory.
type ObjectStore struct {
	*Process
	address string
	data    string
}

// s3Server builds the server once per test process, from the module tools/s3.
var s3Server = sync.OnceValues(func() (string, error) {
	folder, err := programs.BuildTool("s3", "github.com/versity/versitygw/cmd/versitygw")
	return filepath.Join(folder, "versitygw"), err
})

// StartObjectStore starts an S3 server with an empty bucket, which keeps versions once somebody enables them.
func StartObjectStore(t testing.TB) *ObjectStore {
	t.Helper()
	s := &ObjectStore{address: FreeAddress(t), data: t.TempDir()}
	if err := os.MkdirAll(filepath.Join(s.data, "objects", bucket), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(s.data, "metadata"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(s.data, "versions"), 0o700); err != nil {
		t.Fatal(err)
	}
	s.launch(t)
	return s
}

// Options returns the options of coordinators that have their blobs here.
func (s *ObjectStore) Options() Options {
	return Options{Args: []string{"--blobs", s.url()}}
}

func (s *ObjectStore) url() string {
	return fmt.Sprintf("s3://%s?region=us-east-1&use_path_style=true&endpoint=http://%s", bucket, s.address)
}

// Restart starts the server again that has ended.
func (s *ObjectStore) Restart() { s.launch(s.t) }

func (s *ObjectStore) launch(t testing.TB) {
	t.Helper()
	program, err := s3Server()
	must(t, program, err)
	s.Process = start(t, "versitygw", program, "--access", accessKey, "--secret", secretKey, "--port",
		s.address, "--quiet",
		"posix", "--sidecar", filepath.Join(s.data, "metadata"), "--versioning-dir", filepath.Join(s.data, "versions"),
		filepath.Join(s.data, "objects"))
	Eventually(t, "the S3 server listens", func() (bool, string) {
		if !s.Running() {
			t.Fatal("the S3 server ended while starting")
		}
		c, err := net.Dial("tcp", s.address)
		if err == nil {
			c.Close()
		}
		return err == nil, fmt.Sprint(err)
	})
}
