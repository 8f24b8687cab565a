//! Hands over to the fault injection in `tests/faults`.

use anyhow::{Context, Result, bail};

use crate::command::{self, cargo};

/// How many processes to kill, and what the faults are drawn from.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Soak {
    kills: u64,
    seed: u64,
}

impl Soak {
    /// `--kills N --seed S`, in any order, with defaults.
    pub(crate) fn parse(options: &[&str]) -> Result<Self> {
        let mut soak = Self { kills: 5_000, seed: 1 };
        for option in options.chunks(2) {
            let (place, number) = match option {
                ["--kills", number] => (&mut soak.kills, number),
                ["--seed", number] => (&mut soak.seed, number),
                other => bail!(
                    "`{}` is no option; `soak` takes `--kills N` and `--seed S`",
                    other.join(" ")
                ),
            };
            *place = number.parse().with_context(|| format!("`{number}` is no number"))?;
        }
        Ok(soak)
    }
}

pub(crate) fn run(soak: &Soak) -> Result<()> {
    let (kills, seed) = (soak.kills.to_string(), soak.seed.to_string());
    let mut faults = cargo(["run", "--quiet", "--locked", "--package", "retry-faults", "--"]);
    faults.args(["soak", "--kills", &kills, "--seed", &seed]);
    command::run(faults)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_come_in_any_order_and_a_wrong_one_is_named() {
        let soak = Soak::parse(&["--seed", "7", "--kills", "20"]).unwrap();
        assert_eq!(soak, Soak { kills: 20, seed: 7 });
        assert_eq!(Soak::parse(&[]).unwrap(), Soak { kills: 5_000, seed: 1 });
        for (wrong, said) in [
            (&["--kill", "20"][..], "`--kill 20` is no option"),
            (&["--kills"], "`--kills` is no option"),
            (&["--kills", "many"], "`many` is no number"),
        ] {
            let error = Soak::parse(wrong).unwrap_err().to_string();
            assert!(error.contains(said), "{error}");
        }
    }
}
