// SPDX-License-Identifier: GPL-2.0
/*
 * A UFS host controller whose registers are a page shared with a simulator, on the simulator's clock.
 *
 * A read of a register is a load. A write is noted with its time, and an exchange gives the simulator the turn: it does
 * the writes, everything that is due by then, and says until when nothing changes that the guest could see. That moment
 * is one event of the time travel clock. Writes that clear interrupts, and doorbells, wait for an exchange that comes
 * anyway: nothing comes of a doorbell for a while, and the simulator is told of all others within that.
 *
 * Between two events of the guest nothing happens in it, so the simulator goes on by itself, up to the moment at which
 * it interrupts. The guest finds everything done when it gets there.
 */
#include <linux/async.h>
#include <linux/dma-mapping.h>
#include <linux/init.h>
#include <linux/irq.h>
#include <linux/irqdomain.h>
#include <linux/kernel.h>
#include <linux/logic_iomem.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/platform_device.h>
#include <linux/pm_runtime.h>
#include <linux/time-internal.h>
#include <ufs/ufshcd.h>
#include <ufs/ufshci.h>
#include <asm/page.h>
#include <as-layout.h>
#include <init.h>
#include <mem.h>

#include "ufsim.h"
#include "ufsim_clock.h"

#define NEVER		(~0ULL)
/* Among the registers that the standard leaves to vendors: a write switches the device off and on. */
#define REG_POWER	0xc0
/* If an interrupt is pending that nobody takes, the line is looked at again after so many ns. */
#define LOOK_AGAIN	1000

/* Costs in ns of a system call, an access to a register, a page that is copied; processors are free without them. */
static unsigned int syscall_ns, access_ns, page_ns;
core_param(ufsim_syscall_ns, syscall_ns, uint, 0444);
core_param(ufsim_access_ns, access_ns, uint, 0444);
core_param(ufsim_page_ns, page_ns, uint, 0444);

static struct ufsim_page *page;
static struct time_travel_event turn;
static int irq = -1;
static bool in_turn;
/* Accesses to registers, and copies, that have not been paid for. */
static unsigned long debt;
/* The clock that programs read, and its page, once there is a program. */
static struct ufsim_clock *clock;
static struct page *clock_pages[2];
static const struct vm_special_mapping clock_mapping = { .name = "[clock]", .pages = clock_pages };

static void exchange(enum ufsim_op op, unsigned long long until)
{
	unsigned int before = page->dseq;

	page->op = op;
	page->now = ufsim_now();
	page->until = until;
	__atomic_store_n(&page->gseq, page->gseq + 1, __ATOMIC_RELEASE);
	ufsim_wake(&page->gseq);
	if (op != UFSIM_BYE && ufsim_wait(&page->dseq, before))
		panic("ufsim: the simulator has gone away");
	page->nwrites = 0;
}

static bool line_is_up(void)
{
	if (page->ahead)
		return false;		/* not yet */
	return page->mirror[REG_INTERRUPT_STATUS / 4] & page->mirror[REG_INTERRUPT_ENABLE / 4];
}

static void arm(void)
{
	unsigned long long now = ufsim_now(), at = page->next;

	if (line_is_up())
		at = min(at, now + LOOK_AGAIN);
	time_travel_del_event(&turn);
	if (at != NEVER)
		time_travel_add_event_rel(&turn, at > now ? at - now : 0);
}

/* Comes as an interrupt does. */
static void take_turn(struct time_travel_event *event)
{
	in_turn = true;
	if (page->ahead && page->next <= ufsim_now() && !page->nwrites) {
		/* It has been here already. */
		page->ahead = 0;
		page->next = page->after;
	} else {
		exchange(UFSIM_RUN, 0);
	}
	if (page->line && !page->ahead)
		generic_handle_irq(irq);
	in_turn = false;
	arm();
}

/*
 * Time is about to go on, to the next event of the guest. Nothing happens in it before, unless it is interrupted. So if
 * something may have changed by then, the simulator goes on up to that event, or to its next interrupt.
 */
void ufsim_before_time(void)
{
	unsigned long long until;

	if (!page || (turn.pending && turn.time <= ufsim_now()))
		return;			/* that turn comes first */
	until = ufsim_next_event(&turn);
	if (page->next > until || page->ahead || line_is_up())
		return;
	exchange(UFSIM_RUN, until);
	arm();
}

