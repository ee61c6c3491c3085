//! Tests of budgets: the effect of a used one on a request, over the same models and ledger.

use super::*;

// Holds B-57.
#[test]
fn a_used_budget_blocks_first_or_turns_to_the_cheaper_model() {
    run(async {
        let plays: &[(&str, &[Play])] = &[("a/1", &[well("dear")]), ("offline/x", &[well("cheap")])];
        let day = Budget { day: Some(15), ..Budget::default() };
        let world = World::with(plays, DEFAULT_CHAIN, |_| {}, day.clone());
        assert_eq!(told(&world.ask("a/1").await), ["dear"]);
        let refused = world.start("default").await.err();
        assert!(matches!(refused, Some(ModelError::Budget { per: Per::Day, .. })), "{refused:?}");
        assert_eq!(world.models.names(), ["a/1"]);
        assert_eq!(told(&world.ask("offline/x").await), ["cheap"], "what costs nothing is not held back");
        let cheaper =
            Budget { at_limit: AtLimit::Cheaper, cheaper_model: Some("offline/x".to_owned()), ..day };
        let world = World::with(plays, DEFAULT_CHAIN, |_| {}, cheaper);
        world.ask("a/1").await;
        assert_eq!(told(&world.ask("a/1").await), ["!a/1 LLM_BUDGET_EXCEEDED offline/x", "cheap"]);
    });
}

// Holds P7-83.
#[test]
fn reserved_money_is_reported_where_no_other_model_answers() {
    run(async {
        let plays: &[(&str, &[Play])] = &[
            ("a/1", &[vec![Waits(9), Ends]]),
            ("b/2", &[vec![Fails(ModelError::Auth)]]),
            ("offline/reader", &[well("found")]),
        ];
        let fallback = |asking: &mut Asking| asking.offline_fallback = true;
        let (day, cheaper_model) = (Some(90), Some("b/2".to_owned()));
        for at_limit in [AtLimit::Block, AtLimit::Cheaper] {
            let budget = Budget { day, at_limit, cheaper_model: cheaper_model.clone(), ..Budget::default() };
            let world = World::with(plays, DEFAULT_CHAIN, fallback, budget);
            let held = world.start("a/1").await.unwrap();
            let told = match world.start("default").await {
                Err(error) => error,
                Ok(id) => loop {
                    let pieces = world.streams.next(id, 64).await.unwrap();
                    if let Some(Piece::Failed(error)) = pieces.last() {
                        break *error;
                    }
                },
            };
            assert_eq!(told, ModelError::Budget { per: Per::Day, again_s: 2 }, "{at_limit:?}");
            assert!(!world.models.names().contains(&"offline/reader".to_owned()));
            world.streams.cancel(held);
        }
    });
}

// Holds P7-84.
#[test]
fn a_budget_that_is_used_up_and_only_warns_is_told_once_with_each_answer() {
    run(async {
        let fails = vec![Says("so far"), Fails(ModelError::Truncated)];
        let plays: &[(&str, &[Play])] = &[("a/1", &[well("one"), fails, well("two")])];
        let budget = Budget { day: Some(15), at_limit: AtLimit::Warn, ..Budget::default() };
        let world = World::with(plays, DEFAULT_CHAIN, |_| {}, budget);
        assert_eq!(told(&world.ask("a/1").await), ["one"]);
        let over = "over the budget per day";
        assert_eq!(told(&world.ask("a/1").await), [over, "so far", "!a/1 LLM_TRUNCATED a/1", "two"]);
        assert_eq!(world.dispatcher.embed(texts("a/1"), None).await.unwrap().over, Some(Per::Day));
    });
}
