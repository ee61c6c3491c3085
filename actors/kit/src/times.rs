//! Times of calls, counted in buckets of a quarter of a power of two.

/// Buckets, from 1 us to about 18 minutes.
const BUCKETS: usize = 120;

/// The number of times in each bucket.
pub(crate) struct Times(Box<[u64; BUCKETS]>);

impl Default for Times {
    fn default() -> Self {
        Self(Box::new([0; BUCKETS]))
    }
}

impl Times {
    /// Counts a time.
    pub(crate) fn add(&mut self, micros: u64) {
        if let Some(count) = self.0.get_mut(bucket(micros)) {
            *count += 1;
        }
    }

    /// The upper edge of the bucket that holds this percentile, us; 0 without times.
    pub(crate) fn percentile(&self, percent: u64) -> u64 {
        let total: u64 = self.0.iter().sum();
        let rank = (total * percent).div_ceil(100);
        let mut seen = 0;
        for (bucket, count) in self.0.iter().enumerate() {
            seen += count;
            if seen >= rank && *count > 0 {
                return edge(bucket);
            }
        }
        0
    }
}

fn bucket(micros: u64) -> usize {
    let micros = micros.max(1);
    let octave = micros.ilog2();
    let quarter = ((u128::from(micros) * 4) >> octave) - 4;
    let quarter = usize::try_from(quarter).unwrap_or(0);
    (octave as usize * 4 + quarter).min(BUCKETS - 1)
}

fn edge(bucket: usize) -> u64 {
    let (octave, quarter) = (bucket / 4, bucket as u64 % 4);
    (1_u64 << octave) * (5 + quarter) / 4
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentile_is_within_a_quarter_of_the_time_it_stands_for() {
        let mut times = Times::default();
        assert_eq!(times.percentile(50), 0);
        for micros in 1..=1000 {
            times.add(micros);
        }
        for (percent, exact) in [(50, 500), (99, 990)] {
            let found = times.percentile(percent);
            assert!(found >= exact && found <= exact * 5 / 4 + 1, "p{percent} = {found}");
        }
    }

    #[test]
    fn every_time_has_a_bucket() {
        for micros in [0, 1, 2, 3, 5, 1 << 20, u64::MAX] {
            assert!(bucket(micros) < BUCKETS);
        }
    }
}
