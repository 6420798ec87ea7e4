package controllers

import (
	"context"
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

func deployment(name string, replicas int32) *appsv1.Deployment {
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       appsv1.DeploymentSpec{Replicas: &replicas, Selector: selects(name), Template: podTemplate(name)},
	}
}

func TestDeployment_rolls_out_scales_and_is_deleted_with_its_pods(t *testing.T) {
	t.Parallel()
	ns := namespace(t)
	api := client.AppsV1().Deployments(ns)
	_, err := api.Create(t.Context(), deployment("web", 3), metav1.CreateOptions{})
	check(t, err)
	eventuallyPods(t, ns, "app=web", 3)
	eventually(t, "all are available", func(ctx context.Context) (bool, error) {
		now, err := api.Get(ctx, "web", metav1.GetOptions{})
		return err == nil && now.Status.AvailableReplicas == 3, err
	})

	image := []byte(`{"spec":{"template":{"spec":{"containers":[{"name":"c","image":"image:2"}]}}}}`)
	_, err = api.Patch(t.Context(), "web", types.StrategicMergePatchType, image, metav1.PatchOptions{})
	check(t, err)
	eventually(t, "the new version is rolled out", func(ctx context.Context) (bool, error) {
		now, err := api.Get(ctx, "web", metav1.GetOptions{})
		status := now.Status
		return err == nil && status.ObservedGeneration == now.Generation && status.UpdatedReplicas == 3 &&
			status.Replicas == 3 && status.AvailableReplicas == 3, err
	})
	for _, pod := range eventuallyPods(t, ns, "app=web", 3) {
		if pod.Spec.Containers[0].Image != "image:2" {
			t.Errorf("%s has an old image", pod.Name)
		}
	}
	sets, err := client.AppsV1().ReplicaSets(ns).List(t.Context(), metav1.ListOptions{})
	check(t, err)
	if len(sets.Items) != 2 {
		t.Errorf("there are %d replica sets", len(sets.Items))
	}

	scale, err := api.GetScale(t.Context(), "web", metav1.GetOptions{})
	check(t, err)
	scale.Spec.Replicas = 1
	_, err = api.UpdateScale(t.Context(), "web", scale, metav1.UpdateOptions{})
	check(t, err)
	eventuallyPods(t, ns, "app=web", 1)

	policy := metav1.DeletePropagationForeground
	check(t, api.Delete(t.Context(), "web", metav1.DeleteOptions{PropagationPolicy: &policy}))
	eventually(t, "the deployment is gone", func(ctx context.Context) (bool, error) {
		return gone(second(api.Get(ctx, "web", metav1.GetOptions{})))
	})
	eventuallyPods(t, ns, "app=web", 0)
}

func TestDeployment_with_a_fault_reports_that_it_makes_no_progress(t *testing.T) {
	t.Parallel()
	ns := namespace(t)
	api := client.AppsV1().Deployments(ns)
	stuck := deployment("stuck", 1)
	stuck.Spec.ProgressDeadlineSeconds = to[int32](1)
	stuck.Spec.Template.Spec.NodeSelector = map[string]string{"no": "such"}
	_, err := api.Create(t.Context(), stuck, metav1.CreateOptions{})
	check(t, err)
	eventually(t, "the deadline is noticed", func(ctx context.Context) (bool, error) {
		now, err := api.Get(ctx, "stuck", metav1.GetOptions{})
		if err != nil {
			return false, err
		}
		return slices.ContainsFunc(now.Status.Conditions, func(condition appsv1.DeploymentCondition) bool {
			return condition.Reason == "ProgressDeadlineExceeded" && condition.Status == corev1.ConditionFalse
		}), nil
	})
}

