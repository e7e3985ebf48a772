//! A commit is pushed once, and only onto its parent.

use archetypes::git_push::{CommitId, CommitIdError, Push, Pushed, SCHEMA};
use payments::repositories::Settled;
use uuid::Uuid;

use crate::support::Stage;

const REPOSITORY: Uuid = Uuid::from_u128(0x61);
const HOLD_BRANCH: &str = "SELECT FROM branches FOR UPDATE";

fn root() -> CommitId {
    CommitId::of(b"root")
}

fn commit(text: &str, parent: &CommitId) -> CommitId {
    CommitId::of(format!("parent {}\n\n{text}\n", parent.as_str()).as_bytes())
}

fn push(commit: &CommitId, parent: &CommitId) -> Push {
    Push::new(REPOSITORY, "main", commit.clone(), parent.clone())
}

async fn stage() -> Stage {
    let stage = Stage::new(SCHEMA).await;
    let sql = "INSERT INTO branches (repository_id, name, head) VALUES ($1, 'main', $2), ($1, 'next', $2)";
    stage.owner.execute(sql, &[&REPOSITORY, &root().as_str()]).await.unwrap();
    stage
}

async fn assert_main(stage: &Stage, head: &CommitId, pushes: i64) {
    let found: String =
        stage.owner.query_one("SELECT head FROM branches WHERE name = 'main'", &[]).await.unwrap().get(0);
    assert_eq!(found, head.as_str());
    assert_eq!(stage.number("SELECT count(*) FROM pushes WHERE branch = 'main'").await, pushes);
}

#[tokio::test]
async fn twenty_pushes_of_one_commit_at_once_move_the_branch_once() {
    let stage = stage().await;
    let a = commit("a", &root());

    let executions = stage.race(HOLD_BRANCH, &vec![push(&a, &root()); 20]).await;

    let count = |answer: Pushed, trips: u32| {
        let matches = |one: &&_| {
            **one == crate::support::Execution { settled: Settled::Done(answer.clone()), round_trips: trips }
        };
        executions.iter().filter(matches).count()
    };
    assert_eq!((count(Pushed::Moved, 1), count(Pushed::UpToDate, 2)), (1, 19));
    assert_main(&stage, &a, 1).await;
}

#[tokio::test]
async fn of_different_pushes_on_one_parent_at_once_one_wins_and_the_others_are_refused() {
    let stage = stage().await;
    let commits: Vec<CommitId> = (0..20).map(|n| commit(&format!("commit {n}"), &root())).collect();
    let pushes: Vec<Push> = commits.iter().map(|commit| push(commit, &root())).collect();

    let executions = stage.race(HOLD_BRANCH, &pushes).await;

    let winner = executions.iter().position(|one| one.settled == Settled::Done(Pushed::Moved)).unwrap();
    let head = commits.get(winner).unwrap();
    let refused = Settled::Done(Pushed::NonFastForward { head: head.clone() });
    assert_eq!(executions.iter().filter(|one| one.settled == refused).count(), 19);
    assert_main(&stage, head, 1).await;
}

#[tokio::test]
async fn the_same_commit_again_is_a_no_op_though_others_were_pushed_on_top() {
    let stage = stage().await;
    let a = commit("a", &root());
    let b = commit("b", &a);
    assert_eq!(stage.settle(&push(&a, &root())).await, Pushed::Moved);
    assert_eq!(stage.settle(&push(&b, &a)).await, Pushed::Moved);

    let again = stage.run(&push(&a, &root())).await;

    assert_eq!((again.settled, again.round_trips), (Settled::Done(Pushed::UpToDate), 1));
    assert_main(&stage, &b, 2).await;
}

