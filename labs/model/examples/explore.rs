//! Walk through the model by hand: serves stateright's explorer at <http://127.0.0.1:3000>.

use model::guards::Guards;
use model::protocol::Protocol;
use model::state::Left;
use stateright::Model as _;

fn main() {
    let left = Left { faults: 1, extra_attempts: 1, purges: 1, top_ups: 0, captures: 0 };
    println!("http://127.0.0.1:3000 – stop with Ctrl-C");
    let _ = Protocol { guards: Guards::all(), balance: 1, left }.checker().serve("127.0.0.1:3000");
}
