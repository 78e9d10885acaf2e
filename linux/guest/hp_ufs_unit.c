// SPDX-License-Identifier: GPL-2.0
/*
 * HP-UFS: a unit comes, is reset, sleeps and goes; what can be set and seen of it.
 */
#include <linux/delay.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/slab.h>
#include <scsi/scsi_host.h>
#include <asm/unaligned.h>

#include "ufshcd-priv.h"
#include "hp_ufs.h"

#undef MODULE_PARAM_PREFIX
#define MODULE_PARAM_PREFIX "hp_ufs."

static unsigned int tags;
module_param(tags, uint, 0444);
MODULE_PARM_DESC(tags, "Tags for the driver's own commands; 0: the driver is off.");
static unsigned int cache_kib;
module_param(cache_kib, uint, 0444);
MODULE_PARM_DESC(cache_kib, "Most KiB of cached segments, at least 8; 0: all of them.");
static unsigned int reorder_entries = 2048;
module_param(reorder_entries, uint, 0444);
MODULE_PARM_DESC(reorder_entries, "Entries of the reorder buffer, 64 to 1048576.");
static unsigned int unused_ms;
module_param(unused_ms, uint, 0444);
MODULE_PARM_DESC(unused_ms, "Segments unused for about this time are given up; 0: they stay.");
static bool shrinks = true;
module_param(shrinks, bool, 0444);
MODULE_PARM_DESC(shrinks, "Segments are given up when memory is short.");

/* The units with HP-UFS. One that is reset, or goes to sleep, does not go meanwhile. */
static LIST_HEAD(all);
static DEFINE_MUTEX(all_lock);

unsigned int hp_ufs_reserved_tags(void)
{
	return min_t(unsigned int, tags, HP_UFS_TAGS / 2);
}

/* sdev->hostdata is HPB's. */
struct hp_ufs *hp_ufs_of_device(struct scsi_device *sdev)
{
	struct hp_ufs *hp;

	list_for_each_entry_rcu(hp, &all, list, true)
		if (hp->sdev == sdev)
			return hp;
	return NULL;
}

/* What a device must not say is told once. There is no way back to plain UFS: segments are written, writes end (5.2). */
void hp_ufs_distrust(struct hp_ufs *hp, const char *format, ...)
{
	struct va_format text;
	va_list args;

	hp->stats.faults++;
	if (hp->distrusted)
		return;
	hp->distrusted = true;
	va_start(args, format);
	text.fmt = format;
	text.va = &args;
	sdev_printk(KERN_ERR, hp->sdev, "hp_ufs: the device breaks the protocol: %pV; no more writes are taken\n",
		    &text);
	va_end(args);
	hp_ufs_hint_all(hp);
}

void hp_ufs_kick(struct hp_ufs *hp)
{
	if (!hp->stopped)
		queue_work(hp->queue, &hp->work);
}

static void period_ends(struct work_struct *expiry)
{
	struct hp_ufs *hp = container_of(to_delayed_work(expiry), struct hp_ufs, expiry);
	struct hp_ufs_segment *s;
	unsigned long flags;

	spin_lock_irqsave(&hp->lock, flags);
	list_for_each_entry(s, &hp->use, use)
		s->unused = min(s->unused + 1, U8_MAX);
	hp->giving_up = true;
	hp_ufs_kick(hp);
	spin_unlock_irqrestore(&hp->lock, flags);
	queue_delayed_work(hp->queue, &hp->expiry, max(1UL, msecs_to_jiffies(unused_ms) / 8));
}

static int describe(struct hp_ufs *hp, struct hp_ufs_descriptor *d)
{
	u8 *bytes = kzalloc(QUERY_DESC_MAX_SIZE, GFP_KERNEL);
	int length = QUERY_DESC_MAX_SIZE, err;

	if (!bytes)
		return -ENOMEM;
	err = ufshcd_query_descriptor_retry(hp->hba, UPIU_QUERY_OPCODE_READ_DESC, HP_UFS_DESCRIPTOR_IDN, 0, 0, bytes,
					    &length);
	memcpy(d, bytes, sizeof(*d));
	kfree(bytes);
	if (!err && (length < sizeof(*d) || d->idn != HP_UFS_DESCRIPTOR_IDN ||
		     be16_to_cpu(d->version) >> 8 != HP_UFS_VERSION >> 8))
		err = -EINVAL;
	return err;
}