static void pay(void)
{
	unsigned long ns = debt;

	/* Not in an interrupt: it may have come in the middle of a wait that the clock has on its stack. */
	if (ns && !in_turn) {
		debt = 0;
		time_travel_ndelay(ns);
	}
}

/* Called after every system call. */
void ufsim_syscall(void)
{
	debt += syscall_ns;
	pay();
}

/* Called before data is copied between a program and the kernel; it is paid for with the system call. */
void ufsim_copy(unsigned long bytes)
{
	debt += page_ns * bytes / PAGE_SIZE;
}

/* Called with the map of a new program: all of them share the page, and write to it. */
int ufsim_map_clock(struct mm_struct *mm, unsigned long at)
{
	struct vm_area_struct *map;

	if (!clock) {
		clock_pages[0] = alloc_page(GFP_KERNEL | __GFP_ZERO);
		if (!clock_pages[0])
			return -ENOMEM;
		clock = page_address(clock_pages[0]);
	}
	map = _install_special_mapping(mm, at, PAGE_SIZE, VM_READ | VM_WRITE | VM_SHARED | VM_MAYREAD | VM_MAYWRITE |
				       VM_MAYSHARE, &clock_mapping);
	return PTR_ERR_OR_ZERO(map);
}

/* Called before a program gets the processor. */
void ufsim_enter_program(void)
{
	unsigned long flags;

	if (!clock || !page)
		return;
	/* So the kernel's own reading costs nothing. */
	local_irq_save(flags);
	clock->now[0] = ktime_get_real_ns();
	clock->now[1] = ktime_get_ns();
	local_irq_restore(flags);
	clock->readings = 0;
	clock->most = UFSIM_READINGS;
}

/* Called when a program has lost the processor. */
void ufsim_leave_program(void)
{
	if (!clock)
		return;
	debt += clock->readings * UFSIM_READING;
	clock->readings = 0;
	pay();
}

/* /sys/module/ufsim/parameters/begin: whoever writes it begins the job. */
static int begin(const char *value, const struct kernel_param *param)
{
	if (!page)
		return -ENODEV;
	exchange(UFSIM_BEGIN, 0);
	arm();
	return 0;
}

static const struct kernel_param_ops begins = { .set = begin };
module_param_cb(begin, &begins, NULL, 0200);

static unsigned long read_register(void *priv, unsigned int offset, int size)
{
	debt += access_ns;
	/* Interrupts are off, and the driver polls: what is due has to happen all the same. */
	if (page->next < ufsim_now() && !page->ahead) {
		exchange(UFSIM_RUN, 0);
		if (!in_turn)
			arm();
	}
	return offset / 4 < UFSIM_REGISTERS ? page->mirror[offset / 4] : 0;
}

static void write_register(void *priv, unsigned int offset, int size, unsigned long value)
{
	struct ufsim_write *write;

	debt += access_ns;
	if (offset == REG_UTP_TRANSFER_REQ_DOOR_BELL)
		pay();
	if (page->nwrites == UFSIM_WRITES)
		exchange(UFSIM_RUN, 0);
	write = &page->writes[page->nwrites++];
	*write = (struct ufsim_write){ ufsim_now(), offset, value };
	switch (offset) {
	case REG_INTERRUPT_STATUS:
		page->mirror[offset / 4] &= ~(unsigned int)value;
		if (line_is_up())
			exchange(UFSIM_RUN, 0);
		else
			return;		/* it waits for the next turn */
		break;
	case REG_UTP_TRANSFER_REQ_DOOR_BELL:
		page->mirror[offset / 4] |= value;
		/* It is told of before anything comes of it. */
		page->next = min(page->next, write->now + page->within);
		break;
	default:
		exchange(UFSIM_RUN, 0);
	}
	if (!in_turn)
		arm();
}

static const struct logic_iomem_ops registers = {
	.read = read_register,
	.write = write_register,
};

static long map_registers(unsigned long offset, size_t size, const struct logic_iomem_ops **ops, void **priv)
{
	*ops = &registers;
	return 0;
}

static const struct logic_iomem_region_ops region = { .map = map_registers };

