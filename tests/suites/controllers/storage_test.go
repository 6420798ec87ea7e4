package controllers

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

var room = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}

// volume makes a volume of a class; nothing provisions any here.
func volume(t *testing.T, name, class string, policy corev1.PersistentVolumeReclaimPolicy) {
	t.Helper()
	_, err := client.CoreV1().PersistentVolumes().Create(t.Context(), &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: corev1.PersistentVolumeSpec{
			Capacity: room, AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			PersistentVolumeReclaimPolicy: policy, StorageClassName: class,
			PersistentVolumeSource: corev1.PersistentVolumeSource{
				HostPath: &corev1.HostPathVolumeSource{Path: "/tmp/" + name},
			},
		},
	}, metav1.CreateOptions{})
	check(t, err)
}

func claim(name, class string) *corev1.PersistentVolumeClaim {
	return &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}, StorageClassName: &class,
			Resources: corev1.VolumeResourceRequirements{Requests: room},
		},
	}
}

func eventuallyBound(t *testing.T, namespace string) {
	t.Helper()
	eventually(t, "the claim is bound", func(ctx context.Context) (bool, error) {
		now, err := client.CoreV1().PersistentVolumeClaims(namespace).Get(ctx, "data", metav1.GetOptions{})
		return err == nil && now.Status.Phase == corev1.ClaimBound, err
	})
}

func createUser(t *testing.T, namespace string) {
	t.Helper()
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "user"}, Spec: podTemplate("user").Spec}
	pod.Labels = map[string]string{"app": "user"}
	pod.Spec.Volumes = []corev1.Volume{{Name: "v", VolumeSource: corev1.VolumeSource{
		PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "data"},
	}}}
	_, err := client.CoreV1().Pods(namespace).Create(t.Context(), pod, metav1.CreateOptions{})
	check(t, err)
}

func TestClaim_is_bound_and_stays_while_a_pod_uses_it(t *testing.T) {
	t.Parallel()
	ns := namespace(t)
	volume(t, ns, ns, corev1.PersistentVolumeReclaimRetain)
	claims := client.CoreV1().PersistentVolumeClaims(ns)
	_, err := claims.Create(t.Context(), claim("data", ns), metav1.CreateOptions{})
	check(t, err)
	eventuallyBound(t, ns)
	createUser(t, ns)
	eventuallyPods(t, ns, "app=user", 1)

	check(t, claims.Delete(t.Context(), "data", metav1.DeleteOptions{}))
	kept, err := claims.Get(t.Context(), "data", metav1.GetOptions{})
	check(t, err)
	if kept.DeletionTimestamp == nil {
		t.Error("the claim is not being deleted")
	}
	check(t, client.CoreV1().Pods(ns).Delete(t.Context(), "user", metav1.DeleteOptions{}))
	eventually(t, "the claim is gone", func(ctx context.Context) (bool, error) {
		return gone(second(claims.Get(ctx, "data", metav1.GetOptions{})))
	})
	eventually(t, "the volume is released", func(ctx context.Context) (bool, error) {
		now, err := client.CoreV1().PersistentVolumes().Get(ctx, ns, metav1.GetOptions{})
		return err == nil && now.Status.Phase == corev1.VolumeReleased, err
	})
}

func TestClaim_that_waits_is_bound_once_its_pod_has_a_node(t *testing.T) {
	t.Parallel()
	ns := namespace(t)
	waits := storagev1.VolumeBindingWaitForFirstConsumer
	_, err := client.StorageV1().StorageClasses().Create(t.Context(), &storagev1.StorageClass{
		ObjectMeta:  metav1.ObjectMeta{Name: ns},
		Provisioner: "kubernetes.io/no-provisioner", VolumeBindingMode: &waits,
	}, metav1.CreateOptions{})
	check(t, err)
	volume(t, ns, ns, corev1.PersistentVolumeReclaimRetain)
	claims := client.CoreV1().PersistentVolumeClaims(ns)
	_, err = claims.Create(t.Context(), claim("data", ns), metav1.CreateOptions{})
	check(t, err)
	eventually(t, "an event says that it waits", func(ctx context.Context) (bool, error) {
		events, err := client.CoreV1().Events(ns).List(ctx, metav1.ListOptions{FieldSelector: "reason=WaitForFirstConsumer"})
		return err == nil && len(events.Items) > 0, err
	})
	createUser(t, ns)
	eventuallyBound(t, ns)
	eventuallyPods(t, ns, "app=user", 1)
}
