//! How the program is linked, and whether it is a release.

#[expect(
    clippy::disallowed_methods,
    reason = "this is cargo speaking to a build script, not the program's environment"
)]
fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rustc-check-cfg=cfg(release)");
    // Also with a profile that inherits from `release`.
    if std::env::var("PROFILE").as_deref() == Ok("release") {
        println!("cargo:rustc-cfg=release");
    }
    // A position-independent program of this size carries megabytes of relocations, which are read at every
    // start and stay in memory; packed (DT_RELR, glibc 2.36) they are a few pages.
    if std::env::var("CARGO_CFG_TARGET_ENV").as_deref() == Ok("gnu") {
        println!("cargo:rustc-link-arg-bins=-Wl,-z,pack-relative-relocs");
    }
}
