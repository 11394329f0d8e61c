// Package chart renders deploy/helm/cleave with Helm's own engine, and decodes what it renders.
package chart

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	certificates "github.com/cert-manager/cert-manager/pkg/apis/certmanager/v1"
	monitoring "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/common/util"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/engine"
	releases "helm.sh/helm/v4/pkg/release/v1/util"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/json"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/yaml"
)

// Release is the name and the namespace of a release, and its values.
type Release struct {
	Name, Namespace string
	Values          map[string]any
}

// Default returns the release that the manifests of deploy/kubernetes are rendered for.
func Default(values map[string]any) Release {
	return Release{Name: "cleave", Namespace: "cleave", Values: values}
}

// Root returns the root of the repository, given a folder of it.
func Root() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "deploy", "helm", "cleave", "Chart.yaml")); err == nil {
			return dir, nil
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", fmt.Errorf("no folder above has deploy/helm/cleave: run this in the repository")
		}
		dir = parent
	}
}

// Values reads deploy/helm/cleave/ci/NAME-values.yaml.
func Values(name string) (map[string]any, error) {
	root, err := Root()
	if err != nil {
		return nil, err
	}
	text, err := os.ReadFile(filepath.Join(root, "deploy", "helm", "cleave", "ci", name+"-values.yaml"))
	if err != nil {
		return nil, err
	}
	return Parse(string(text))
}

// Parse reads values as YAML.
func Parse(text string) (map[string]any, error) {
	var values map[string]any
	err := yaml.Unmarshal([]byte(text), &values)
	return values, err
}

// Rendered is what a release consists of.
type Rendered struct {
	Manifests []string // of one object each, in the order in which they are applied
	Notes     string
}

// Render renders the chart after checking the values by its schema, as helm install does.
func Render(r Release) (Rendered, error) {
	root, err := Root()
	if err != nil {
		return Rendered{}, err
	}
	loaded, err := loader.LoadDir(filepath.Join(root, "deploy", "helm", "cleave"))
	if err != nil {
		return Rendered{}, err
	}
	options := common.ReleaseOptions{Name: r.Name, Namespace: r.Namespace, IsInstall: true, Revision: 1}
	values, err := util.ToRenderValues(loaded, r.Values, options, common.DefaultCapabilities)
	if err != nil {
		return Rendered{}, err
	}
	files, err := engine.Engine{Strict: true}.Render(loaded, values)
	if err != nil {
		return Rendered{}, err
	}
	var rendered Rendered
	for name, text := range files {
		if strings.HasSuffix(name, "NOTES.txt") {
			rendered.Notes = text
			delete(files, name)
		}
	}
	_, manifests, err := releases.SortManifests(files, nil, releases.InstallOrder)
	if err != nil {
		return Rendered{}, err
	}
	for _, m := range manifests {
		rendered.Manifests = append(rendered.Manifests, strings.TrimSpace(m.Content)+"\n")
	}
	return rendered, nil
}

// File joins the manifests into one file.
func (r Rendered) File() string { return strings.Join(r.Manifests, "---\n") }

// Decode decodes the manifests into the types of Kubernetes, cert-manager and the Prometheus operator. Fields that a
// type does not have, fields that occur twice and values of the wrong type are errors.
func (r Rendered) Decode() ([]runtime.Object, error) {
	types := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{scheme.AddToScheme, certificates.AddToScheme,
		monitoring.AddToScheme} {
		if err := add(types); err != nil {
			return nil, err
		}
	}
	decoder := json.NewSerializerWithOptions(json.DefaultMetaFactory, types, types,
		json.SerializerOptions{Yaml: true, Strict: true})
	var objects []runtime.Object
	for _, manifest := range r.Manifests {
		object, _, err := decoder.Decode([]byte(manifest), nil, nil)
		if err != nil {
			return nil, fmt.Errorf("%w in\n%s", err, numbered(manifest))
		}
		objects = append(objects, object)
	}
	return objects, nil
}

func numbered(text string) string {
	var b bytes.Buffer
	for i, line := range strings.Split(text, "\n") {
		fmt.Fprintf(&b, "%3d  %s\n", i+1, line)
	}
	return b.String()
}
