/*
 * boxery-netread - print the host's packet filter, which only root may read,
 * and have it apply to all that libvirt's guests send
 *
 * Members of group libvirt run it, to see that libvirt applied all of their
 * guests' filters. It is installed as root:libvirt 0750 with the file
 * capabilities cap_net_admin,cap_net_raw=ep and is not set-uid: whoever runs
 * it stays the user that he was.
 *
 * Nothing that the caller chooses reaches the two programs that it starts:
 * no argument, environment, folder, descriptor or signal disposition. They
 * get the capabilities as ambient ones, in their own process only. Neither
 * they nor this program can be traced by a caller who lacks them (ptrace(2)),
 * and the dynamic linker ignores his environment here (AT_SECURE).
 *
 * A bridge hands frames for 802.1D's reserved addresses (01:80:c2:00:00:0x) to
 * its host as received on the port, past the chains of its guests: IPv4 and
 * IPv6 in them reach the host's sockets. Told by group_fwd_mask to forward
 * them, it treats them as it does all others, and the chains judge them. So
 * each port that has chains of libvirt's is told that; nothing is opened.
 *
 * CAP_NET_ADMIN: to ask nf_tables, to set that. CAP_NET_RAW: the legacy variants of both
 * tools, which /etc/alternatives may name, ask through a raw socket.
 *
 * Output:  "ebtables LEN\n", LEN bytes, "iptables LEN\n", LEN bytes, "end\n",
 *          or, when anything fails, none of it and exit status 1.
 */
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define TABLE_CAP ((size_t)4 << 20) /* a host with 20,000 rules has 2 MiB */
#define TIME_S 20		    /* both take some 10 ms */

static const struct table {
	const char *name, *program, *table;
} tables[] = {
	{"ebtables", "/usr/sbin/ebtables-save", "nat"},
	{"iptables", "/usr/sbin/iptables-save", "filter"},
};
#define TABLES_COUNT (sizeof(tables) / sizeof(tables[0]))
static struct {
	size_t len;
	char text[TABLE_CAP];
} read_from[TABLES_COUNT];

static char path[] = "PATH=/usr/sbin:/usr/bin:/sbin:/bin";
static char language[] = "LC_ALL=C";
static char *const environment[] = {path, language, NULL};
static const unsigned caps[] = {CAP_NET_ADMIN, CAP_NET_RAW};
#define CAPS_COUNT (sizeof(caps) / sizeof(caps[0]))

/* A caller may have closed these: what we open must not take their place. */
static void open_standard_fds(void)
{
	int fd;

	do
		fd = open("/dev/null", O_RDWR);
	while (fd >= 0 && fd <= STDERR_FILENO);
	if (fd < 0)
		_exit(1);
}

static void forget_caller(void)
{
	const struct rlimit no_core = {0, 0};
	sigset_t none;

	open_standard_fds();
	if (close_range(STDERR_FILENO + 1, ~0U, 0))
		err(1, "close_range");
	for (int s = 1; s < NSIG; s++)
		signal(s, SIG_DFL); /* some cannot be changed */
	sigemptyset(&none);
	/* there is one thread: NOLINTNEXTLINE(concurrency-mt-unsafe) */
	if (sigprocmask(SIG_SETMASK, &none, NULL))
		err(1, "sigprocmask");
	alarm(TIME_S);
	umask(077);
	if (chdir("/") || setrlimit(RLIMIT_CORE, &no_core))
		err(1, "chdir, setrlimit");
}

/* From here on these and no others, to be handed on or not at all. */
static void keep_caps(void)
{
	struct __user_cap_header_struct head = {
		.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {0};

	for (size_t i = 0; i < CAPS_COUNT; i++) {
		data[CAP_TO_INDEX(caps[i])].permitted |= CAP_TO_MASK(caps[i]);
		data[CAP_TO_INDEX(caps[i])].effective |= CAP_TO_MASK(caps[i]);
		data[CAP_TO_INDEX(caps[i])].inheritable |= CAP_TO_MASK(caps[i]);
	}
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) ||
	    syscall(SYS_capset, &head, data))
		err(1, "it lacks its capabilities (boxery init)");
}

__attribute__((noreturn)) static void run_child(const struct table *t, int out)
{
	for (size_t i = 0; i < CAPS_COUNT; i++) {
		if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, caps[i], 0, 0))
			err(1, "PR_CAP_AMBIENT_RAISE");
	}
	if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) ||
	    dup2(out, STDOUT_FILENO) < 0)
		err(1, "prctl, dup2");
	execle(t->program, t->program, "-t", t->table, (char *)NULL,
	       environment);
	err(1, "%s", t->program);
}

