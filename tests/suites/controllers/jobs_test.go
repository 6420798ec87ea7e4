package controllers

import (
	"context"
	"slices"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

func jobSpec() batchv1.JobSpec {
	template := podTemplate("work")
	template.Spec.RestartPolicy = corev1.RestartPolicyNever
	return batchv1.JobSpec{Template: template}
}

func createJob(t *testing.T, namespace string, spec batchv1.JobSpec) {
	t.Helper()
	job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: "work"}, Spec: spec}
	_, err := client.BatchV1().Jobs(namespace).Create(t.Context(), job, metav1.CreateOptions{})
	check(t, err)
}

// eventuallyJob waits until the Job has a condition, and returns it and the condition's reason.
func eventuallyJob(t *testing.T, namespace string, kind batchv1.JobConditionType) (*batchv1.Job, string) {
	t.Helper()
	var last *batchv1.Job
	var reason string
	eventually(t, "the job is "+string(kind), func(ctx context.Context) (bool, error) {
		now, err := client.BatchV1().Jobs(namespace).Get(ctx, "work", metav1.GetOptions{})
		if err != nil {
			return false, err
		}
		last = now
		return slices.ContainsFunc(now.Status.Conditions, func(condition batchv1.JobCondition) bool {
			reason = condition.Reason
			return condition.Type == kind && condition.Status == corev1.ConditionTrue
		}), nil
	})
	return last, reason
}

func TestJob_completes_when_enough_pods_have_succeeded(t *testing.T) {
	t.Parallel()
	ns := namespace(t)
	spec := jobSpec()
	spec.Completions, spec.Parallelism = to[int32](4), to[int32](2)
	spec.CompletionMode = to(batchv1.IndexedCompletion)
	createJob(t, ns, spec)
	job, _ := eventuallyJob(t, ns, batchv1.JobComplete)
	if job.Status.Succeeded != 4 || job.Status.CompletedIndexes != "0-3" || job.Status.CompletionTime == nil {
		t.Errorf("its status is %+v", job.Status)
	}
}

func TestJob_fails_when_its_pods_fail(t *testing.T) {
	t.Parallel()
	ns := namespace(t)
	spec := jobSpec()
	spec.BackoffLimit = to[int32](0)
	spec.Template.Annotations = map[string]string{exitCode: "1"}
	spec.Template.Spec.NodeSelector = map[string]string{"role": "worker"}
	createJob(t, ns, spec)
	job, reason := eventuallyJob(t, ns, batchv1.JobFailed)
	if reason != "BackoffLimitExceeded" || job.Status.Failed != 1 {
		t.Errorf("it failed of %s: %+v", reason, job.Status)
	}
}

func TestJob_whose_pod_cannot_run_fails_at_its_deadline(t *testing.T) {
	t.Parallel()
	ns := namespace(t)
	spec := jobSpec()
	spec.ActiveDeadlineSeconds = to[int64](2)
	spec.Template.Spec.NodeSelector = map[string]string{"no": "such"}
	createJob(t, ns, spec)
	job, reason := eventuallyJob(t, ns, batchv1.JobFailed)
	if reason != "DeadlineExceeded" || job.Status.Succeeded != 0 {
		t.Errorf("it failed of %s: %+v", reason, job.Status)
	}
	eventuallyPods(t, ns, "app=work", 0)
}

func TestJob_waits_while_it_is_suspended_and_goes_some_time_after_its_end(t *testing.T) {
	t.Parallel()
	ns := namespace(t)
	spec := jobSpec()
	spec.Suspend, spec.TTLSecondsAfterFinished = to(true), to[int32](1)
	createJob(t, ns, spec)
	eventuallyJob(t, ns, batchv1.JobSuspended)
	resume := []byte(`{"spec":{"suspend":false}}`)
	jobs := client.BatchV1().Jobs(ns)
	_, err := jobs.Patch(t.Context(), "work", types.MergePatchType, resume, metav1.PatchOptions{})
	check(t, err)
	eventually(t, "the job is gone", func(ctx context.Context) (bool, error) {
		return gone(second(jobs.Get(ctx, "work", metav1.GetOptions{})))
	})
	eventuallyPods(t, ns, "app=work", 0)
}

func TestCronJob_makes_jobs_and_keeps_a_few(t *testing.T) {
	t.Parallel()
	ns := namespace(t)
	api := client.BatchV1().CronJobs(ns)
	_, err := api.Create(t.Context(), &batchv1.CronJob{
		ObjectMeta: metav1.ObjectMeta{Name: "often"},
		Spec: batchv1.CronJobSpec{
			Schedule: "* * * * *", JobTemplate: batchv1.JobTemplateSpec{Spec: jobSpec()},
			SuccessfulJobsHistoryLimit: to[int32](1), ConcurrencyPolicy: batchv1.ForbidConcurrent,
		},
	}, metav1.CreateOptions{})
	check(t, err)
	eventually(t, "a job of it has completed", func(ctx context.Context) (bool, error) {
		now, err := api.Get(ctx, "often", metav1.GetOptions{})
		return err == nil && now.Status.LastSuccessfulTime != nil && len(now.Status.Active) == 0, err
	})
	jobs, err := client.BatchV1().Jobs(ns).List(t.Context(), metav1.ListOptions{})
	check(t, err)
	cron, err := api.Get(t.Context(), "often", metav1.GetOptions{})
	check(t, err)
	if len(jobs.Items) != 1 || !metav1.IsControlledBy(&jobs.Items[0], cron) {
		t.Errorf("its jobs are %+v", jobs.Items)
	}
}
