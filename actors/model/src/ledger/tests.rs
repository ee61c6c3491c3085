//! Tests of the ledger, over real databases.

use super::*;
use ipc_proto::Name;
use ipc_proto::config::{AtLimit, Prices};
use ipc_proto::ids::{KeyId, SessionId, UserId};
use ipc_proto::model::Per;
use proptest::prelude::*;
use std::cell::Cell;
use tempfile::TempDir;
use tokio::task::LocalSet;

/// A dollar a million tokens either way: a token is a millionth.
const ONE: Prices =
    Prices { input: 1_000_000, output: 1_000_000, cache_read: 1_000_000, cache_write: 1_000_000 };
/// A noon of the calendar's own test.
const NOON: u64 = 20_779 * calendar::DAY_MS + calendar::DAY_MS / 2;

fn payer(number: u8) -> Payer {
    Payer {
        user: UserId::from_bytes([number; 16]),
        session: Some(SessionId::from_bytes([number; 16])),
        agent: Some(Name::clip("helper")),
        key: None,
        key_day_micros: None,
    }
}

/// An answer of one token read and `output` written at most.
fn bill(number: u8, output: u32) -> Bill {
    Bill {
        payer: payer(number),
        model: ModelName::clip("p/m"),
        tariff: Some(ONE.into()),
        input: 1,
        output,
        exempt: false,
    }
}

fn used(output: u32) -> Usage {
    Usage { input: 1, output, ..Usage::default() }
}

fn day(micros: u64) -> Budget {
    Budget { day: Some(micros), ..Budget::default() }
}

/// Runs `test` with a ledger in a folder of its own.
fn with(budget: Budget, test: impl AsyncFnOnce(Ledger)) {
    let folder = tempfile::tempdir().unwrap();
    run(async {
        let ledger = Opened::open(folder.path(), budget).unwrap().start();
        test(ledger).await;
    });
}

fn run(test: impl Future<Output = ()>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    LocalSet::new().block_on(&runtime, test);
}

async fn stands(ledger: &Ledger, per: Per) -> (u64, u64) {
    let budgets = ledger.budgets().await.unwrap();
    let row = budgets.iter().find(|row| row.per == per);
    row.map(|row| (row.spent_micros, row.reserved_micros)).unwrap()
}

#[test]
fn money_is_set_aside_before_and_what_was_used_counts_after() {
    with(day(1000), async |ledger| {
        let reservation = ledger.reserve(&bill(1, 99)).await.unwrap();
        assert_eq!(stands(&ledger, Per::Day).await, (0, 100));
        reservation.settle(used(9));
        assert_eq!(stands(&ledger, Per::Day).await, (10, 0));
        drop(ledger.reserve(&bill(1, 99)).await.unwrap());
        assert_eq!(stands(&ledger, Per::Day).await, (10, 0), "what was never answered costs nothing");
        let rows = ledger.used(GroupBy::Model, 0).await.unwrap();
        assert_eq!((rows[0].group.as_str(), rows[0].answers, rows[0].cost_micros), ("p/m", 1, 10));
    });
}

// Holds B-57.
#[test]
fn a_budget_raced_by_fifty_is_never_exceeded_by_more_than_one_reservation() {
    with(day(1000), async |ledger| {
        let (inside, most) = (Rc::new(Cell::new(0_u64)), Rc::new(Cell::new(0_u64)));
        let clients: Vec<_> = (0..50_u8)
            .map(|number| {
                let (ledger, inside, most) = (ledger.clone(), Rc::clone(&inside), Rc::clone(&most));
                tokio::task::spawn_local(async move {
                    for round in 0..40_u32 {
                        match ledger.reserve(&bill(number, 99)).await {
                            Ok(reservation) => {
                                inside.set(inside.get() + 100);
                                most.set(most.get().max(inside.get()));
                                tokio::task::yield_now().await;
                                let output = (u32::from(number) + round) % 100;
                                reservation.settle(used(output));
                                // The unused part is free again; the used part is spent for good.
                                inside.set(inside.get() - u64::from(99 - output));
                            }
                            Err(refused) => {
                                assert!(
                                    matches!(
                                        refused,
                                        Refused::Blocked(ModelError::Budget { per: Per::Day, .. })
                                    ),
                                    "{refused:?}"
                                );
                            }
                        }
                    }
                })
            })
            .collect();
        for client in clients {
            client.await.unwrap();
        }
        assert!(most.get() < 1100, "{}", most.get());
        let (spent, reserved) = stands(&ledger, Per::Day).await;
        assert!((1000..1100).contains(&spent) && reserved == 0, "{spent} {reserved}");
        assert!(ledger.reserve(&bill(1, 1)).await.is_err());
    });
}

