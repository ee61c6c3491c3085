//! Values that have the form of a secret and are none, because their makers print them: the keys in Google's public
//! SDKs and samples, the test keys in Stripe's, GitHub's and SendGrid's documentation, the token of jwt.io.
//! By the first 64 bits of their SHA-256, so that no token stands in the source. Whoever documents one more key adds
//! its hash here; a word near a value is never a reason.

use sha2::{Digest, Sha256};

/// The hashes, sorted.
const SAMPLES: &[u64] = &[
    0x0209_1175_c1ae_3023,
    0x0b47_6bdf_9acf_2123,
    0x2037_abca_ffb2_b777,
    0x27a9_a429_31df_f7eb,
    0x2caf_c097_0149_a84f,
    0x3543_c50b_0cb9_cea8,
    0x37f8_f09b_df12_c2f2,
    0x3a8b_61d0_f636_b007,
    0x3f37_0c9d_d822_5c63,
    0x49f7_77db_995e_8260,
    0x4c98_242d_cadc_8b29,
    0x7f75_367e_7881_2551,
    0x8731_261c_b72d_8626,
    0xa19f_89ab_3555_eac1,
    0xa6c8_14bc_555a_e62c,
    0xac92_65e5_6c79_b234,
    0xda81_6f9f_2c16_e6c5,
    0xdc0f_cf04_6c61_640c,
    0xe490_2a0b_3881_2b15,
    0xe4a5_542b_b7fd_7b67,
    0xea9b_b108_2cf9_5663,
    0xeb54_0d2b_6ee2_a0a4,
    0xf2d6_ca16_5150_33e5,
    0xf56e_3234_94a6_ffc2,
];

/// Returns whether a value is one that its maker prints.
pub(crate) fn sample(value: &str) -> bool {
    // Amazon's own samples, and no key that it gives out, end like this: a key identifier is random.
    if value.ends_with("EXAMPLE") || value.ends_with("EXAMPLEKEY") {
        return value.starts_with("AKIA") || value.len() == 40;
    }
    let digest: [u8; 32] = Sha256::digest(value.as_bytes()).into();
    let first = digest.first_chunk().map(|first| u64::from_be_bytes(*first));
    first.is_some_and(|first| SAMPLES.binary_search(&first).is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_printed_value_is_known_and_its_neighbour_is_not() {
        let known = concat!("sk_test_", "4eC39HqLyjWDarjtT1zdp7dc");
        assert!(sample(known) && !sample(&known[1..]) && !sample(&known.replace('4', "5")));
        assert!(sample("AKIAIOSFODNN7EXAMPLE") && !sample("AKIAIOSFODNN7EXAMPLF"));
        assert!(!sample("my-password-EXAMPLE"));
        assert!(SAMPLES.is_sorted());
    }
}
