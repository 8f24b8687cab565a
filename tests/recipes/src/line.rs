//! A database that is reached over a line.

use std::collections::VecDeque;

use futures::lock::Mutex;
use rusqlite::Connection;

/// The way to a database and back, on which a request or an answer gets lost.
#[derive(Debug)]
pub struct Line {
    database: Mutex<Database>,
}

#[derive(Debug)]
struct Database {
    connection: Connection,
    asked: u32,
    lost: VecDeque<Loses>,
}

/// What becomes of one exchange. Who asks cannot tell the two apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loses {
    /// The database never sees it.
    Request,
    /// The database commits, and nobody hears of it.
    Answer,
}

/// No answer came back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no answer from the database")]
pub struct Lost;

impl Line {
    /// A line that loses what is listed, one an exchange, and then nothing more.
    pub fn new(connection: Connection, lost: impl IntoIterator<Item = Loses>) -> Self {
        let lost = lost.into_iter().collect();
        Self { database: Mutex::new(Database { connection, asked: 0, lost }) }
    }

    /// Has the database run a request, and gives its answer.
    ///
    /// # Errors
    ///
    /// The request's own, or that no answer came back.
    pub async fn ask<T, E: From<Lost>>(
        &self,
        request: impl FnOnce(&mut Connection) -> Result<T, E>,
    ) -> Result<T, E> {
        let mut database = self.database.lock().await;
        database.asked += 1;
        match database.lost.pop_front() {
            Some(Loses::Request) => Err(Lost.into()),
            Some(Loses::Answer) => {
                // Lost, whatever it is.
                let _ = request(&mut database.connection);
                Err(Lost.into())
            }
            None => request(&mut database.connection),
        }
    }

    /// How often the database was asked.
    pub async fn asked(&self) -> u32 {
        self.database.lock().await.asked
    }
}
