package controllers

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// ticks is how many there are in a second of processor time (USER_HZ of Linux).
const ticks = 100

// writeUsage writes what the processes of the server have used: their names, seconds of processor time, and the largest
// resident memory in MiB.
func writeUsage(path string) error {
	var lines strings.Builder
	for _, process := range descendants(os.Getenv("SERVER_PID")) {
		name, seconds, peak, err := usage(process)
		if err != nil {
			return err
		}
		launches := name == "controlplane" && os.Getenv("SERVER") == "real"
		if name == "etcd" || name == "kube-apiserver" || name == "controlplane" && !launches {
			fmt.Fprintf(&lines, "%s %.1f %d\n", name, seconds, peak)
		}
	}
	return os.WriteFile(path, []byte(lines.String()), 0o600)
}

// descendants are a process and all that it has started.
func descendants(root string) []string {
	all := []string{root}
	folders, _ := filepath.Glob("/proc/[0-9]*")
	for added := true; added; {
		added = false
		for _, folder := range folders {
			fields := stat(folder)
			process := filepath.Base(folder)
			if len(fields) > 1 && slices.Contains(all, fields[1]) && !slices.Contains(all, process) {
				all = append(all, process)
				added = true
			}
		}
	}
	return all
}

// stat is what follows a process's name in /proc/PID/stat: its state, its parent, and so on.
func stat(folder string) []string {
	text, err := os.ReadFile(filepath.Join(folder, "stat"))
	if err != nil {
		return nil
	}
	_, rest, _ := strings.Cut(string(text), ") ")
	return strings.Fields(rest)
}

func usage(process string) (name string, seconds float64, peak int, err error) {
	folder := filepath.Join("/proc", process)
	comm, err := os.ReadFile(filepath.Join(folder, "comm"))
	if err != nil {
		return "", 0, 0, err
	}
	fields := stat(folder)
	if len(fields) < 13 {
		return "", 0, 0, fmt.Errorf("cannot read the processor time of %s", process)
	}
	user, _ := strconv.Atoi(fields[11])
	system, _ := strconv.Atoi(fields[12])
	status, err := os.ReadFile(filepath.Join(folder, "status"))
	if err != nil {
		return "", 0, 0, err
	}
	for _, line := range strings.Split(string(status), "\n") {
		if kib, is := strings.CutPrefix(line, "VmHWM:"); is {
			peak, _ = strconv.Atoi(strings.Fields(kib)[0])
		}
	}
	return strings.TrimSpace(string(comm)), float64(user+system) / ticks, peak / 1024, nil
}
