package controllers

import (
	"context"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
)

func createPod(t *testing.T, namespace, name string, spec corev1.PodSpec) {
	t.Helper()
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"app": name}}, Spec: spec}
	_, err := client.CoreV1().Pods(namespace).Create(t.Context(), pod, metav1.CreateOptions{})
	check(t, err)
}

// eventuallyUnschedulable waits until the scheduler says of a pod why it has no node.
func eventuallyUnschedulable(t *testing.T, namespace, name, why string) {
	t.Helper()
	eventually(t, name+" has no node: "+why, func(ctx context.Context) (bool, error) {
		pod, err := client.CoreV1().Pods(namespace).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return false, err
		}
		for _, condition := range pod.Status.Conditions {
			if condition.Type == corev1.PodScheduled {
				return condition.Reason == corev1.PodReasonUnschedulable && strings.Contains(condition.Message, why), nil
			}
		}
		return false, nil
	})
}

func TestSpread_over_zones_is_even(t *testing.T) {
	t.Parallel()
	ns := namespace(t)
	spread := deployment("spread", 6)
	spread.Spec.Template.Spec.NodeSelector = map[string]string{"role": "worker"}
	spread.Spec.Template.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{
		MaxSkew: 1, TopologyKey: corev1.LabelTopologyZone, WhenUnsatisfiable: corev1.DoNotSchedule,
		LabelSelector: selects("spread"),
	}}
	_, err := client.AppsV1().Deployments(ns).Create(t.Context(), spread, metav1.CreateOptions{})
	check(t, err)
	on := map[string]int{}
	for _, pod := range eventuallyPods(t, ns, "app=spread", 6) {
		on[pod.Spec.NodeName]++
	}
	if on["node-a"] != 2 || on["node-b"] != 2 || on["node-c"] != 2 {
		t.Errorf("they are on %v", on)
	}
}

func TestAntiAffinity_leaves_a_pod_without_a_node(t *testing.T) {
	t.Parallel()
	ns := namespace(t)
	spec := podTemplate("apart").Spec
	spec.NodeSelector = map[string]string{"role": "worker"}
	spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
		RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{
			TopologyKey:   corev1.LabelHostname,
			LabelSelector: &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "app", Operator: metav1.LabelSelectorOpExists}}},
		}},
	}}
	for _, name := range []string{"one", "two", "three"} {
		createPod(t, ns, name, spec)
		eventuallyPods(t, ns, "app="+name, 1)
	}
	createPod(t, ns, "four", spec)
	eventuallyUnschedulable(t, ns, "four", "anti-affinity")
	check(t, client.CoreV1().Pods(ns).Delete(t.Context(), "two", metav1.DeleteOptions{}))
	eventuallyPods(t, ns, "app=four", 1)
}

func TestRequests_that_no_node_has_room_for_leave_a_pod_pending(t *testing.T) {
	t.Parallel()
	ns := namespace(t)
	spec := podTemplate("large").Spec
	spec.Containers[0].Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("5000")}
	createPod(t, ns, "large", spec)
	eventuallyUnschedulable(t, ns, "large", "Insufficient cpu")
}

func TestGate_keeps_a_pod_back_until_it_is_removed(t *testing.T) {
	t.Parallel()
	ns := namespace(t)
	spec := podTemplate("gated").Spec
	spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: "example.com/wait"}}
	createPod(t, ns, "gated", spec)
	pod, err := client.CoreV1().Pods(ns).Get(t.Context(), "gated", metav1.GetOptions{})
	check(t, err)
	if len(pod.Status.Conditions) != 1 || pod.Status.Conditions[0].Reason != corev1.PodReasonSchedulingGated {
		t.Errorf("its conditions are %+v", pod.Status.Conditions)
	}
	open := []byte(`[{"op":"remove","path":"/spec/schedulingGates"}]`)
	_, err = client.CoreV1().Pods(ns).Patch(t.Context(), "gated", types.JSONPatchType, open, metav1.PatchOptions{})
	check(t, err)
	eventuallyPods(t, ns, "app=gated", 1)
}

func priority(t *testing.T, name string, value int32) {
	t.Helper()
	_, err := client.SchedulingV1().PriorityClasses().Create(t.Context(), &schedulingv1.PriorityClass{
		ObjectMeta: metav1.ObjectMeta{Name: name}, Value: value,
	}, metav1.CreateOptions{})
	check(t, err)
}

// On the node that has one CPU: these are not parallel, and clean up before the next begins.
func TestPreemption_takes_the_node_of_a_pod_that_is_less_important(t *testing.T) {
	ns := namespace(t)
	priority(t, ns+"-low", 1)
	priority(t, ns+"-high", 1000)
	spec := podTemplate("").Spec
	spec.NodeSelector = map[string]string{"role": "small"}
	spec.Containers[0].Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("800m")}
	spec.PriorityClassName = ns + "-low"
	createPod(t, ns, "low", spec)
	eventuallyPods(t, ns, "app=low", 1)
	spec.PriorityClassName = ns + "-high"
	createPod(t, ns, "high", spec)
	eventuallyPods(t, ns, "app=high", 1)
	eventuallyPods(t, ns, "app=low", 0)
	createPod(t, ns, "same", spec)
	eventuallyUnschedulable(t, ns, "same", "Insufficient cpu")
	events, err := client.CoreV1().Events(ns).List(t.Context(), metav1.ListOptions{FieldSelector: "involvedObject.name=low"})
	check(t, err)
	for _, event := range events.Items {
		if event.Reason == "Preempted" {
			return
		}
	}
	t.Error("no event says that the pod was preempted")
}

