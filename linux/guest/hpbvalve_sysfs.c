// SPDX-License-Identifier: GPL-2.0
/*
 * HPBvalve: what user space tells and is told, in /sys/block/sdX/device/hpbvalve and hpbvalve_stats.
 *
 * App-Detector (Sec. 5.2) writes the UID of an app to launch_start, launch_end and ended. Mem-Detector (Sec. 5.3)
 * writes "UID KIB" to reclaim before it kills an app: so much memory its end would free. How much was freed instead is
 * what hpbvalve_reclaimed_bytes has grown by. UID 0 is the system's, and no app. Whoever writes 1 to account has the
 * entries that are fetched from then on counted as memory of his memory cgroup.
 */
#include <linux/kernel.h>
#include <linux/slab.h>
#include <linux/sysfs.h>
#include <scsi/scsi_device.h>

#include "hpbvalve.h"

static const char * const policies[HPBVALVE_POLICIES] = { "hpb", "foam", "hpbvalve" };

static const char * const lists[HPBVALVE_POLICIES][HPBVALVE_LISTS] = {
	[HPBVALVE_FOAM] = { "BR", "BW", "FR", "FW" },
	[HPBVALVE_VALVE] = { "BG", "IFG", "AFG" },
};

static struct ufshpb_lu *unit_of(struct device *dev)
{
	struct ufshpb_lu *hpb = to_scsi_device(dev)->hostdata;

	return hpb && hpb->valve ? hpb : NULL;
}

/* A whole number from 1 on, and nothing beside it. */
static int one_number(const char *buf, u32 *number)
{
	if (kstrtou32(buf, 10, number) || !*number)
		return -EINVAL;
	return 0;
}

static ssize_t policy_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	struct ufshpb_lu *hpb = unit_of(dev);

	return hpb ? sysfs_emit(buf, "%s\n", policies[hpb->valve->policy]) : -ENODEV;
}

static ssize_t policy_store(struct device *dev, struct device_attribute *attr, const char *buf, size_t count)
{
	struct ufshpb_lu *hpb = unit_of(dev);
	int policy = sysfs_match_string(policies, buf), err;

	if (!hpb)
		return -ENODEV;
	if (policy < 0)
		return -EINVAL;
	err = hpbvalve_set_policy(hpb, policy);
	return err ?: count;
}
static DEVICE_ATTR_RW(policy);

static ssize_t limit_kib_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	struct ufshpb_lu *hpb = unit_of(dev);

	return hpb ? sysfs_emit(buf, "%llu\n", hpb->valve->limit >> 10) : -ENODEV;
}

static ssize_t limit_kib_store(struct device *dev, struct device_attribute *attr, const char *buf, size_t count)
{
	struct ufshpb_lu *hpb = unit_of(dev);
	u32 kib;

	if (!hpb)
		return -ENODEV;
	/* One subregion at least. */
	if (one_number(buf, &kib) || (u64)kib << 10 < (u64)hpb->pages_per_srgn * PAGE_SIZE)
		return -EINVAL;
	hpbvalve_set_limit(hpb, (u64)kib << 10);
	return count;
}
static DEVICE_ATTR_RW(limit_kib);

static ssize_t profile_apps_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	struct ufshpb_lu *hpb = unit_of(dev);

	return hpb ? sysfs_emit(buf, "%u\n", hpb->valve->profiles.most_apps) : -ENODEV;
}

static ssize_t profile_kib_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	struct ufshpb_lu *hpb = unit_of(dev);

	return hpb ? sysfs_emit(buf, "%u\n", hpb->valve->profiles.most_bytes >> 10) : -ENODEV;
}

