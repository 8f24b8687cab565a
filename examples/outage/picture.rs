//! The runs as pictures: what arrived at the store, and when those woke up whom it
//! dropped.

use std::error::Error;
use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::Duration;

use plotters::coord::Shift;
use plotters::prelude::*;

use crate::figures::{WakeUps, arrivals};
use crate::run::Runs;
use crate::world::{BUCKET, HANGS, MENDED, capacity};

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
type Drawn = Result<(), Box<dyn Error>>;

const SIZE: (u32, u32) = (1000, 640);
const FONT: &str = "sans-serif";

/// How much of the runs is shown: the naive one has recovered by then.
const SHOWN: Range<Duration> = Duration::ZERO..Duration::from_secs(100);

const BUCKETS_A_SECOND: u32 = 1000 / BUCKET.as_millis() as u32;

const OUTAGE: RGBColor = RGBColor(0xf2, 0xd5, 0xd0);
const NAIVE: RGBColor = RGBColor(0xb0, 0x3a, 0x2e);
const BUDGETED: RGBColor = RGBColor(0x1f, 0x6f, 0x8b);

/// Writes both pictures into `dir`, which is made if it is not there.
///
/// # Errors
/// They cannot be written.
pub(crate) fn draw(runs: &Runs, dir: &Path) -> Result<Vec<PathBuf>, Box<dyn Error>> {
    fs::create_dir_all(dir)?;
    let paths = vec![dir.join("arrivals.svg"), dir.join("wake-ups.svg")];
    on_two_panels(&paths[0], |panels| draw_arrivals(runs, panels))?;
    on_two_panels(&paths[1], |panels| draw_wake_ups(runs, panels))?;
    Ok(paths)
}

fn on_two_panels(path: &Path, draw: impl FnOnce([&Area<'_>; 2]) -> Drawn) -> Drawn {
    let picture = SVGBackend::new(path, SIZE).into_drawing_area();
    picture.fill(&WHITE)?;
    let (above, below) = picture.split_vertically(SIZE.1 / 2);
    draw([&above, &below])?;
    picture.present()?;
    Ok(())
}

/// On one scale.
fn draw_arrivals(runs: &Runs, [above, below]: [&Area<'_>; 2]) -> Drawn {
    let (naive, budgeted) = (arrivals(&runs.naive, &SHOWN), arrivals(&runs.budgeted, &SHOWN));
    let most = naive.iter().chain(&budgeted).copied().max().unwrap_or(0);
    let top = most + most / 20;
    let bears = capacity(runs.callers) / BUCKETS_A_SECOND;
    for (panel, caption, arrived, colour) in [
        (above, "Calls that arrive in 100 ms: three tries in each of three layers", naive, NAIVE),
        (below, "The same with a retry budget", budgeted, BUDGETED),
    ] {
        let seconds = SHOWN.start.as_secs_f64()..SHOWN.end.as_secs_f64();
        let mut chart = ChartBuilder::on(panel)
            .caption(caption, (FONT, 20))
            .margin(12)
            .x_label_area_size(36)
            .y_label_area_size(56)
            .build_cartesian_2d(seconds.clone(), 0..top)?;
        let outage = [(HANGS.as_secs_f64(), 0), (MENDED.as_secs_f64(), top)];
        chart.draw_series([Rectangle::new(outage, OUTAGE.filled())])?;
        chart
            .configure_mesh()
            .disable_x_mesh()
            .light_line_style(TRANSPARENT)
            .x_label_formatter(&|seconds| format!("{seconds:.0}"))
            .x_desc("seconds; the outage is shaded, the line is what the store bears")
            .draw()?;
        let at = |bucket: usize| (BUCKET * bucket as u32).as_secs_f64();
        let points = arrived.into_iter().enumerate().map(|(bucket, calls)| (at(bucket), calls));
        chart.draw_series(AreaSeries::new(points, 0, colour.mix(0.5)).border_style(colour))?;
        let line = vec![(seconds.start, bears), (seconds.end, bears)];
        chart.draw_series([PathElement::new(line, BLACK)])?;
    }
    Ok(())
}

/// Each on its own scale: a budget lets far fewer retry.
fn draw_wake_ups(runs: &Runs, [above, below]: [&Area<'_>; 2]) -> Drawn {
    for (panel, who, book, colour) in [
        (above, "three tries, a second apart", &runs.naive, NAIVE),
        (below, "with a retry budget", &runs.budgeted, BUDGETED),
    ] {
        let wake_ups = WakeUps::of(book, 2);
        let caption = format!("First retries of those dropped at once: {who}");
        let bound = 2.0 * wake_ups.mean();
        let most = f64::from(wake_ups.largest()).max(bound) * 1.05;
        let end = wake_ups.buckets.len() * 100;
        let mut chart = ChartBuilder::on(panel)
            .caption(caption, (FONT, 20))
            .margin(12)
            .x_label_area_size(36)
            .y_label_area_size(56)
            .build_cartesian_2d(0..end, 0.0..most)?;
        chart
            .configure_mesh()
            .disable_x_mesh()
            .light_line_style(TRANSPARENT)
            .y_label_formatter(&|retries| format!("{retries:.0}"))
            .x_desc("milliseconds after the failure; the line is twice the mean of a 500 ms spread")
            .draw()?;
        let bar = |(bucket, &woken): (usize, &u32)| {
            let (left, right) = (bucket * 100, bucket * 100 + 100);
            Rectangle::new([(left, 0.0), (right, f64::from(woken))], colour.mix(0.6).filled())
        };
        chart.draw_series(wake_ups.buckets.iter().enumerate().map(bar))?;
        chart.draw_series([PathElement::new(vec![(0, bound), (end, bound)], BLACK)])?;
    }
    Ok(())
}