static struct resource space = {
	.name = "ufsim",
	.start = 0xe0000000,
	.end = 0xe0000fff,
	.flags = IORESOURCE_MEM,
};

/*
 * Most phones reset the device with the controller. It is as if the power had failed: data that was never flushed is
 * lost, of which Linux knows nothing. So this is off by default.
 */
static bool device_reset;
module_param(device_reset, bool, 0644);
MODULE_PARM_DESC(device_reset, "A reset of the controller switches the device off and on.");

static void switch_off(struct ufs_hba *hba)
{
	ufshcd_writel(hba, 1, REG_POWER);
}

static int reset_device(struct ufs_hba *hba)
{
	if (!device_reset)
		return -EOPNOTSUPP;
	switch_off(hba);
	return 0;
}

/*
 * The device is ready to lose its power, and it does (JESD220E clause 7.4, UFS-PowerDown). When the guest ends, what
 * becomes of the device is not its own to say.
 */
static int suspend(struct ufs_hba *hba, enum ufs_pm_op op, enum ufs_notify_change_status status)
{
	if (op != UFS_SHUTDOWN_PM && status == POST_CHANGE && ufshcd_is_ufs_dev_poweroff(hba) &&
	    ufshcd_is_link_off(hba))
		switch_off(hba);
	return 0;
}

static const struct ufs_hba_variant_ops ops = {
	.name = "ufsim",
	.exit = switch_off,
	.suspend = suspend,
	.device_reset = reset_device,
};

static void unmap(void *base)
{
	iounmap((__force void __iomem *)base);
}

/* The driver is taken from the device: what was made in probe() goes, last first. */
static void leave(void *hba)
{
	/* ufshcd looks for its units after probe(), and does not wait for that. */
	async_synchronize_full();
	ufshcd_remove(hba);
}

static int probe(struct platform_device *device)
{
	struct device *dev = &device->dev;
	struct ufs_hba *hba;
	void __iomem *base;
	int err;

	base = ioremap(space.start, resource_size(&space));
	if (!base)
		return -ENOMEM;
	err = devm_add_action_or_reset(dev, unmap, (__force void *)base);
	if (err)
		return err;
	err = ufshcd_alloc_host(dev, &hba);
	if (err)
		return err;
	hba->vops = &ops;
	hba->caps |= UFSHCD_CAP_WB_EN;	/* WriteBooster, if the device has it */
	err = ufshcd_init(hba, base, irq);
	if (err)
		return err;
	pm_runtime_set_active(dev);
	err = devm_pm_runtime_enable(dev);
	if (err) {
		ufshcd_remove(hba);
		return err;
	}
	return devm_add_action_or_reset(dev, leave, hba);
}

static const struct dev_pm_ops power = {
	SET_RUNTIME_PM_OPS(ufshcd_runtime_suspend, ufshcd_runtime_resume, NULL)
};

static struct platform_driver driver = {
	.probe = probe,
	.driver = { .name = "ufsim", .pm = &power },
};

static int __init ufsim_init(void)
{
	unsigned long long offset;
	struct platform_device *device;
	int fd, err;

	page = ufsim_open();
	if (!page) {
		pr_info("ufsim: started without a simulator\n");
		return 0;
	}
	fd = phys_mapping(__pa(uml_reserved), &offset);
	err = ufsim_greet(fd, __pa(uml_reserved), physmem_size);
	if (err || ufsim_wait(&page->dseq, 0))
		panic("ufsim: no simulator listens (%d)", err);
	time_travel_set_event_fn(&turn, take_turn);
	err = logic_iomem_add_region(&space, &region);
	if (err)
		return err;
	irq = irq_alloc_desc(numa_node_id());
	if (irq < 0)
		return irq;
	irq_set_chip_and_handler(irq, &dummy_irq_chip, handle_simple_irq);
	err = platform_driver_register(&driver);
	if (err)
		return err;
	device = platform_device_register_simple("ufsim", -1, NULL, 0);
	if (IS_ERR(device))
		return PTR_ERR(device);
	return 0;
}
late_initcall(ufsim_init);

static void ufsim_exit(void)
{
	if (page)
		exchange(UFSIM_BYE, 0);
}

__uml_exitcall(ufsim_exit);
