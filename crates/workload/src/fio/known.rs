//! Options of fio 3.x that are accepted with a warning.

/// Options with which fio would issue other requests, or at other times.
#[rustfmt::skip]
pub(super) const CHANGES_REQUESTS: &[&str] = &[
    "blockalign", "ba", "blocksize_unaligned", "bs_unaligned", "bs_is_seq_rand",
    "create_fsync", "dedupe_percentage", "dedupe_mode", "dedupe_working_set_percentage", "do_verify",
    "experimental_verify", "exitall", "exitall_on_error", "exit_what", "fill_device",
    "fill_fs", "flow", "flow_sleep", "flow_watermark", "flow_id", "fsync_on_close", "io_submit_mode",
    "iodepth_batch", "iodepth_batch_submit", "iodepth_batch_complete", "iodepth_batch_complete_min",
    "iodepth_batch_complete_max", "iodepth_low", "job_max_open_zones", "latency_target", "latency_window",
    "latency_percentile", "latency_run", "max_open_zones", "merge_blktrace_file", "merge_blktrace_scalars",
    "merge_blktrace_iters", "num_range", "offset_align", "openfiles", "overwrite",
    "random_generator", "rate_min", "rate_cycle", "rate_iops_min",
    "rate_process", "rate_ignore_thinktime", "ratemin", "ratecycle", "read_beyond_wp",
    "read_iolog_chunked", "readfua", "recover_zbd_write_error", "replay_align", "replay_redirect",
    "replay_scale", "replay_skip", "replay_time_scale", "rw_sequencer", "rwmixcycle", "serialize_overlap",
    "softrandommap", "sprandom", "startdelay_range", "steadystate", "ss", "steadystate_duration", "ss_dur",
    "steadystate_ramp_time", "ss_ramp", "steadystate_check_interval", "sync", "sync_file_range",
    "thinktime_blocks_type", "thinktime_iotime", "thinktime_spin", "trim_percentage", "trim_verify_zero",
    "trim_backlog", "trim_backlog_batch", "unlink_each_loop", "use_thread_for_thinktime", "verify",
    "verify_async", "verify_async_cpus", "verify_backlog", "verify_backlog_batch", "verify_dump",
    "verify_fatal", "verify_interval", "verify_offset", "verify_only", "verify_pattern",
    "verify_pattern_interval", "verify_state_load", "verify_state_save", "verify_header_seed",
    "verify_write_sequence", "verifysort", "verifysort_nr", "wait_for", "writefua", "zone_reset_frequency",
    "zone_reset_threshold", "zonecapacity",
];

/// Options that concern the host's operating system, the data's contents or the output.
#[rustfmt::skip]
pub(super) const NO_EFFECT: &[&str] = &[
    "allow_file_create", "allow_mounted_write", "allow_create", "atomic", "block_error_percentiles",
    "buffer_compress_chunk", "buffer_compress_percentage", "buffer_pattern", "bwavgtime", "cgroup",
    "cgroup_nodelete", "cgroup_weight", "clat_percentiles", "clocksource", "cmdprio", "cmdprio_class",
    "cmdprio_percentage", "cmdprio_bssplit", "compress_log", "continue_on_error", "cpuload", "cpumask",
    "cpumode", "cpus_allowed", "cpus_allowed_policy", "create_on_open", "create_only", "create_serialize",
    "dataplacement", "description", "disable_bw", "disable_bw_measurement", "disable_clat", "disable_lat",
    "disable_slat", "disk_util", "error_dump", "exec_postrun", "exec_prerun", "fadvise_hint", "fallocate",
    "fdp", "fdp_pli", "file_append", "filetype", "fixedbufs", "gtod_cpu", "gtod_reduce",
    "hipri", "hipri_percentage", "hugepage-size", "ignore_error", "invalidate", "io_submit_mode_offload",
    "iomem", "iomem_align", "ioprio", "ioprioclass", "iopsavgtime", "ioscheduler", "job_start_clock_id",
    "kernel_lib", "lat_percentiles", "lockfile", "lockmem", "log_alternate_epoch",
    "log_alternate_epoch_clock_id", "log_avg_msec", "log_compression", "log_compression_cpus", "log_entries",
    "log_gz", "log_hist_coarseness", "log_hist_msec", "log_issue_time", "log_max_value", "log_offset",
    "log_prio", "log_store_compressed", "log_unix_epoch", "log_window_value", "max_latency", "mem", "mem_align",
    "nice", "nonvectored", "nowait", "numa_cpu_nodes", "numa_mem_policy", "opendir", "override_sync",
    "per_job_logs", "percentile_list", "pid", "pre_read", "prio", "prioclass", "priohint", "profile",
    "randommap", "refill_buffers", "registerfiles", "repeatable", "replay_redirect_device", "scramble_buffers",
    "significant_figures", "slat_percentiles", "sqthread_poll", "sqthread_poll_cpu", "stats", "status_interval",
    "thinktime_log", "thread", "uid", "gid", "uncached", "unified_rw_reporting", "unit_base", "unlink",
    "userspace_reap", "write_bw_log", "write_hint", "write_hist_log", "write_iolog", "write_iops_log",
    "write_lat_log", "zero_buffers", "buffer_entropy", "rwf_nowait", "force_async", "nvme_path", "cmd_type",
    "uncached_io", "md_per_io_size", "pi_act", "pi_chk", "apptag", "apptag_mask", "bandwidth_log", "log_avg",
    "libaio_vectored", "sysfs_dump", "mmap_shared",
];

