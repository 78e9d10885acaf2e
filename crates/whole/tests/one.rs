#[test]
fn one() {
    let case: ufsim_whole::Case = std::env::var("CASE").unwrap().parse().unwrap();
    if let Err(f) = case.run_as_it_is() {
        println!("{}\n{}", f.told.join("\n"), f.what);
    }
}
