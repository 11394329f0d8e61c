package observe

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

// The page has every metric. If this fails, the table that it prints belongs between the two marks.
func TestTheMetricsAreDocumented(t *testing.T) {
	const begin, end = "<!-- metrics: begin -->\n", "<!-- metrics: end -->"
	page, err := os.ReadFile("../../docs/OPERATIONS.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(page), begin)
	table, _, closed := strings.Cut(rest, end)
	if !found || !closed {
		t.Fatalf("docs/OPERATIONS.md has no %q and %q", begin, end)
	}
	var want strings.Builder
	want.WriteString("| metric | type | labels | what it is |\n|---|---|---|---|\n")
	for _, m := range Metrics() {
		labels := ""
		if len(m.Labels) > 0 {
			labels = "`" + strings.Join(m.Labels, "`, `") + "`"
		}
		fmt.Fprintf(&want, "| `%s` | %s | %s | %s |\n", m.Name, m.Type, labels, m.Help)
	}
	if table != want.String() {
		t.Errorf("the table of metrics in docs/OPERATIONS.md is not up to date; it should be:\n%s", want.String())
	}
}

// Names are as Prometheus wants them: units, and _total for counters.
func TestNamesOfMetrics(t *testing.T) {
	for _, m := range Metrics() {
		if !strings.HasPrefix(m.Name, "cleave_") || strings.HasSuffix(m.Name, "_total") != (m.Type == "counter") ||
			!strings.HasSuffix(m.Help, ".") {
			t.Errorf("%+v", m)
		}
		if m.Type == "histogram" && !strings.HasSuffix(m.Name, "_seconds") {
			t.Errorf("%s has no unit", m.Name)
		}
		for _, label := range m.Labels {
			if slices.Contains([]string{"job", "id", "worker", "dataset", "request"}, label) {
				t.Errorf("%s has the label %s, of which there are too many values", m.Name, label)
			}
		}
	}
}