func TestTaint_keeps_pods_away_and_evicts_those_that_are_there(t *testing.T) {
	ns := namespace(t)
	spec := podTemplate("").Spec
	spec.NodeSelector = map[string]string{"role": "small"}
	createPod(t, ns, "there", spec)
	eventuallyPods(t, ns, "app=there", 1)
	taint := func(patch string) {
		api := client.CoreV1().Nodes()
		_, err := api.Patch(context.Background(), "node-small", types.MergePatchType, []byte(patch), metav1.PatchOptions{})
		check(t, err)
	}
	taint(`{"spec":{"taints":[{"key":"a","value":"b","effect":"NoExecute"}]}}`)
	t.Cleanup(func() { taint(`{"spec":{"taints":null}}`) })
	eventuallyPods(t, ns, "app=there", 0)
	createPod(t, ns, "new", spec)
	eventuallyUnschedulable(t, ns, "new", "untolerated taint")
	spec.Tolerations = []corev1.Toleration{{Key: "a", Operator: corev1.TolerationOpExists}}
	createPod(t, ns, "tolerant", spec)
	eventuallyPods(t, ns, "app=tolerant", 1)
}

func TestCordon_adds_a_taint_and_keeps_pods_away(t *testing.T) {
	ns := namespace(t)
	cordon := func(patch string) {
		api := client.CoreV1().Nodes()
		_, err := api.Patch(context.Background(), "node-small", types.MergePatchType, []byte(patch), metav1.PatchOptions{})
		check(t, err)
	}
	cordon(`{"spec":{"unschedulable":true}}`)
	t.Cleanup(func() { cordon(`{"spec":{"unschedulable":null}}`) })
	eventually(t, "the node has the taint", func(ctx context.Context) (bool, error) {
		node, err := client.CoreV1().Nodes().Get(ctx, "node-small", metav1.GetOptions{})
		return err == nil && len(node.Spec.Taints) == 1 && node.Spec.Taints[0].Key == corev1.TaintNodeUnschedulable, err
	})
	spec := podTemplate("").Spec
	spec.NodeSelector = map[string]string{"role": "small"}
	createPod(t, ns, "new", spec)
	eventuallyUnschedulable(t, ns, "new", "unschedulable")
}

func TestEviction_respects_the_budget_that_the_controller_counts(t *testing.T) {
	t.Parallel()
	ns := namespace(t)
	_, err := client.AppsV1().Deployments(ns).Create(t.Context(), deployment("web", 3), metav1.CreateOptions{})
	check(t, err)
	name := eventuallyPods(t, ns, "app=web", 3)[0].Name
	budgets := client.PolicyV1().PodDisruptionBudgets(ns)
	_, err = budgets.Create(t.Context(), &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec:       policyv1.PodDisruptionBudgetSpec{MinAvailable: to(intstr.FromInt32(2)), Selector: selects("web")},
	}, metav1.CreateOptions{})
	check(t, err)
	eventually(t, "the budget is counted", func(ctx context.Context) (bool, error) {
		now, err := budgets.Get(ctx, "web", metav1.GetOptions{})
		return err == nil && now.Status.DisruptionsAllowed == 1 && now.Status.CurrentHealthy == 3, err
	})
	strict := []byte(`{"spec":{"minAvailable":"100%"}}`)
	_, err = budgets.Patch(t.Context(), "web", types.MergePatchType, strict, metav1.PatchOptions{})
	check(t, err)
	evict := func() error {
		return client.CoreV1().Pods(ns).EvictV1(t.Context(), &policyv1.Eviction{
			ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: ns},
		})
	}
	eventually(t, "the budget allows none", func(ctx context.Context) (bool, error) {
		now, err := budgets.Get(ctx, "web", metav1.GetOptions{})
		return err == nil && now.Status.DisruptionsAllowed == 0 && now.Status.ObservedGeneration == now.Generation, err
	})
	if err := evict(); !apierrors.IsTooManyRequests(err) {
		t.Errorf("an eviction is answered with %v", err)
	}
	loose := []byte(`{"spec":{"minAvailable":1}}`)
	_, err = budgets.Patch(t.Context(), "web", types.MergePatchType, loose, metav1.PatchOptions{})
	check(t, err)
	eventually(t, "the budget allows it", func(context.Context) (bool, error) {
		err := evict()
		return err == nil, ignore(err, apierrors.IsTooManyRequests)
	})
}

// ignore drops an error that is as it may be.
func ignore(err error, may func(error) bool) error {
	if may(err) {
		return nil
	}
	return err
}