/// Options of one engine (fio's HOWTO, "I/O engine specific parameters"): here the device is always the simulated one.
#[rustfmt::skip]
pub(super) const OF_ENGINES: &[&str] = &[
    "bindname", "busy_poll", "chunk_size", "clientname", "clustername", "cont", "cuda_io", "digest_enable",
    "disable_pcie_sgl_merge", "donorname", "enable_wrr", "env_context", "gpu_dev_ids", "grace_time", "hdfsdirectory",
    "hostname", "http_host", "http_mode", "http_pass", "http_s3_key", "http_s3_keyid", "http_s3_region",
    "http_s3_sse_customer_algorithm", "http_s3_sse_customer_key", "http_s3_storage_class", "http_swift_auth_token",
    "http_user", "http_verbose", "https", "inplace", "interface", "libblkio_driver",
    "libblkio_force_enable_completion_eventfd", "libblkio_num_entries", "libblkio_path",
    "libblkio_pre_connect_props", "libblkio_pre_start_props", "libblkio_queue_size", "libblkio_vectored",
    "libblkio_wait_mode", "libblkio_write_zeroes_on_trim", "listen", "log_flags", "mss", "namenode", "nfs_url",
    "no_completion_thread", "nodelay", "object_class", "pingpong", "pool", "port", "proto", "protocol", "rbdname",
    "sg_write_mode", "skip_bad", "spdk_conf", "spdk_json_conf", "spdk_mem", "spdk_rpc_listen_addr",
    "spdk_single_seg", "stat_type", "touch_objects", "ttl", "uri", "verb", "window_size", "xnvme_admin",
    "xnvme_async", "xnvme_dev_nsid", "xnvme_dev_subnqn", "xnvme_iovec", "xnvme_mem", "xnvme_sync",
];

/// What an unknown option may have been meant to be, as the end of a message.
pub(super) fn meant(key: &str) -> String {
    let modelled = super::options::MODELLED.iter().flat_map(|names| names.iter());
    let known = modelled.chain(super::options::BY_VALUE).chain(CHANGES_REQUESTS).chain(NO_EFFECT).chain(OF_ENGINES);
    let nearest = known.map(|name| (distance(key, name), name)).min();
    let close = nearest.filter(|&(distance, name)| 3 * distance <= name.len());
    close.map(|(_, name)| format!("; did you mean {name:?}?")).unwrap_or_default()
}

/// Letters to insert, leave out or replace to make one word of another.
fn distance(one: &str, other: &str) -> usize {
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (i, letter) in one.bytes().enumerate() {
        let mut before = std::mem::replace(&mut row[0], i + 1);
        for (j, of_other) in other.bytes().enumerate() {
            let replaced = before + usize::from(letter != of_other);
            before = row[j + 1];
            row[j + 1] = replaced.min(before + 1).min(row[j] + 1);
        }
    }
    row[other.len()]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fio::options;

    #[test]
    fn a_misspelt_option_is_guessed() {
        let misspelt =
            [("ioddepth", "iodepth"), ("io_sise", "io_size"), ("blocksise", "blocksize"), ("bufferd", "buffered")];
        for (key, name) in misspelt {
            assert_eq!(meant(key), format!("; did you mean {name:?}?"));
        }
        for &name in options::BY_VALUE {
            let taken = options::Options::default().set(name, "1024");
            assert!(!matches!(taken, Ok(options::Outcome::Unknown)), "{name}");
        }
        assert_eq!(meant("colour_of_the_sky"), "");
        assert_eq!([distance("", "abc"), distance("abc", "abc"), distance("abc", "axcd")], [3, 0, 2]);
    }
}
