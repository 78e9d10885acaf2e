use device::Sabotage;
use ufsim_testkit::campaign::Case;
fn main() {
    for (name, s) in Sabotage::ALL {
        let mut hits = [0; 4];
        let mut first = None;
        for seed in 0..100 {
            if let Err(f) = (Case { sabotage: Some(s), ..Case::new(seed) }).run() {
                hits[(seed % 4) as usize] += 1;
                first.get_or_insert(f);
            }
        }
        println!("{name}: {hits:?} {:?}", first.map(|f| (f.case, f.what)));
    }
}
