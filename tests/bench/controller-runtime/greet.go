package main

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1apply "k8s.io/client-go/applyconfigurations/core/v1"
	metav1apply "k8s.io/client-go/applyconfigurations/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
)

const (
	finalizer   = "bench.windlass.dev/greeter"
	concurrency = 8
)

type greeter struct{ client.Client }

func addGreeter(manager ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(manager).
		For(&Greeting{}).
		Owns(&corev1.ConfigMap{}).
		WithOptions(controller.Options{MaxConcurrentReconciles: concurrency}).
		Complete(&greeter{manager.GetClient()})
}

// Reconcile writes only what the cache does not show already.
func (r *greeter) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	var greeting Greeting
	if err := r.Get(ctx, request.NamespacedName, &greeting); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !greeting.DeletionTimestamp.IsZero() {
		return ctrl.Result{}, r.finalize(ctx, &greeting)
	}
	if controllerutil.AddFinalizer(&greeting, finalizer) {
		if err := r.Update(ctx, &greeting); err != nil {
			return ctrl.Result{}, err
		}
	}
	text := "Hello, " + greeting.Spec.Name + "!"
	if err := r.child(ctx, &greeting, text); err != nil {
		return ctrl.Result{}, err
	}
	if greeting.Status.Text == text && greeting.Status.ObservedGeneration == greeting.Generation {
		return ctrl.Result{}, nil
	}
	greeting.Status = GreetingStatus{Text: text, ObservedGeneration: greeting.Generation}
	return ctrl.Result{}, r.Status().Update(ctx, &greeting)
}

func (r *greeter) child(ctx context.Context, greeting *Greeting, text string) error {
	var child corev1.ConfigMap
	err := r.Get(ctx, client.ObjectKeyFromObject(greeting), &child)
	if client.IgnoreNotFound(err) != nil {
		return err
	}
	if err == nil && child.Data["text"] == text && v1.IsControlledBy(&child, greeting) {
		return nil
	}
	owner := metav1apply.OwnerReference().
		WithAPIVersion(groupVersion.String()).WithKind("Greeting").
		WithName(greeting.Name).WithUID(greeting.UID).
		WithController(true).WithBlockOwnerDeletion(true)
	wanted := corev1apply.ConfigMap(greeting.Name, greeting.Namespace).
		WithOwnerReferences(owner).
		WithData(map[string]string{"text": text})
	return r.Apply(ctx, wanted, client.FieldOwner("greeter"), client.ForceOwnership)
}

func (r *greeter) finalize(ctx context.Context, greeting *Greeting) error {
	if !controllerutil.ContainsFinalizer(greeting, finalizer) {
		return nil
	}
	child := corev1.ConfigMap{ObjectMeta: v1.ObjectMeta{Name: greeting.Name, Namespace: greeting.Namespace}}
	if err := r.Delete(ctx, &child); client.IgnoreNotFound(err) != nil {
		return err
	}
	controllerutil.RemoveFinalizer(greeting, finalizer)
	return client.IgnoreNotFound(r.Update(ctx, greeting))
}
