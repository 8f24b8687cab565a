//! Columns for people.

use std::fmt;

/// Where the text of a column stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Align {
    Left,
    Right,
}

/// A heading and rows, each column as wide as its widest cell, two spaces apart.
#[derive(Debug, Default)]
pub(crate) struct Table {
    columns: Vec<Column>,
}

#[derive(Debug)]
struct Column {
    align: Align,
    /// The heading first.
    cells: Vec<String>,
}

impl Table {
    /// Adds a column.
    pub(crate) fn column<S: ToString>(
        &mut self,
        heading: &str,
        align: Align,
        cells: impl IntoIterator<Item = S>,
    ) {
        let cells = cells.into_iter().map(|cell| cell.to_string());
        let cells = std::iter::once(heading.to_owned()).chain(cells).collect();
        self.columns.push(Column { align, cells });
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rows = self.columns.iter().map(|column| column.cells.len()).max().unwrap_or(0);
        let mut lines = vec![String::new(); rows];
        for (index, Column { align, cells }) in self.columns.iter().enumerate() {
            let width = cells.iter().map(|cell| cell.chars().count()).max().unwrap_or(0);
            let gap = if index == 0 { "" } else { "  " };
            for (line, cell) in lines.iter_mut().zip(cells) {
                *line += &match align {
                    Align::Left => format!("{gap}{cell:<width$}"),
                    Align::Right => format!("{gap}{cell:>width$}"),
                };
            }
        }
        lines.iter().try_for_each(|line| writeln!(f, "{}", line.trim_end()))
    }
}
