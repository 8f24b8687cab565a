//! Runs the program.

use std::process::{Command, Output};

/// `retryctl` with the words of this line, in the folder of these tests.
pub(crate) fn retryctl(line: &str) -> Run {
    retryctl_with(line.split_whitespace())
}

/// `retryctl` with these arguments.
pub(crate) fn retryctl_with<'a>(arguments: impl IntoIterator<Item = &'a str>) -> Run {
    let mut command = Command::new(env!("CARGO_BIN_EXE_retryctl"));
    command.args(arguments).env_remove("RETRY_STORE");
    command.current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cli"));
    Run(command.output().expect("the program starts"))
}

/// What a run came to.
pub(crate) struct Run(Output);

impl Run {
    /// Standard output of a run that ended with this code, and said nothing else.
    #[track_caller]
    pub(crate) fn prints(&self, code: i32) -> String {
        let (out, err) = (text(&self.0.stdout), text(&self.0.stderr));
        assert_eq!((self.0.status.code(), err.as_str()), (Some(code), ""), "{out}");
        out
    }

    /// Both of a run that ended with this code.
    #[track_caller]
    pub(crate) fn says(&self, code: i32) -> (String, String) {
        let (out, err) = (text(&self.0.stdout), text(&self.0.stderr));
        assert_eq!(self.0.status.code(), Some(code), "{out}{err}");
        (out, err)
    }

    /// Standard error of a run that ended with this code, and printed nothing.
    #[track_caller]
    pub(crate) fn refuses(&self, code: i32) -> String {
        let (out, err) = (text(&self.0.stdout), text(&self.0.stderr));
        assert_eq!((self.0.status.code(), out.as_str()), (Some(code), ""), "{err}");
        err
    }
}

#[track_caller]
fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("the program writes UTF-8")
}
