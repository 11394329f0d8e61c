package clusteringtest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// WantRecording compares text with a file that holds what it was before. CLEAVE_RECORD_ANSWERS, set to anything in the
// environment, writes the file anew: its diff shows what changes.
func WantRecording(t testing.TB, path, got string) {
	t.Helper()
	if os.Getenv("CLEAVE_RECORD_ANSWERS") != "" {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	gotLines, wantLines := strings.Split(got, "\n"), strings.Split(string(want), "\n")
	for i := range max(len(gotLines), len(wantLines)) {
		if line, recorded := lineAt(gotLines, i), lineAt(wantLines, i); line != recorded {
			t.Fatalf("%s:%d: got\n%s\nwant\n%s", path, i+1, line, recorded)
		}
	}
}

func lineAt(lines []string, i int) string {
	if i < len(lines) {
		return lines[i]
	}
	return "(nothing)"
}

// Groups lists names by the text that each has: every text once, in the order of the first name, below all names that
// have it.
func Groups(separator string, names, texts []string) string {
	var order []string
	of := map[string][]string{}
	for i, text := range texts {
		if of[text] == nil {
			order = append(order, text)
		}
		of[text] = append(of[text], names[i])
	}
	var b strings.Builder
	for _, text := range order {
		b.WriteString("\n" + strings.Join(of[text], separator) + ":" + text)
	}
	return b.String()
}

// Words joins what describes a situation. A word before a bool stays if it is true.
func Words(of ...any) string {
	var words []string
	for _, one := range of {
		switch one := one.(type) {
		case string:
			words = append(words, one)
		case bool:
			if !one {
				words = words[:len(words)-1]
			}
		}
	}
	return strings.Join(words, ", ")
}
