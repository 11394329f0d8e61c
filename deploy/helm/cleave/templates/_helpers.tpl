{{/* name is the prefix of all names: that of the release, with that of the chart unless it is part of it. */}}
{{- define "cleave.name" -}}
{{- if contains "cleave" .Release.Name }}{{ .Release.Name | trunc 40 | trimSuffix "-" }}{{ else }}{{ printf "%s-cleave" .Release.Name | trunc 40 | trimSuffix "-" }}{{ end }}
{{- end }}

{{/* selector are the labels that tell the pods of a component: (list . "worker"). */}}
{{- define "cleave.selector" -}}
app.kubernetes.io/name: cleave
app.kubernetes.io/instance: {{ (first .).Release.Name }}
app.kubernetes.io/component: {{ last . }}
{{- end }}

{{- define "cleave.labels" -}}
{{ include "cleave.selector" . }}
app.kubernetes.io/version: {{ include "cleave.tag" (first .) | quote }}
{{- end }}

{{/* metadata has the name, the namespace and the labels of an object: (list . "component" "suffix of its name"). */}}
{{- define "cleave.metadata" -}}
name: {{ include "cleave.name" (first .) }}{{ with index . 2 }}-{{ . }}{{ end }}
namespace: {{ (first .).Release.Namespace }}
labels:
  {{- include "cleave.labels" (list (first .) (index . 1)) | nindent 2 }}
{{- end }}

{{- define "cleave.tag" -}}
{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end }}

{{- define "cleave.image" -}}
image: {{ printf "%s/%s:%s" (first .).Values.image.registry (last .) (include "cleave.tag" (first .)) | quote }}
imagePullPolicy: {{ (first .).Values.image.pullPolicy }}
{{- end }}

{{- define "cleave.serviceAccount" -}}
{{ .Values.serviceAccount.name | default (include "cleave.name" .) }}
{{- end }}

{{/* coordinators are the addresses of all coordinators, separated by commas. */}}
{{- define "cleave.coordinators" -}}
{{- range $i := until (int .Values.coordinator.replicas) }}{{ if $i }},{{ end }}{{ include "cleave.name" $ }}-coordinator-{{ $i }}:7400{{ end }}
{{- end }}

{{/* pod has what all pods have in common. No program calls the API of Kubernetes, and none needs a privilege. */}}
{{- define "cleave.pod" -}}
serviceAccountName: {{ include "cleave.serviceAccount" . }}
automountServiceAccountToken: false
enableServiceLinks: false
securityContext:
  runAsNonRoot: true
  runAsUser: 65532
  runAsGroup: 65532
  fsGroup: 65532
  fsGroupChangePolicy: OnRootMismatch
  seccompProfile:
    type: RuntimeDefault
{{- with .Values.image.pullSecrets }}
imagePullSecrets:
  {{- range . }}
  - name: {{ . }}
  {{- end }}
{{- end }}
{{- end }}

{{/* container has what all containers have in common. The message of a container that failed is the end of its log, which kubectl describe shows. */}}
{{- define "cleave.container" -}}
terminationMessagePolicy: FallbackToLogsOnError
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities:
    drop: [ALL]
{{- end }}

{{/* placement has the fields that say where pods of a component run. */}}
{{- define "cleave.placement" -}}
{{- with .nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- end }}

{{/* tlsFlags are the flags for the certificates in a folder. */}}
{{- define "cleave.tlsFlags" -}}
- --tls-ca=/etc/cleave/tls/ca.crt
- --tls-cert=/etc/cleave/tls/tls.crt
- --tls-key=/etc/cleave/tls/tls.key
{{- end }}

{{/* secretVolume is a volume with the files of a Secret: (list "name" "Secret"). */}}
{{- define "cleave.secretVolume" -}}
- name: {{ first . }}
  secret:
    secretName: {{ last . }}
    defaultMode: 0440
{{- end }}

{{/* mebibytes converts a quantity of memory, such as 4Gi. */}}
{{- define "cleave.mebibytes" -}}
{{- $factors := dict "" 0.00000095367431640625 "k" 0.00095367431640625 "M" 0.95367431640625 "G" 953.67431640625 "T" 953674.31640625 "Ki" 0.0009765625 "Mi" 1.0 "Gi" 1024.0 "Ti" 1048576.0 }}
{{- $suffix := regexFind "[a-zA-Z]*$" . }}
{{- mulf (float64 (trimSuffix $suffix .)) (get $factors $suffix) | int64 }}
{{- end }}

{{/* check fails with a sentence where values of the right types do not fit together. */}}
{{- define "cleave.check" -}}
{{- $c := .Values.coordinator }}
{{- range $component := list "coordinator" "worker" }}
{{- $limit := (index $.Values $component).resources.limits.memory }}
{{- if lt (include "cleave.mebibytes" $limit | int64) 640 }}
{{- fail (printf "%s.resources.limits.memory is %s, which is too little: 80 %% of it are for jobs, and the process needs 64 MiB more and room for garbage collection; set it to 640Mi or more" $component $limit) }}
{{- end }}
{{- end }}
{{- if and (gt (int $c.replicas) 1) (or (not .Values.store.etcd.endpoints) (not .Values.store.blobs)) }}
{{- fail (printf "coordinator.replicas is %d, but several coordinators share their state: set store.etcd.endpoints and store.blobs, or coordinator.replicas to 1" (int $c.replicas)) }}
{{- end }}
{{- with .Values.store.etcd }}
{{- if and .endpoints (not .tlsSecret) (not .insecure) }}
{{- fail "store.etcd.endpoints are set without encryption: set store.etcd.tlsSecret, or store.etcd.insecure to true in a network that you trust" }}
{{- end }}
{{- end }}
{{- with .Values.worker.autoscaling }}
{{- if gt (int .minReplicas) (int .maxReplicas) }}
{{- fail (printf "worker.autoscaling.minReplicas is %d, more than maxReplicas, %d" (int .minReplicas) (int .maxReplicas)) }}
{{- end }}
{{- end }}
{{- if and .Values.tokensSecret (eq .Values.tls.mode "none") }}
{{- fail "tokensSecret is set, but tls.mode is none: tokens are never sent without encryption; set tls.mode to secret or cert-manager" }}
{{- end }}
{{- end }}
