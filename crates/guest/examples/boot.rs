use std::ops::ControlFlow;
use attach::{Engine, MemoryStore};
use guest::{Boot, Cost, Guest, Simulated, serve};
use lab::Spec;
use ufshci::{Controller, Description};
use units::Nanos;

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let [_, scheme, profile, kernel, folder] = &args[..] else { panic!("scheme profile kernel folder") };
    let spec = Spec { profile: profile.clone(), ..Spec::new(scheme, "") };
    let (_, stack, oracle) = lab::Outside::begin(&spec, &mut |_| ControlFlow::Continue(())).unwrap();
    let engine = Engine::for_outside(stack, &oracle, 1, Box::new(MemoryStore::new()));
    let description = Description { vendor: "ufsim".into(), product: scheme.clone(), hpb: scheme == "hpb-linux", answer_time: Nanos(10_000), uic_time: Nanos(1_000) };
    let mut controller = Controller::new(description, Simulated::new(engine));
    let boot = Boot { kernel: kernel.into(), folder: folder.into(), memory_mib: 512, seed: 1, cost: Cost::default(), terminal: false };
    let begin = std::time::Instant::now();
    let guest = Guest::start(&boot).unwrap_or_else(|e| panic!("{e}"));
    let mut turns = 0;
    let ended = serve(guest, &mut controller, &mut |_, n| { turns = n; ControlFlow::Continue(()) });
    match ended { Ok(e) => println!("{e:?}"), Err(e) => println!("{e}") }
    println!("{:?} turns {turns} in {:?}", controller.counters(), begin.elapsed());
    println!("{:?}", controller.medium().engine.digest());
}
