package controllers

import (
	"context"
	"fmt"
	"os"
	"slices"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"
)

// simulated is the node that the embedded server brings; on the real server it is one of ours.
const simulated = "windlass-node"

const (
	heartbeat = 10 * time.Second
	// Of a pod: what its container ends with, "1" for instance. Without it, only pods of Jobs end, with "0".
	exitCode = "exit-code"
)

// nodes are three in as many zones, and one that is full with one CPU.
var nodes = []struct{ name, zone, cpus, role string }{
	{"node-a", "a", "4", "worker"},
	{"node-b", "b", "4", "worker"},
	{"node-c", "c", "4", "worker"},
	{"node-small", "d", "1", "small"},
}

// ours are the names of the nodes whose pods we run.
var ours []string

// startNodes registers the nodes and plays their kubelets: it renews their leases, and runs and ends their pods.
func startNodes(ctx context.Context) error {
	if os.Getenv("SERVER") == "real" {
		nodes = append(nodes, struct{ name, zone, cpus, role string }{simulated, "", "8", ""})
	}
	for _, node := range nodes {
		if err := register(ctx, node.name, node.zone, node.cpus, node.role); err != nil {
			return err
		}
		ours = append(ours, node.name)
		go renew(ctx, node.name)
	}
	factory := informers.NewSharedInformerFactory(client, 0)
	informer := factory.Core().V1().Pods().Informer()
	_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(object any) { runPod(ctx, object.(*corev1.Pod)) },
		UpdateFunc: func(_, object any) { runPod(ctx, object.(*corev1.Pod)) },
	})
	factory.Start(ctx.Done())
	return err
}

func register(ctx context.Context, name, zone, cpus, role string) error {
	labels := map[string]string{corev1.LabelHostname: name, "role": role}
	if zone != "" {
		labels[corev1.LabelTopologyZone] = zone
	}
	room := corev1.ResourceList{
		corev1.ResourceCPU:    resource.MustParse(cpus),
		corev1.ResourceMemory: resource.MustParse("8Gi"),
		corev1.ResourcePods:   resource.MustParse("110"),
	}
	_, err := client.CoreV1().Nodes().Create(ctx, &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels},
		Status: corev1.NodeStatus{
			Capacity:    room,
			Allocatable: room,
			Conditions: []corev1.NodeCondition{{
				Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "KubeletReady",
				LastHeartbeatTime: metav1.Now(), LastTransitionTime: metav1.Now(),
			}},
		},
	}, metav1.CreateOptions{})
	return err
}

// renew keeps a node's lease, so that the node stays ready.
func renew(ctx context.Context, node string) {
	leases := client.CoordinationV1().Leases("kube-node-lease")
	for ctx.Err() == nil {
		now := metav1.NowMicro()
		lease, err := leases.Get(ctx, node, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			_, err = leases.Create(ctx, &coordinationv1.Lease{
				ObjectMeta: metav1.ObjectMeta{Name: node},
				Spec: coordinationv1.LeaseSpec{
					HolderIdentity: to(node), LeaseDurationSeconds: to[int32](40), RenewTime: &now,
				},
			}, metav1.CreateOptions{})
		} else if err == nil {
			lease.Spec.RenewTime = &now
			_, err = leases.Update(ctx, lease, metav1.UpdateOptions{})
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, "cannot renew a lease:", err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(heartbeat):
		}
	}
}

// runPod takes a pod of one of our nodes one step further; each step comes back as an update.
func runPod(ctx context.Context, pod *corev1.Pod) {
	if !slices.Contains(ours, pod.Spec.NodeName) {
		return
	}
	api := client.CoreV1().Pods(pod.Namespace)
	code, ends := pod.Annotations[exitCode]
	_, ofJob := pod.Labels["batch.kubernetes.io/job-name"]
	var err error
	switch {
	case pod.DeletionTimestamp != nil && pod.Status.Phase == corev1.PodRunning && ofJob:
		// A Job counts a pod once it has ended.
		err = setStatus(ctx, pod, ended(pod, corev1.PodFailed, 137))
	case pod.DeletionTimestamp != nil:
		err = api.Delete(ctx, pod.Name, metav1.DeleteOptions{
			GracePeriodSeconds: to[int64](0), Preconditions: metav1.NewUIDPreconditions(string(pod.UID)),
		})
	case pod.Status.Phase == corev1.PodPending:
		err = setStatus(ctx, pod, running(pod))
	case pod.Status.Phase == corev1.PodRunning && ends && code != "0":
		err = setStatus(ctx, pod, ended(pod, corev1.PodFailed, 1))
	case pod.Status.Phase == corev1.PodRunning && (ends || ofJob):
		err = setStatus(ctx, pod, ended(pod, corev1.PodSucceeded, 0))
	}
	// Somebody else was first: their change comes as an update.
	if err != nil && ctx.Err() == nil && !apierrors.IsConflict(err) && !apierrors.IsNotFound(err) {
		fmt.Fprintln(os.Stderr, "cannot run a pod:", err)
	}
}

func setStatus(ctx context.Context, pod *corev1.Pod, status corev1.PodStatus) error {
	changed := pod.DeepCopy()
	changed.Status = status
	_, err := client.CoreV1().Pods(pod.Namespace).UpdateStatus(ctx, changed, metav1.UpdateOptions{})
	return err
}

func running(pod *corev1.Pod) corev1.PodStatus {
	status := *pod.Status.DeepCopy()
	now := metav1.Now()
	status.Phase, status.StartTime = corev1.PodRunning, &now
	status.PodIP = fmt.Sprintf("10.244.%d.%d", pod.UID[0], pod.UID[1])
	status.PodIPs = []corev1.PodIP{{IP: status.PodIP}}
	for _, kind := range []corev1.PodConditionType{corev1.PodReady, corev1.ContainersReady, corev1.PodInitialized} {
		status.Conditions = append(status.Conditions, corev1.PodCondition{
			Type: kind, Status: corev1.ConditionTrue, LastTransitionTime: now,
		})
	}
	for _, container := range pod.Spec.Containers {
		status.ContainerStatuses = append(status.ContainerStatuses, corev1.ContainerStatus{
			Name: container.Name, Image: container.Image, Ready: true, Started: to(true),
			State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: now}},
		})
	}
	return status
}

func ended(pod *corev1.Pod, phase corev1.PodPhase, code int32) corev1.PodStatus {
	status := *pod.Status.DeepCopy()
	status.Phase = phase
	for index := range status.Conditions {
		kind := status.Conditions[index].Type
		if kind == corev1.PodReady || kind == corev1.ContainersReady {
			status.Conditions[index].Status = corev1.ConditionFalse
		}
	}
	for index := range status.ContainerStatuses {
		container := &status.ContainerStatuses[index]
		container.Ready, container.Started = false, to(false)
		container.State = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
			ExitCode: code, FinishedAt: metav1.Now(),
		}}
	}
	return status
}
