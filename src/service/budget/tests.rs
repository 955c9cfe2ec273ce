//! The budget's promise: never more than 60 and 1,440 requests, whatever restarts, clocks and other processes do.

use super::{
    super::{Purpose, origin::Origin, token::Token},
    Budget, BudgetLimits, Refusal,
    clock::{Clock, Moment},
    clocks::{SteppedClock, TokioClock},
};
use futures_util::future::BoxFuture;
use proptest::prelude::*;
use std::{
    collections::VecDeque,
    os::unix::fs::PermissionsExt,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicI64, AtomicU64, Ordering},
    },
    time::Duration,
};

const MINUTE: Duration = Duration::from_secs(61);
const DAY: Duration = Duration::from_secs(86_401);

fn left(budget: &Budget) -> (u32, u32) {
    let left = budget.left();
    (left.minute_left, left.day_left)
}

fn limits(per_minute: u32, per_day: u32) -> BudgetLimits {
    BudgetLimits {
        per_minute,
        per_day,
        reserve_for_pushes: 20,
    }
}

/// Sets the wall clock forward or back, as a person or a time server would.
fn jump_wall(clock: &SteppedClock, millis: i64) {
    clock.wall_offset.fetch_add(millis, Ordering::SeqCst);
}

fn open(dir: &Path, limits: BudgetLimits, clock: &Arc<SteppedClock>) -> Budget {
    let shared: Arc<dyn Clock> = clock.clone();
    open_on(dir, limits, shared)
}

fn open_on(dir: &Path, limits: BudgetLimits, clock: Arc<dyn Clock>) -> Budget {
    let origin = Origin::of("https://kb.example.com").expect("an address");
    let token = Token::new("CANARY-4711-token").expect("a token");
    Budget::open_with(dir, &origin, &token, limits, clock).expect("a budget")
}

async fn take(budget: &Budget, purpose: Purpose, most: u32) -> u32 {
    let mut taken = 0;
    while taken < most && budget.acquire(purpose).await.is_ok() {
        taken += 1;
    }
    taken
}

#[tokio::test]
async fn s8_a_minute_holds_sixty_and_polls_leave_the_reserve() {
    let clock = Arc::new(SteppedClock::default());
    let shared: Arc<dyn Clock> = clock.clone();
    let budget = Budget::in_memory(BudgetLimits::default(), shared);
    assert_eq!(take(&budget, Purpose::Poll, 100).await, 48);
    assert_eq!(left(&budget), (12, 1392));
    assert_eq!(take(&budget, Purpose::Push, 100).await, 12);
    let Err(Refusal::Minute { free_in }) = budget.acquire(Purpose::Push).await else {
        panic!("the minute is full");
    };
    assert_eq!(free_in, MINUTE);
    clock.advance(free_in);
    assert_eq!(left(&budget), (60, 1380));
}

#[tokio::test(start_paused = true)]
async fn a_full_minute_frees_one_by_one_on_tokios_clock() {
    let budget = Budget::in_memory(limits(2, 100), Arc::new(TokioClock::default()));
    budget.acquire(Purpose::Push).await.expect("room");
    tokio::time::sleep(Duration::from_secs(20)).await;
    budget.acquire(Purpose::Push).await.expect("room");
    let Err(Refusal::Minute { free_in }) = budget.acquire(Purpose::Push).await else {
        panic!("the minute is full");
    };
    assert_eq!(free_in, Duration::from_secs(41));
    tokio::time::sleep(free_in).await;
    budget.acquire(Purpose::Push).await.expect("room");
    assert!(budget.acquire(Purpose::Push).await.is_err());
}