static size_t read_all(int fd, char *ret, const char *program)
{
	size_t len = 0;
	ssize_t n;

	while ((n = read(fd, ret + len, TABLE_CAP - len)) != 0) {
		if (n < 0 && errno != EINTR)
			err(1, "%s", program);
		if (n > 0)
			len += (size_t)n;
	}
	/* no room is no end: it would be a part */
	if (len == TABLE_CAP)
		errx(1, "%s: more than %zu bytes", program, TABLE_CAP);
	return len;
}

static size_t read_table(const struct table *t, char *ret)
{
	int fds[2], status = 0;
	size_t len;
	pid_t pid;

	if (pipe2(fds, O_CLOEXEC))
		err(1, "pipe2");
	pid = fork();
	if (pid < 0)
		err(1, "fork");
	if (pid == 0)
		run_child(t, fds[1]);
	close(fds[1]);
	len = read_all(fds[0], ret, t->program);
	close(fds[0]);
	if (waitpid(pid, &status, 0) != pid || status != 0)
		errx(1, "%s failed", t->program);
	return len;
}

/* -- the ports' reserved addresses -- */

/* All that a port can be told to forward; a bridge drops 01, PAUSE. */
#define FORWARD_MASK 0xfffd

struct set_mask {
	struct nlmsghdr head;
	struct ifinfomsg link;
	struct nlattr port, mask;
	uint16_t value, padding;
};

/* Whoever looks at the port afterwards sees if it did not work out. */
static void set_forward_mask(int rtnl, unsigned index)
{
	const struct set_mask m = {
		.head = {.nlmsg_len = sizeof(m),
			 .nlmsg_type = RTM_SETLINK,
			 .nlmsg_flags = NLM_F_REQUEST},
		.link = {.ifi_family = AF_BRIDGE, .ifi_index = (int)index},
		.port = {.nla_len = 2 * sizeof(struct nlattr) + 4,
			 .nla_type = IFLA_PROTINFO | NLA_F_NESTED},
		.mask = {.nla_len = sizeof(struct nlattr) + 2,
			 .nla_type = IFLA_BRPORT_GROUP_FWD_MASK},
		.value = FORWARD_MASK};

	if (send(rtnl, &m, sizeof(m), 0) != sizeof(m))
		warn("a port's group_fwd_mask");
}

/* Setting it is news to all who watch the host's links: not each time. */
static bool forwards_all(const char *dev)
{
	char file[64 + IF_NAMESIZE], text[16] = "";
	ssize_t n = -1;
	int fd;

	snprintf(file, sizeof(file), "/sys/class/net/%s/brport/group_fwd_mask",
		 dev);
	fd = open(file, O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		n = read(fd, text, sizeof(text) - 1);
		close(fd);
	}
	return n > 0 && strtoul(text, NULL, 16) == FORWARD_MASK;
}

static void close_ports(const char *ebtables)
{
	static const char rule[] = "\n-A PREROUTING -i ";
	int rtnl = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);

	if (rtnl < 0)
		err(1, "rtnetlink");
	for (const char *at = ebtables; (at = strstr(at, rule));) {
		char dev[IF_NAMESIZE], chain[IF_NAMESIZE];
		unsigned index;

		at += sizeof(rule) - 1;
		if (sscanf(at, "%15s -j libvirt-I-%15s", dev, chain) != 2 ||
		    strcmp(dev, chain) != 0 || forwards_all(dev))
			continue;
		index = if_nametoindex(dev);
		if (index != 0)
			set_forward_mask(rtnl, index);
	}
	close(rtnl);
}

int main(int argc, char *argv[])
{
	(void)argv;
	if (argc != 1)
		errx(2, "takes no argument");
	forget_caller();
	keep_caps();
	for (size_t i = 0; i < TABLES_COUNT; i++)
		read_from[i].len = read_table(&tables[i], read_from[i].text);
	close_ports(read_from[0].text);
	for (size_t i = 0; i < TABLES_COUNT; i++) {
		printf("%s %zu\n", tables[i].name, read_from[i].len);
		(void)fwrite(read_from[i].text, 1, read_from[i].len, stdout);
	}
	puts("end");
	if (fflush(stdout) || ferror(stdout))
		err(1, "stdout");
	return 0;
}