/* Limits of the profiles are the ranges of ufsim's parameters. */
static ssize_t set_profiles(struct device *dev, const char *buf, size_t count, u32 most, bool apps)
{
	struct ufshpb_lu *hpb = unit_of(dev);
	struct hpbvalve_profiles *profiles;
	unsigned long flags;
	u32 number;

	if (!hpb)
		return -ENODEV;
	if (one_number(buf, &number) || number > most)
		return -EINVAL;
	profiles = &hpb->valve->profiles;
	spin_lock_irqsave(&hpb->rgn_state_lock, flags);
	if (apps)
		profiles->most_apps = number;
	else
		profiles->most_bytes = number << 10;
	hpbvalve_forget_excess(profiles);
	spin_unlock_irqrestore(&hpb->rgn_state_lock, flags);
	return count;
}

static ssize_t profile_apps_store(struct device *dev, struct device_attribute *attr, const char *buf, size_t count)
{
	return set_profiles(dev, buf, count, 1000, true);
}
static DEVICE_ATTR_RW(profile_apps);

static ssize_t profile_kib_store(struct device *dev, struct device_attribute *attr, const char *buf, size_t count)
{
	return set_profiles(dev, buf, count, 1 << 20, false);
}
static DEVICE_ATTR_RW(profile_kib);

static ssize_t launch_start_store(struct device *dev, struct device_attribute *attr, const char *buf, size_t count)
{
	struct ufshpb_lu *hpb = unit_of(dev);
	u32 uid;
	int err;

	if (!hpb)
		return -ENODEV;
	if (one_number(buf, &uid))
		return -EINVAL;
	err = hpbvalve_launch(hpb, uid);
	return err ?: count;
}
static DEVICE_ATTR_WO(launch_start);

static ssize_t launch_end_store(struct device *dev, struct device_attribute *attr, const char *buf, size_t count)
{
	struct ufshpb_lu *hpb = unit_of(dev);
	u32 uid;

	if (!hpb)
		return -ENODEV;
	if (one_number(buf, &uid))
		return -EINVAL;
	hpbvalve_launched(hpb, uid);
	return count;
}
static DEVICE_ATTR_WO(launch_end);

static ssize_t ended_store(struct device *dev, struct device_attribute *attr, const char *buf, size_t count)
{
	struct ufshpb_lu *hpb = unit_of(dev);
	u32 uid;

	if (!hpb)
		return -ENODEV;
	if (one_number(buf, &uid))
		return -EINVAL;
	hpbvalve_ended(hpb, uid);
	return count;
}
static DEVICE_ATTR_WO(ended);

static ssize_t reclaim_store(struct device *dev, struct device_attribute *attr, const char *buf, size_t count)
{
	struct ufshpb_lu *hpb = unit_of(dev);
	char words[32], *uid_word, *kib_word = words;
	u32 uid, kib;

	if (!hpb)
		return -ENODEV;
	if (strscpy(words, buf, sizeof(words)) < 0)
		return -EINVAL;
	uid_word = strsep(&kib_word, " ");
	if (!kib_word || one_number(uid_word, &uid) || one_number(kib_word, &kib))
		return -EINVAL;
	hpbvalve_reclaim(hpb, uid, (u64)kib << 10);
	return count;
}
static DEVICE_ATTR_WO(reclaim);

static ssize_t account_store(struct device *dev, struct device_attribute *attr, const char *buf, size_t count)
{
	struct ufshpb_lu *hpb = unit_of(dev);
	u32 number;
	int err;

	if (!hpb)
		return -ENODEV;
	if (one_number(buf, &number) || number != 1)
		return -EINVAL;
	err = hpbvalve_account(hpb);
	return err ?: count;
}
static DEVICE_ATTR_WO(account);

static ssize_t front_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	struct ufshpb_lu *hpb = unit_of(dev);

	return hpb ? sysfs_emit(buf, "%u\n", hpb->valve->front) : -ENODEV;
}
static DEVICE_ATTR_RO(front);

