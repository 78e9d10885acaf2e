// SPDX-License-Identifier: GPL-2.0
/*
 * /dev/ufsim: a terminal of whoever has started the guest. While a program waits for a line of it, the whole guest
 * waits, and its time with it: what is typed decides what a session does, and not how fast it is typed.
 */
#include <linux/fs.h>
#include <linux/init.h>
#include <linux/kernel.h>
#include <linux/miscdevice.h>
#include <linux/minmax.h>
#include <linux/moduleparam.h>
#include <linux/uaccess.h>
#include <os.h>

/* Bytes that are copied at a time. */
#define PART		512

/* Descriptors of this process to read from and to write to. */
static int ends[2];
static unsigned int ends_given;
module_param_array_named(terminal, ends, int, &ends_given, 0444);

/* A line at a time, whether or not more of them have come. */
static ssize_t terminal_read(struct file *file, char __user *to, size_t size, loff_t *at)
{
	char line[PART];
	size_t length = 0;
	int got;

	size = min_t(size_t, size, PART);
	while (length < size) {
		got = os_read_file(ends[0], line + length, 1);
		if (got == -EINTR)
			continue;
		if (got < 0)
			return got;
		length += got;
		if (!got || line[length - 1] == '\n')
			break;
	}
	return copy_to_user(to, line, length) ? -EFAULT : length;
}

static ssize_t terminal_write(struct file *file, const char __user *from, size_t size, loff_t *at)
{
	char part[PART];
	int put;

	size = min_t(size_t, size, PART);
	if (copy_from_user(part, from, size))
		return -EFAULT;
	do {
		put = os_write_file(ends[1], part, size);
	} while (put == -EINTR);
	return put;
}

static const struct file_operations terminal_operations = {
	.owner = THIS_MODULE,
	.read = terminal_read,
	.write = terminal_write,
};

static struct miscdevice terminal = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "ufsim",
	.fops = &terminal_operations,
};

static int __init terminal_init(void)
{
	return ends_given == 2 ? misc_register(&terminal) : 0;
}
late_initcall(terminal_init);