#[tokio::test]
async fn s8_a_day_holds_1440_in_any_24_hours() {
    let clock = Arc::new(SteppedClock::default());
    let dir = tempfile::tempdir().expect("a folder");
    let budget = open(dir.path(), BudgetLimits::default(), &clock);
    for _ in 0..24 {
        assert_eq!(take(&budget, Purpose::Push, 60).await, 60);
        clock.advance(MINUTE);
    }
    let Err(Refusal::Day { free_in }) = budget.acquire(Purpose::Push).await else {
        panic!("the day is full");
    };
    assert_eq!(free_in + MINUTE * 24, DAY);
    assert_eq!(left(&budget), (60, 0));
    clock.advance(free_in);
    assert_eq!(take(&budget, Purpose::Push, 100).await, 60);
}

#[tokio::test]
async fn f112_a_restart_does_not_refill() {
    let clock = Arc::new(SteppedClock::default());
    let dir = tempfile::tempdir().expect("a folder");
    for _ in 0..5 {
        let budget = open(dir.path(), limits(20, 100), &clock);
        take(&budget, Purpose::Push, 4).await;
    }
    let budget = open(dir.path(), limits(20, 100), &clock);
    assert_eq!(left(&budget), (0, 80));
    assert!(budget.acquire(Purpose::Push).await.is_err());
}

#[tokio::test]
async fn services_and_tokens_have_budgets_of_their_own() {
    let dir = tempfile::tempdir().expect("a folder");
    let of = |url: &str, token: &str| {
        let origin = Origin::of(url).expect("an address");
        let token = Token::new(token).expect("a token");
        Budget::open(dir.path(), &origin, &token, limits(5, 100)).expect("a budget")
    };
    let first = of("https://a.example", "one");
    take(&first, Purpose::Push, 5).await;
    assert_eq!(of("https://a.example/help", "one").left().minute_left, 0);
    assert_eq!(of("https://a.example", "two").left().minute_left, 5);
    assert_eq!(of("https://b.example", "one").left().minute_left, 5);
}

#[tokio::test]
async fn f106_a_wall_clock_that_jumps_refills_nothing() {
    let clock = Arc::new(SteppedClock::default());
    let dir = tempfile::tempdir().expect("a folder");
    let budget = open(dir.path(), limits(10, 10), &clock);
    take(&budget, Purpose::Push, 10).await;
    for jump in [86_400_000 * 400, -86_400_000 * 800] {
        jump_wall(&clock, jump);
        assert!(matches!(
            budget.acquire(Purpose::Push).await,
            Err(Refusal::Day { .. })
        ));
    }
    clock.advance(DAY);
    assert_eq!(take(&budget, Purpose::Push, 20).await, 10);
}

/// The clock of a machine that can be restarted.
#[derive(Debug, Default)]
struct Machine {
    wall: AtomicI64,
    boot: AtomicU64,
    up: AtomicI64,
}

impl Clock for Machine {
    fn now(&self) -> Moment {
        Moment {
            wall_ms: self.wall.load(Ordering::SeqCst),
            boot: self.boot.load(Ordering::SeqCst),
            boot_ms: self.up.load(Ordering::SeqCst),
        }
    }

    fn sleep(&self, _: Duration) -> BoxFuture<'static, ()> {
        Box::pin(std::future::ready(()))
    }
}

#[tokio::test]
async fn f106_after_a_reboot_the_records_use_the_new_boot_clock() {
    let machine = Arc::new(Machine::default());
    machine.boot.store(1, Ordering::SeqCst);
    let dir = tempfile::tempdir().expect("a folder");
    let shared: Arc<dyn Clock> = machine.clone();
    let budget = open_on(dir.path(), limits(10, 10), shared);
    assert_eq!(take(&budget, Purpose::Push, 10).await, 10);
    // The machine was off for an hour, by the wall clock.
    machine.boot.store(2, Ordering::SeqCst);
    machine.up.store(5000, Ordering::SeqCst);
    machine.wall.store(3_600_000, Ordering::SeqCst);
    assert!(budget.acquire(Purpose::Push).await.is_err());
    // From now on, the wall clock has no effect.
    machine.wall.store(i64::MAX / 2, Ordering::SeqCst);
    let Err(Refusal::Day { free_in }) = budget.acquire(Purpose::Push).await else {
        panic!("the day is full");
    };
    assert_eq!(free_in + Duration::from_hours(1), DAY);
    machine
        .up
        .store(5000 + 86_401_000 - 3_600_000, Ordering::SeqCst);
    assert_eq!(take(&budget, Purpose::Push, 20).await, 10);
}

