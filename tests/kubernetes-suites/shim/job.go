// Package job stands where Kubernetes' controller would be: a plugin does its work.
package job

import (
	"bufio"
	"context"
	"net"
	"net/http"
	"os"
	"regexp"
	"strconv"
	"time"

	"kubernetes-suites/harness"

	utilfeature "k8s.io/apiserver/pkg/util/feature"
	batchinformers "k8s.io/client-go/informers/batch/v1"
	coreinformers "k8s.io/client-go/informers/core/v1"
	schedulinginformers "k8s.io/client-go/informers/scheduling/v1alpha2"
	"k8s.io/client-go/kubernetes"
	basemetrics "k8s.io/component-base/metrics"
	"k8s.io/kubernetes/pkg/controller/job/metrics"
	"k8s.io/kubernetes/pkg/features"
)

// The tests change these. The plugin gets them as its configuration.
var (
	// DefaultJobPodFailureBackOff is how long the first failed pod is not replaced.
	DefaultJobPodFailureBackOff = 10 * time.Second
	// MaxJobPodFailureBackOff is the longest such delay.
	MaxJobPodFailureBackOff = 10 * time.Minute
	// MaxUncountedPods is how many finished pods one pass counts at most.
	MaxUncountedPods = 500
	// MaxPodCreateDeletePerSync is how many pods one pass creates or deletes at most.
	MaxPodCreateDeletePerSync = 500
	// SyncJobBatchPeriod is how long changes of pods wait.
	SyncJobBatchPeriod = time.Second
)

// Controller runs the plugin.
type Controller struct{ client kubernetes.Interface }

// NewController takes what the tests give to the original.
func NewController(_ context.Context, client kubernetes.Interface, pods coreinformers.PodInformer, jobs batchinformers.JobInformer, _ schedulinginformers.WorkloadInformer, _ schedulinginformers.PodGroupInformer) (*Controller, error) {
	// The tests wait until these informers are synced.
	_, _ = pods.Informer(), jobs.Informer()
	metrics.Register()
	return &Controller{client: client}, nil
}

// Run returns when ctx has ended and the host has gone.
func (c *Controller) Run(ctx context.Context, _ int) {
	if address, err := freeAddress(); err == nil {
		os.Setenv("WINDLASS_METRICS_BIND_ADDRESS", address)
		follow, stop := context.WithCancel(context.Background())
		defer stop()
		go feed(follow, "http://"+address+"/metrics")
	}
	gates := utilfeature.DefaultFeatureGate
	harness.Run(ctx, c.client, "job", func() map[string]any {
		return map[string]any{
			"jobBackoffLimitPerIndex": gates.Enabled(features.JobBackoffLimitPerIndex),
			"jobManagedBy":            gates.Enabled(features.JobManagedBy),
			"jobPodReplacementPolicy": gates.Enabled(features.JobPodReplacementPolicy),
			"jobSuccessPolicy":        gates.Enabled(features.JobSuccessPolicy),
			"maxPodsPerPass":          MaxPodCreateDeletePerSync,
			"maxUncountedPods":        MaxUncountedPods,
			"batch":                   SyncJobBatchPeriod.String(),
			"backoff": map[string]any{
				"base":  DefaultJobPodFailureBackOff.String(),
				"limit": MaxJobPodFailureBackOff.String(),
			},
		}
	})
}

// counters are the metrics that the tests read, by the names that the plugin gives them.
var counters = map[string]*basemetrics.CounterVec{
	"jobs_finished":                          metrics.JobFinishedNum,
	"jobs_by_external_controller":            metrics.JobByExternalControllerTotal,
	"job_pods_finished":                      metrics.JobPodsFinished,
	"job_pods_creation":                      metrics.JobPodsCreationTotal,
	"job_finished_indexes":                   metrics.JobFinishedIndexesTotal,
	"pod_failures_handled_by_failure_policy": metrics.PodFailuresHandledByFailurePolicy,
	"terminated_pods_tracking_finalizer":     metrics.TerminatedPodsTrackingFinalizerTotal,
}

var (
	sample = regexp.MustCompile(`^plugin_job_(\w+)_total\{(.*)\} ([0-9.eE+]+)`)
	label  = regexp.MustCompile(`(\w+)="([^"]*)"`)
)

// feed adds what the plugin counts to the metrics of this process, until ctx ends.
func feed(ctx context.Context, url string) {
	seen := map[string]float64{}
	ticker := time.NewTicker(50 * time.Millisecond)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			scrape(url, seen)
		}
	}
}

// scrape adds what is new since the last time. A new version of the plugin counts from zero.
func scrape(url string, seen map[string]float64) {
	response, err := http.Get(url)
	if err != nil {
		return
	}
	defer response.Body.Close()
	lines := bufio.NewScanner(response.Body)
	for lines.Scan() {
		parts := sample.FindStringSubmatch(lines.Text())
		if parts == nil || counters[parts[1]] == nil {
			continue
		}
		value, err := strconv.ParseFloat(parts[3], 64)
		if err != nil {
			continue
		}
		labels := map[string]string{}
		for _, pair := range label.FindAllStringSubmatch(parts[2], -1) {
			// The host adds the name of the plugin.
			if pair[1] != "controller" {
				labels[pair[1]] = pair[2]
			}
		}
		series := parts[1] + parts[2]
		before := seen[series]
		if value < before {
			before = 0
		}
		counters[parts[1]].With(labels).Add(value - before)
		seen[series] = value
	}
}

// freeAddress is an address of this machine that nobody listens on.
func freeAddress() (string, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer listener.Close()
	return listener.Addr().String(), nil
}
