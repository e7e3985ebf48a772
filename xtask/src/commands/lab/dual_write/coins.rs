//! The picture of `lab dual-write`: a coin for each debit of one key.

use super::Row;
use super::situations::{Cell, Situation};
use super::verdict::{Ending, ending};
use crate::picture::{Anchor, Picture, colour};

const LEFT: u32 = 220;
const TOP: u32 = 84;
const COLUMN: u32 = 172;
const ROW: u32 = 52;
const RADIUS: u32 = 6;
/// Centre to centre.
const COIN: u32 = 15;
/// More debits than that are told by the number alone.
const COINS: u32 = 10;

/// Draws the rows.
pub(super) fn draw(rows: &[Row]) -> String {
    let columns = u32::try_from(Situation::ALL.len()).unwrap_or_default();
    let lines = u32::try_from(rows.len()).unwrap_or_default();
    let (width, height) = (LEFT + columns * COLUMN + 12, TOP + lines * ROW + 40);
    let mut picture = Picture::new(width, height, "Debits per idempotency key, by guard and situation");
    picture.text(
        12,
        26,
        Anchor::Start,
        colour::INK,
        "Debits of one idempotency key, the most that was seen. Right is one.",
    );
    for (x, situation) in (0..).zip(Situation::ALL) {
        picture.text(LEFT + x * COLUMN + COLUMN / 2, TOP - 18, Anchor::Middle, colour::INK, situation.name());
    }
    for (y, row) in (0..).zip(rows) {
        draw_row(&mut picture, TOP + y * ROW, width, row);
    }
    legend(&mut picture, height - 16);
    picture.finish()
}

fn draw_row(picture: &mut Picture, top: u32, width: u32, row: &Row) {
    if row.subject.flow.is_none() {
        picture.rectangle(4, top, width - 8, ROW, colour::SOFT);
    }
    picture.stroke((4, top), (width - 4, top), colour::LINE);
    picture.text(12, top + ROW / 2 + 5, Anchor::Start, colour::INK, row.subject.name);
    for (x, cell) in (0..).zip(&row.cells) {
        draw_cell(picture, LEFT + x * COLUMN, top, cell);
    }
}

fn draw_cell(picture: &mut Picture, left: u32, top: u32, cell: &Cell) {
    let how = ending(cell);
    let debits = u32::try_from(if how == Ending::NeverPaid { cell.fewest() } else { cell.most() }).unwrap_or_default();
    let coins = debits.min(COINS);
    let start = left + COLUMN / 2 - coins.saturating_sub(1) * COIN / 2;
    for coin in 0..coins {
        // The first debit is the one that was wanted.
        let colour = if coin == 0 { colour::GOOD } else { colour::BAD };
        picture.disc(start + coin * COIN, top + 19, RADIUS, colour, true);
    }
    if coins == 0 {
        picture.disc(left + COLUMN / 2, top + 19, RADIUS, colour::BAD, false);
    }
    let note = match how {
        Ending::Right => "1".to_owned(),
        Ending::PaidAgain => format!("{debits}: paid again"),
        Ending::NeverPaid => format!("{debits}: told \"paid\""),
        Ending::LeftInTheDark => format!("{debits}: no answer"),
    };
    let ink = if how == Ending::Right { colour::GOOD } else { colour::BAD };
    picture.text(left + COLUMN / 2, top + 42, Anchor::Middle, ink, &note);
}

fn legend(picture: &mut Picture, y: u32) {
    picture.disc(18, y - 4, RADIUS, colour::GOOD, true);
    picture.text(30, y, Anchor::Start, colour::INK, "the debit that was wanted");
    picture.disc(226, y - 4, RADIUS, colour::BAD, true);
    picture.text(238, y, Anchor::Start, colour::INK, "a debit too many");
    picture.disc(376, y - 4, RADIUS, colour::BAD, false);
    picture.text(388, y, Anchor::Start, colour::INK, "no debit at all");
}

#[cfg(test)]
mod tests {
    use super::super::subjects::SUBJECTS;
    use super::*;

    fn row(debits: i64) -> Row {
        let cells = Situation::ALL.map(|situation| Cell {
            situation,
            debits: vec![debits],
            payment_ids: 1,
            unanswered: 0,
            retries: 0,
        });
        Row { subject: &SUBJECTS[0], cells: cells.to_vec() }
    }

    #[test]
    fn each_debit_is_a_coin_and_the_same_figures_give_the_same_picture() {
        let coins = |debits| draw(&[row(debits)]).matches("<circle").count();
        let legend = coins(0) - Situation::ALL.len();
        assert_eq!(coins(1) - legend, Situation::ALL.len());
        assert_eq!(coins(3) - legend, 3 * Situation::ALL.len());
        assert_eq!(draw(&[row(2)]), draw(&[row(2)]));
    }
}
