//! `ln`, `exp` and `pow` from additions and multiplications only.
//!
//! The platform's `pow` may differ in the last bit from machine to machine, and a last bit decides which block a skewed
//! distribution picks. These are accurate to about 1e-14, which is ample for that, and the same everywhere.

const LN_2: f64 = std::f64::consts::LN_2;
/// Coefficients of artanh: 1, 1/3, 1/5, ...
const ARTANH: [f64; 11] = reciprocals(1, 2);
/// 1, 1/2, 1/3, ...: the steps of the exponential series.
const STEPS: [f64; 14] = reciprocals(1, 1);
const MANTISSA: u64 = (1 << 52) - 1;

const fn reciprocals<const N: usize>(first: u32, step: u32) -> [f64; N] {
    let mut all = [0.0; N];
    let mut i = 0;
    while i < N {
        all[i] = 1.0 / (first + step * i as u32) as f64;
        i += 1;
    }
    all
}

/// Natural logarithm of a positive, finite, normal number.
pub(crate) fn ln(x: f64) -> f64 {
    debug_assert!(x.is_normal() && x > 0.0);
    let bits = x.to_bits();
    let mut exponent = (bits >> 52) as i64 - 1023;
    let mut mantissa = f64::from_bits((bits & MANTISSA) | 1023 << 52);
    if mantissa > std::f64::consts::SQRT_2 {
        mantissa *= 0.5;
        exponent += 1;
    }
    // ln m = 2 artanh((m-1)/(m+1)); the argument is below 0.172, so ten terms reach 1e-16.
    let s = (mantissa - 1.0) / (mantissa + 1.0);
    let square = s * s;
    let series = ARTANH.iter().rev().fold(0.0, |sum, c| sum * square + c);
    2.0 * s * series + exponent as f64 * LN_2
}

/// e to the power of `y`; 0 and infinity beyond the range of `f64`.
pub(crate) fn exp(y: f64) -> f64 {
    if y < -708.0 {
        return 0.0;
    }
    if y > 709.0 {
        return f64::INFINITY;
    }
    let halves = (y / LN_2).round();
    let rest = y - halves * LN_2;
    let series = STEPS.iter().rev().fold(1.0, |sum, c| 1.0 + sum * rest * c);
    // 2^halves in two steps: its exponent may be one beyond the range of a single factor.
    let power = halves as i64;
    let factor = |e: i64| f64::from_bits(((1023 + e) as u64) << 52);
    series * factor(power / 2) * factor(power - power / 2)
}

/// `x` to the power of `a`, for positive normal `x`.
pub(crate) fn pow(x: f64, a: f64) -> f64 {
    exp(a * ln(x))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agrees_with_the_platform_to_one_part_in_1e13() {
        for i in 1..2000 {
            let x = f64::from(i) * 0.37;
            assert!((ln(x) - x.ln()).abs() <= 1e-14 * x.ln().abs().max(1.0), "ln {x}");
            for a in [-9.9, -1.1, -0.5, 0.0, 0.3, 1.0, 2.7] {
                let error = pow(x, a) / x.powf(a) - 1.0;
                assert!(error.abs() < 1e-13, "{x}^{a}: {error}");
            }
        }
        assert_eq!(pow(1.0, 5.0), 1.0);
        assert_eq!(exp(-1000.0), 0.0);
        assert_eq!(exp(1000.0), f64::INFINITY);
        assert!((exp(708.5) / 708.5_f64.exp() - 1.0).abs() < 1e-12);
    }
}
