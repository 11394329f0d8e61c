package chart

import "fmt"

// Plain are the files of deploy/kubernetes, and the values in the chart's ci folder that they are rendered from.
var Plain = []string{"trial", "single", "several"}

// PlainFile renders a file of deploy/kubernetes.
func PlainFile(name string) (string, error) {
	values, err := Values(name)
	if err != nil {
		return "", err
	}
	rendered, err := Render(Default(values))
	if err != nil {
		return "", err
	}
	header := fmt.Sprintf("# Rendered from deploy/helm/cleave with ci/%s-values.yaml. Do not edit: run make "+
		"generate-manifests.\n", name)
	return header + rendered.File(), nil
}
