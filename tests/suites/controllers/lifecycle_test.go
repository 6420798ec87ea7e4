package controllers

import (
	"context"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// family makes an owner and a child of it.
func family(t *testing.T, namespace string) {
	t.Helper()
	api := client.CoreV1().ConfigMaps(namespace)
	owner, err := api.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "owner"}}, metav1.CreateOptions{})
	check(t, err)
	_, err = api.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
		Name: "child",
		OwnerReferences: []metav1.OwnerReference{{
			APIVersion: "v1", Kind: "ConfigMap", Name: "owner", UID: owner.UID, BlockOwnerDeletion: to(true),
		}},
	}}, metav1.CreateOptions{})
	check(t, err)
}

func TestGarbage_goes_with_its_owner_before_it_or_stays(t *testing.T) {
	t.Parallel()
	for _, policy := range []metav1.DeletionPropagation{
		metav1.DeletePropagationBackground, metav1.DeletePropagationForeground, metav1.DeletePropagationOrphan,
	} {
		t.Run(string(policy), func(t *testing.T) {
			t.Parallel()
			ns := namespace(t)
			family(t, ns)
			api := client.CoreV1().ConfigMaps(ns)
			check(t, api.Delete(t.Context(), "owner", metav1.DeleteOptions{PropagationPolicy: &policy}))
			eventually(t, "the owner is gone", func(ctx context.Context) (bool, error) {
				return gone(second(api.Get(ctx, "owner", metav1.GetOptions{})))
			})
			switch policy {
			case metav1.DeletePropagationOrphan:
				child, err := api.Get(t.Context(), "child", metav1.GetOptions{})
				check(t, err)
				if len(child.OwnerReferences) != 0 || child.DeletionTimestamp != nil {
					t.Errorf("the child is %+v", child.ObjectMeta)
				}
			case metav1.DeletePropagationForeground:
				if there, err := found(second(api.Get(t.Context(), "child", metav1.GetOptions{}))); there || err != nil {
					t.Errorf("the owner went first: %v", err)
				}
			case metav1.DeletePropagationBackground:
				eventually(t, "the child is gone", func(ctx context.Context) (bool, error) {
					return gone(second(api.Get(ctx, "child", metav1.GetOptions{})))
				})
			}
		})
	}
}

func TestGarbage_whose_owner_never_was_goes(t *testing.T) {
	t.Parallel()
	ns := namespace(t)
	api := client.CoreV1().ConfigMaps(ns)
	_, err := api.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
		Name: "orphan",
		OwnerReferences: []metav1.OwnerReference{{
			APIVersion: "v1", Kind: "ConfigMap", Name: "none", UID: "8a7d4b9e-0000-4000-8000-000000000000",
		}},
	}}, metav1.CreateOptions{})
	check(t, err)
	eventually(t, "the orphan is gone", func(ctx context.Context) (bool, error) {
		return gone(second(api.Get(ctx, "orphan", metav1.GetOptions{})))
	})
}

func TestNamespace_has_what_it_needs_and_goes_with_all_that_is_in_it(t *testing.T) {
	t.Parallel()
	ns := namespace(t)
	eventually(t, "the authority's certificate is published", func(ctx context.Context) (bool, error) {
		return found(second(client.CoreV1().ConfigMaps(ns).Get(ctx, "kube-root-ca.crt", metav1.GetOptions{})))
	})
	_, err := client.AppsV1().Deployments(ns).Create(t.Context(), deployment("web", 2), metav1.CreateOptions{})
	check(t, err)
	_, err = client.CoreV1().Secrets(ns).Create(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{
		Name: "held", Finalizers: []string{"example.com/hold"},
	}}, metav1.CreateOptions{})
	check(t, err)
	eventuallyPods(t, ns, "app=web", 2)
	check(t, client.CoreV1().Namespaces().Delete(t.Context(), ns, metav1.DeleteOptions{}))
	eventually(t, "the namespace says what holds it", func(ctx context.Context) (bool, error) {
		now, err := client.CoreV1().Namespaces().Get(ctx, ns, metav1.GetOptions{})
		if err != nil {
			return false, err
		}
		return slices.ContainsFunc(now.Status.Conditions, func(condition corev1.NamespaceCondition) bool {
			return condition.Type == corev1.NamespaceFinalizersRemaining && condition.Status == corev1.ConditionTrue
		}), nil
	})
	free := []byte(`{"metadata":{"finalizers":null}}`)
	_, err = client.CoreV1().Secrets(ns).Patch(t.Context(), "held", types.MergePatchType, free, metav1.PatchOptions{})
	check(t, err)
	eventually(t, "the namespace is gone", func(ctx context.Context) (bool, error) {
		return gone(second(client.CoreV1().Namespaces().Get(ctx, ns, metav1.GetOptions{})))
	})
}