#[tokio::test]
async fn without_a_boot_clock_records_of_the_future_run_out_all_the_same() {
    let machine = Arc::new(Machine::default());
    machine.wall.store(1_000_000_000, Ordering::SeqCst);
    let dir = tempfile::tempdir().expect("a folder");
    let shared: Arc<dyn Clock> = machine.clone();
    let budget = open_on(dir.path(), limits(10, 10), shared);
    assert_eq!(take(&budget, Purpose::Push, 10).await, 10);
    machine.wall.store(0, Ordering::SeqCst);
    assert!(budget.acquire(Purpose::Push).await.is_err());
    machine.wall.store(86_401_000, Ordering::SeqCst);
    assert_eq!(take(&budget, Purpose::Push, 20).await, 10);
}

#[tokio::test]
async fn f111_the_services_count_corrects_ours_downwards_only() {
    let clock = Arc::new(SteppedClock::default());
    let shared: Arc<dyn Clock> = clock.clone();
    let budget = Budget::in_memory(BudgetLimits::default(), shared);
    take(&budget, Purpose::Push, 1).await;
    budget.observe(Some(60), Some(40)).await.expect("counted");
    assert_eq!(left(&budget), (40, 1420));
    budget.observe(Some(60), Some(59)).await.expect("counted");
    budget.observe(Some(600), Some(500)).await.expect("counted");
    assert_eq!(left(&budget), (40, 1420));
    budget.observe(Some(30), Some(5)).await.expect("counted");
    assert_eq!(budget.left().minute_left, 5);
    clock.advance(MINUTE);
    assert_eq!(budget.left().minute_left, 30);
    budget.observe(Some(60), None).await.expect("counted");
    assert_eq!(budget.left().minute_left, 60);
    budget.observe(Some(0), None).await.expect("counted");
    assert_eq!(budget.left().minute_left, 60);
}

#[tokio::test]
async fn f110_a_429_holds_every_process_back() {
    let clock = Arc::new(SteppedClock::default());
    let dir = tempfile::tempdir().expect("a folder");
    let [one, two] = [(); 2].map(|()| open(dir.path(), BudgetLimits::default(), &clock));
    one.block(Duration::from_secs(30)).await.expect("written");
    let Err(Refusal::Blocked { free_in }) = two.acquire(Purpose::Push).await else {
        panic!("blocked");
    };
    assert_eq!(free_in, Duration::from_secs(30));
    clock.advance(free_in);
    two.acquire(Purpose::Push).await.expect("free");
}

#[tokio::test]
async fn f114_an_operation_begins_only_with_room_for_all_of_it() {
    let clock = Arc::new(SteppedClock::default());
    let dir = tempfile::tempdir().expect("a folder");
    let [one, two] = [(); 2].map(|()| open(dir.path(), limits(60, 5), &clock));
    assert_eq!(take(&one, Purpose::Push, 3).await, 3);
    assert!(matches!(
        two.check(3, Purpose::Push).await,
        Err(Refusal::Day { free_in }) if free_in == DAY
    ));
    two.check(2, Purpose::Push).await.expect("room");
    assert_eq!(left(&two), (57, 2), "nothing is set aside");
}

#[tokio::test]
async fn f114_a_long_operation_does_not_wait_for_an_empty_minute() {
    let clock = Arc::new(SteppedClock::default());
    let dir = tempfile::tempdir().expect("a folder");
    let [one, two] = [(); 2].map(|()| open(dir.path(), limits(60, 1000), &clock));
    // Another process never lets the whole minute become free.
    assert_eq!(take(&two, Purpose::Push, 31).await, 31);
    assert!(one.check(70, Purpose::Push).await.is_err());
    clock.advance(MINUTE);
    assert_eq!(take(&two, Purpose::Push, 30).await, 30);
    one.check(70, Purpose::Push).await.expect("room");
}

