//! The short search, which every test run makes; `make explore` is the long one.

use ftl::Sabotage;
use ufsim_explore::scope::{Left, SCHEMES, Scope};
use ufsim_explore::search::explore;

#[test]
fn a_request_and_a_power_cut_in_every_order_on_a_new_device() {
    for scheme in SCHEMES {
        let mut scope = Scope::new(scheme, vec![Left { requests: 1, cuts: 1 }]);
        scope.starts.truncate(1);
        let report = explore(&scope, &mut |_| true);
        assert_eq!(report.failure, None, "{scheme}");
        assert_eq!(report.complete.len(), 1, "{scheme}: every state is seen");
        assert!(report.cuts > 50 && report.surveys > 10, "{scheme}: {report:?}");
    }
}

#[test]
fn devices_in_use_keep_their_promises() {
    for scheme in SCHEMES {
        let scope = Scope { most: 3000, ..Scope::new(scheme, vec![Left { requests: 2, cuts: 1 }]) };
        let report = explore(&scope, &mut |_| true);
        assert_eq!(report.failure, None, "{scheme}");
        assert!(report.states > 1000 * scope.starts.len() as u64, "{scheme}: {report:?}");
    }
}

/// Whatever happens while a map flush is under way.
#[test]
fn map_flushes_beside_commands_keep_their_promises() {
    let new = |left| Scope::new("segment-log", vec![left]).flushing_beside();
    let scope = Scope { most: 3000, ..new(Left { requests: 2, cuts: 1 }) };
    let report = explore(&scope, &mut |_| true);
    assert_eq!(report.failure, None);
    assert!(report.states > 1000 * scope.starts.len() as u64, "{report:?}");
    for scope in Scope::narrow("segment-log") {
        let most = scope.most.min(2000);
        let report = explore(&Scope { most, ..scope.flushing_beside() }, &mut |_| true);
        assert_eq!(report.failure, None);
    }
}

/// Whatever happens while a GC step is under way.
#[test]
fn gc_beside_commands_keeps_the_promises() {
    for scheme in SCHEMES {
        let new = |left| Scope::new(scheme, vec![left]).collecting_beside();
        let scope = Scope { most: 3000, ..new(Left { requests: 2, cuts: 1 }) };
        let report = explore(&scope, &mut |_| true);
        assert_eq!(report.failure, None, "{scheme}");
        assert!(report.states > 1000 * scope.starts.len() as u64, "{scheme}: {report:?}");
        for scope in Scope::narrow(scheme) {
            let most = scope.most.min(2000);
            let report = explore(&Scope { most, ..scope.collecting_beside() }, &mut |_| true);
            assert_eq!(report.failure, None, "{scheme}");
        }
    }
}

#[test]
fn narrow_scopes_find_what_takes_a_trim_a_flush_or_a_copy_by_gc() {
    for scheme in SCHEMES {
        for sabotage in [Sabotage::LastPageWins, Sabotage::ForgetTrims, Sabotage::FlushAtOnce] {
            let scopes = Scope::narrow(scheme).into_iter().filter(|scope| scope.levels[0].requests > 0);
            let scopes = scopes.map(|scope| Scope { most: scope.most.min(25_000), ..scope });
            let found = scopes.map(|scope| explore(&scope.with(sabotage), &mut |_| true)).any(|r| r.failure.is_some());
            assert!(found, "{scheme} with {sabotage:?}");
        }
    }
}

#[test]
fn fua_writes_pass_buffered_ones_of_other_addresses_alone() {
    for scheme in SCHEMES {
        let scope = Scope { most: 10_000, ..Scope::fua(scheme) };
        let report = explore(&scope, &mut |_| true);
        assert_eq!(report.failure, None, "{scheme}");
        assert_eq!(report.complete.len(), 1, "{scheme}: every order without a power cut is seen: {report:?}");
        let report = explore(&scope.with(Sabotage::FuaOvertakes), &mut |_| true);
        assert!(report.failure.is_some(), "{scheme}: {report:?}");
    }
}

#[test]
fn a_power_cut_alone_shows_a_stale_directory_on_a_device_long_in_use() {
    // Under the other two it takes a request.
    for scheme in ["segment-log", "msftl"] {
        let scope = Scope::narrow(scheme).into_iter().find(|scope| scope.levels[0].requests == 0);
        let scope = Scope { most: 500, ..scope.expect("one without requests") };
        assert!(explore(&scope.clone().with(Sabotage::StaleDirectory), &mut |_| true).failure.is_some(), "{scheme}");
        assert_eq!(explore(&Scope { most: 20, ..scope }, &mut |_| true).failure, None, "{scheme}");
    }
}

#[test]
fn what_one_request_can_show_of_a_broken_promise_is_found() {
    for scheme in SCHEMES {
        for sabotage in [Sabotage::FuaAtOnce, Sabotage::ForgetLogBlock, Sabotage::ForgetRecovered, Sabotage::TrustTorn]
        {
            let scope = Scope::new(scheme, vec![Left { requests: 1, cuts: 2 }]).with(sabotage);
            let report = explore(&scope, &mut |report| report.states < 20_000);
            assert!(report.failure.is_some(), "{scheme} with {sabotage:?}: {report:?}");
        }
    }
}