/* A list of the app that came to the front last: groups, oldest reads first, as far as a page goes. */
static ssize_t show_profile(struct device *dev, char *buf, enum hpbvalve_phase phase)
{
	struct ufshpb_lu *hpb = unit_of(dev);
	struct hpbvalve_runs *runs;
	unsigned long flags;
	ssize_t length = 0;
	u32 i;

	if (!hpb)
		return -ENODEV;
	spin_lock_irqsave(&hpb->rgn_state_lock, flags);
	runs = hpbvalve_front_runs(&hpb->valve->profiles, phase);
	for (i = 0; runs && i < runs->count; i++)
		length += sysfs_emit_at(buf, length, "%u+%u\n", hpbvalve_run_start(runs->run[i]),
					hpbvalve_run_length(runs->run[i]));
	spin_unlock_irqrestore(&hpb->rgn_state_lock, flags);
	return length;
}

static ssize_t profile_launch_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	return show_profile(dev, buf, HPBVALVE_LAUNCHES);
}
static DEVICE_ATTR_RO(profile_launch);

static ssize_t profile_run_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	return show_profile(dev, buf, HPBVALVE_RUNS);
}
static DEVICE_ATTR_RO(profile_run);

/* Regions by list, the one that was used longest ago first, as far as a page goes. */
static ssize_t lists_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	struct ufshpb_lu *hpb = unit_of(dev);
	struct hpbvalve_region *region;
	struct hpbvalve *valve;
	unsigned long flags;
	ssize_t length = 0;
	int list;

	if (!hpb)
		return -ENODEV;
	valve = hpb->valve;
	spin_lock_irqsave(&hpb->rgn_state_lock, flags);
	for (list = 0; list < HPBVALVE_LISTS && lists[valve->policy][list]; list++) {
		length += sysfs_emit_at(buf, length, "%s", lists[valve->policy][list]);
		list_for_each_entry(region, &valve->list[list], use)
			length += sysfs_emit_at(buf, length, " %td", region - valve->region);
		length += sysfs_emit_at(buf, length, "\n");
	}
	spin_unlock_irqrestore(&hpb->rgn_state_lock, flags);
	return length;
}
static DEVICE_ATTR_RO(lists);

static struct attribute *attrs[] = {
	&dev_attr_policy.attr,
	&dev_attr_limit_kib.attr,
	&dev_attr_profile_apps.attr,
	&dev_attr_profile_kib.attr,
	&dev_attr_launch_start.attr,
	&dev_attr_launch_end.attr,
	&dev_attr_ended.attr,
	&dev_attr_reclaim.attr,
	&dev_attr_account.attr,
	&dev_attr_front.attr,
	&dev_attr_profile_launch.attr,
	&dev_attr_profile_run.attr,
	&dev_attr_lists.attr,
	NULL,
};

const struct attribute_group hpbvalve_group = {
	.name = "hpbvalve",
	.attrs = attrs,
};

/* Counters are those of a policy; without one there are none. */
#define HPBVALVE_SHOW(name, value) \
static ssize_t name##_show(struct device *dev, struct device_attribute *attr, char *buf) \
{ \
	struct ufshpb_lu *hpb = unit_of(dev); \
	\
	return hpb && hpbvalve_on(hpb) ? sysfs_emit(buf, "%llu\n", (u64)(value)) : -ENODEV; \
} \
static DEVICE_ATTR_RO(name);

#define HPBVALVE_COUNTER(name) HPBVALVE_SHOW(name, hpb->valve->stats.name)
HPBVALVE_COUNTERS(HPBVALVE_COUNTER)
#undef HPBVALVE_COUNTER
HPBVALVE_SHOW(hpbvalve_profile_bytes, hpb->valve->profiles.bytes)
HPBVALVE_SHOW(dram_bytes, hpb->valve->held)

static struct attribute *stat_attrs[] = {
#define HPBVALVE_COUNTER(name) &dev_attr_##name.attr,
	HPBVALVE_COUNTERS(HPBVALVE_COUNTER)
#undef HPBVALVE_COUNTER
	&dev_attr_hpbvalve_profile_bytes.attr,
	&dev_attr_dram_bytes.attr,
	NULL,
};

const struct attribute_group hpbvalve_stat_group = {
	.name = "hpbvalve_stats",
	.attrs = stat_attrs,
};
