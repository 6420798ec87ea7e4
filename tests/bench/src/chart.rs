//! A chart of one figure: a bar for each contestant, with a line from its least round to its most.

use anyhow::{Result, anyhow};
use plotters::prelude::{
    BLACK, Color, EmptyElement, IntoDrawingArea, IntoFont, PathElement, RGBColor, Rectangle,
    SVGBackend, Text, WHITE,
};

use crate::contestant::Contestant;
use crate::results::Row;
use crate::table::number;

/// The size of a bar and of what is around it, in pixels.
const WIDTH: i32 = 720;
const TOP: i32 = 36;
const STEP: i32 = 30;
const BAR: i32 = 20;
const LEFT: i32 = 240;
const RIGHT: i32 = 110;

const OURS: RGBColor = RGBColor(0x1f, 0x77, 0xb4);
const PEERS: RGBColor = RGBColor(0xa8, 0xb0, 0xb8);

/// The chart as SVG. Less is better; who failed has a word in place of a bar.
///
/// # Errors
/// The library could not draw it.
pub(crate) fn svg(title: &str, rows: &[Row]) -> Result<String> {
    let mut text = String::new();
    draw(&mut text, title, rows).map_err(|error| anyhow!("cannot draw {title}: {error}"))?;
    Ok(text)
}

fn draw(svg: &mut String, title: &str, rows: &[Row]) -> Result<(), Box<dyn std::error::Error>> {
    let height = TOP + STEP * i32::try_from(rows.len())? + 8;
    let size = (u32::try_from(WIDTH)?, u32::try_from(height)?);
    let area = SVGBackend::with_string(svg, size).into_drawing_area();
    area.fill(&WHITE)?;
    let (large, small) = (
        ("sans-serif", 16).into_font(),
        ("sans-serif", 13).into_font(),
    );
    area.draw(&Text::new(
        format!("{title} (less is better)"),
        (8, 10),
        large,
    ))?;
    let summaries = rows.iter().filter_map(|row| row.summary.as_ref().ok());
    let most = summaries.map(|summary| summary.most).fold(0.0, f64::max);
    let place = |value: f64| {
        let share = if most > 0.0 { value / most } else { 0.0 };
        LEFT + (share * f64::from(WIDTH - LEFT - RIGHT)).round() as i32
    };
    for (number_of_row, row) in rows.iter().enumerate() {
        let top = TOP + STEP * i32::try_from(number_of_row)?;
        let middle = top + BAR / 2;
        area.draw(&Text::new(
            row.contestant.name(),
            (8, middle - 6),
            small.clone(),
        ))?;
        let (end, said) = match &row.summary {
            Ok(summary) => {
                let color = match row.contestant {
                    Contestant::Windlass => OURS,
                    _ => PEERS,
                };
                let corners = [(LEFT, top), (place(summary.median), top + BAR)];
                area.draw(&Rectangle::new(corners, color.filled()))?;
                let (least, most) = (place(summary.least), place(summary.most));
                let line = PathElement::new([(least, middle), (most, middle)], BLACK);
                area.draw(&line)?;
                (most, number(summary.median))
            }
            Err(_) => (LEFT, "failed".into()),
        };
        let label =
            EmptyElement::at((end + 6, middle - 6)) + Text::new(said, (0, 0), small.clone());
        area.draw(&label)?;
    }
    area.present()?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::{Failed, Summary};

    #[test]
    fn a_chart_has_a_bar_for_each_who_came_through_and_a_word_for_who_did_not() {
        let summary = Summary {
            least: 1.0,
            median: 2.0,
            most: 4.0,
        };
        let failed = Failed {
            times: 1,
            of: 5,
            why: "it ended".into(),
        };
        let row = |contestant, summary| Row {
            contestant,
            summary,
        };
        let rows = [
            row(Contestant::KubeRs, Err(failed)),
            row(Contestant::Windlass, Ok(summary)),
        ];
        let chart = svg("whole cycle, s", &rows).unwrap();
        for text in [
            "whole cycle, s (less is better)",
            "kube-rs",
            "failed",
            "Windlass",
            "2.00",
        ] {
            assert!(chart.contains(text), "{text}: {chart}");
        }
        // The ground, and one bar of half the width.
        assert_eq!(chart.matches("<rect").count(), 2, "{chart}");
        assert!(chart.contains(r#"width="185""#), "{chart}");
    }
}
