// Package controllers runs the real kube-controller-manager and kube-scheduler on an API server, and checks that
// together they do what a cluster does.
//
// The server is the one that KUBECONFIG names, and SERVER says whether it is `real` or `embedded`. Logs and the
// server's use of the machine go to the folder OUT.
package controllers

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

const (
	// A cluster on a busy machine is slow; nothing here is judged by its duration.
	patience = 150 * time.Second
	pause    = 50 * time.Millisecond
)

// client speaks protobuf, as the cluster's own components do.
var client *kubernetes.Clientset

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	kubeconfig := os.Getenv("KUBECONFIG")
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return failed(err)
	}
	config.QPS, config.Burst = 500, 1000
	config.ContentType = "application/vnd.kubernetes.protobuf"
	client = kubernetes.NewForConfigOrDie(config)
	authority := filepath.Join(os.Getenv("OUT"), "ca.crt")
	if err := writeAuthority(config, authority); err != nil {
		return failed(err)
	}
	for _, command := range [][]string{
		{"kube-controller-manager", "--controllers=*", "--root-ca-file=" + authority},
		{"kube-scheduler"},
	} {
		end, err := start(kubeconfig, command[0], command[1:]...)
		if err != nil {
			return failed(err)
		}
		defer end()
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	if err := startNodes(ctx); err != nil {
		return failed(err)
	}
	status := m.Run()
	if err := writeUsage(filepath.Join(os.Getenv("OUT"), "usage.txt")); err != nil {
		return failed(err)
	}
	return status
}

func failed(err error) int {
	fmt.Fprintln(os.Stderr, err)
	return 1
}

func writeAuthority(config *rest.Config, path string) error {
	if err := rest.LoadTLSFiles(config); err != nil {
		return err
	}
	return os.WriteFile(path, config.CAData, 0o600)
}

// start runs a component of the control plane with its log in OUT, and returns what ends it.
func start(kubeconfig, name string, more ...string) (func(), error) {
	log, err := os.Create(filepath.Join(os.Getenv("OUT"), name+".log"))
	if err != nil {
		return nil, err
	}
	arguments := append([]string{
		"--kubeconfig=" + kubeconfig,
		"--authentication-kubeconfig=" + kubeconfig,
		"--authorization-kubeconfig=" + kubeconfig,
		"--secure-port=0",
	}, more...)
	command := exec.Command(filepath.Join(os.Getenv("BIN"), name), arguments...)
	command.Stdout, command.Stderr = log, log
	if err := command.Start(); err != nil {
		return nil, err
	}
	return func() {
		_ = command.Process.Kill()
		_ = command.Wait()
		_ = log.Close()
	}, nil
}

// namespace makes one for a test, with its service account. Nothing is cleaned up: a controller that is disturbed logs
// errors.
func namespace(t *testing.T) string {
	t.Helper()
	subject, _, _ := strings.Cut(t.Name(), "_")
	prefix := strings.ToLower(subject) + "-"
	made, err := client.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{
		ObjectMeta: metav1.ObjectMeta{GenerateName: prefix},
	}, metav1.CreateOptions{})
	check(t, err)
	eventually(t, "the namespace has a service account", func(ctx context.Context) (bool, error) {
		_, err := client.CoreV1().ServiceAccounts(made.Name).Get(ctx, "default", metav1.GetOptions{})
		return found(err)
	})
	return made.Name
}

// eventually waits until look says that something is so.
func eventually(t *testing.T, what string, look wait.ConditionWithContextFunc) {
	t.Helper()
	err := wait.PollUntilContextTimeout(t.Context(), pause, patience, true, look)
	if err != nil {
		t.Fatalf("waited for this: %s: %v", what, err)
	}
}

// found turns the answer to a get into whether there is such an object.
func found(err error) (bool, error) {
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	return err == nil, err
}

// gone is the opposite of found.
func gone(err error) (bool, error) {
	there, err := found(err)
	return !there && err == nil, err
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// pods lists those with a label.
func pods(ctx context.Context, namespace, selector string) ([]corev1.Pod, error) {
	list, err := client.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{LabelSelector: selector})
	if err != nil {
		return nil, err
	}
	return list.Items, nil
}

// eventuallyPods waits until as many pods with a label run, and there are no others.
func eventuallyPods(t *testing.T, namespace, selector string, count int) []corev1.Pod {
	t.Helper()
	var last []corev1.Pod
	eventually(t, fmt.Sprintf("%d pods %s run", count, selector), func(ctx context.Context) (bool, error) {
		all, err := pods(ctx, namespace, selector)
		last = all
		for _, pod := range all {
			if pod.Status.Phase != corev1.PodRunning || pod.DeletionTimestamp != nil {
				return false, err
			}
		}
		return len(all) == count, err
	})
	return last
}

func podTemplate(label string) corev1.PodTemplateSpec {
	return corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": label}},
		Spec: corev1.PodSpec{
			Containers: []corev1.Container{{Name: "c", Image: "image:1"}},
		},
	}
}

func selects(label string) *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchLabels: map[string]string{"app": label}}
}

func to[T any](value T) *T { return &value }
