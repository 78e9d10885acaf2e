use ufsim_testkit::campaign::{Case, MOMENTS, Report};
fn main() {
    let a: Vec<u64> = std::env::args().skip(1).map(|s| s.parse().unwrap()).collect();
    let mut t = Report::default();
    let mut fails = 0;
    if a.len() == 1 {
        println!("{:?}", Case::new(a[0]).run().map(|_| ()));
        return;
    }
    for seed in a[0]..a[1] {
        match Case::new(seed).run() {
            Ok(r) => t.add(&r),
            Err(f) => {
                fails += 1;
                println!("{f:?}");
            }
        }
    }
    println!(
        "fails {fails} cuts {} {:?} longest {} ms",
        t.cuts,
        MOMENTS.iter().zip(t.moments).collect::<Vec<_>>(),
        t.longest_recovery_ns / 1_000_000
    );
}
