//! The server of the benchmark, in a thread of a test.

use std::net::TcpListener;
use std::time::Duration;

/// Longer than any test.
const LIFE: Duration = Duration::from_secs(600);

/// Starts a server that ends with the process; its address.
pub(crate) fn start() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    std::thread::spawn(move || bench_server::serve(listener, LIFE));
    format!("http://127.0.0.1:{port}")
}
