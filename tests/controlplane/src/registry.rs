//! Debian's docker-registry on 127.0.0.1, with a folder of its own.

use std::fs;
use std::io::{BufRead as _, BufReader, ErrorKind};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result, bail};
use rcgen::{CertificateParams, KeyPair};
use tempfile::TempDir;

/// `ada` with the password `s3cret`, in bcrypt.
const HTPASSWD: &str = "ada:$2y$05$abcdefghijklmnopqrstuuLK7U1u6pVRmL7L1BBM2aS35PSZnDXlK\n";

/// A running registry. It ends with this.
#[derive(Debug)]
pub struct Registry {
    host: String,
    folder: TempDir,
    child: Child,
}

impl Drop for Registry {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Registry {
    /// Starts one over HTTP, for everybody.
    ///
    /// # Errors
    /// It is not installed, or does not start.
    pub fn plain() -> Result<Self> {
        Self::start(|_| Ok(String::new()), "")
    }

    /// Starts one over HTTP for the user `ada`, whose password is `s3cret`.
    ///
    /// # Errors
    /// As [`Registry::plain`].
    pub fn with_user() -> Result<Self> {
        Self::start(|_| Ok(String::new()), USERS)
    }

    /// Starts one over TLS; its certificate is its own authority.
    ///
    /// # Errors
    /// As [`Registry::plain`].
    pub fn secure() -> Result<Self> {
        Self::start(certificate, "")
    }

    /// Starts one over TLS for the user `ada`, whose password is `s3cret`.
    ///
    /// # Errors
    /// As [`Registry::plain`].
    pub fn secure_with_user() -> Result<Self> {
        Self::start(certificate, USERS)
    }

    /// `tls` prepares TLS, and says so; `more` is the rest of the configuration.
    fn start(tls: impl FnOnce(&Path) -> Result<String>, more: &str) -> Result<Self> {
        let folder = TempDir::new()?;
        let path = folder.path();
        fs::write(path.join("htpasswd"), HTPASSWD)?;
        let at = path.display().to_string();
        let (tls, more) = (tls(path)?, more.replace("FOLDER", &at));
        let config = format!(
            "version: 0.1\nlog: {{level: info, accesslog: {{disabled: true}}}}\nstorage: {{filesystem: {{rootdirectory: {at}/data}}}}\nhttp: {{addr: '127.0.0.1:0'{tls}}}\n{more}"
        );
        fs::write(path.join("config.yml"), config)?;
        let child = Command::new("docker-registry")
            .arg("serve")
            .arg(path.join("config.yml"))
            .env_clear()
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn();
        let mut child = match child {
            Ok(child) => child,
            Err(error) if error.kind() == ErrorKind::NotFound => {
                bail!("docker-registry is missing: run `apt-get install docker-registry`")
            }
            Err(error) => bail!("docker-registry does not start: {error}"),
        };
        let stderr = child.stderr.take().context("its log is a pipe")?;
        let mut lines = BufReader::new(stderr).lines().map_while(Result::ok);
        let port = lines.by_ref().find_map(|line| {
            let (_, rest) = line.split_once("listening on 127.0.0.1:")?;
            let digits = rest.chars().take_while(char::is_ascii_digit);
            Some(digits.collect::<String>())
        });
        let port = port.context("docker-registry ends without listening")?;
        // It would stop if nobody read its log.
        std::thread::spawn(move || lines.for_each(drop));
        Ok(Self {
            host: format!("127.0.0.1:{port}"),
            child,
            folder,
        })
    }

    /// Its host and port.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// Its folder, with `data`, and with `tls.crt` where it has TLS.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// The bytes of the blob whose digest has these digits.
    ///
    /// # Errors
    /// There is no such blob.
    pub fn blob(&self, hex: &str) -> Result<Vec<u8>> {
        let path = self.path_of(hex);
        fs::read(&path).with_context(|| format!("there is no {}", path.display()))
    }

    /// Replaces the bytes of the blob whose digest has these digits.
    ///
    /// # Errors
    /// There is no such blob.
    pub fn forge(&self, hex: &str, bytes: &[u8]) -> Result<()> {
        let path = self.path_of(hex);
        fs::metadata(&path).with_context(|| format!("there is no {}", path.display()))?;
        Ok(fs::write(path, bytes)?)
    }

    /// Writes a blob that nobody has pushed.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn plant(&self, hex: &str, bytes: &[u8]) -> Result<()> {
        let path = self.path_of(hex);
        fs::create_dir_all(path.parent().context("it is in a folder")?)?;
        Ok(fs::write(path, bytes)?)
    }

    /// Removes the blob whose digest has these digits.
    ///
    /// # Errors
    /// There is no such blob.
    pub fn remove(&self, hex: &str) -> Result<()> {
        let path = self.path_of(hex);
        fs::remove_file(&path).with_context(|| format!("there is no {}", path.display()))
    }

    /// Lets a tag name the manifest whose digest has these digits, in one step, and without asking the registry.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn tag(&self, repository: &str, tag: &str, hex: &str) -> Result<()> {
        let repositories = self.storage().join("repositories");
        let manifests = repositories.join(repository).join("_manifests");
        let revision = manifests.join("revisions/sha256").join(hex);
        let current = manifests.join("tags").join(tag).join("current");
        for folder in [revision, current] {
            fs::create_dir_all(&folder)?;
            let new = folder.join("new");
            fs::write(&new, format!("sha256:{hex}"))?;
            fs::rename(new, folder.join("link"))?;
        }
        Ok(())
    }

    fn path_of(&self, hex: &str) -> PathBuf {
        let (first, _) = hex.split_at(2);
        let blobs = self.storage().join("blobs/sha256");
        blobs.join(first).join(hex).join("data")
    }

    fn storage(&self) -> PathBuf {
        self.folder().join("data/docker/registry/v2")
    }
}

const USERS: &str = "auth: {htpasswd: {realm: test, path: FOLDER/htpasswd}}\n";

fn certificate(folder: &Path) -> Result<String> {
    let key = KeyPair::generate()?;
    let params = CertificateParams::new(["127.0.0.1".to_owned()])?;
    let certificate = params.self_signed(&key)?.pem();
    fs::write(folder.join("tls.crt"), certificate)?;
    fs::write(folder.join("tls.key"), key.serialize_pem())?;
    let at = folder.display();
    Ok(format!(
        ", tls: {{certificate: {at}/tls.crt, key: {at}/tls.key}}"
    ))
}