func TestService_has_the_endpoints_of_its_pods(t *testing.T) {
	t.Parallel()
	ns := namespace(t)
	_, err := client.CoreV1().Services(ns).Create(t.Context(), &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec:       corev1.ServiceSpec{Selector: selects("web").MatchLabels, Ports: []corev1.ServicePort{{Port: 80}}},
	}, metav1.CreateOptions{})
	check(t, err)
	_, err = client.AppsV1().Deployments(ns).Create(t.Context(), deployment("web", 2), metav1.CreateOptions{})
	check(t, err)
	eventually(t, "two endpoints are ready", func(ctx context.Context) (bool, error) {
		slices, err := client.DiscoveryV1().EndpointSlices(ns).List(ctx, metav1.ListOptions{
			LabelSelector: discoveryv1.LabelServiceName + "=web",
		})
		ready := 0
		for _, slice := range slices.Items {
			for _, endpoint := range slice.Endpoints {
				if endpoint.Conditions.Ready != nil && *endpoint.Conditions.Ready {
					ready++
				}
			}
		}
		return ready == 2, err
	})
}

func TestQuota_counts_what_is_there(t *testing.T) {
	t.Parallel()
	ns := namespace(t)
	quotas := client.CoreV1().ResourceQuotas(ns)
	_, err := quotas.Create(t.Context(), &corev1.ResourceQuota{
		ObjectMeta: metav1.ObjectMeta{Name: "count"},
		Spec:       corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{corev1.ResourceSecrets: resource.MustParse("10")}},
	}, metav1.CreateOptions{})
	check(t, err)
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "one"}}
	eventually(t, "the quota admits a secret", func(ctx context.Context) (bool, error) {
		now, err := quotas.Get(ctx, "count", metav1.GetOptions{})
		return err == nil && len(now.Status.Hard) == 1, err
	})
	_, err = client.CoreV1().Secrets(ns).Create(t.Context(), secret, metav1.CreateOptions{})
	check(t, err)
	// The controller counts again when something is deleted; the admission counts what is created.
	check(t, client.CoreV1().Secrets(ns).Delete(t.Context(), "one", metav1.DeleteOptions{}))
	eventually(t, "nothing is used", func(ctx context.Context) (bool, error) {
		now, err := quotas.Get(ctx, "count", metav1.GetOptions{})
		used := now.Status.Used[corev1.ResourceSecrets]
		return err == nil && used.IsZero(), err
	})
}

func TestClusterRole_gathers_the_rules_of_others(t *testing.T) {
	t.Parallel()
	ns := namespace(t)
	roles := client.RbacV1().ClusterRoles()
	label := map[string]string{"example.com/part-of": ns}
	rule := rbacv1.PolicyRule{APIGroups: []string{"example.com"}, Resources: []string{"things"}, Verbs: []string{"get"}}
	for _, role := range []*rbacv1.ClusterRole{
		{
			ObjectMeta:      metav1.ObjectMeta{Name: ns + "-whole"},
			AggregationRule: &rbacv1.AggregationRule{ClusterRoleSelectors: []metav1.LabelSelector{{MatchLabels: label}}},
		},
		{ObjectMeta: metav1.ObjectMeta{Name: ns + "-part", Labels: label}, Rules: []rbacv1.PolicyRule{rule}},
	} {
		_, err := roles.Create(t.Context(), role, metav1.CreateOptions{})
		check(t, err)
	}
	eventually(t, "the rules are gathered", func(ctx context.Context) (bool, error) {
		whole, err := roles.Get(ctx, ns+"-whole", metav1.GetOptions{})
		return err == nil && len(whole.Rules) == 1, err
	})
}
