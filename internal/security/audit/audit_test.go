package audit

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestLinesAreAppended(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit")
	now := time.Date(2027, 1, 2, 3, 4, 5, 0, time.UTC)
	for range 2 { // a coordinator, and the one after it
		log, err := Open(path, func() time.Time { return now })
		if err != nil {
			t.Fatal(err)
		}
		if err := log.Write(Line{Event: Begin, Caller: "alice", Role: "submitter", Method: "/m", Peer: "p",
			IDs: map[string]string{"job_id": "1"}}); err != nil {
			t.Error(err)
		}
		if err := log.Close(); err != nil {
			t.Error(err)
		}
	}
	want := `{"time":"2027-01-02T03:04:05Z","event":"begin","caller":"alice","role":"submitter",` +
		`"method":"/m","peer":"p","ids":{"job_id":"1"}}` + "\n"
	if got, err := os.ReadFile(path); err != nil || string(got) != want+want {
		t.Errorf("the log is %q, %v", got, err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("its mode is %v, %v", info.Mode(), err)
	}
}

// The first line of a coordinator does not continue a line that the one before it could not finish.
func TestATornLineStaysAlone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit")
	if err := os.WriteFile(path, []byte(`{"time":"20`), 0o600); err != nil {
		t.Fatal(err)
	}
	log, err := Open(path, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(log.Write(Line{Event: Begin}), log.Write(Line{Event: End}), log.Close()); err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := bytes.Split(content, []byte("\n"))
	if len(lines) != 4 || !json.Valid(lines[1]) || !json.Valid(lines[2]) {
		t.Errorf("the log is %q", content)
	}
}

// Those who may not call cannot fill the disk.
func TestStrangersHaveFewLines(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit")
	now := time.Unix(1000, 0)
	log, err := Open(path, func() time.Time { return now })
	if err != nil {
		t.Fatal(err)
	}
	for range 3 * strangersPerSecond {
		if err := log.WriteStranger(Line{Event: End}); err != nil {
			t.Fatal(err)
		}
	}
	now = now.Add(time.Second)
	if err := log.WriteStranger(Line{Event: End}); err != nil {
		t.Fatal(err)
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := bytes.Split(bytes.TrimSpace(content), []byte("\n"))
	var last Line
	if err := json.Unmarshal(lines[len(lines)-1], &last); err != nil || len(lines) != strangersPerSecond+1 ||
		last.Unlogged != 2*strangersPerSecond {
		t.Errorf("%d lines, and the last has %d without one (%v)", len(lines), last.Unlogged, err)
	}
}

// A line that says how many were not logged may fail. The next one says it then.
func TestUnloggedCallsAreCountedUntilALineSaysSo(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit")
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	full, err := os.Open(path) // cannot be written
	if err != nil {
		t.Fatal(err)
	}
	defer full.Close()
	log := &Log{file: full, now: time.Now, unlogged: 7}
	if err := log.WriteStranger(Line{Event: End}); err == nil {
		t.Fatal("a line was written to a file that cannot be written")
	}
	log.file = file
	if err := log.WriteStranger(Line{Event: End}); err != nil {
		t.Fatal(err)
	}
	var line Line
	content, err := os.ReadFile(path)
	if err := errors.Join(err, json.Unmarshal(content, &line)); err != nil || line.Unlogged != 7 {
		t.Errorf("the line is %q: %v", content, err)
	}
}
