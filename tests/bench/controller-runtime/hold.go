package main

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// addHolder adds a controller that watches all objects of a kind and does nothing about them; with a time in again,
// over and over. It says each second how many passes there were.
func addHolder(manager ctrl.Manager, resource string, again time.Duration) (client.Object, error) {
	held := map[string]client.Object{"configmaps": &corev1.ConfigMap{}, "pods": &corev1.Pod{}}[resource]
	if held == nil {
		return nil, fmt.Errorf("no resource %q to hold", resource)
	}
	var passes atomic.Int64
	idle := func(context.Context, reconcile.Request) (reconcile.Result, error) {
		passes.Add(1)
		return reconcile.Result{RequeueAfter: again}, nil
	}
	go func() {
		for range time.Tick(time.Second) {
			fmt.Println("passes", passes.Load())
		}
	}()
	options := controller.Options{MaxConcurrentReconciles: 8}
	return held, ctrl.NewControllerManagedBy(manager).For(held).WithOptions(options).Complete(reconcile.Func(idle))
}
