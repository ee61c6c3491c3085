//! The quality of answers: recall, hit and reciprocal rank, each the mean over the questions that name their evidence.
//! Pure.

use serde_json::{Map, Value};
use std::collections::HashSet;

/// Sums over the questions so far.
#[derive(Debug, Default)]
pub(super) struct Figures {
    questions: u32,
    recall: f64,
    hit: f64,
    reciprocal: f64,
}

impl Figures {
    /// Counts a question in: the results, best first, and the evidence. A question without evidence says nothing.
    pub(super) fn count(&mut self, results: &[Value], evidence: &[Value]) {
        let wanted: HashSet<String> = evidence.iter().map(Value::to_string).collect();
        if wanted.is_empty() {
            return;
        }
        let found: Vec<String> = results.iter().map(Value::to_string).collect();
        let distinct: HashSet<&String> = found.iter().filter(|id| wanted.contains(*id)).collect();
        let first = found.iter().position(|id| wanted.contains(id));
        self.questions += 1;
        self.recall += distinct.len() as f64 / wanted.len() as f64;
        self.hit += if first.is_some() { 1.0 } else { 0.0 };
        self.reciprocal += first.map_or(0.0, |rank| 1.0 / (rank + 1) as f64);
    }

    /// The means, to four digits; 0 without a question.
    pub(super) fn shown(&self, limit: u16) -> Map<String, Value> {
        let mean =
            |sum: f64| Value::from((sum / f64::from(self.questions.max(1)) * 10_000.0).round() / 10_000.0);
        let named = [
            (format!("recall@{limit}"), mean(self.recall)),
            (format!("hit@{limit}"), mean(self.hit)),
            ("mrr".to_owned(), mean(self.reciprocal)),
            ("questions".to_owned(), self.questions.into()),
        ];
        named.into_iter().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn values(list: Value) -> Vec<Value> {
        list.as_array().cloned().unwrap()
    }

    #[test]
    fn recall_hit_and_rank_are_means_over_the_questions_that_name_evidence() {
        let mut figures = Figures::default();
        figures.count(&values(json!(["a", "b", "c"])), &values(json!(["b", "x"])));
        figures.count(&values(json!([1, 2])), &values(json!([1])));
        figures.count(&values(json!(["a"])), &values(json!(["x"])));
        figures.count(&values(json!(["a"])), &[]);
        assert_eq!(
            Value::from(figures.shown(20)),
            json!({"recall@20": 0.5, "hit@20": 0.6667, "mrr": 0.5, "questions": 3})
        );
    }

    #[test]
    fn without_a_question_every_figure_is_nothing() {
        let shown = Value::from(Figures::default().shown(5));
        assert_eq!(shown, json!({"recall@5": 0.0, "hit@5": 0.0, "mrr": 0.0, "questions": 0}));
    }
}