/* Everything is to be learnt from the device (3.2). */
static void survey(struct hp_ufs *hp, const struct hp_ufs_descriptor *d)
{
	hp->epoch++;
	hp_ufs_forget(hp);
	hp->power_ons = be32_to_cpu(d->power_ons);
	hp->host_number = be64_to_cpu(d->last_change);
	hp->told_number = hp->host_number;
	hp->survey = 0;
	hp->surveying = 0;
	hp->lost = false;
	reinit_completion(&hp->known);
}

static unsigned long count_shrinkable(struct shrinker *shrinker, struct shrink_control *control)
{
	struct hp_ufs *hp = container_of(shrinker, struct hp_ufs, shrinker);
	u32 in_use = READ_ONCE(hp->in_use);

	return in_use > 2 ? in_use - 2 : SHRINK_EMPTY;
}

static unsigned long shrink(struct shrinker *shrinker, struct shrink_control *control)
{
	struct hp_ufs *hp = container_of(shrinker, struct hp_ufs, shrinker);
	unsigned long flags, freed;

	spin_lock_irqsave(&hp->lock, flags);
	freed = hp_ufs_drop_clean(hp, control->nr_to_scan);
	spin_unlock_irqrestore(&hp->lock, flags);
	return freed ?: SHRINK_STOP;
}

static int make_commands(struct hp_ufs *hp)
{
	u32 i, n = hp_ufs_reserved_tags(), bytes = max_t(u32, HP_UFS_SEGMENT_BYTES, hp->block_words * sizeof(u64));

	hp->commands = kcalloc(n, sizeof(*hp->commands), GFP_KERNEL);
	hp->transfer = kmalloc_array(HP_UFS_TRANSFER_ENTRIES, sizeof(struct hp_ufs_piggyback), GFP_KERNEL);
	if (!hp->commands || !hp->transfer)
		return -ENOMEM;
	for (i = 0; i < n; i++) {
		hp->commands[i].hp = hp;
		hp->commands[i].data = kmalloc(bytes, GFP_KERNEL);
		if (!hp->commands[i].data)
			return -ENOMEM;
		list_add_tail(&hp->commands[i].list, &hp->unused_commands);
	}
	return 0;
}

static void free_all(struct hp_ufs *hp)
{
	u32 i;

	if (hp->queue)
		destroy_workqueue(hp->queue);
	for (i = 0; hp->commands && i < hp_ufs_reserved_tags(); i++)
		kfree(hp->commands[i].data);
	kfree(hp->commands);
	kfree(hp->transfer);
	hp_ufs_map_exit(hp);
	kfree(hp);
}

static struct hp_ufs *make(struct ufs_hba *hba, struct scsi_device *sdev)
{
	struct hp_ufs *hp = kzalloc(sizeof(*hp), GFP_KERNEL);

	if (!hp)
		return NULL;
	hp->hba = hba;
	hp->sdev = sdev;
	spin_lock_init(&hp->lock);
	INIT_LIST_HEAD(&hp->unused_commands);
	INIT_LIST_HEAD(&hp->to_issue);
	hp_ufs_init_work(hp);
	INIT_DELAYED_WORK(&hp->expiry, period_ends);
	init_completion(&hp->known);
	return hp;
}

/* Takes over what the descriptors say. */
static int learn(struct hp_ufs *hp, const struct hp_ufs_descriptor *d)
{
	u8 count[8];
	u64 units;
	int err;

	err = ufshcd_read_desc_param(hp->hba, QUERY_DESC_IDN_UNIT, 0, UNIT_DESC_PARAM_LOGICAL_BLK_COUNT, count,
				     sizeof(count));
	if (err)
		return err;
	units = get_unaligned_be64(count);
	hp->units = units;
	hp->blocks = be32_to_cpu(d->blocks);
	hp->block_units = be32_to_cpu(d->block_units);
	hp->part_entries = be16_to_cpu(d->part_entries);
	hp->victim_policy = d->victim_policy;
	hp->victim_choices = be16_to_cpu(d->victim_choices);
	if (!units || units > U32_MAX || !hp->blocks || hp->blocks > U16_MAX || !hp->block_units ||
	    (u64)hp->blocks * hp->block_units >= U32_MAX || hp->victim_policy > HP_UFS_CHOICES)
		return -EINVAL;
	hp->segments = DIV_ROUND_UP(hp->units, HP_UFS_SEGMENT_ENTRIES);
	return 0;
}

