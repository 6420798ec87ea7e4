//! A pod as a kubelet would run it, without one: its files, its user and its rights on this machine.
//!
//! - What the manifest says decides: user, group, capabilities, whether the root is read-only, which
//!   volumes are where, the arguments.
//! - The root is a folder of its own with the program in it. The machine's `/usr` is there as well: the
//!   host of the tests is not linked statically, and a shell can look around.
//! - What a kubelet does and this does not: cgroups, the seccomp profile, a network of its own. So pods run
//!   one after the other, also those of other test binaries: they would listen on the same ports.

use std::ffi::OsString;
use std::fs::{self, File};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail, ensure};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;
use tempfile::TempDir;

use crate::{Host, control_plane};
use windlass_harness::{host_binary, workspace};

/// Where a pod finds its service account.
const ACCOUNT: &str = "/var/run/secrets/kubernetes.io/serviceaccount";

/// Builds the root in `$1` for the program `$2` as the mounts say that follow, in threes: what, from
/// where, to where. Then becomes what comes after `--`, in there.
const ENTER: &str = r#"
set -eu
root=$1; program=$2; shift 2
mount --make-rprivate /
mount -t tmpfs -o mode=755 root "$root"
for folder in usr bin sbin lib lib64; do
  if [ -L "/$folder" ]; then
    cp -P "/$folder" "$root/$folder"
  elif [ -d "/$folder" ]; then
    mkdir "$root/$folder"; mount --rbind "/$folder" "$root/$folder"
  fi
done
for folder in dev proc; do
  mkdir "$root/$folder"; mount --rbind "/$folder" "$root/$folder"
done
touch "$root/windlass"; mount --bind "$program" "$root/windlass"
while [ "$1" != -- ]; do
  case $1 in
    empty) mkdir -p "$root$3"; mount -t tmpfs -o mode=777 empty "$root$3" ;;
    read-only) mkdir -p "$root$3"; mount --bind "$2" "$root$3"; mount -o remount,bind,ro "$root$3" ;;
    read-only-root) mount -o remount,ro "$root" ;;
  esac
  shift 3
done
shift
exec chroot "$root" "$@"
"#;

/// A pod that can be entered.
pub struct Pod {
    root: TempDir,
    account: TempDir,
    /// Locked as long as this pod is there.
    _ports: File,
    enter: Vec<OsString>,
    arguments: Vec<String>,
}

/// A volume with the content of a ConfigMap, as a kubelet lays it out: files are links through
/// `..data`, which is what an update replaces.
pub struct Volume {
    folder: TempDir,
    updates: usize,
}

impl Volume {
    /// Lays out `config_map`.
    ///
    /// # Errors
    /// The file system said no.
    pub fn new(config_map: &Value) -> Result<Self> {
        let mut volume = Self {
            folder: readable()?,
            updates: 0,
        };
        volume.update(config_map)?;
        Ok(volume)
    }

    /// Replaces the content, all of it at once.
    ///
    /// # Errors
    /// The file system said no.
    pub fn update(&mut self, config_map: &Value) -> Result<()> {
        self.updates += 1;
        let folder = self.folder.path();
        let version = format!("..{}", self.updates);
        fs::create_dir(folder.join(&version))?;
        let fields = |name: &str| config_map.get(name).and_then(Value::as_object);
        let texts = fields("data").into_iter().flatten();
        let binaries = fields("binaryData").into_iter().flatten();
        for (name, text) in texts {
            let text = text.as_str().context("data is text")?;
            fs::write(folder.join(&version).join(name), text)?;
            link(folder, name)?;
        }
        for (name, bytes) in binaries {
            let bytes = STANDARD.decode(bytes.as_str().context("binaryData is text")?)?;
            fs::write(folder.join(&version).join(name), bytes)?;
            link(folder, name)?;
        }
        let draft = folder.join("..data_tmp");
        symlink(&version, &draft)?;
        fs::rename(draft, folder.join("..data"))?;
        Ok(())
    }

    /// Where it is on this machine.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }
}

/// The link that a reader finds as `name`.
fn link(folder: &Path, name: &str) -> Result<()> {
    let path = folder.join(name);
    if path.symlink_metadata().is_err() {
        symlink(Path::new("..data").join(name), path)?;
    }
    Ok(())
}

impl Pod {
    /// The pod of the template in `spec`, whose ConfigMap volumes are all `volume`, in `namespace`, with a
    /// token of its service account and the certificate of the API server's authority. Blocks while
    /// there is another pod.
    ///
    /// # Errors
    /// The machine lets us do none of this, or the template has what is not imitated.
    pub fn new(
        spec: &Value,
        volume: &Volume,
        namespace: &str,
        token: &str,
        authority: &str,
    ) -> Result<Self> {
        let enter = namespaces()?;
        let account = readable()?;
        let text = |path: &str| spec.pointer(path).and_then(Value::as_str);
        for (name, content) in [("token", token), ("ca.crt", authority)] {
            fs::write(account.path().join(name), content)?;
        }
        fs::write(account.path().join("namespace"), namespace)?;
        ensure!(text("/serviceAccountName").is_some(), "{spec}");
        let ports = File::create(workspace().join("target/pod.lock"))?;
        ports.lock()?;
        let mut pod = Self {
            root: readable()?,
            account,
            _ports: ports,
            enter,
            arguments: Vec::new(),
        };
        let arguments = spec.pointer("/containers/0/args").and_then(Value::as_array);
        let arguments = arguments.context("the container has arguments")?;
        let arguments = arguments.iter().filter_map(Value::as_str);
        pod.arguments = arguments.map(str::to_owned).collect();
        pod.mount(spec, volume)?;
        pod.give_up(spec)?;
        Ok(pod)
    }

