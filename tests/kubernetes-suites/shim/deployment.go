// Package deployment stands where Kubernetes' controller would be: a plugin does its work.
package deployment

import (
	"context"

	"kubernetes-suites/harness"

	utilfeature "k8s.io/apiserver/pkg/util/feature"
	appsinformers "k8s.io/client-go/informers/apps/v1"
	coreinformers "k8s.io/client-go/informers/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/kubernetes/pkg/features"
)

// DeploymentController runs the plugin.
type DeploymentController struct{ client kubernetes.Interface }

// NewDeploymentController takes what the tests give to the original.
func NewDeploymentController(_ context.Context, deployments appsinformers.DeploymentInformer, sets appsinformers.ReplicaSetInformer, pods coreinformers.PodInformer, client kubernetes.Interface) (*DeploymentController, error) {
	// The tests wait until these informers are synced.
	_, _, _ = deployments.Informer(), sets.Informer(), pods.Informer()
	return &DeploymentController{client: client}, nil
}

// Run returns when ctx has ended and the host has gone.
func (c *DeploymentController) Run(ctx context.Context, _ int) {
	harness.Run(ctx, c.client, "deployment", func() map[string]any {
		return map[string]any{
			"terminatingReplicas": utilfeature.DefaultFeatureGate.Enabled(features.DeploymentReplicaSetTerminatingReplicas),
		}
	})
}
