package chart

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	monitoring "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	apps "k8s.io/api/apps/v1"
	batch "k8s.io/api/batch/v1"
	core "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
)

// valuesFiles are all files of the chart's ci folder.
var valuesFiles = []string{"trial", "single", "several", "everything"}

func render(t *testing.T, values map[string]any) ([]runtime.Object, Rendered) {
	t.Helper()
	rendered, err := Render(Default(values))
	if err != nil {
		t.Fatal(err)
	}
	objects, err := rendered.Decode()
	if err != nil {
		t.Fatal(err)
	}
	return objects, rendered
}

func ciValues(t *testing.T, name string) map[string]any {
	t.Helper()
	values, err := Values(name)
	if err != nil {
		t.Fatal(err)
	}
	return values
}

// only returns the one object of a type. It fails the test if there are none or several.
func only[T runtime.Object](t *testing.T, objects []runtime.Object) T {
	t.Helper()
	var found []T
	for _, o := range objects {
		if o, ok := o.(T); ok {
			found = append(found, o)
		}
	}
	if len(found) != 1 {
		t.Fatalf("there are %d objects of type %T, want 1", len(found), *new(T))
	}
	return found[0]
}

func TestValuesFilesAreTested(t *testing.T) {
	files, err := filepath.Glob("../../../deploy/helm/cleave/ci/*-values.yaml")
	if err != nil || len(files) != len(valuesFiles) {
		t.Errorf("the chart has %d files of values (%v), and %d are tested", len(files), err, len(valuesFiles))
	}
}

// Every object has a name, the namespace and labels, and decodes into the type of its kind.
func TestObjects(t *testing.T) {
	kinds := map[string][]string{
		"trial": {"Namespace", "NetworkPolicy", "NetworkPolicy", "PodDisruptionBudget", "ServiceAccount", "Service",
			"Service", "Service",
			"Deployment", "StatefulSet", "Job"},
		"single": {"Namespace", "NetworkPolicy", "NetworkPolicy", "PodDisruptionBudget", "ServiceAccount", "Service",
			"Service", "Service",
			"Deployment", "StatefulSet"},
		"several": {"Namespace", "NetworkPolicy", "NetworkPolicy", "PodDisruptionBudget", "PodDisruptionBudget",
			"ServiceAccount",
			"Service", "Service", "Service", "Service", "Service", "Deployment", "StatefulSet"},
		"everything": {"NetworkPolicy", "NetworkPolicy", "PodDisruptionBudget", "ServiceAccount", "Service",
			"Service", "Service",
			"Deployment", "HorizontalPodAutoscaler", "StatefulSet", "Job", "Certificate", "Certificate", "Certificate",
			"Certificate",
			"Issuer", "Issuer", "ServiceMonitor"},
	}
	for _, name := range valuesFiles {
		objects, _ := render(t, ciValues(t, name))
		var got []string
		for _, o := range objects {
			kind := o.GetObjectKind().GroupVersionKind().Kind
			got = append(got, kind)
			object, err := meta.Accessor(o)
			if err != nil {
				t.Fatal(err)
			}
			if kind != "Namespace" &&
				(object.GetNamespace() != "cleave" || object.GetLabels()["app.kubernetes.io/instance"] != "cleave") {
				t.Errorf("%s: %s %s has the namespace %q and the labels %v", name, kind, object.GetName(),
					object.GetNamespace(), object.GetLabels())
			}
		}
		want := kinds[name]
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("%s has the kinds\n%v, want\n%v", name, got, want)
		}
	}
}

// templates returns the pod templates by the name of their component.
func templates(objects []runtime.Object) map[string]core.PodTemplateSpec {
	found := map[string]core.PodTemplateSpec{}
	for _, o := range objects {
		var template core.PodTemplateSpec
		switch o := o.(type) {
		case *apps.Deployment:
			template = o.Spec.Template
		case *apps.StatefulSet:
			template = o.Spec.Template
		case *batch.Job:
			template = o.Spec.Template
		default:
			continue
		}
		found[template.Labels["app.kubernetes.io/component"]] = template
	}
	return found
}