#[tokio::test]
async fn f114_a_full_minute_is_waited_for_before_an_operation_begins() {
    let clock = Arc::new(SteppedClock::default());
    let shared: Arc<dyn Clock> = clock.clone();
    let budget = Budget::in_memory(limits(3, 100), shared);
    take(&budget, Purpose::Push, 2).await;
    let Err(Refusal::Minute { free_in }) = budget.check(2, Purpose::Push).await else {
        panic!("one is free, and two are needed");
    };
    assert_eq!(free_in, MINUTE);
    // An operation that is longer than a minute's requests begins all the same.
    clock.advance(MINUTE);
    budget.check(7, Purpose::Push).await.expect("room");
    assert_eq!(left(&budget), (3, 98));
}

#[tokio::test]
async fn what_never_left_this_machine_is_taken_back_at_its_own_moment() {
    let clock = Arc::new(SteppedClock::default());
    let dir = tempfile::tempdir().expect("a folder");
    let budget = open(dir.path(), limits(2, 100), &clock);
    let unsent = budget.acquire(Purpose::Push).await.expect("room");
    clock.advance(Duration::from_secs(10));
    budget.acquire(Purpose::Push).await.expect("room");
    budget.uncount(unsent).await.expect("taken back");
    assert_eq!(left(&budget), (1, 99));
    // The request that was sent counts from its own moment on.
    clock.advance(Duration::from_secs(52));
    assert_eq!(left(&budget), (1, 99));
    clock.advance(Duration::from_secs(9));
    assert_eq!(left(&budget), (2, 99));
}

