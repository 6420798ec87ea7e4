{{- /* The name of most objects: that of the release, with the name of the chart in it. */ -}}
{{- define "windlass.name" -}}
{{- $name := .Release.Name -}}
{{- if not (contains "windlass" $name) -}}{{- $name = printf "%s-windlass" $name -}}{{- end -}}
{{- $name | trunc 53 | trimSuffix "-" -}}
{{- end -}}

{{- /* The host never lets a plugin change roles whose names begin with `windlass-`. */ -}}
{{- define "windlass.role" -}}
{{- $rest := include "windlass.name" . | trimPrefix "windlass" | trimPrefix "-" -}}
{{- ternary (printf "windlass-%s" $rest) "windlass" (ne $rest "") -}}
{{- end -}}

{{- define "windlass.account" -}}
{{- with .Values.serviceAccount -}}
{{- if .create -}}
{{- .name | default (include "windlass.name" $) -}}
{{- else -}}
{{- required "serviceAccount.name: name an account that exists, or set serviceAccount.create" .name -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- define "windlass.image" -}}
{{- with .Values.image -}}
{{- if .digest -}}{{ .repository }}@{{ .digest }}{{- else -}}{{ .repository }}:{{ .tag | default $.Chart.AppVersion }}{{- end -}}
{{- end -}}
{{- end -}}

{{- define "windlass.selector" -}}
app.kubernetes.io/name: windlass
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "windlass.labels" -}}
{{ include "windlass.selector" . }}
app.kubernetes.io/part-of: windlass
app.kubernetes.io/managed-by: {{ .Release.Service }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end -}}

{{- /* Of the pod: what Pod Security "restricted" asks for, and no more rights than that. */ -}}
{{- define "windlass.podSecurity" -}}
runAsNonRoot: true
runAsUser: 65532
runAsGroup: 65532
seccompProfile:
  type: RuntimeDefault
{{- end -}}

{{- define "windlass.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop: [ALL]
{{- end -}}

{{- /* The config folder: what is in the ConfigMap of the operator, and the documents of `plugins`. */ -}}
{{- define "windlass.config" -}}
name: plugins
projected:
  sources:
    - configMap:
        name: {{ include "windlass.name" . }}-plugins
        optional: true
    {{- if .Values.plugins }}
    - configMap:
        name: {{ include "windlass.name" . }}-documents
    {{- end }}
{{- end -}}

{{- define "windlass.subjects" -}}
- kind: ServiceAccount
  name: {{ include "windlass.account" . }}
  namespace: {{ .Release.Namespace }}
{{- end -}}
