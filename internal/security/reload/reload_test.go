package reload

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
)

func TestFilesAreReadAgain(t *testing.T) {
	path := filepath.Join(t.TempDir(), "value")
	changed := time.Unix(1000, 0)
	write := func(text string) {
		changed = changed.Add(time.Second)
		if err := errors.Join(os.WriteFile(path, []byte(text), 0o600), os.Chtimes(path, changed, changed)); err != nil {
			t.Fatal(err)
		}
	}
	parse := func(contents [][]byte) (string, error) {
		if text := string(contents[0]); text != "bad" {
			return text, nil
		}
		return "", errors.New("it is bad")
	}
	clock := time.Unix(0, 0)
	var lines bytes.Buffer
	log := hclog.New(&hclog.LoggerOptions{Output: &lines})
	write("bad")
	if _, err := New("the value", []string{path}, parse, log, time.Now); err == nil ||
		err.Error() != "the value: it is bad" {
		t.Errorf("a bad file at the start: %v", err)
	}
	write("one")
	f, err := New("the value", []string{path}, parse, log, func() time.Time { return clock })
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		text  string
		after time.Duration
		want  string
		logs  string
	}{
		{"two", checkEvery / 2, "one", ""}, // too early to look
		{"two", checkEvery, "two", "was read again"},
		{"bad", checkEvery, "two", "keeping the previous one"},
		{"", 10 * checkEvery, "two", ""}, // said once
		{"three", checkEvery, "three", "was read again"},
	} {
		lines.Reset()
		if step.text != "" {
			write(step.text)
		}
		clock = clock.Add(step.after)
		if got := f.Get(); got != step.want || !strings.Contains(lines.String(), step.logs) ||
			step.logs == "" && lines.Len() > 0 {
			t.Errorf("after %q it is %q, and the log says %q", step.text, got, lines.String())
		}
	}

	// What cannot be read at first can be later, also where time and size of the file are the same, as after chown.
	if err := errors.Join(os.Remove(path), os.Mkdir(path, 0o700), os.Chtimes(path, changed, changed)); err != nil {
		t.Fatal(err)
	}
	unreadable, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		clock = clock.Add(checkEvery)
		if got := f.Get(); got != "three" {
			t.Errorf("what cannot be read is %q", got)
		}
	}
	if said := strings.Count(lines.String(), "keeping the previous one"); said != 1 {
		t.Errorf("that it cannot be read is said %d times", said)
	}
	four := strings.Repeat("4", int(unreadable.Size()))
	if err := errors.Join(os.Remove(path), os.WriteFile(path, []byte(four), 0o600),
		os.Chtimes(path, changed, changed)); err != nil {
		t.Fatal(err)
	}
	clock = clock.Add(checkEvery)
	if got := f.Get(); got != four {
		t.Errorf("after it can be read again it is %.10q", got)
	}

	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	clock = clock.Add(checkEvery)
	if got := f.Get(); got != four {
		t.Errorf("after the file is gone it is %.10q", got)
	}
}