// Holds B-57.
#[test]
fn what_happens_at_a_bound_is_as_configured_and_a_key_always_blocks() {
    let spend = async |budget: Budget, second: Bill| {
        let folder = tempfile::tempdir().unwrap();
        let ledger = Opened::open(folder.path(), budget).unwrap().start();
        ledger.reserve(&bill(1, 99)).await.unwrap().settle(used(99));
        ledger.reserve(&second).await.err()
    };
    run(async {
        let at = |at_limit| Budget { at_limit, ..day(50) };
        let exempt = Bill { exempt: true, ..bill(2, 9) };
        let blocked = spend(at(AtLimit::Block), bill(2, 9)).await;
        assert!(matches!(
            blocked,
            Some(Refused::Blocked(ModelError::Budget { per: Per::Day, again_s: 1.. }))
        ));
        assert!(spend(at(AtLimit::Block), exempt.clone()).await.is_some());
        assert_eq!(spend(at(AtLimit::Warn), bill(2, 9)).await, None);
        let cheaper = spend(at(AtLimit::Cheaper), bill(2, 9)).await;
        assert!(matches!(cheaper, Some(Refused::Cheaper(ModelError::Budget { per: Per::Day, .. }))));
        assert_eq!(spend(at(AtLimit::Cheaper), exempt.clone()).await, None);
        let mut keyed = exempt;
        (keyed.payer.key, keyed.payer.key_day_micros) = (Some(KeyId::from_bytes([7; 16])), Some(0));
        let refused = spend(at(AtLimit::Cheaper), keyed).await;
        assert!(matches!(refused, Some(Refused::Blocked(ModelError::Budget { per: Per::Key, .. }))));
    });
}

// Holds B-57.
#[test]
fn a_session_and_an_agent_have_sums_of_their_own() {
    let budget =
        Budget { session: Some(50), agents: [("helper".to_owned(), 150)].into(), ..Budget::default() };
    with(budget, async |ledger| {
        let spend =
            async |number| ledger.reserve(&bill(number, 99)).await.map(|it| it.settle(used(99))).err();
        assert_eq!(spend(1).await, None);
        let session = Refused::Blocked(ModelError::Budget { per: Per::Session, again_s: 0 });
        assert_eq!(spend(1).await, Some(session));
        assert_eq!(spend(2).await, None);
        let refused = spend(3).await;
        assert!(matches!(refused, Some(Refused::Blocked(ModelError::Budget { per: Per::Agent, .. }))));
        let other = Bill { payer: Payer { agent: None, ..payer(3) }, ..bill(3, 99) };
        assert!(ledger.reserve(&other).await.is_ok());
        let listed = ledger.budgets().await.unwrap();
        let of =
            |per| listed.iter().filter(|row| row.per == per).map(|row| row.spent_micros).collect::<Vec<_>>();
        assert_eq!((of(Per::Session), of(Per::Agent)), (vec![100, 100, 0], vec![200]));
    });
}