// Every pod asks for what the profile restricted allows, has a read-only root, a memory limit, and a message when it
// fails.
func TestPodsAreRestricted(t *testing.T) {
	for _, name := range valuesFiles {
		objects, _ := render(t, ciValues(t, name))
		for component, template := range templates(objects) {
			spec := template.Spec
			if s := spec.SecurityContext; s == nil || !*s.RunAsNonRoot || *s.RunAsUser == 0 ||
				s.SeccompProfile.Type != core.SeccompProfileTypeRuntimeDefault {
				t.Errorf("%s: the pod %s has the security context %+v", name, component, s)
			}
			if *spec.AutomountServiceAccountToken {
				t.Errorf("%s: the pod %s has a token of the API", name, component)
			}
			for _, c := range slices.Concat(spec.InitContainers, spec.Containers) {
				s := c.SecurityContext
				if *s.AllowPrivilegeEscalation || !*s.ReadOnlyRootFilesystem ||
					!slices.Equal(s.Capabilities.Drop, []core.Capability{"ALL"}) {
					t.Errorf("%s: the container %s has the security context %+v", name, c.Name, s)
				}
				if c.TerminationMessagePolicy != core.TerminationMessageFallbackToLogsOnError {
					t.Errorf("%s: the container %s has the message policy %q", name, c.Name, c.TerminationMessagePolicy)
				}
				if c.Resources.Limits.Memory().IsZero() {
					t.Errorf("%s: the container %s has no memory limit", name, c.Name)
				}
			}
		}
	}
}

// A pod mounts only volumes that it has, uses all of them, and its probes name ports that it has.
func TestPodsAreConsistent(t *testing.T) {
	for _, name := range valuesFiles {
		objects, _ := render(t, ciValues(t, name))
		claims := map[string]bool{}
		for _, c := range only[*apps.StatefulSet](t, objects).Spec.VolumeClaimTemplates {
			claims[c.Name] = true
		}
		for component, template := range templates(objects) {
			volumes := map[string]bool{}
			for _, v := range template.Spec.Volumes {
				volumes[v.Name] = false
			}
			if component == "coordinator" {
				for c := range claims {
					volumes[c] = false
				}
			}
			for _, c := range slices.Concat(template.Spec.InitContainers, template.Spec.Containers) {
				ports := map[string]bool{}
				for _, p := range c.Ports {
					ports[p.Name] = true
				}
				for _, m := range c.VolumeMounts {
					if _, ok := volumes[m.Name]; !ok {
						t.Errorf("%s: %s mounts %s, which is no volume", name, c.Name, m.Name)
					}
					volumes[m.Name] = true
				}
				for _, p := range []*core.Probe{c.StartupProbe, c.LivenessProbe, c.ReadinessProbe} {
					if component != "first-job" && (p == nil || !ports[p.HTTPGet.Port.String()]) {
						t.Errorf("%s: %s has the probe %+v", name, c.Name, p)
					}
				}
			}
			for v, used := range volumes {
				if !used {
					t.Errorf("%s: no container of %s mounts the volume %s", name, component, v)
				}
			}
		}
	}
}

// Standbys of several coordinators are ready, otherwise an update would wait for them without end. One alone is ready
// if it serves.
func TestReadiness(t *testing.T) {
	for name, want := range map[string]string{"single": "/readyz", "several": "/healthz"} {
		objects, _ := render(t, ciValues(t, name))
		if got := templates(objects)["coordinator"].Spec.Containers[0].ReadinessProbe.HTTPGet.Path; got != want {
			t.Errorf("%s: a coordinator is ready by %s, want %s", name, got, want)
		}
	}
}

func TestAddresses(t *testing.T) {
	objects, _ := render(t, ciValues(t, "several"))
	const want = "--coordinator=cleave-coordinator-0:7400,cleave-coordinator-1:7400,cleave-coordinator-2:7400"
	if args := templates(objects)["worker"].Spec.Containers[0].Args; !slices.Contains(args, want) {
		t.Errorf("workers have the flags %v, without %s", args, want)
	}
	var names []string
	for _, o := range objects {
		if s, ok := o.(*core.Service); ok && s.Spec.ClusterIP != core.ClusterIPNone {
			names = append(names, s.Name)
			if s.Spec.Selector["statefulset.kubernetes.io/pod-name"] != s.Name {
				t.Errorf("the service %s selects %v", s.Name, s.Spec.Selector)
			}
		}
	}
	if !slices.Equal(names, []string{"cleave-coordinator-0", "cleave-coordinator-1", "cleave-coordinator-2"}) {
		t.Errorf("the services of coordinators are %v", names)
	}
}

// With an autoscaler the Deployment has no number of workers, which every upgrade would set again.
func TestTheAutoscalerCountsWorkers(t *testing.T) {
	objects, _ := render(t, ciValues(t, "everything"))
	if n := only[*apps.Deployment](t, objects).Spec.Replicas; n != nil {
		t.Errorf("the Deployment sets %d workers", *n)
	}
}

// The plain manifests are what the chart renders now.
func TestPlainManifestsAreCurrent(t *testing.T) {
	for _, name := range Plain {
		want, err := PlainFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile("../../../deploy/kubernetes/" + name + ".yaml"); err != nil || string(got) != want {
			t.Errorf("deploy/kubernetes/%s.yaml is stale (%v): run make generate-manifests", name, err)
		}
	}
}

