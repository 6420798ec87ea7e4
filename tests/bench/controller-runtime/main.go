// Command contestant is what a platform team would run instead of Windlass: controllers on
// controller-runtime, as its book writes them. It prints "ready" once its caches are in step.
//
//	contestant [-lean] greet NAMESPACE
//	contestant [-lean] ring NAMESPACE FIRST COUNT
//	contestant [-lean] hold NAMESPACE configmaps|pods
//	contestant [-lean] rerun NAMESPACE
//	contestant queue
//
// The cluster is that of KUBECONFIG. -lean is the form that is recommended where memory is short.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"strconv"
	"time"

	"go.uber.org/zap/zapcore"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/config"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "contestant:", err)
		os.Exit(1)
	}
}

func run() error {
	lean := flag.Bool("lean", false, "drop what no controller reads from the cache")
	flag.Parse()
	if flag.Arg(0) == "queue" {
		return measureQueue()
	}
	log.SetLogger(zap.New(zap.UseDevMode(false), zap.Level(zapcore.ErrorLevel)))
	if flag.NArg() < 2 {
		return fmt.Errorf("usage: contestant [-lean] greet|ring|hold|rerun NAMESPACE …")
	}
	workload, namespace := flag.Arg(0), flag.Arg(1)
	manager, err := newManager(namespace, *lean)
	if err != nil {
		return err
	}
	// What must be in the cache before it counts as ready; others start when the first event comes.
	var held client.Object
	switch workload {
	case "greet":
		err = addGreeter(manager)
	case "ring":
		var numbers [2]int
		for i := range numbers {
			if numbers[i], err = strconv.Atoi(flag.Arg(2 + i)); err != nil {
				return err
			}
		}
		err = addRing(manager, numbers[0], numbers[1])
	case "hold":
		held, err = addHolder(manager, flag.Arg(2), 0)
	case "rerun":
		held, err = addHolder(manager, "configmaps", 100*time.Millisecond)
	default:
		err = fmt.Errorf("no workload %q", workload)
	}
	if err != nil {
		return err
	}
	context := ctrl.SetupSignalHandler()
	go tellReady(context, manager, held)
	return manager.Start(context)
}

// newManager makes a manager that looks into one namespace, and whose client has no limit of its own.
func newManager(namespace string, lean bool) (ctrl.Manager, error) {
	rest, err := config.GetConfig()
	if err != nil {
		return nil, err
	}
	rest.QPS = -1
	scheme := runtime.NewScheme()
	if err := corev1.AddToScheme(scheme); err != nil {
		return nil, err
	}
	addGreeting(scheme)
	options := cache.Options{DefaultNamespaces: map[string]cache.Config{namespace: {}}}
	if lean {
		options.DefaultTransform = cache.TransformStripManagedFields()
	}
	return ctrl.NewManager(rest, ctrl.Options{
		Scheme:  scheme,
		Cache:   options,
		Metrics: server.Options{BindAddress: "0"},
	})
}

// tellReady waits for the informer of held as well: WaitForCacheSync waits for those that are there already.
func tellReady(context context.Context, manager ctrl.Manager, held client.Object) {
	if held != nil {
		if _, err := manager.GetCache().GetInformer(context, held); err != nil {
			fmt.Fprintln(os.Stderr, "contestant:", err)
			return
		}
	}
	if manager.GetCache().WaitForCacheSync(context) {
		fmt.Println("ready")
	}
}
