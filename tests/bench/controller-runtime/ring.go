package main

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// station copies the value of its own hop to the next one.
type station struct {
	client.Client
	own, next int
}

// addRing adds count controllers from first on.
func addRing(manager ctrl.Manager, first, count int) error {
	for own := first; own < first+count; own++ {
		station := &station{manager.GetClient(), own, own + 1}
		err := ctrl.NewControllerManagedBy(manager).
			Named(fmt.Sprintf("station%04d", own)).
			For(hop(own)).
			Complete(station)
		if err != nil {
			return err
		}
	}
	return nil
}

// hop is an object of the kind that the station of that number watches.
func hop(number int) *unstructured.Unstructured {
	hop := &unstructured.Unstructured{}
	hop.SetGroupVersionKind(groupVersion.WithKind(fmt.Sprintf("Hop%04d", number)))
	return hop
}

// Reconcile applies the next hop.
func (s *station) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	own := hop(s.own)
	if err := s.Get(ctx, request.NamespacedName, own); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	value, _, err := unstructured.NestedString(own.Object, "spec", "value")
	if err != nil || value == "" {
		return ctrl.Result{}, err
	}
	next := hop(s.next)
	next.SetNamespace(request.Namespace)
	next.SetName(request.Name)
	if err := unstructured.SetNestedField(next.Object, value, "spec", "value"); err != nil {
		return ctrl.Result{}, err
	}
	apply := client.ApplyConfigurationFromUnstructured(next)
	return ctrl.Result{}, s.Apply(ctx, apply, client.FieldOwner("ring"), client.ForceOwnership)
}
