// Command manifests renders deploy/kubernetes from the chart, for those who do without Helm: go run ./manifests writes
// the files, go run ./manifests -check fails if one of them is stale.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"github.com/cleave-project/cleave/test/deploy/chart"
)

func main() {
	check := flag.Bool("check", false, "write nothing, and fail if a file is stale")
	flag.Parse()
	if err := run(*check); err != nil {
		fmt.Fprintln(os.Stderr, "manifests:", err)
		os.Exit(1)
	}
}

func run(check bool) error {
	root, err := chart.Root()
	if err != nil {
		return err
	}
	for _, name := range chart.Plain {
		text, err := chart.PlainFile(name)
		if err != nil {
			return err
		}
		path := filepath.Join(root, "deploy", "kubernetes", name+".yaml")
		if !check {
			if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
				return err
			}
			continue
		}
		if present, err := os.ReadFile(path); err != nil || string(present) != text {
			return fmt.Errorf("deploy/kubernetes/%s.yaml is not what the chart renders: run make generate-manifests",
				name)
		}
	}
	return nil
}
