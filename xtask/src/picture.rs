//! A small SVG writer: text, rectangles, circles and arrows. The same input gives the same bytes.
//!
//! Texts name a generic font family, so that the reader's own fonts are used and none is needed here.

use std::fmt::Write as _;

/// Colours that people with any colour vision tell apart, on a white ground.
pub(crate) mod colour {
    /// What is right.
    pub(crate) const GOOD: &str = "#0072b2";
    /// What is wrong.
    pub(crate) const BAD: &str = "#d55e00";
    /// Texts.
    pub(crate) const INK: &str = "#24292f";
    /// Lines.
    pub(crate) const LINE: &str = "#c4cad0";
    /// A ground that lets a row stand out.
    pub(crate) const SOFT: &str = "#eef4fa";
}

/// Where a text begins, ends or has its middle.
#[derive(Clone, Copy)]
pub(crate) enum Anchor {
    /// It begins there.
    Start,
    /// It has its middle there.
    Middle,
}

/// A picture under way. Lengths are in pixels.
pub(crate) struct Picture {
    width: u32,
    height: u32,
    body: String,
}

impl Picture {
    /// An empty white one, with a title for those who cannot see it.
    pub(crate) fn new(width: u32, height: u32, title: &str) -> Self {
        let body = format!(
            "<title>{}</title>\n<rect width=\"{width}\" height=\"{height}\" fill=\"#ffffff\"/>\n",
            escaped(title)
        );
        Self { width, height, body }
    }

    /// One line of text; `y` is its base line.
    pub(crate) fn text(&mut self, x: u32, y: u32, anchor: Anchor, colour: &str, text: &str) {
        let anchor = match anchor {
            Anchor::Start => "start",
            Anchor::Middle => "middle",
        };
        self.line(&format!(
            "<text x=\"{x}\" y=\"{y}\" text-anchor=\"{anchor}\" fill=\"{colour}\">{}</text>",
            escaped(text)
        ));
    }

    /// A filled rectangle with round corners.
    pub(crate) fn rectangle(&mut self, x: u32, y: u32, width: u32, height: u32, fill: &str) {
        self.line(&format!(
            "<rect x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" rx=\"4\" fill=\"{fill}\"/>"
        ));
    }

    /// A disc, or a ring that is empty inside.
    pub(crate) fn disc(&mut self, x: u32, y: u32, radius: u32, colour: &str, filled: bool) {
        let fill = if filled { colour } else { "none" };
        self.line(&format!(
            "<circle cx=\"{x}\" cy=\"{y}\" r=\"{radius}\" fill=\"{fill}\" stroke=\"{colour}\" stroke-width=\"2\"/>"
        ));
    }

    /// A straight line.
    pub(crate) fn stroke(&mut self, from: (u32, u32), to: (u32, u32), colour: &str) {
        self.line(&format!(
            "<line x1=\"{}\" y1=\"{}\" x2=\"{}\" y2=\"{}\" stroke=\"{colour}\"/>",
            from.0, from.1, to.0, to.1
        ));
    }

    /// The SVG.
    pub(crate) fn finish(self) -> String {
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" width=\"{0}\" height=\"{1}\" \
             font-family=\"sans-serif\" font-size=\"13\">\n{2}</svg>\n",
            self.width, self.height, self.body
        )
    }

    fn line(&mut self, element: &str) {
        // Writing into a String cannot fail.
        let _ = writeln!(self.body, "{element}");
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_cannot_break_the_picture() {
        let mut picture = Picture::new(10, 10, "a < b & c");
        picture.text(1, 2, Anchor::Start, colour::INK, "<script>");
        let svg = picture.finish();
        assert!(svg.contains("a &lt; b &amp; c") && svg.contains("&lt;script&gt;") && !svg.contains("<script>"));
    }
}
