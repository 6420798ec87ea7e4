package main

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

var groupVersion = schema.GroupVersion{Group: "bench.windlass.dev", Version: "v1"}

// Greeting is the kind of greeting.crd.json.
type Greeting struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              GreetingSpec   `json:"spec,omitempty"`
	Status            GreetingStatus `json:"status,omitempty"`
}

// GreetingSpec is what is wanted.
type GreetingSpec struct {
	Name string `json:"name,omitempty"`
}

// GreetingStatus is what was observed.
type GreetingStatus struct {
	Text               string `json:"text,omitempty"`
	ObservedGeneration int64  `json:"observedGeneration,omitempty"`
}

// DeepCopyObject is what controller-gen would write.
func (g *Greeting) DeepCopyObject() runtime.Object {
	copied := *g
	g.ObjectMeta.DeepCopyInto(&copied.ObjectMeta)
	return &copied
}

// GreetingList is a list of them.
type GreetingList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Greeting `json:"items"`
}

// DeepCopyObject is what controller-gen would write.
func (l *GreetingList) DeepCopyObject() runtime.Object {
	copied := &GreetingList{TypeMeta: l.TypeMeta}
	l.ListMeta.DeepCopyInto(&copied.ListMeta)
	copied.Items = make([]Greeting, len(l.Items))
	for i := range l.Items {
		copied.Items[i] = l.Items[i]
		l.Items[i].ObjectMeta.DeepCopyInto(&copied.Items[i].ObjectMeta)
	}
	return copied
}

func addGreeting(scheme *runtime.Scheme) {
	scheme.AddKnownTypes(groupVersion, &Greeting{}, &GreetingList{})
	metav1.AddToGroupVersion(scheme, groupVersion)
}
