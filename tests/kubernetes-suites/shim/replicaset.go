// Package replicaset stands where Kubernetes' controller would be: a plugin does its work.
package replicaset

import (
	"context"

	"kubernetes-suites/harness"

	utilfeature "k8s.io/apiserver/pkg/util/feature"
	appsinformers "k8s.io/client-go/informers/apps/v1"
	coreinformers "k8s.io/client-go/informers/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/kubernetes/pkg/features"
)

// BurstReplicas is how many pods one pass creates or deletes at most.
const BurstReplicas = 500

// ReplicaSetController runs the plugin.
type ReplicaSetController struct{ client kubernetes.Interface }

// NewReplicaSetController takes what the tests give to the original.
func NewReplicaSetController(_ context.Context, sets appsinformers.ReplicaSetInformer, pods coreinformers.PodInformer, client kubernetes.Interface, _ int) *ReplicaSetController {
	// The tests wait until these informers are synced.
	_, _ = sets.Informer(), pods.Informer()
	return &ReplicaSetController{client: client}
}

// Run returns when ctx has ended and the host has gone.
func (c *ReplicaSetController) Run(ctx context.Context, _ int) {
	gates := utilfeature.DefaultFeatureGate
	harness.Run(ctx, c.client, "replicaset", func() map[string]any {
		return map[string]any{
			"podDeletionCost":     gates.Enabled(features.PodDeletionCost),
			"terminatingReplicas": gates.Enabled(features.DeploymentReplicaSetTerminatingReplicas),
		}
	})
}
