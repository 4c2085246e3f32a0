//! pgbouncer before a server.

use std::fs;
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::system::free_port;
use crate::{PASSWORD, Server, missing, unique};

/// pgbouncer in transaction mode: every transaction gets another connection of the server.
#[derive(Debug)]
pub struct Pooler {
    child: Child,
    folder: PathBuf,
    port: u16,
}

impl Pooler {
    /// Stands before this server. `None` where it is not installed.
    ///
    /// # Panics
    ///
    /// When it does not start, or is not installed and `ALLM_POSTGRES=required`.
    #[must_use]
    pub fn before(server: &Server) -> Option<Self> {
        let program = ["/usr/sbin/pgbouncer", "/usr/bin/pgbouncer"];
        let Some(program) = program.into_iter().find(|path| Path::new(path).exists()) else {
            missing("pgbouncer");
            return None;
        };
        let port = free_port();
        let folder = std::env::temp_dir().join(format!("allm-pgbouncer-{}", unique()));
        fs::create_dir_all(&folder).expect("a folder");
        let users = folder.join("users.txt");
        fs::write(&users, format!("\"postgres\" \"{PASSWORD}\"\n")).expect("written");
        let settings = folder.join("pgbouncer.ini");
        let text = format!(
            "[databases]\n* = host=127.0.0.1 port={server}\n[pgbouncer]\nlisten_addr = 127.0.0.1\n\
             listen_port = {port}\nunix_socket_dir =\nauth_type = plain\nauth_file = {users}\n\
             pool_mode = transaction\nmax_client_conn = 500\ndefault_pool_size = 8\n\
             server_round_robin = 1\n",
            server = server.port(),
            users = users.display(),
        );
        fs::write(&settings, text).expect("written");
        for path in [&folder, &users, &settings] {
            server.account.owns(path);
        }
        let mut command = Command::new(program);
        command.arg("-q").arg(&settings).current_dir(&folder);
        command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        server.account.runs(&mut command);
        let child = command.spawn().expect("pgbouncer starts");
        let pooler = Self {
            child,
            folder,
            port,
        };
        let begun = Instant::now();
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            assert!(
                begun.elapsed() < Duration::from_secs(60),
                "pgbouncer does not listen"
            );
            sleep(Duration::from_millis(20));
        }
        Some(pooler)
    }

    /// The same database, by way of the pooler.
    #[must_use]
    pub fn url(&self, database: &str) -> String {
        let name = database.rsplit('/').next().unwrap_or(database);
        let port = self.port;
        format!("postgres://postgres:{PASSWORD}@127.0.0.1:{port}/{name}")
    }
}

impl Drop for Pooler {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
        drop(fs::remove_dir_all(&self.folder));
    }
}
