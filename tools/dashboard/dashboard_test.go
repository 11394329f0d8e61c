package main

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

	"github.com/cleave-project/cleave/internal/observe"
)

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

// parse parses an expression of an alert or of the dashboard, or fails the test.
func parse(t *testing.T, where, expression string) metricsql.Expr {
	t.Helper()
	parsed, err := metricsql.Parse(strings.ReplaceAll(expression, "$__rate_interval", "5m"))
	if err != nil {
		t.Fatalf("%s: %v", where, err)
	}
	return parsed
}

func visit[E metricsql.Expr](expression metricsql.Expr, look func(E)) {
	metricsql.VisitAll(expression, func(e metricsql.Expr) {
		if e, is := e.(E); is {
			look(e)
		}
	})
}

func textOf(e metricsql.Expr) string { return string(e.AppendString(nil)) }

// checkExpression checks that the metrics of an expression and their labels exist. It returns the names of our metrics.
func checkExpression(t *testing.T, where string, expression metricsql.Expr) (used []string) {
	t.Helper()
	known := map[string]observe.Metric{}
	for _, m := range observe.Metrics() {
		known[m.Name] = m
		if m.Type == "histogram" {
			for _, suffix := range []string{"_bucket", "_sum", "_count"} {
				known[m.Name+suffix] = m
			}
			delete(known, m.Name)
		}
	}
	visit(expression, func(metric *metricsql.MetricExpr) {
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
				if filter.Label != "job" && !slices.Contains(m.Labels, filter.Label) {
					t.Errorf("%s: %s has no label %s", where, m.Name, filter.Label)
				}
			}
		}
	})
	return used
}

// checkIncreases checks that the first event of a series is counted, and counted once: a series appears with its first
// event, which increase does not see. Only in "(X unless X offset 5m) or increase(X[5m])" each series has one of two
// values.
func checkIncreases(t *testing.T, where string, expression metricsql.Expr) {
	t.Helper()
	complete := map[string]bool{}
	visit(expression, func(either *metricsql.BinaryOpExpr) {
		increase, is := either.Right.(*metricsql.FuncExpr)
		if either.Op != "or" || !is || increase.Name != "increase" {
			return
		}
		of := increase.Args[0].(*metricsql.RollupExpr)
		counter := textOf(of.Expr)
		complete[textOf(increase)] = textOf(either.Left) == fmt.Sprintf("%s unless (%s offset %s)", counter, counter,
			textOf(of.Window))
	})
	visit(expression, func(f *metricsql.FuncExpr) {
		if f.Name == "increase" && !complete[textOf(f)] {
			t.Errorf("%s: %s does not count, or counts twice, the first event of a series", where, textOf(f))
		}
	})
}

type dashboardPanel struct {
	ID          int
	Type, Title string
	GridPos     struct{ X, Y, W, H int }
	FieldConfig struct{ Defaults struct{ Unit string } }
	Targets     []struct{ RefID, Expr string }
}

func dashboardPanels(t *testing.T) []dashboardPanel {
	t.Helper()
	var dashboard struct{ Panels []dashboardPanel }
	if err := json.Unmarshal([]byte(readFile(t, "deploy/grafana/cleave.json")), &dashboard); err != nil {
		t.Fatal(err)
	}
	return dashboard.Panels
}

func TestTheDashboardShowsMetricsThatExist(t *testing.T) {
	shown := map[string]bool{}
	for _, panel := range dashboardPanels(t) {
		for _, target := range panel.Targets {
			where := "panel " + panel.Title
			expression := parse(t, where, target.Expr)
			for _, name := range checkExpression(t, where, expression) {
				shown[name] = true
			}
			checkIncreases(t, where, expression)
		}
	}
	if len(shown) < 25 {
		t.Errorf("the dashboard shows only %d of our metrics", len(shown))
	}
}

// Prometheus may scrape several clusters, and processes that are not ours.
func TestTheDashboardShowsOneCluster(t *testing.T) {
	for _, panel := range dashboardPanels(t) {
		for _, target := range panel.Targets {
			visit(parse(t, panel.Title, target.Expr), func(metric *metricsql.MetricExpr) {
				if !strings.Contains(textOf(metric), `job="$cluster"`) {
					t.Errorf("panel %s: %s is not restricted to the cluster", panel.Title, textOf(metric))
				}
			})
		}
	}
}