/* The first unit of a device comes up: reads its description, and then all segments before anything else (3.2). */
void hp_ufs_init_lu(struct ufs_hba *hba, struct scsi_device *sdev)
{
	struct hp_ufs_descriptor d;
	struct hp_ufs *hp;
	unsigned long flags;
	int err;

	if (!hp_ufs_reserved_tags() || sdev->lun != 0 || hp_ufs_of_device(sdev))
		return;
	hp = make(hba, sdev);
	if (!hp)
		return;
	err = describe(hp, &d) ?: learn(hp, &d);
	err = err ?: hp_ufs_map_init(hp, clamp_t(u32, reorder_entries, 64, 1 << 20));
	err = err ?: make_commands(hp);
	hp->queue = alloc_ordered_workqueue("hp_ufs", WQ_HIGHPRI | WQ_MEM_RECLAIM);
	if (err || !hp->queue) {
		sdev_printk(KERN_ERR, sdev, "hp_ufs: error %d: the device is used without its mapping\n", err);
		free_all(hp);
		return;
	}
	hp_ufs_set_limit(hp, cache_kib);
	hp->shrinks = shrinks;
	hp->shrinker.count_objects = count_shrinkable;
	hp->shrinker.scan_objects = shrink;
	hp->shrinker.seeks = DEFAULT_SEEKS;
	if (shrinks && register_shrinker(&hp->shrinker, "hp_ufs"))
		hp->shrinks = false;
	mutex_lock(&all_lock);
	list_add_rcu(&hp->list, &all);
	mutex_unlock(&all_lock);
	spin_lock_irqsave(&hp->lock, flags);
	survey(hp, &d);
	hp_ufs_kick(hp);
	spin_unlock_irqrestore(&hp->lock, flags);
	wait_for_completion(&hp->known);
	if (unused_ms)
		queue_delayed_work(hp->queue, &hp->expiry, max(1UL, msecs_to_jiffies(unused_ms) / 8));
	sdev_printk(KERN_INFO, sdev, "hp_ufs: %u segments, %u blocks of %u pages, change %llu\n", hp->segments,
		    hp->blocks, hp->block_units, hp->host_number);
}

static void stop(struct hp_ufs *hp)
{
	unsigned long flags, parked;
	int tag;

	spin_lock_irqsave(&hp->lock, flags);
	hp->stopped = true;
	parked = hp->parked;
	hp->parked = 0;
	spin_unlock_irqrestore(&hp->lock, flags);
	for_each_set_bit(tag, &parked, HP_UFS_TAGS)
		hp_ufs_give_back(hp->hba, tag, DID_REQUEUE << 16);
}

static bool is_quiet(struct hp_ufs *hp)
{
	unsigned long flags;
	bool quiet;

	spin_lock_irqsave(&hp->lock, flags);
	quiet = !hp->under_way;
	spin_unlock_irqrestore(&hp->lock, flags);
	return quiet;
}

/* The unit goes, and nobody uses it any more. Its segments need not be written: the device is switched off. */
void hp_ufs_destroy_lu(struct scsi_device *sdev)
{
	struct hp_ufs *hp = hp_ufs_of_device(sdev);

	if (!hp)
		return;
	mutex_lock(&all_lock);
	list_del_rcu(&hp->list);
	mutex_unlock(&all_lock);
	stop(hp);
	wait_event(hp->quiet, is_quiet(hp));
	hrtimer_cancel(&hp->timer);
	cancel_delayed_work_sync(&hp->expiry);
	cancel_delayed_work_sync(&hp->later);
	cancel_work_sync(&hp->work);
	if (hp->shrinks)
		unregister_shrinker(&hp->shrinker);
	synchronize_rcu();
	free_all(hp);
}

static struct hp_ufs *of_hba(struct ufs_hba *hba)
{
	struct scsi_device *sdev = scsi_device_lookup(hba->host, 0, 0, 0);
	struct hp_ufs *hp = sdev ? hp_ufs_of_device(sdev) : NULL;

	if (sdev)
		scsi_device_put(sdev);
	return hp;
}

/* The device is there again: either it has kept everything, and responses are lost, or nothing is known (3.2). */
static void go_on(struct hp_ufs *hp)
{
	struct hp_ufs_descriptor d;
	unsigned long flags;
	int tag, err = describe(hp, &d);

	spin_lock_irqsave(&hp->lock, flags);
	for (tag = 0; tag < HP_UFS_TAGS; tag++)
		hp->slot[tag].in_flight = false;
	hp->in_flight = 0;
	if (err) {
		hp_ufs_distrust(hp, "its description is gone (error %d)", err);
	} else if (be32_to_cpu(d.power_ons) != hp->power_ons) {
		hp->stats.rebuilds++;
		for (tag = 0; tag < HP_UFS_TAGS; tag++)
			hp->slot[tag].pinned = false;
		survey(hp, &d);
	} else {
		hp->lost = true;
		/* Names of freed blocks may be lost, too. */
		if (hp->survey < 0)
			hp_ufs_name_empty(hp);
	}
	hp->stopped = false;
	hp_ufs_kick(hp);
	spin_unlock_irqrestore(&hp->lock, flags);
}

