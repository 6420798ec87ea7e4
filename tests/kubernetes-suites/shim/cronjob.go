// Package cronjob stands where Kubernetes' controller would be: a plugin does its work.
package cronjob

import (
	"context"

	"kubernetes-suites/harness"

	batchinformers "k8s.io/client-go/informers/batch/v1"
	"k8s.io/client-go/kubernetes"
)

// ControllerV2 runs the plugin.
type ControllerV2 struct{ client kubernetes.Interface }

// NewControllerV2 takes what the tests give to the original.
func NewControllerV2(_ context.Context, jobs batchinformers.JobInformer, cronJobs batchinformers.CronJobInformer, client kubernetes.Interface) (*ControllerV2, error) {
	// The tests start these informers.
	_, _ = jobs.Informer(), cronJobs.Informer()
	return &ControllerV2{client: client}, nil
}

// Run returns when ctx has ended and the host has gone.
func (c *ControllerV2) Run(ctx context.Context, _ int) {
	harness.Run(ctx, c.client, "cronjob", func() map[string]any { return map[string]any{} })
}