func TestStatefulSet_starts_in_order_with_its_claims_and_shrinks_in_reverse(t *testing.T) {
	t.Parallel()
	ns := namespace(t)
	for _, name := range []string{"data-db-0", "data-db-1", "data-db-2"} {
		volume(t, ns+"-"+name, ns, corev1.PersistentVolumeReclaimRetain)
	}
	_, err := client.CoreV1().Services(ns).Create(t.Context(), &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "db"},
		Spec: corev1.ServiceSpec{
			ClusterIP: corev1.ClusterIPNone, Selector: selects("db").MatchLabels,
			Ports: []corev1.ServicePort{{Port: 1}},
		},
	}, metav1.CreateOptions{})
	check(t, err)
	api := client.AppsV1().StatefulSets(ns)
	set := &appsv1.StatefulSet{
		ObjectMeta: metav1.ObjectMeta{Name: "db"},
		Spec: appsv1.StatefulSetSpec{
			ServiceName: "db", Replicas: to[int32](3), Selector: selects("db"), Template: podTemplate("db"),
			VolumeClaimTemplates: []corev1.PersistentVolumeClaim{*claim("data", ns)},
		},
	}
	_, err = api.Create(t.Context(), set, metav1.CreateOptions{})
	check(t, err)
	running := eventuallyPods(t, ns, "app=db", 3)
	slices.SortFunc(running, func(a, b corev1.Pod) int { return a.CreationTimestamp.Compare(b.CreationTimestamp.Time) })
	for index, pod := range running {
		if want := []string{"db-0", "db-1", "db-2"}[index]; pod.Name != want {
			t.Errorf("%s came where %s should", pod.Name, want)
		}
	}
	eventually(t, "all are ready", func(ctx context.Context) (bool, error) {
		now, err := api.Get(ctx, "db", metav1.GetOptions{})
		return err == nil && now.Status.ReadyReplicas == 3 && now.Status.CurrentRevision == now.Status.UpdateRevision, err
	})

	fewer := []byte(`{"spec":{"replicas":1}}`)
	_, err = api.Patch(t.Context(), "db", types.MergePatchType, fewer, metav1.PatchOptions{})
	check(t, err)
	if left := eventuallyPods(t, ns, "app=db", 1); left[0].Name != "db-0" {
		t.Errorf("%s is left", left[0].Name)
	}
	claims, err := client.CoreV1().PersistentVolumeClaims(ns).List(t.Context(), metav1.ListOptions{})
	check(t, err)
	if len(claims.Items) != 3 {
		t.Errorf("%d claims are left", len(claims.Items))
	}
	image := []byte(`{"spec":{"template":{"spec":{"containers":[{"name":"c","image":"image:2"}]}}}}`)
	_, err = api.Patch(t.Context(), "db", types.StrategicMergePatchType, image, metav1.PatchOptions{})
	check(t, err)
	eventually(t, "its pod is replaced", func(ctx context.Context) (bool, error) {
		pod, err := client.CoreV1().Pods(ns).Get(ctx, "db-0", metav1.GetOptions{})
		if there, err := found(err); !there {
			return false, err
		}
		return pod.Spec.Containers[0].Image == "image:2" && pod.Status.Phase == corev1.PodRunning, nil
	})
}

func TestDaemonSet_runs_on_each_node_that_it_selects(t *testing.T) {
	t.Parallel()
	ns := namespace(t)
	api := client.AppsV1().DaemonSets(ns)
	template := podTemplate("agent")
	template.Spec.NodeSelector = map[string]string{"role": "worker"}
	_, err := api.Create(t.Context(), &appsv1.DaemonSet{
		ObjectMeta: metav1.ObjectMeta{Name: "agent"},
		Spec:       appsv1.DaemonSetSpec{Selector: selects("agent"), Template: template},
	}, metav1.CreateOptions{})
	check(t, err)
	on := map[string]bool{}
	for _, pod := range eventuallyPods(t, ns, "app=agent", 3) {
		on[pod.Spec.NodeName] = true
	}
	if len(on) != 3 {
		t.Errorf("it runs on %v", on)
	}
	eventually(t, "its status says so", func(ctx context.Context) (bool, error) {
		now, err := api.Get(ctx, "agent", metav1.GetOptions{})
		return err == nil && now.Status.NumberAvailable == 3 && now.Status.DesiredNumberScheduled == 3, err
	})
	image := []byte(`{"spec":{"template":{"spec":{"containers":[{"name":"c","image":"image:2"}]}}}}`)
	_, err = api.Patch(t.Context(), "agent", types.StrategicMergePatchType, image, metav1.PatchOptions{})
	check(t, err)
	eventually(t, "the new version is rolled out", func(ctx context.Context) (bool, error) {
		now, err := api.Get(ctx, "agent", metav1.GetOptions{})
		return err == nil && now.Status.UpdatedNumberScheduled == 3 && now.Status.NumberAvailable == 3 &&
			now.Status.ObservedGeneration == now.Generation, err
	})
	revisions, err := client.AppsV1().ControllerRevisions(ns).List(t.Context(), metav1.ListOptions{})
	check(t, err)
	if len(revisions.Items) != 2 {
		t.Errorf("there are %d revisions", len(revisions.Items))
	}
}

func TestReplicationController_replaces_a_pod_that_is_deleted(t *testing.T) {
	t.Parallel()
	ns := namespace(t)
	_, err := client.CoreV1().ReplicationControllers(ns).Create(t.Context(), &corev1.ReplicationController{
		ObjectMeta: metav1.ObjectMeta{Name: "old"},
		Spec:       corev1.ReplicationControllerSpec{Replicas: to[int32](2), Template: to(podTemplate("old"))},
	}, metav1.CreateOptions{})
	check(t, err)
	first := eventuallyPods(t, ns, "app=old", 2)[0].Name
	check(t, client.CoreV1().Pods(ns).Delete(t.Context(), first, metav1.DeleteOptions{}))
	eventually(t, "that pod is gone", func(ctx context.Context) (bool, error) {
		return gone(second(client.CoreV1().Pods(ns).Get(ctx, first, metav1.GetOptions{})))
	})
	eventuallyPods(t, ns, "app=old", 2)
}

// second drops what a call found, and keeps its error.
func second[T any](_ T, err error) error { return err }
