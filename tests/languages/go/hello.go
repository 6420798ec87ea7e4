// Package export_windlass_plugin_controller is the hello plugin in Go: one ConfigMap beside each
// Greeting, by the raw bindings of `wit-bindgen go`, which also give the package its name.
package export_windlass_plugin_controller

import (
	"encoding/json"

	wit "go.bytecodealliance.org/pkg/wit/types"
	"wit_component/windlass_plugin_cluster"
	"wit_component/windlass_plugin_config"
	"wit_component/windlass_plugin_log"
	"wit_component/windlass_plugin_types"
)

type (
	action   = windlass_plugin_types.Action
	failure  = windlass_plugin_types.Failure
	progress = windlass_plugin_types.Progress
)

type metadata struct {
	Name            string           `json:"name"`
	Namespace       string           `json:"namespace"`
	UID             string           `json:"uid,omitempty"`
	OwnerReferences []ownerReference `json:"ownerReferences,omitempty"`
}

type ownerReference struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Name       string `json:"name"`
	UID        string `json:"uid"`
}

type object struct {
	APIVersion string            `json:"apiVersion"`
	Kind       string            `json:"kind"`
	Metadata   metadata          `json:"metadata"`
	Spec       map[string]any    `json:"spec,omitempty"`
	Data       map[string]string `json:"data,omitempty"`
	Status     map[string]string `json:"status,omitempty"`
}

// Describe says what the plugin watches and asks to touch.
func Describe() windlass_plugin_types.Description {
	rule := func(group, resource string, verbs ...string) windlass_plugin_types.Rule {
		return windlass_plugin_types.Rule{
			ApiGroups: []string{group},
			Resources: []string{resource},
			Verbs:     verbs,
		}
	}
	return windlass_plugin_types.Description{
		Name:    "hello",
		Version: "0.1.0",
		Primaries: []windlass_plugin_types.Watch{{
			ApiVersion:    "examples.windlass.dev/v1",
			Kind:          "Greeting",
			LabelSelector: wit.None[string](),
			FieldSelector: wit.None[string](),
			Trigger:       windlass_plugin_types.Trigger_AnyChange,
			Finalizes:     windlass_plugin_types.Finalizes_Always,
			OnLeave:       windlass_plugin_types.OnLeave_Forget,
		}},
		Needs: []windlass_plugin_types.Rule{
			rule("examples.windlass.dev", "greetings", "get", "list", "watch", "patch"),
			rule("examples.windlass.dev", "greetings/status", "patch"),
			rule("", "configmaps", "get", "list", "watch", "create", "patch", "delete"),
		},
	}
}

// Reconcile applies the ConfigMap and the status.
func Reconcile(request windlass_plugin_types.Request) wit.Result[action, failure] {
	greeting, err := parse(request.Object)
	if err != nil {
		return wit.Err[action](windlass_plugin_types.MakeFailureTerminal(err.Error()))
	}
	name, _ := greeting.Spec["name"].(string)
	if name == "" {
		return wit.Err[action](windlass_plugin_types.MakeFailureTerminal("spec.name is empty"))
	}
	config := map[string]string{"word": "Hello"}
	if err := json.Unmarshal([]byte(windlass_plugin_config.Get()), &config); err != nil {
		return wit.Err[action](windlass_plugin_types.MakeFailureTerminal(err.Error()))
	}
	if config["word"] == "" {
		return wit.Ok[action, failure](windlass_plugin_types.MakeActionAwaitChange())
	}
	text := config["word"] + ", " + name + "!"

	before := "None"
	target, stored := child(greeting), windlass_plugin_cluster.Consistency_Stored
	found := windlass_plugin_cluster.Get(target, wit.None[string](), stored)
	if found.IsOk() {
		hello, err := parse(found.Ok())
		if err != nil {
			return wit.Err[action](windlass_plugin_types.MakeFailureTransient(err.Error()))
		}
		before = hello.Data["text"]
	} else if code := found.Err(); code.Tag() != windlass_plugin_cluster.Error_NotFound {
		return wit.Err[action](windlass_plugin_types.MakeFailureTransient("cannot get the ConfigMap"))
	}
	fields := []windlass_plugin_log.Field{{Key: "before", Value: before}}
	windlass_plugin_log.Log(windlass_plugin_log.Level_Info, "read", fields)

	hello := object{APIVersion: "v1", Kind: "ConfigMap", Data: map[string]string{"text": text}}
	hello.Metadata.Name, hello.Metadata.Namespace = target.Name, greeting.Metadata.Namespace
	hello.Metadata.OwnerReferences = []ownerReference{{
		greeting.APIVersion, greeting.Kind, greeting.Metadata.Name, greeting.Metadata.UID,
	}}
	if windlass_plugin_cluster.Apply(written(hello)).IsErr() {
		return wit.Err[action](windlass_plugin_types.MakeFailureTransient("cannot apply the ConfigMap"))
	}
	status := object{APIVersion: greeting.APIVersion, Kind: greeting.Kind}
	status.Metadata.Name, status.Metadata.Namespace = greeting.Metadata.Name, greeting.Metadata.Namespace
	status.Status = map[string]string{"text": text}
	if windlass_plugin_cluster.ApplyStatus(written(status)).IsErr() {
		return wit.Err[action](windlass_plugin_types.MakeFailureTransient("cannot apply the status"))
	}
	return wit.Ok[action, failure](windlass_plugin_types.MakeActionAwaitChange())
}

// Finalize deletes the ConfigMap.
func Finalize(request windlass_plugin_types.Request) wit.Result[progress, failure] {
	greeting, err := parse(request.Object)
	if err != nil {
		return wit.Err[progress](windlass_plugin_types.MakeFailureTerminal(err.Error()))
	}
	options := windlass_plugin_cluster.DeleteOptions{
		Uid:                wit.None[string](),
		ResourceVersion:    wit.None[string](),
		Propagation:        wit.None[windlass_plugin_cluster.Propagation](),
		GracePeriodSeconds: wit.None[uint32](),
	}
	if windlass_plugin_cluster.Delete(child(greeting), options).IsErr() {
		return wit.Err[progress](windlass_plugin_types.MakeFailureTransient("cannot delete the ConfigMap"))
	}
	return wit.Ok[progress, failure](windlass_plugin_types.MakeProgressDone())
}

func child(greeting object) windlass_plugin_types.ObjectRef {
	return windlass_plugin_types.ObjectRef{
		ApiVersion: "v1",
		Kind:       "ConfigMap",
		Namespace:  wit.Some(greeting.Metadata.Namespace),
		Name:       greeting.Metadata.Name + "-hello",
	}
}

func parse(text string) (parsed object, err error) {
	err = json.Unmarshal([]byte(text), &parsed)
	return parsed, err
}

func written(object object) string {
	text, err := json.Marshal(object)
	if err != nil {
		panic(err)
	}
	return string(text)
}