func TestNotes(t *testing.T) {
	for name, want := range map[string]string{
		"trial": "everybody who reaches port 7400 may do everything",
		"single": "cleave certs init --host localhost --host cleave-coordinator-0 --host " +
			"cleave-coordinator-0.cleave.svc\n",
		"several": "--server cleave-coordinator-0:7400,cleave-coordinator-1:7400,cleave-coordinator-2:7400",
	} {
		if _, rendered := render(t, ciValues(t, name)); !strings.Contains(rendered.Notes, want) {
			t.Errorf("%s: the notes are\n%s\nwithout %q", name, rendered.Notes, want)
		}
	}
}

// The commands of the notes create the Secrets that the pods mount, whatever their names are.
func TestNotesCreateTheSecretsThatPodsMount(t *testing.T) {
	values, err := Parse("tls: {coordinatorSecret: leaders, workerSecret: hands, clientSecret: someone}\nfirstJob: " +
		"{enabled: true}")
	if err != nil {
		t.Fatal(err)
	}
	objects, rendered := render(t, values)
	notes := strings.ReplaceAll(rendered.Notes, "\\\n", "")
	for component, template := range templates(objects) {
		party := component
		if component == "first-job" {
			party = "admin"
		}
		for _, v := range template.Spec.Volumes {
			if v.Name != "tls" {
				continue
			}
			want := "create secret generic " + v.Secret.SecretName + "     --from-file=ca.crt=certs/" + party +
				"/ca.pem"
			if !strings.Contains(notes, want) {
				t.Errorf("%s mounts %s, and the notes are\n%s\nwithout %q", component, v.Secret.SecretName,
					rendered.Notes, want)
			}
		}
	}
}

// Releases in one Prometheus are told apart by the job, which coordinators and workers of a release share.
func TestTheJobOfMetricsIsTheRelease(t *testing.T) {
	for _, release := range []Release{{Name: "old", Namespace: "east"}, {Name: "new", Namespace: "east"},
		{Name: "old", Namespace: "west"}} {
		release.Values = ciValues(t, "everything")
		rendered, err := Render(release)
		if err != nil {
			t.Fatal(err)
		}
		objects, err := rendered.Decode()
		if err != nil {
			t.Fatal(err)
		}
		endpoints := only[*monitoring.ServiceMonitor](t, objects).Spec.Endpoints
		if len(endpoints) != 1 || len(endpoints[0].RelabelConfigs) != 1 {
			t.Fatalf("the ServiceMonitor has the endpoints %+v", endpoints)
		}
		job := endpoints[0].RelabelConfigs[0]
		if want := release.Namespace + "/" + release.Name; job.TargetLabel != "job" || job.Replacement == nil ||
			*job.Replacement != want {
			t.Errorf("the label %s of the release %s is %v, want the job %s", job.TargetLabel, release.Name,
				job.Replacement, want)
		}
	}
}

// A value of the wrong type, of a wrong name or that does not fit gets a sentence that names it.
func TestBadValues(t *testing.T) {
	for values, want := range map[string]string{
		"worker: {replicas: three}": "'/worker/replicas': got string, want integer",
		"worker: {replicas: -1}":    "'/worker/replicas': minimum",
		"worker: {replica: 3}":      "additional properties 'replica' not allowed",
		"worker: {resources: {limits: {memory: 8}}}": "'/worker/resources/limits/memory': got " +
			"number, want string",
		"worker: {resources: {limits: {memory: 8GB}}}": "'/worker/resources/limits/memory': '8GB' does " +
			"not match pattern",
		"worker: {resources: {limits: {memory: 256Mi}}}": "worker.resources.limits.memory is 256Mi, which " +
			"is too little",
		"coordinator: {resources: {limits: {memory: \"600000k\"}}}": "coordinator.resources.limits.memory is " +
			"600000k, which is too little",
		"coordinator: {args: [max-running=8]}": "'/coordinator/args/0': 'max-running=8' does not match " +
			"pattern '^--'",
		"coordinator: {replicas: 3}": "coordinator.replicas is 3, but several coordinators " +
			"share their state",
		"store: {etcd: {endpoints: [\"http://e:2379\"]}}": "'/store/etcd/endpoints/0'",
		"store: {etcd: {endpoints: [\"e:2379\"]}}":        "store.etcd.endpoints are set without encryption",
		"store: {blobs: /var/lib/blobs}":                  "'/store/blobs'",
		"tls: {mode: on}":                                 "'/tls/mode': value must be one of",
		"tls: {mode: none}\ntokensSecret: tokens":         "tokens are never sent without encryption",
		"worker: {autoscaling: {minReplicas: 11}}": "worker.autoscaling.minReplicas is 11, more than " +
			"maxReplicas, 10",
		"worker: {maxSurge: 1.5}":          "'/worker/maxSurge'",
		"networkPolicy: {enabled: \"no\"}": "'/networkPolicy/enabled': got string, want boolean",
	} {
		parsed, err := Parse(values)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Render(Default(parsed)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", values, err, want)
		}
	}
}
