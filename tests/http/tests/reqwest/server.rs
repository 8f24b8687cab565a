//! A server that plays one act a connection and remembers what it was sent.

use std::collections::HashMap;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use retry_core::clock::VirtualClock;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::task::JoinHandle;

/// What the server does with a request that it has read.
#[derive(Clone)]
pub(crate) enum Act {
    /// Says these bytes and closes.
    Say(String),
    /// Says these bytes and resets the connection.
    Reset(String),
    /// Moves the clock, and says nothing until the client goes away.
    Late(VirtualClock, Duration),
}

/// An answer without headers of its own.
pub(crate) fn status(status: &str) -> Act {
    answer(status, &[], "")
}

/// A whole answer.
pub(crate) fn answer(status: &str, headers: &[(&str, &str)], body: &str) -> Act {
    let mut text = format!("HTTP/1.1 {status}\r\nconnection: close\r\n");
    for (name, value) in headers {
        text.push_str(&format!("{name}: {value}\r\n"));
    }
    text.push_str(&format!("content-length: {}\r\n\r\n{body}", body.len()));
    Act::Say(text)
}

/// A request as it arrived.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    pub(crate) method: String,
    /// Names in lower case, one line each.
    headers: HashMap<String, String>,
    pub(crate) body: String,
}

impl Seen {
    /// The header's value, if it was sent.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(String::as_str)
    }
}

/// A running server. It ends when it is dropped.
pub(crate) struct Server {
    addr: SocketAddr,
    seen: Arc<Mutex<Vec<Seen>>>,
    task: JoinHandle<()>,
}

impl Server {
    /// Starts a server on a free loopback port. Requests beyond the script are
    /// remembered and answered with 418.
    pub(crate) async fn start(script: impl IntoIterator<Item = Act>) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let addr = listener.local_addr().unwrap();
        let seen = Arc::new(Mutex::new(Vec::new()));
        let mut script: Vec<Act> = script.into_iter().collect();
        script.reverse();
        let script = Arc::new(Mutex::new(script));
        let task = tokio::spawn({
            let seen = Arc::clone(&seen);
            async move {
                while let Ok((stream, _)) = listener.accept().await {
                    let (seen, script) = (Arc::clone(&seen), Arc::clone(&script));
                    tokio::spawn(async move {
                        let mut stream = BufReader::new(stream);
                        if let Ok(request) = read(&mut stream).await {
                            seen.lock().unwrap().push(request);
                            let act = script.lock().unwrap().pop();
                            let act = act.unwrap_or_else(|| status("418 I'm a teapot"));
                            // The client may have gone.
                            let _ = play(act, stream.into_inner()).await;
                        }
                    });
                }
            }
        });
        Self { addr, seen, task }
    }

    /// The address of a resource.
    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.addr)
    }

    /// What was sent so far.
    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.seen.lock().unwrap().clone()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// A port where every connection is refused, for as long as it is held.
pub(crate) struct Refused(TcpSocket);

impl Refused {
    /// Bound, so that nobody else gets the port, and never listening.
    pub(crate) fn bind() -> Self {
        let socket = TcpSocket::new_v4().unwrap();
        socket.bind((Ipv4Addr::LOCALHOST, 0).into()).unwrap();
        Self(socket)
    }

    /// Its address.
    pub(crate) fn url(&self) -> String {
        format!("http://{}/", self.0.local_addr().unwrap())
    }
}

async fn read(stream: &mut BufReader<TcpStream>) -> io::Result<Seen> {
    let line = line(stream).await?;
    let method = line.split(' ').next().unwrap_or_default().to_owned();
    let mut headers = HashMap::new();
    loop {
        let line = self::line(stream).await?;
        let Some((name, value)) = line.split_once(": ") else { break };
        let twice = headers.insert(name.to_lowercase(), value.to_owned());
        assert!(twice.is_none(), "{name} was sent twice");
    }
    let body = match (headers.get("content-length"), headers.get("transfer-encoding")) {
        (Some(length), _) => take(stream, length.parse().unwrap()).await?,
        (None, Some(_)) => chunks(stream).await?,
        (None, None) => String::new(),
    };
    Ok(Seen { method, headers, body })
}

async fn line(stream: &mut BufReader<TcpStream>) -> io::Result<String> {
    let mut line = String::new();
    match stream.read_line(&mut line).await? {
        0 => Err(io::ErrorKind::UnexpectedEof.into()),
        _ => Ok(line.trim_end().to_owned()),
    }
}

async fn take(stream: &mut BufReader<TcpStream>, length: usize) -> io::Result<String> {
    let mut bytes = vec![0; length];
    stream.read_exact(&mut bytes).await?;
    Ok(String::from_utf8(bytes).unwrap())
}

async fn chunks(stream: &mut BufReader<TcpStream>) -> io::Result<String> {
    let mut body = String::new();
    loop {
        let length = usize::from_str_radix(&line(stream).await?, 16).unwrap();
        body.push_str(&take(stream, length).await?);
        line(stream).await?;
        if length == 0 {
            return Ok(body);
        }
    }
}

async fn play(act: Act, mut stream: TcpStream) -> io::Result<()> {
    match act {
        Act::Say(text) => {
            stream.write_all(text.as_bytes()).await?;
            stream.shutdown().await
        }
        Act::Reset(text) => {
            stream.write_all(text.as_bytes()).await?;
            // Closing a socket that lingers for no time sends a reset.
            stream.set_zero_linger()
        }
        Act::Late(clock, span) => {
            clock.advance(span);
            stream.read_to_end(&mut Vec::new()).await.map(drop)
        }
    }
}