#[tokio::test]
async fn limits_of_nothing_do_not_wait_for_ever() {
    let budget = Budget::in_memory(limits(0, 1), Arc::new(TokioClock::default()));
    budget.acquire(Purpose::Poll).await.expect("one");
    assert!(budget.acquire(Purpose::Poll).await.is_err());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn two_values_on_one_file_never_spend_more_than_there_is() {
    let clock = Arc::new(SteppedClock::default());
    let dir = tempfile::tempdir().expect("a folder");
    let tasks: Vec<_> = (0..4)
        .map(|_| {
            let budget = open(dir.path(), limits(60, 1440), &clock);
            tokio::spawn(async move { take(&budget, Purpose::Push, 40).await })
        })
        .collect();
    let mut taken = 0;
    for task in tasks {
        taken += task.await.expect("no panic");
    }
    assert_eq!(taken, 60);
}

#[tokio::test]
async fn f141_the_file_is_private_and_names_neither_token_nor_service() {
    let clock = Arc::new(SteppedClock::default());
    let dir = tempfile::tempdir().expect("a folder");
    let budget = open(dir.path(), BudgetLimits::default(), &clock);
    take(&budget, Purpose::Push, 1).await;
    let folder = dir.path().join("budget");
    let mode = |path: &Path| std::fs::metadata(path).expect("there").permissions().mode() & 0o777;
    assert_eq!(mode(&folder), 0o700);
    let mut files = 0;
    for file in std::fs::read_dir(folder).expect("readable") {
        let path = file.expect("a file").path();
        assert_eq!(mode(&path), 0o600, "{}", path.display());
        let name = path.to_string_lossy();
        assert!(
            !name.contains("4711") && !name.contains("example"),
            "{name}"
        );
        files += 1;
    }
    assert_eq!(files, 2);
}

fn counts_in(dir: &Path) -> std::path::PathBuf {
    std::fs::read_dir(dir.join("budget"))
        .expect("readable")
        .map(|file| file.expect("a file").path())
        .find(|path| path.extension().is_some_and(|ending| ending == "json"))
        .expect("the counts")
}

#[tokio::test]
async fn the_file_does_not_grow_for_ever() {
    let clock = Arc::new(SteppedClock::default());
    let dir = tempfile::tempdir().expect("a folder");
    let budget = open(dir.path(), limits(5000, 5000), &clock);
    for _ in 0..40 {
        take(&budget, Purpose::Push, 10).await;
        clock.advance(Duration::from_secs(1));
    }
    let length = || {
        std::fs::metadata(counts_in(dir.path()))
            .expect("there")
            .len()
    };
    assert!(length() < 40 * 80, "{}", length());
    clock.advance(DAY);
    take(&budget, Purpose::Push, 200).await;
    assert!(length() < 200, "{}", length());
    assert_eq!(budget.left().day_left, 4800);
}

#[tokio::test]
async fn a_file_that_cannot_be_written_sends_nothing() {
    let clock = Arc::new(SteppedClock::default());
    let dir = tempfile::tempdir().expect("a folder");
    let budget = open(dir.path(), BudgetLimits::default(), &clock);
    take(&budget, Purpose::Push, 1).await;
    let path = counts_in(dir.path());
    std::fs::remove_file(&path).expect("gone");
    std::fs::create_dir(&path).expect("in the way");
    for _ in 0..2 {
        assert!(matches!(
            budget.acquire(Purpose::Push).await,
            Err(Refusal::Broken { .. })
        ));
        assert_eq!(left(&budget), (0, 0));
        // A damaged file does not say how many requests were sent.
        std::fs::remove_dir(&path).unwrap_or_default();
        std::fs::write(&path, "{").expect("damaged");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// With restarts, jumps of the wall clock and hasty callers, no window is ever over its limit.
    #[test]
    fn f106_no_window_is_ever_over_its_limit(
        steps in prop::collection::vec((0..7_u8, 0..90_u64), 1..60),
        per_minute in 1..9_u32,
        per_day in 5..40_u32,
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime");
        let clock = Arc::new(SteppedClock::default());
        let dir = tempfile::tempdir().expect("a folder");
        let limits = limits(per_minute, per_day);
        let mut budget = open(dir.path(), limits, &clock);
        let mut sent: VecDeque<Duration> = VecDeque::new();
        for (kind, by) in steps {
            match kind {
                0 => budget = open(dir.path(), limits, &clock),
                1 => jump_wall(&clock, i64::try_from(by).expect("small") * 3_600_000 - 100_000_000),
                2 => clock.advance(Duration::from_secs(by * 200)),
                3 => clock.advance(Duration::from_secs(by)),
                4 => {
                    // An operation of some requests, with pauses.
                    let requests = u32::try_from(by % 5 + 1).expect("few");
                    if runtime.block_on(budget.check(requests, Purpose::Push)).is_ok() {
                        for _ in 0..by % 4 {
                            clock.advance(Duration::from_secs(by / 2));
                            if runtime.block_on(budget.acquire(Purpose::Push)).is_ok() {
                                sent.push_back(clock.elapsed());
                            }
                        }
                    }
                }
                5 => {
                    // A request that finds no connection.
                    if let Ok(counted) = runtime.block_on(budget.acquire(Purpose::Push)) {
                        clock.advance(Duration::from_secs(by % 11));
                        runtime.block_on(budget.uncount(counted)).expect("written");
                    }
                }
                _ => {
                    for _ in 0..runtime.block_on(take(&budget, Purpose::Push, 7)) {
                        sent.push_back(clock.elapsed());
                    }
                }
            }
        }
        for (at, &moment) in sent.iter().enumerate() {
            for (window, limit) in [(60, per_minute), (86_400, per_day)] {
                let until = moment + Duration::from_secs(window);
                let within = sent.iter().skip(at).take_while(|&&other| other <= until).count();
                prop_assert!(within <= limit as usize, "{within} in {window} s");
            }
        }
    }
}