#[tokio::test]
async fn a_copy_that_waited_while_its_twin_and_a_child_were_pushed_is_up_to_date_and_not_refused() {
    let stage = stage().await;
    let a = commit("a", &root());
    let b = commit("b", &a);
    // The twin and the child arrive in one transaction, so the copy wakes up to a head that it has never heard of.
    let mut rival = stage.second_session().await;
    let twin = rival.transaction().await.unwrap();
    twin.batch_execute(HOLD_BRANCH).await.unwrap();
    let land = async {
        stage.until_waiting(1).await;
        let sql = "INSERT INTO pushes (repository_id, branch, commit_id, parent_id) VALUES ($1, 'main', $2, $3), ($1, 'main', $4, $2)";
        twin.execute(sql, &[&REPOSITORY, &a.as_str(), &root().as_str(), &b.as_str()]).await.unwrap();
        let sql = "UPDATE branches SET head = $1 WHERE name = 'main'";
        twin.execute(sql, &[&b.as_str()]).await.unwrap();
        twin.commit().await.unwrap();
    };
    let operation = push(&a, &root());
    let (copy, ()) = futures_util::join!(stage.run(&operation), land);

    assert_eq!((copy.settled, copy.round_trips), (Settled::Done(Pushed::UpToDate), 2));
    assert_main(&stage, &b, 2).await;
}

#[tokio::test]
async fn a_refused_push_leaves_nothing_and_its_rebased_commit_passes() {
    let stage = stage().await;
    let (ours, theirs) = (commit("ours", &root()), commit("theirs", &root()));
    stage.settle(&push(&theirs, &root())).await;

    let refused = Pushed::NonFastForward { head: theirs.clone() };
    assert_eq!(stage.settle(&push(&ours, &root())).await, refused);
    assert_eq!(stage.settle(&push(&ours, &root())).await, refused);
    assert_main(&stage, &theirs, 1).await;

    let rebased = commit("ours", &theirs);
    assert_ne!(rebased, ours, "another parent is another key");
    assert_eq!(stage.settle(&push(&rebased, &theirs)).await, Pushed::Moved);
    assert_main(&stage, &rebased, 2).await;
}

#[tokio::test]
async fn one_commit_on_two_branches_is_two_pushes_and_an_unknown_branch_none() {
    let stage = stage().await;
    let a = commit("a", &root());
    let to = |branch: &str| Push::new(REPOSITORY, branch, a.clone(), root());

    assert_eq!(stage.settle(&to("main")).await, Pushed::Moved);
    assert_eq!(stage.settle(&to("next")).await, Pushed::Moved);
    assert_eq!(stage.settle(&to("gone")).await, Pushed::UnknownBranch);
    assert_eq!(stage.number("SELECT count(*) FROM pushes").await, 2);
}

#[tokio::test]
async fn the_schema_itself_refuses_two_children_of_one_commit() {
    let stage = stage().await;
    let sql = "INSERT INTO pushes (repository_id, branch, commit_id, parent_id) VALUES ($1, 'main', 'x', 'p'), ($1, 'main', 'y', 'p')";
    let error = stage.owner.execute(sql, &[&REPOSITORY]).await.unwrap_err();
    assert_eq!(error.as_db_error().and_then(|error| error.constraint()), Some("pushes_parent_key"));
}

#[test]
fn a_commit_id_is_what_git_computes() {
    // `git init --object-format=sha256`, then `git hash-object -t commit --stdin` of this text.
    let object = "tree 6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321\n\
        author A <a@example.com> 0 +0000\ncommitter A <a@example.com> 0 +0000\n\nfirst\n";
    assert_eq!(
        CommitId::of(object.as_bytes()).as_str(),
        "a473fd7c8f205305c7c37427c22e77ff34b0b2ec82c3d1df978333712073d5d8"
    );
}

#[test]
fn an_abbreviated_or_foreign_id_is_no_key() {
    let full = "a".repeat(40);
    assert_eq!(CommitId::parse(&full).unwrap().as_str(), full);
    for text in ["", "aaaaaaa", &"A".repeat(40), &"g".repeat(64), &"a".repeat(41)] {
        assert_eq!(CommitId::parse(text), Err(CommitIdError), "{text}");
    }
}
