// Command dashboard writes the Grafana dashboard, whose panels are in panels.go, to a file. With -check it changes
// nothing and fails when the file is not current.
package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"regexp"
)

func main() {
	check := flag.Bool("check", false, "change nothing, and fail when the file is not current")
	flag.Parse()
	if err := write(flag.Arg(0), *check); err != nil {
		fmt.Fprintln(os.Stderr, "dashboard:", err)
		os.Exit(1)
	}
}

func write(path string, check bool) error {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", " ")
	if err := encoder.Encode(dashboard()); err != nil {
		return err
	}
	if !check {
		return os.WriteFile(path, text.Bytes(), 0o644)
	}
	if present, err := os.ReadFile(path); err != nil || !bytes.Equal(present, text.Bytes()) {
		return fmt.Errorf("%s is not current: run make generate", path)
	}
	return nil
}

type object map[string]any

var source = object{"type": "prometheus", "uid": "${datasource}"}

// dashboard returns the dashboard as Grafana's schema wants it.
func dashboard() object {
	clusters := "label_values(cleave_build_info, job)"
	return object{
		"title": "Cleave", "uid": "cleave", "tags": []string{"cleave"}, "schemaVersion": 39, "version": 1,
		"editable": true,
		"refresh":  "10s", "time": object{"from": "now-1h", "to": "now"}, "timezone": "browser",
		"templating": object{"list": []object{
			{"name": "datasource", "label": "Prometheus", "type": "datasource", "query": "prometheus",
				"current": object{}, "hide": 0},
			{"name": "cluster", "label": "Cluster", "type": "query", "datasource": source, "definition": clusters,
				"query": object{"query": clusters, "refId": "StandardVariableQuery"}, "refresh": 2, "sort": 1,
				"includeAll": false, "multi": false, "current": object{}, "hide": 0},
		}},
		"annotations": object{"list": []object{}}, "links": []object{}, "panels": layout(),
	}
}

// layout places the panels: those of a line have the same width.
func layout() []object {
	var placed []object
	y := 0
	place := func(p object, x, width, height int) {
		p["id"] = len(placed) + 1
		p["gridPos"] = object{"x": x, "y": y, "w": width, "h": height}
		placed = append(placed, p)
	}
	for _, r := range rows {
		place(object{"type": "row", "title": r.title, "collapsed": false, "panels": []object{}}, 0, 24, 1)
		y++
		for _, line := range r.lines {
			kind, height := graph, 7
			if len(line) == 6 {
				kind, height = stat, 4
			}
			width := 24 / len(line)
			for i, p := range line {
				place(kind(p), i*width, width, height)
			}
			y += height
		}
	}
	return placed
}

// stat shows the last value of a panel's only series.
func stat(p panel) object {
	return p.object("stat", object{"unit": p.unit}, object{
		"reduceOptions": object{"calcs": []string{"lastNotNull"}}, "colorMode": "value", "graphMode": "area",
		"textMode": "auto",
	})
}

// graph shows the series of a panel over time.
func graph(p panel) object {
	look := object{"fillOpacity": 10, "lineWidth": 1, "showPoints": "never", "stacking": object{"mode": "none"}}
	return p.object("timeseries", object{"unit": p.unit, "custom": look}, object{
		"legend":  object{"displayMode": "list", "placement": "bottom"},
		"tooltip": object{"mode": "multi", "sort": "desc"},
	})
}

func (p panel) object(kind string, defaults, options object) object {
	var targets []object
	for i, s := range p.series {
		targets = append(targets, object{
			"refId": string(rune('A' + i)), "datasource": source, "expr": ofCluster(s.expression),
			"legendFormat": s.legend,
		})
	}
	return object{
		"type": kind, "title": p.title, "description": p.about, "datasource": source, "targets": targets,
		"fieldConfig": object{"defaults": defaults, "overrides": []object{}}, "options": options,
	}
}

var metric = regexp.MustCompile(`\b((?:cleave|go|process)_\w+)(?:\{(.*?)\})?`)

// ofCluster restricts all metrics of an expression to the cluster that is chosen in the dashboard. The processes of a
// cluster are those of one scrape job.
func ofCluster(expression string) string {
	return metric.ReplaceAllStringFunc(expression, func(selector string) string {
		parts := metric.FindStringSubmatch(selector)
		if parts[2] != "" {
			parts[2] = ", " + parts[2]
		}
		return parts[1] + `{job="$cluster"` + parts[2] + "}"
	})
}