// unitsOf returns the units of Grafana that fit an expression.
func unitsOf(e metricsql.Expr) []string {
	per := map[string][]string{"short": {"cps", "reqps"}, "bytes": {"Bps"}, "s": {"short", "percentunit"}}
	switch e := e.(type) {
	case *metricsql.MetricExpr:
		name := strings.TrimSuffix(e.LabelFilterss[0][0].Value, "_total")
		switch {
		case strings.HasSuffix(name, "_bytes"):
			return []string{"bytes"}
		case strings.HasSuffix(strings.TrimSuffix(name, "_sum"), "_seconds"):
			return []string{"s"}
		}
		return []string{"short"}
	case *metricsql.RollupExpr:
		return unitsOf(e.Expr)
	case *metricsql.AggrFuncExpr:
		return unitsOf(e.Args[0])
	case *metricsql.BinaryOpExpr:
		if e.Op == "/" {
			return []string{"percentunit"}
		}
		return unitsOf(e.Left)
	case *metricsql.FuncExpr:
		switch e.Name {
		case "histogram_quantile":
			return []string{"s"} // the only unit of our histograms
		case "rate":
			return per[unitsOf(e.Args[0])[0]]
		}
		return unitsOf(e.Args[0])
	}
	return nil
}

func TestAPanelHasTheUnitOfAllItsSeries(t *testing.T) {
	for _, panel := range dashboardPanels(t) {
		for _, target := range panel.Targets {
			unit := panel.FieldConfig.Defaults.Unit
			if units := unitsOf(parse(t, panel.Title, target.Expr)); !slices.Contains(units, unit) {
				t.Errorf("panel %s shows %s in %s, want %s", panel.Title, target.Expr, unit, units)
			}
		}
	}
}

func TestPanelsDoNotOverlap(t *testing.T) {
	ids, cells := map[int]bool{}, map[[2]int]string{}
	for _, panel := range dashboardPanels(t) {
		if ids[panel.ID] || (panel.Type == "row") != (len(panel.Targets) == 0) {
			t.Errorf("panel %s has the ID of another one, or no series", panel.Title)
		}
		ids[panel.ID] = true
		at := panel.GridPos
		for x := at.X; x < at.X+at.W; x++ {
			for y := at.Y; y < at.Y+at.H; y++ {
				if other, taken := cells[[2]int{x, y}]; taken || x >= 24 {
					t.Fatalf("panel %s is wider than the dashboard, or lies on %q", panel.Title, other)
				}
				cells[[2]int{x, y}] = panel.Title
			}
		}
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
	page := readFile(t, "docs/OPERATIONS.md")
	alerts := map[string]bool{}
	for _, group := range rules.Groups {
		for _, rule := range group.Rules {
			alerts[rule.Alert] = true
			expression := parse(t, rule.Alert, rule.Expr)
			if len(checkExpression(t, rule.Alert, expression)) == 0 {
				t.Errorf("%s looks at none of our metrics", rule.Alert)
			}
			checkIncreases(t, rule.Alert, expression)
			// Otherwise the state of one cluster would hide that of another, or add to it.
			visit(expression, func(sum *metricsql.AggrFuncExpr) {
				if by := sum.Modifier; by.Op != "by" || !slices.Contains(by.Args, "namespace") ||
					!slices.Contains(by.Args, "job") {
					t.Errorf("%s: %s is not by cluster", rule.Alert, textOf(sum))
				}
			})
			// A counter with labels has no series before its first event, and the sum of none is not 0: use "unless ...
			// > 0".
			visit(expression, func(compared *metricsql.BinaryOpExpr) {
				visit(compared.Left, func(f *metricsql.FuncExpr) {
					if compared.Op == "==" && f.Name == "rate" {
						t.Errorf("%s: %s is missing, and not 0, before the first event", rule.Alert, textOf(f))
					}
				})
			})
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