/* The controller is reset, or has come back. */
void hp_ufs_reset(struct ufs_hba *hba, bool begins)
{
	struct hp_ufs *hp;

	mutex_lock(&all_lock);
	hp = of_hba(hba);
	if (hp && begins)
		stop(hp);
	else if (hp)
		go_on(hp);
	mutex_unlock(&all_lock);
}

/* The device goes to sleep; nothing is under way any more. */
void hp_ufs_suspend(struct ufs_hba *hba)
{
	struct hp_ufs *hp;

	mutex_lock(&all_lock);
	hp = of_hba(hba);
	if (hp) {
		stop(hp);
		hrtimer_cancel(&hp->timer);
		hp->timer_runs = false;
		flush_workqueue(hp->queue);
	}
	mutex_unlock(&all_lock);
}

void hp_ufs_resume(struct ufs_hba *hba)
{
	struct hp_ufs *hp;

	mutex_lock(&all_lock);
	hp = of_hba(hba);
	if (hp && hp->stopped)
		go_on(hp);
	mutex_unlock(&all_lock);
}

/* sysfs: hp_ufs_stats and hp_ufs_params of the unit. */

static struct hp_ufs *of_dev(struct device *dev)
{
	return hp_ufs_of_device(to_scsi_device(dev));
}

#define SHOW(name, value) \
static ssize_t name##_show(struct device *dev, struct device_attribute *attr, char *buf) \
{ \
	struct hp_ufs *hp = of_dev(dev); \
\
	return hp ? sysfs_emit(buf, "%llu\n", (u64)(value)) : -ENODEV; \
}

#define COUNTER(name) SHOW(name, hp->stats.name) static DEVICE_ATTR_RO(name);
HP_UFS_COUNTERS(COUNTER)
SHOW(host_seq, hp->host_number) static DEVICE_ATTR_RO(host_seq);
SHOW(dram_bytes, (u64)hp->in_use * PAGE_SIZE) static DEVICE_ATTR_RO(dram_bytes);
SHOW(valid_bitmap_bytes, (u64)hp->blocks * hp->block_units / 8) static DEVICE_ATTR_RO(valid_bitmap_bytes);
SHOW(valid_count_bytes, hp->blocks * 4) static DEVICE_ATTR_RO(valid_count_bytes);

static struct attribute *stat_attrs[] = {
#define ATTRIBUTE(name) &dev_attr_##name.attr,
	HP_UFS_COUNTERS(ATTRIBUTE)
	&dev_attr_host_seq.attr,
	&dev_attr_dram_bytes.attr,
	&dev_attr_valid_bitmap_bytes.attr,
	&dev_attr_valid_count_bytes.attr,
	NULL,
};

SHOW(cache_kib, (u64)hp->limit * (HP_UFS_SEGMENT_BYTES / 1024))

static ssize_t cache_kib_store(struct device *dev, struct device_attribute *attr, const char *buf, size_t count)
{
	struct hp_ufs *hp = of_dev(dev);
	unsigned int kib;
	unsigned long flags;

	if (!hp)
		return -ENODEV;
	if (kstrtouint(buf, 0, &kib) || (kib && kib < 8))
		return -EINVAL;
	spin_lock_irqsave(&hp->lock, flags);
	hp_ufs_set_limit(hp, kib);
	hp_ufs_kick(hp);
	spin_unlock_irqrestore(&hp->lock, flags);
	return count;
}
static DEVICE_ATTR_RW(cache_kib);

static struct attribute *param_attrs[] = {
	&dev_attr_cache_kib.attr,
	NULL,
};

static umode_t is_visible(struct kobject *kobj, struct attribute *attr, int n)
{
	return of_dev(kobj_to_dev(kobj)) ? attr->mode : 0;
}

const struct attribute_group hp_ufs_stat_group = {
	.name = "hp_ufs_stats",
	.is_visible = is_visible,
	.attrs = stat_attrs,
};

const struct attribute_group hp_ufs_param_group = {
	.name = "hp_ufs_params",
	.is_visible = is_visible,
	.attrs = param_attrs,
};