    fn mount(&mut self, spec: &Value, volume: &Volume) -> Result<()> {
        let (root, account) = (self.root.path(), self.account.path());
        let mut words: Vec<OsString> = vec!["sh".into(), "-c".into(), ENTER.into(), "sh".into()];
        words.extend([root.into(), host_binary()?.into()]);
        words.extend(["read-only".into(), account.into(), ACCOUNT.into()]);
        let list = |path: &str| spec.pointer(path).and_then(Value::as_array);
        let volumes = list("/volumes").context("the pod has volumes")?;
        for mount in list("/containers/0/volumeMounts").into_iter().flatten() {
            let of_mount = |field: &str| mount.get(field).and_then(Value::as_str);
            let path = of_mount("mountPath").context("a mount has a path")?;
            let wanted = volumes
                .iter()
                .find(|it| it.get("name") == mount.get("name"));
            let wanted = wanted.context("a mount has a volume")?;
            if wanted.get("configMap").is_some() || wanted.get("projected").is_some() {
                words.extend(["read-only".into(), volume.folder().into(), path.into()]);
            } else if wanted.get("emptyDir").is_some() {
                words.extend(["empty".into(), "-".into(), path.into()]);
            } else {
                bail!("no such volume is imitated: {wanted}");
            }
        }
        if own(spec, "readOnlyRootFilesystem") == Some(&Value::Bool(true)) {
            words.extend(["read-only-root".into(), "-".into(), "-".into()]);
        }
        words.push("--".into());
        self.enter.extend(words);
        Ok(())
    }

    /// Leaves only the rights that the manifest leaves.
    fn give_up(&mut self, spec: &Value) -> Result<()> {
        let id = |field: &str| {
            let id = spec.pointer(&format!("/securityContext/{field}"))?;
            Some(id.as_u64()?.to_string())
        };
        let user = id("runAsUser").context("the pod has a user")?;
        let group = id("runAsGroup").context("the pod has a group")?;
        let mut words = vec!["setpriv".to_owned(), "--clear-groups".into()];
        words.extend([format!("--reuid={user}"), format!("--regid={group}")]);
        if own(spec, "allowPrivilegeEscalation") == Some(&Value::Bool(false)) {
            words.push("--no-new-privs".into());
        }
        let dropped = own(spec, "capabilities").and_then(|it| it.pointer("/drop/0"));
        if dropped.and_then(Value::as_str) == Some("ALL") {
            words.push("--bounding-set=-all".into());
        }
        // What a kubelet and a container runtime put into the environment, and nothing of ours.
        let url = control_plane()?.url();
        let port = url.rsplit(':').next().unwrap_or_default();
        words.extend(["env".into(), "-i".into(), "HOME=/".into()]);
        words.push("PATH=/usr/sbin:/usr/bin:/sbin:/bin".into());
        words.push("KUBERNETES_SERVICE_HOST=127.0.0.1".into());
        words.push(format!("KUBERNETES_SERVICE_PORT={port}"));
        self.enter.extend(words.into_iter().map(OsString::from));
        Ok(())
    }

    /// A command that runs `words` in the pod.
    pub fn command(&self, words: &[&str]) -> Command {
        let mut all = self.enter.iter();
        let mut command = Command::new(all.next().cloned().unwrap_or_default());
        command.args(all).args(words);
        command
    }

    /// Starts the container's program with the container's arguments.
    ///
    /// # Errors
    /// It could not be started.
    pub fn run(&self) -> Result<Host> {
        let arguments = self.arguments.iter().map(String::as_str);
        let words: Vec<&str> = ["/windlass"].into_iter().chain(arguments).collect();
        Host::run_command(&self.command(&words))
    }
}

/// A field of the container's own security context.
fn own<'a>(spec: &'a Value, field: &str) -> Option<&'a Value> {
    spec.pointer(&format!("/containers/0/securityContext/{field}"))
}

/// A folder that other users can look into.
fn readable() -> Result<TempDir> {
    let folder = tempfile::tempdir()?;
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755))?;
    Ok(folder)
}

/// The command that gives its arguments mounts of their own: as root as it is, as anybody else in a
/// user namespace in which the pod's user exists.
fn namespaces() -> Result<Vec<OsString>> {
    let mut words = vec!["unshare", "--mount"];
    if !rustix::process::geteuid().is_root() {
        words.extend(["--user", "--map-root-user", "--map-auto"]);
    }
    let (program, arguments) = words.split_first().context("there is a program")?;
    let mut trial = Command::new(program);
    trial
        .args(arguments)
        .args(["mount", "--make-rprivate", "/"]);
    trial.stdout(Stdio::null()).stderr(Stdio::null());
    ensure!(
        trial.status().is_ok_and(|status| status.success()),
        "a pod cannot be imitated here: run the tests as root, or allow user namespaces and give your user 65536 ids in /etc/subuid and /etc/subgid (Debian: apt-get install uidmap)"
    );
    Ok(words.into_iter().map(OsString::from).collect())
}
