// Package serviceaccount has the plugin where Kubernetes' controller for ServiceAccounts would be. The controllers for tokens
// stay the original ones.
//
// replaces: serviceaccounts_controller.go
package serviceaccount

import (
	"context"

	"kubernetes-suites/harness"

	coreinformers "k8s.io/client-go/informers/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/klog/v2"
)

// ServiceAccountsControllerOptions are empty: the plugin has none.
type ServiceAccountsControllerOptions struct{}

// DefaultServiceAccountsControllerOptions are for the ServiceAccount `default`.
func DefaultServiceAccountsControllerOptions() ServiceAccountsControllerOptions {
	return ServiceAccountsControllerOptions{}
}

// ServiceAccountsController runs the plugin.
type ServiceAccountsController struct{ client kubernetes.Interface }

// NewServiceAccountsController takes what the tests give to the original.
func NewServiceAccountsController(_ klog.Logger, accounts coreinformers.ServiceAccountInformer, namespaces coreinformers.NamespaceInformer, client kubernetes.Interface, _ ServiceAccountsControllerOptions) (*ServiceAccountsController, error) {
	// The tests wait until these informers are synced.
	_, _ = accounts.Informer(), namespaces.Informer()
	return &ServiceAccountsController{client: client}, nil
}

// Run returns when ctx has ended and the host has gone.
func (c *ServiceAccountsController) Run(ctx context.Context, _ int) {
	harness.Run(ctx, c.client, "serviceaccount", func() map[string]any { return map[string]any{} })
}
