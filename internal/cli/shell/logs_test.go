package shell

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
)

func TestLogger(t *testing.T) {
	var out bytes.Buffer
	log, err := (&Logs{Level: "warn"}).Logger("worker", &out)
	if err != nil {
		t.Fatal(err)
	}
	log.Info("hidden")
	log.Warn("shown")
	if text := out.String(); strings.Contains(text, "hidden") || !strings.Contains(text, "worker: shown") {
		t.Errorf("logged %q", text)
	}
	for _, wrong := range []Logs{{Level: "loud"}, {Level: "info", Format: "xml"}} {
		if _, err := wrong.Logger("worker", &out); ExitCode(err) != ExitBadInput {
			t.Errorf("%+v: %v", wrong, err)
		}
	}
}

func TestLogsAsJSON(t *testing.T) {
	var out bytes.Buffer
	log, err := (&Logs{Level: "info", Format: "json"}).Logger("coordinator", &out)
	if err != nil {
		t.Fatal(err)
	}
	log.Info("job ended\nwell", "job", "j1")
	line := map[string]string{}
	if err := json.Unmarshal(out.Bytes(), &line); err != nil || bytes.Count(out.Bytes(), []byte("\n")) != 1 {
		t.Fatalf("%q: %v", out.String(), err)
	}
	if line["job"] != "j1" || line["@level"] != "info" || line["@module"] != "coordinator" || line["@timestamp"] == "" {
		t.Errorf("logged %v", line)
	}
}