// Holds B-60.
#[test]
fn an_unknown_price_is_refused_under_a_budget_alone() {
    let unpriced = Bill { tariff: None, ..bill(1, 9) };
    for (budget, refused) in
        [(day(5), true), (Budget { unpriced: true, ..day(5) }, false), (Budget::default(), false)]
    {
        with(budget, async |ledger| match ledger.reserve(&unpriced).await {
            Err(error) => assert!(refused && error == Refused::Blocked(ModelError::Unpriced)),
            Ok(reservation) => {
                assert!(!refused);
                reservation.settle(used(9));
                let rows = ledger.used(GroupBy::Agent, 0).await.unwrap();
                assert_eq!((rows[0].group.as_str(), rows[0].output, rows[0].cost_micros), ("helper", 9, 0));
            }
        });
    }
}

// Holds P7-77.
#[test]
fn money_set_aside_by_a_killed_model_counts_once() {
    let folder = tempfile::tempdir().unwrap();
    run(async {
        let ledger = Opened::open(folder.path(), day(1000)).unwrap().start();
        std::mem::forget(ledger.reserve(&bill(1, 99)).await.unwrap());
        ledger.reserve(&bill(1, 99)).await.unwrap().settle(used(4));
        assert_eq!(stands(&ledger, Per::Day).await, (5, 100));
    });
    for _ in 0..2 {
        run(async {
            let ledger = Opened::open(folder.path(), day(1000)).unwrap().start();
            assert_eq!(stands(&ledger, Per::Day).await, (105, 0));
            assert_eq!(ledger.used(GroupBy::Session, 0).await.unwrap()[0].answers, 2);
        });
    }
}

#[test]
fn a_keys_bound_holds_after_the_restart_of_a_killed_model() {
    let folder = tempfile::tempdir().unwrap();
    let mut keyed = bill(1, 99);
    (keyed.payer.key, keyed.payer.key_day_micros) = (Some(KeyId::from_bytes([7; 16])), Some(900));
    run(async {
        let ledger = Opened::open(folder.path(), day(1000)).unwrap().start();
        ledger.reserve(&keyed).await.unwrap().settle(used(4));
        std::mem::forget(ledger.reserve(&keyed).await.unwrap());
        assert_eq!(stands(&ledger, Per::Key).await, (5, 100));
    });
    run(async {
        let ledger = Opened::open(folder.path(), day(1000)).unwrap().start();
        assert_eq!(stands(&ledger, Per::Key).await, (105, 0));
    });
}

/// Books without a process around them, the time being the test's.
fn books(folder: &TempDir, budget: Budget) -> (Books, mpsc::UnboundedReceiver<Order>) {
    let (store, ..) = Store::open(&folder.path().join(FILE), NOON).unwrap();
    let (orders, queue) = mpsc::unbounded_channel();
    (Books::new(store, budget, orders), queue)
}

fn asked(at_ms: u64, micros: u64) -> Reserved {
    let account = Account::from(&payer(1));
    Reserved { at_ms, model: "p/m".to_owned(), account, input: 1, output: 9, micros }
}

fn reserve(books: &mut Books, at_ms: u64, micros: u64) -> Result<Hold, Refused> {
    let (reply, mut answer) = oneshot::channel();
    books.apply(vec![Order::Reserve { asked: asked(at_ms, micros), exempt: false, reply }]);
    answer.try_recv().unwrap()
}

fn settle(books: &mut Books, held: &mut Hold, at_ms: u64, micros: u64) {
    let order =
        Order::Settle { id: held.take(), asked: asked(at_ms, 0), usage: used(1), cost: Cost::of(micros) };
    books.apply(vec![order]);
}

