package main

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

const (
	steps = 1000
	plays = 9
)

// measureQueue prints how long it takes to add a key to the default queue, to take it and to hand it back, while so many
// keys are in it; in nanoseconds, the middle of some plays.
func measureQueue() error {
	took := map[string]int64{}
	for _, depth := range []int{1, 1_000, 100_000} {
		var times []int64
		for range plays {
			times = append(times, play(depth).Nanoseconds()/steps)
		}
		slices.Sort(times)
		took[named(depth)] = times[plays/2]
	}
	return json.NewEncoder(os.Stdout).Encode(took)
}

func named(depth int) string {
	switch depth {
	case 1:
		return "queue, 1 key"
	case 1_000:
		return "queue, 1,000 keys"
	}
	return "queue, 100,000 keys"
}

func play(depth int) time.Duration {
	queue := priorityqueue.New[reconcile.Request]("queue")
	defer queue.ShutDown()
	requests := make([]reconcile.Request, 0, depth-1+steps)
	for number := range cap(requests) {
		name := types.NamespacedName{Namespace: "default", Name: fmt.Sprintf("object-%d", number)}
		requests = append(requests, reconcile.Request{NamespacedName: name})
	}
	for _, request := range requests[:depth-1] {
		queue.Add(request)
	}
	// What is added is taken in by another goroutine.
	for queue.Len() < depth-1 {
		time.Sleep(time.Millisecond)
	}
	began := time.Now()
	for _, request := range requests[depth-1:] {
		queue.Add(request)
		taken, _ := queue.Get()
		queue.Done(taken)
	}
	return time.Since(began)
}
