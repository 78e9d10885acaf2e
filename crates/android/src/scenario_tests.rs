//! Tests of scenario files.

use super::*;

fn error(text: &str) -> String {
    Scenario::parse(text, "x.toml").unwrap_err().to_string()
}

#[test]
fn what_is_left_out_has_its_default() {
    let scenario = Scenario::parse("[phone]\napps = [\"UB\", \"IG\"]\n", "x.toml").unwrap();
    assert_eq!(scenario.users(), 2);
    assert_eq!(scenario.apps.len(), 10, "two apps and eight services");
    assert_eq!(scenario.sequence, Sequence::Random { rounds: 4 });
    assert_eq!(scenario.lmkd.stall, Nanos::from_millis(70));
}

#[test]
fn every_round_has_every_app_once_in_another_order() {
    let order = Sequence::Random { rounds: 20 }.order(9, 1);
    assert_eq!(order.len(), 180);
    for round in order.chunks(9) {
        let mut sorted = round.to_vec();
        sorted.sort_unstable();
        assert_eq!(sorted, (0..9).collect::<Vec<_>>());
    }
    assert_ne!(order[..9], order[9..18]);
    assert_ne!(order, Sequence::Random { rounds: 20 }.order(9, 2));
    let given = Sequence::Given { order: vec![1, 0], rounds: 2 };
    assert_eq!(given.order(2, 1), [1, 0, 1, 0]);
}

#[test]
fn an_app_of_the_scenario_is_used_with_built_in_ones() {
    let text = "[phone]\napps = [\"mail\", \"UB\"]\nsequence = [\"UB\", \"mail\"]\n\n\
                [[app]]\nname = \"mail\"\ncategory = \"utility\"\nmemory_mib = 200\n";
    let scenario = Scenario::parse(text, "x.toml").unwrap();
    assert_eq!(scenario.apps[0].memory, 200 * MIB);
    assert_eq!(scenario.sequence, Sequence::Given { order: vec![1, 0], rounds: 4 });
}

#[test]
fn errors_name_line_and_key() {
    let with = |line: &str| format!("[phone]\napps = [\"UB\"]\n{line}\n");
    for (text, told) in [
        ("[phon]\n".into(), "x.toml: line 1: phone is missing"),
        ("[phone]\n".into(), "x.toml: line 1: phone.apps is missing"),
        ("[phone]\napps = []\n".into(), "x.toml: line 2: phone.apps = []: must be a list of 1..=1000 apps"),
        ("[phone]\napps = [\"UB\", \"WA\"]\n".into(), "line 2: phone.apps: \"WA\": must be one of AP, CR"),
        ("[phone]\napps = [\"UB\", \"UB\"]\n".into(), "line 2: phone.apps: \"UB\" is named twice"),
        (with("rounds = 0"), "line 3: phone.rounds = 0: must be 1..=10000"),
        (with("use_s = \"long\""), "line 3: phone.use_s = \"long\": must be a number of 0.1..=86400"),
        (with("sequence = \"sorted\""), "line 3: phone.sequence = \"sorted\": must be \"random\" or a list of apps"),
        (with("sequence = []"), "line 3: phone.sequence = []: must be"),
        (with("sequence = [\"AP\"]"), "line 3: phone.sequence: \"AP\": must be one of UB"),
        (with("round = 3"), "line 3: phone.round is no key: must be one of apps, rounds, sequence, use_s"),
        (with("[memory]\nlow_free_mib = 10"), "line 4: memory.low_free_mib = 10: must be above 16"),
        (with("[memory]\nsystem_mib = -1"), "line 4: memory.system_mib = -1: must be 1..=1048576"),
        (with("[memory]\neffective_mib = 3000"), "memory.effective_mib = 3000: must be at least 3158"),
        (with("[lmkd]\nstall_ms = 1001"), "line 4: lmkd.stall_ms = 1001: must be 1..=1000"),
        (with("[io]\nfresh_share = 2"), "line 4: io.fresh_share = 2: must be a number of 0..=1"),
        (with("[io]\nrun_reads_per_chunk = 0.5"), "line 4: io.run_reads_per_chunk = 0.5: must be a number of 1..=512"),
        (with("[io]\nnominal_read_us = 20_000"), "UB: cold_reads = 60 take 1200 ms at io.nominal_read_us"),
        (with("[ios]"), "line 3: ios is no key: must be one of app, phone, recorded, memory, lmkd, io"),
        (
            with("[[app]]\nname = \"X\"\ncategory = \"game\""),
            "phone.apps = [\"UB\"]: must be a list that has every [[app]]",
        ),
        (with("[[app]]\nname = \"X\""), "line 3: app.category is missing"),
        ("apps = [\"UB\"\n".into(), "x.toml: line "),
    ] {
        let got = error(&text);
        assert!(got.contains(told), "{text}: {got}");
    }
}

#[test]
fn an_app_does_what_its_trace_says() {
    let directory = std::env::temp_dir().join(format!("ufsim-traced-{}", std::process::id()));
    std::fs::create_dir_all(&directory).unwrap();
    let origin = directory.join("x.toml").display().to_string();
    let csv = "time_ns,op,device,sector,bytes,flags,latency_ns,process\n\
               5,read,d,80,4096,,,main\n9,write,d,160,8192,,,other\n20,read,d,8,4096,,,main-2\n";
    std::fs::write(directory.join("t.csv"), csv).unwrap();
    let scenario = |keys: &str| {
        let text = format!("[phone]\napps = [\"TW\"]\n[[app]]\nname = \"TW\"\ntrace = \"t.csv\"\n{keys}\n");
        Scenario::parse(&text, &origin)
    };
    let app = scenario("memory_mib = 77").unwrap().apps.remove(0);
    assert_eq!((app.memory, app.title.as_str()), (77 * MIB, "Twitter"));
    assert_eq!(app.cold, App::built_in("TW").unwrap().cold, "what is left out is the built-in app's");
    let gaps = |app: &App| app.traced.as_ref().unwrap().io.iter().map(|io| io.gap.0).collect::<Vec<_>>();
    assert_eq!(gaps(&app), [0, 4, 11]);
    assert_eq!(app.traced.as_ref().unwrap().units, 22);
    let app = scenario("processes = [\"main\"]").unwrap().apps.remove(0);
    assert_eq!(gaps(&app), [0, 15]);
    let error = |keys| scenario(keys).unwrap_err().to_string();
    assert!(error("processes = [\"mail\"]").contains("line 6: app.processes: \"mail\": no process of"));
    assert!(error("cold_ms = 1").contains("TW: cold_reads"));
    std::fs::remove_dir_all(directory).unwrap();
}