#[test]
fn a_new_day_starts_at_zero_and_answers_count_to_their_day() {
    let folder = tempfile::tempdir().unwrap();
    let (mut books, _queue) = books(&folder, day(10));
    let mut held = reserve(&mut books, NOON, 10).unwrap();
    assert!(reserve(&mut books, NOON + 1, 10).is_err());
    let tomorrow = NOON + calendar::DAY_MS;
    assert!(reserve(&mut books, tomorrow, 10).is_ok());
    settle(&mut books, &mut held, NOON, 10);
    assert!(reserve(&mut books, NOON, 1).is_err());
    let again = reserve(&mut books, NOON, 1).err();
    let error = ModelError::Budget { per: Per::Day, again_s: 43_200 };
    assert_eq!(again, Some(Refused::Blocked(error)));
}

// Holds P7-85.
#[test]
fn a_budget_held_by_reservations_is_free_again_in_seconds() {
    let folder = tempfile::tempdir().unwrap();
    let (mut books, _queue) = books(&folder, Budget { session: Some(5), ..day(10) });
    let refused = |books: &mut Books| match reserve(books, NOON, 10).err() {
        Some(Refused::Blocked(ModelError::Budget { per, again_s })) => (per, again_s),
        other => panic!("{other:?}"),
    };
    let mut first = reserve(&mut books, NOON, 10).unwrap();
    assert!(matches!(refused(&mut books), (Per::Day, 1..=5)));
    settle(&mut books, &mut first, NOON, 1);
    let mut second = reserve(&mut books, NOON, 10).expect("what was not used is free again");
    settle(&mut books, &mut second, NOON, 4);
    assert_eq!(refused(&mut books), (Per::Session, 0), "its session has spent all of its own");
    let mut other = asked(NOON, 10);
    other.account.session = "another".to_owned();
    let (reply, mut answer) = oneshot::channel();
    books.apply(vec![Order::Reserve { asked: other, exempt: false, reply }]);
    let _held = answer.try_recv().unwrap().unwrap();
    assert_eq!(refused(&mut books), (Per::Session, 0), "and not that the day's is set aside for a moment");
}

// Holds P8-34.
#[test]
fn an_unwritable_ledger_refuses_and_settles_later_once() {
    let folder = tempfile::tempdir().unwrap();
    let (mut books, mut queue) = books(&folder, Budget::default());
    let mut held = reserve(&mut books, NOON, 10).unwrap();
    let broken = |books: &mut Books, on: bool| {
        books.store().raw().pragma_update(None, "query_only", on).unwrap();
    };
    broken(&mut books, true);
    assert_eq!(reserve(&mut books, NOON, 10).err(), Some(Refused::Blocked(ModelError::Ledger)));
    settle(&mut books, &mut held, NOON, 7);
    broken(&mut books, false);
    let (reply, mut answer) = oneshot::channel();
    books.apply(vec![Order::Used(GroupBy::Day, 0, reply)]);
    let rows = answer.try_recv().unwrap().unwrap();
    assert_eq!((rows[0].group.as_str(), rows[0].answers, rows[0].cost_micros), ("2026-11-22", 1, 7));
    // A reservation whose caller is gone is released.
    let (reply, answer) = oneshot::channel();
    drop(answer);
    books.apply(vec![Order::Reserve { asked: asked(NOON, 5), exempt: false, reply }]);
    assert!(matches!(queue.try_recv(), Ok(Order::Release(_))));
}

// Holds P7-77.
#[test]
fn every_version_of_the_database_is_opened_with_what_is_in_it() {
    let fixtures = [include_str!("fixtures/v1.sql")];
    let known = manifest::schemas::DATABASES.iter().find(|it| it.file == FILE).unwrap().version;
    assert_eq!(u32::try_from(fixtures.len()).unwrap(), known, "a version without its fixture");
    for fixture in fixtures {
        let folder = tempfile::tempdir().unwrap();
        rusqlite::Connection::open(folder.path().join(FILE)).unwrap().execute_batch(fixture).unwrap();
        let (mut books, _queue) = books(&folder, day(1000));
        let (reply, mut answer) = oneshot::channel();
        books.apply(vec![Order::Budgets(NOON, reply)]);
        let rows = answer.try_recv().unwrap().unwrap();
        assert_eq!((rows[0].spent_micros, rows[0].reserved_micros), (130, 0));
        let (reply, mut answer) = oneshot::channel();
        books.apply(vec![Order::Used(GroupBy::User, 0, reply)]);
        let rows = answer.try_recv().unwrap().unwrap();
        assert_eq!((rows[0].answers, rows[0].input, rows[0].cost_micros), (3, 42, 130));
        assert!(rows[0].estimated > 0, "what was set aside is an estimate");
    }
}

