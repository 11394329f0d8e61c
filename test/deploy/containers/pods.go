// Package containers runs the pod templates of the chart as real containers, with podman.
package containers

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"

	apps "k8s.io/api/apps/v1"
	batch "k8s.io/api/batch/v1"
	core "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"
)

// user is the user and the group of the images, which fsGroup makes the group of volumes in Kubernetes.
const user = 65532

// Pods turns workloads into the pods that Kubernetes would make of them, as far as podman 4.3 needs it, and changes
// nothing else of their templates: StatefulSets become pods with claims, Secrets become folders below dir and
// variables, probes and ports are left out, because podman would run curl for the former and take ports of this machine
// for the latter.
func Pods(objects []runtime.Object, secrets map[string]map[string][]byte, dir string) ([]core.Pod, error) {
	var pods []core.Pod
	for _, o := range objects {
		switch o := o.(type) {
		case *apps.StatefulSet:
			for i := range *o.Spec.Replicas {
				name := fmt.Sprintf("%s-%d", o.Name, i)
				pod := newPod(name, o.Spec.Template)
				for _, claim := range o.Spec.VolumeClaimTemplates {
					source := &core.PersistentVolumeClaimVolumeSource{ClaimName: claim.Name + "-" + name}
					pod.Spec.Volumes = append(pod.Spec.Volumes,
						core.Volume{Name: claim.Name, VolumeSource: core.VolumeSource{PersistentVolumeClaim: source}})
				}
				pods = append(pods, pod)
			}
		case *apps.Deployment:
			for i := range *o.Spec.Replicas {
				pods = append(pods, newPod(fmt.Sprintf("%s-%d", o.Name, i), o.Spec.Template))
			}
		case *batch.Job:
			pods = append(pods, newPod(o.Name, o.Spec.Template))
		}
	}
	for i := range pods {
		if err := replaceSecrets(&pods[i].Spec, secrets, dir); err != nil {
			return nil, err
		}
		for j := range pods[i].Spec.Containers {
			c := &pods[i].Spec.Containers[j]
			c.Ports, c.StartupProbe, c.LivenessProbe, c.ReadinessProbe = nil, nil, nil, nil
		}
	}
	return pods, nil
}

func newPod(name string, template core.PodTemplateSpec) core.Pod {
	pod := core.Pod{ObjectMeta: template.ObjectMeta, Spec: *template.Spec.DeepCopy()}
	pod.APIVersion, pod.Kind, pod.Name = "v1", "Pod", name
	return pod
}

func replaceSecrets(spec *core.PodSpec, secrets map[string]map[string][]byte, dir string) error {
	for i, v := range spec.Volumes {
		if v.Secret == nil {
			continue
		}
		folder := filepath.Join(dir, v.Secret.SecretName)
		if err := writeSecret(folder, secrets[v.Secret.SecretName], os.FileMode(*v.Secret.DefaultMode)); err != nil {
			return err
		}
		kind := core.HostPathDirectory
		spec.Volumes[i].VolumeSource = core.VolumeSource{HostPath: &core.HostPathVolumeSource{Path: folder,
			Type: &kind}}
	}
	for i := range spec.Containers {
		c := &spec.Containers[i]
		for _, from := range c.EnvFrom {
			for name, value := range secrets[from.SecretRef.Name] {
				c.Env = append(c.Env, core.EnvVar{Name: name, Value: string(value)})
			}
		}
		c.EnvFrom = nil
	}
	return nil
}

// writeSecret writes the files of a Secret with the mode and the group that they have in Kubernetes.
func writeSecret(folder string, content map[string][]byte, mode os.FileMode) error {
	if len(content) == 0 {
		return fmt.Errorf("there is no Secret %s", filepath.Base(folder))
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	for name, bytes := range content {
		path := filepath.Join(folder, name)
		if err := os.WriteFile(path, bytes, 0o600); err != nil {
			return err
		}
		if err := os.Chmod(path, mode); err != nil {
			return err
		}
		if err := os.Chown(path, 0, user); err != nil {
			return err
		}
	}
	return nil
}

// withOwnVolumes gives the volumes that begin empty names of their own. podman makes one volume of all that have the
// same name, whereas in Kubernetes each pod has its own.
func withOwnVolumes(pod core.Pod) core.Pod {
	pod = *pod.DeepCopy()
	own := map[string]string{}
	for i := range pod.Spec.Volumes {
		if v := &pod.Spec.Volumes[i]; v.EmptyDir != nil {
			own[v.Name] = pod.Name + "-" + v.Name
			v.Name = own[v.Name]
		}
	}
	for _, container := range slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers) {
		for i := range container.VolumeMounts {
			if mount := &container.VolumeMounts[i]; own[mount.Name] != "" {
				mount.Name = own[mount.Name]
			}
		}
	}
	return pod
}

func marshal(pod core.Pod) ([]byte, error) { return yaml.Marshal(pod) }
