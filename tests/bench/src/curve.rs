//! A chart of how a figure grows: a line through its points, from nothing on.

use anyhow::{Result, anyhow};
use plotters::prelude::{
    ChartBuilder, Circle, Color, IntoDrawingArea, IntoFont, LineSeries, RGBColor, SVGBackend, WHITE,
};

const SIZE: (u32, u32) = (720, 320);
const OURS: RGBColor = RGBColor(0x1f, 0x77, 0xb4);

/// The chart as SVG.
///
/// # Errors
/// The library could not draw it.
pub(crate) fn svg(title: &str, points: &[(f64, f64)]) -> Result<String> {
    let mut text = String::new();
    draw(&mut text, title, points).map_err(|error| anyhow!("cannot draw {title}: {error}"))?;
    Ok(text)
}

fn draw(
    svg: &mut String,
    title: &str,
    points: &[(f64, f64)],
) -> Result<(), Box<dyn std::error::Error>> {
    let most = |of: fn(&(f64, f64)) -> f64| points.iter().map(of).fold(0.0, f64::max) * 1.05;
    let area = SVGBackend::with_string(svg, SIZE).into_drawing_area();
    area.fill(&WHITE)?;
    let mut chart = ChartBuilder::on(&area)
        .caption(title, ("sans-serif", 16).into_font())
        .margin(10)
        .x_label_area_size(30)
        .y_label_area_size(60)
        .build_cartesian_2d(0.0..most(|point| point.0), 0.0..most(|point| point.1))?;
    chart.configure_mesh().disable_x_mesh().draw()?;
    chart.draw_series(LineSeries::new(
        points.iter().copied(),
        OURS.stroke_width(2),
    ))?;
    let dots = points
        .iter()
        .map(|point| Circle::new(*point, 4, OURS.filled()));
    chart.draw_series(dots)?;
    area.present()?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_curve_has_a_dot_for_each_point() {
        let chart = svg("RSS in MiB, by objects", &[(1.0, 2.0), (10.0, 20.0)]).unwrap();
        assert!(chart.contains("RSS in MiB, by objects"), "{chart}");
        assert_eq!(chart.matches("<circle").count(), 2, "{chart}");
        // The axes are lines too.
        let is_ours = |line: &&str| line.starts_with("<polyline") && line.contains("#1F77B4");
        assert_eq!(chart.lines().filter(is_ours).count(), 1, "{chart}");
    }
}