// Holds B-66.
#[test]
fn what_is_older_than_four_hundred_days_is_forgotten_at_a_start() {
    let folder = tempfile::tempdir().unwrap();
    {
        let (mut books, _queue) = books(&folder, Budget::default());
        for days in [401, 399] {
            let mut held = reserve(&mut books, NOON - days * calendar::DAY_MS, 10).unwrap();
            settle(&mut books, &mut held, NOON - days * calendar::DAY_MS, 10);
        }
    }
    let (mut books, _queue) = books(&folder, Budget::default());
    let (reply, mut answer) = oneshot::channel();
    books.apply(vec![Order::Used(GroupBy::Day, 0, reply)]);
    assert_eq!(answer.try_recv().unwrap().unwrap().len(), 1);
}

#[derive(Clone, Debug)]
enum Act {
    Reserve(u64),
    Settle(usize, u64),
    Release(usize),
    Restart,
}

fn acts() -> impl Strategy<Value = Vec<Act>> {
    let act = prop_oneof![
        4 => (1_u64..1000).prop_map(Act::Reserve),
        3 => (0_usize..8, 0_u64..1000).prop_map(|(n, micros)| Act::Settle(n, micros)),
        1 => (0_usize..8).prop_map(Act::Release),
        1 => Just(Act::Restart),
    ];
    proptest::collection::vec(act, 1..40)
}

proptest! {
    // Holds P7-77.
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn what_was_settled_is_what_was_used_and_what_every_budget_has_spent(acts in acts()) {
        let folder = tempfile::tempdir().unwrap();
        let (mut ledger, mut queue) = books(&folder, day(u64::MAX / 4));
        let (mut open, mut settled, mut answers) = (Vec::new(), 0, 0);
        for act in acts {
            match act {
                Act::Reserve(micros) => open.push((reserve(&mut ledger, NOON, micros).unwrap(), micros)),
                Act::Settle(n, micros) if n < open.len() => {
                    let (mut held, _) = open.remove(n);
                    settle(&mut ledger, &mut held, NOON, micros);
                    (settled, answers) = (settled + micros, answers + 1);
                }
                Act::Release(n) if n < open.len() => {
                    drop(open.remove(n));
                    ledger.apply(vec![queue.try_recv().unwrap()]);
                }
                Act::Restart => {
                    for (held, micros) in open.drain(..) {
                        std::mem::forget(held);
                        (settled, answers) = (settled + micros, answers + 1);
                    }
                    drop(ledger);
                    (ledger, queue) = books(&folder, day(u64::MAX / 4));
                }
                Act::Settle(..) | Act::Release(_) => {}
            }
        }
        let reserved: u64 = open.iter().map(|(_, micros)| micros).sum();
        let (reply, mut used) = oneshot::channel();
        let (other, mut budgets) = oneshot::channel();
        ledger.apply(vec![Order::Used(GroupBy::Key, 0, reply), Order::Budgets(NOON, other)]);
        let used = used.try_recv().unwrap().unwrap();
        let sum = |of: fn(&UsageRow) -> u64| used.iter().map(of).sum::<u64>();
        prop_assert_eq!((sum(|row| row.cost_micros), sum(|row| row.answers)), (settled, answers));
        let budgets = budgets.try_recv().unwrap().unwrap();
        prop_assert_eq!((budgets[0].spent_micros, budgets[0].reserved_micros), (settled, reserved));
    }
}
