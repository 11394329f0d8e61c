package observe

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/VictoriaMetrics/metricsql"
	"sigs.k8s.io/yaml"
)

// allMetrics are the metrics of a coordinator and a worker, by name.
func allMetrics() []Metric {
	r := newRegistry()
	r.addProcess("coordinator", "v1")
	newCoordinatorMetrics(r)
	newWorkerMetrics(r)
	return r.made
}

func readFile(t *testing.T, path string) string {
	t.Helper()
	content, err := os.ReadFile("../../" + path)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

// foreign are the metrics of Go, the process and Prometheus that others define.
var foreign = regexp.MustCompile(`^(go_|process_|etcd_|up$)`)

// checkExpression checks that an expression can be parsed, and that its metrics and their labels exist.
func checkExpression(t *testing.T, where, expression string) (used []string) {
	t.Helper()
	parsed, err := metricsql.Parse(strings.ReplaceAll(expression, "$__rate_interval", "5m"))
	if err != nil {
		t.Errorf("%s: %v", where, err)
		return nil
	}
	known := map[string]Metric{}
	for _, m := range allMetrics() {
		known[m.Name] = m
		if m.Type == "histogram" {
			for _, suffix := range []string{"_bucket", "_sum", "_count"} {
				known[m.Name+suffix] = m
			}
			delete(known, m.Name)
		}
	}
	metricsql.VisitAll(parsed, func(e metricsql.Expr) {
		metric, is := e.(*metricsql.MetricExpr)
		if !is {
			return
		}
		for _, filters := range metric.LabelFilterss {
			m := known[filters[0].Value]
			if foreign.MatchString(filters[0].Value) {
				continue
			}
			if m.Name == "" {
				t.Errorf("%s: there is no metric %s", where, filters[0].Value)
				continue
			}
			used = append(used, m.Name)
			for _, filter := range filters[1:] {
				if !slices.Contains(m.Labels, filter.Label) {
					t.Errorf("%s: %s has no label %s", where, m.Name, filter.Label)
				}
			}
		}
	})
	return used
}

func TestTheDashboardShowsMetricsThatExist(t *testing.T) {
	var dashboard struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
	}
	if err := json.Unmarshal([]byte(readFile(t, "deploy/grafana/cleave.json")), &dashboard); err != nil {
		t.Fatal(err)
	}
	shown := map[string]bool{}
	for _, panel := range dashboard.Panels {
		for _, target := range panel.Targets {
			for _, name := range checkExpression(t, "panel "+panel.Title, target.Expr) {
				shown[name] = true
			}
		}
	}
	if len(shown) < 25 {
		t.Errorf("the dashboard shows only %d of our metrics", len(shown))
	}
}

func TestAlertsAreAboutMetricsThatExistAndHaveARunbook(t *testing.T) {
	var rules struct {
		Groups []struct {
			Name  string
			Rules []struct {
				Alert, Expr         string
				For                 string
				Labels, Annotations map[string]string
			}
		}
	}
	if err := yaml.UnmarshalStrict([]byte(readFile(t, "deploy/prometheus/alerts.yml")), &rules); err != nil {
		t.Fatal(err)
	}
	page, alerts := readFile(t, "docs/OPERATIONS.md"), map[string]bool{}
	for _, group := range rules.Groups {
		for _, rule := range group.Rules {
			alerts[rule.Alert] = true
			if len(checkExpression(t, rule.Alert, rule.Expr)) == 0 {
				t.Errorf("%s looks at none of our metrics", rule.Alert)
			}
			if rule.Labels["severity"] == "" || !strings.HasSuffix(rule.Annotations["summary"], ".") {
				t.Errorf("%s has no severity or no summary", rule.Alert)
			}
			// Prometheus refuses names with other characters: a summary with a comma and no quotes becomes two
			// annotations.
			for _, names := range []map[string]string{rule.Labels, rule.Annotations} {
				for name := range names {
					if !regexp.MustCompile(`^[a-z_]+$`).MatchString(name) {
						t.Errorf("%s has a label or an annotation %q", rule.Alert, name)
					}
				}
			}
			if !strings.Contains(page, "\n### "+rule.Alert+"\n") {
				t.Errorf("docs/OPERATIONS.md has no section ### %s", rule.Alert)
			}
		}
	}
	for _, section := range regexp.MustCompile(`(?m)^### (Cleave\w+)$`).FindAllStringSubmatch(page, -1) {
		if !alerts[section[1]] {
			t.Errorf("docs/OPERATIONS.md has a section for the alert %s, which does not exist", section[1])
		}
	}
	var scrape map[string]any
	if err := yaml.UnmarshalStrict([]byte(readFile(t, "deploy/prometheus/prometheus.yml")), &scrape); err != nil {
		t.Error(err)
	}
}

// The page has every metric. If this fails, the table that it prints belongs between the two marks.
func TestTheMetricsAreDocumented(t *testing.T) {
	const begin, end = "<!-- metrics: begin -->\n", "<!-- metrics: end -->"
	_, rest, found := strings.Cut(readFile(t, "docs/OPERATIONS.md"), begin)
	table, _, closed := strings.Cut(rest, end)
	if !found || !closed {
		t.Fatalf("docs/OPERATIONS.md has no %q and %q", begin, end)
	}
	var want strings.Builder
	want.WriteString("| metric | type | labels | what it is |\n|---|---|---|---|\n")
	for _, m := range allMetrics() {
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
	for _, m := range allMetrics() {
		if !strings.HasPrefix(m.Name, "cleave_") || strings.HasSuffix(m.Name, "_total") != (m.Type == "counter") || !strings.HasSuffix(m.Help, ".") {
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
