// Package harness runs a Windlass plugin in the place of a controller of kube-controller-manager.
package harness

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// Run runs `windlass run` with a plugin on the cluster of client, until ctx ends. The environment says what runs:
// WINDLASS is the program, WINDLASS_PLUGINS the folder with NAME.yaml and NAME.wasm, WINDLASS_HOST_LOG the file for its log.
//
// settings gives the plugin's configuration. When it changes, the plugin is configured again while it runs.
func Run(ctx context.Context, client kubernetes.Interface, name string, settings func() map[string]any) {
	if err := run(ctx, client, name, settings); err != nil {
		// Without its controller, the test fails by itself. This says why.
		fmt.Fprintf(os.Stderr, "cannot run the plugin %s: %v\n", name, err)
	}
}

func run(ctx context.Context, client kubernetes.Interface, name string, settings func() map[string]any) error {
	folder, err := os.MkdirTemp("", "windlass-"+name)
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	address, stop, err := serve(client)
	if err != nil {
		return err
	}
	defer stop()
	plugin := &plugin{name: name, folder: filepath.Join(folder, "plugins"), draft: filepath.Join(folder, "draft")}
	if err := plugin.install(settings()); err != nil {
		return err
	}
	kubeconfig := filepath.Join(folder, "kubeconfig")
	text := fmt.Sprintf(`{"apiVersion": "v1", "kind": "Config", "current-context": "test",
"clusters": [{"name": "test", "cluster": {"server": %q}}], "users": [{"name": "test", "user": {}}],
"contexts": [{"name": "test", "context": {"cluster": "test", "user": "test", "namespace": "kube-system"}}]}`, "http://"+address)
	if err := os.WriteFile(kubeconfig, []byte(text), 0o600); err != nil {
		return err
	}
	output, err := os.OpenFile(os.Getenv("WINDLASS_HOST_LOG"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer output.Close()
	kills := interval("WINDLASS_KILL")
	start := func() (*exec.Cmd, chan error, error) {
		host := exec.Command(os.Getenv("WINDLASS"), "run", "--config", plugin.folder, "--kubeconfig", kubeconfig,
			"--log-format", "text", "--admin-bind-address", "0", "--graceful-shutdown-timeout", "3s")
		if kills > 0 {
			// The Lease of a host that was killed expires soon.
			host.Args = append(host.Args, "--leader-elect-lease-duration", "3s", "--leader-elect-renew-deadline", "2s",
				"--leader-elect-retry-period", "500ms")
		}
		host.Stdout, host.Stderr = output, output
		ended := make(chan error, 1)
		err := host.Start()
		if err == nil {
			go func() { ended <- host.Wait() }()
		}
		return host, ended, err
	}
	host, ended, err := start()
	if err != nil {
		return err
	}
	// A test may turn a feature gate, and look for its effect 100 ms later.
	look := time.NewTicker(5 * time.Millisecond)
	defer look.Stop()
	var swap, kill <-chan time.Time
	if swaps := interval("WINDLASS_SWAP"); swaps > 0 {
		ticker := time.NewTicker(swaps)
		defer ticker.Stop()
		swap = ticker.C
	}
	if kills > 0 {
		kill = time.After(rand.N(2 * kills))
	}
	for {
		select {
		case <-ctx.Done():
			_ = host.Process.Signal(syscall.SIGTERM)
			select {
			case <-ended:
			case <-time.After(5 * time.Second):
				_ = host.Process.Kill()
				<-ended
			}
			return nil
		case err := <-ended:
			return fmt.Errorf("the host has ended: %v", err)
		case <-look.C:
			if err := plugin.install(settings()); err != nil {
				return err
			}
		case <-swap:
			if err := plugin.swap(); err != nil {
				return err
			}
		case <-kill:
			_ = host.Process.Kill()
			<-ended
			if host, ended, err = start(); err != nil {
				return err
			}
			kill = time.After(rand.N(2 * kills))
		}
	}
}

// interval reads a setting in milliseconds. Without it, nothing happens in intervals.
func interval(setting string) time.Duration {
	milliseconds, _ := strconv.Atoi(os.Getenv(setting))
	return time.Duration(milliseconds) * time.Millisecond
}

// serve lends the credentials of client to anyone who connects from this machine. It returns its address.
func serve(client kubernetes.Interface) (string, func(), error) {
	core, ok := client.CoreV1().RESTClient().(*rest.RESTClient)
	if !ok {
		return "", nil, fmt.Errorf("%T is not a client of a real API server", client)
	}
	server := core.Get().URL()
	proxy := &httputil.ReverseProxy{
		Rewrite: func(request *httputil.ProxyRequest) {
			request.SetURL(&url.URL{Scheme: server.Scheme, Host: server.Host})
		},
		Transport:     core.Client.Transport,
		FlushInterval: -1,
		ErrorLog:      log.New(io.Discard, "", 0),
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	http := &http.Server{Handler: proxy, ErrorLog: proxy.ErrorLog}
	ended := make(chan struct{})
	go func() { defer close(ended); _ = http.Serve(listener) }()
	return listener.Addr().String(), func() { _ = http.Close(); <-ended }, nil
}

// plugin is a plugin in the folder of a host.
type plugin struct {
	name, folder, draft string
	settings            string
	swaps               int
}

// install puts the plugin into the folder, with these settings. It does nothing if it is there like that.
func (p *plugin) install(settings map[string]any) error {
	text, err := json.Marshal(settings)
	if err != nil || string(text) == p.settings {
		return err
	}
	from := os.Getenv("WINDLASS_PLUGINS")
	document, err := os.ReadFile(filepath.Join(from, p.name+".yaml"))
	if err != nil {
		return err
	}
	if p.settings == "" {
		if err := os.Mkdir(p.folder, 0o700); err != nil {
			return err
		}
		if err := p.swap(); err != nil {
			return err
		}
	}
	// The host sees the old document or the new one.
	document = append(document, fmt.Sprintf("\n  config: %s\n", text)...)
	if err := os.WriteFile(p.draft, document, 0o600); err != nil {
		return err
	}
	p.settings = string(text)
	return os.Rename(p.draft, filepath.Join(p.folder, p.name+".yaml"))
}

// swap puts another build of the component into the folder. There are two: the second has one section more.
func (p *plugin) swap() error {
	component := p.name + ".wasm"
	code, err := os.ReadFile(filepath.Join(os.Getenv("WINDLASS_PLUGINS"), component))
	if err != nil {
		return err
	}
	if p.swaps%2 == 1 {
		// A custom section with the name "swap", and nothing in it.
		code = append(code, 0, 5, 4, 's', 'w', 'a', 'p')
	}
	p.swaps++
	if err := os.WriteFile(p.draft+".wasm", code, 0o600); err != nil {
		return err
	}
	return os.Rename(p.draft+".wasm", filepath.Join(p.folder, component))
}
