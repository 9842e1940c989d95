/*
 * limits.h - every cap, with its reason
 *
 * Units:   _len bytes, _ms milliseconds, _count things, _px pixels. Sizes
 *          are written as shifts: << 10 is KiB, << 20 MiB.
 * Threads: constants.
 */
#ifndef BASE_LIMITS_H
#define BASE_LIMITS_H

/* rpc: a frame carries a command or a slice of a stream; 1 MiB holds both. */
#define LIMIT_RPC_FRAME_LEN (1 << 20)
/* bytes in flight per stream before the reader grants credit */
#define LIMIT_RPC_WINDOW_LEN (1 << 20)
/* calls one client may have open: a runaway agent must not starve a person */
#define LIMIT_CALLS_PER_CLIENT_COUNT 64
#define LIMIT_CLIENTS_COUNT 256
/* of those, agents leave so many to people */
#define LIMIT_CLIENTS_PEOPLE_COUNT 16
/* calls of all clients, each a thread in the service */
#define LIMIT_CALLS_COUNT 512
/* VMs that one server may be scoped to */
#define LIMIT_SCOPE_COUNT 64
/* a client says who it is at once, or is no client of ours */
#define LIMIT_HELLO_MS 10000
/* queued for a client that does not read: over the first mark its streams
 * wait, over the second it is not read from either */
#define LIMIT_OUT_STREAM_LEN (2 << 20)
#define LIMIT_OUT_LEN (4 << 20)
/* an ordinary call; jobs have DEADLINE_MAX_MS */
#define LIMIT_CALL_MS 600000
/* results of jobs kept for vm_wait */
#define LIMIT_JOBS_COUNT 256
#define LIMIT_JOB_KEPT_MS 21600000 /* 6 h */
#define LIMIT_JOBS_KEPT_LEN (32 << 20)
/* the service comes up within; that covers a predecessor which still gives
 * its calls time to end */
#define LIMIT_SERVICE_START_MS 10000
#define LIMIT_SERVICE_STOP_MS 6000
/* logs are renamed away (one generation kept) when they grow over */
#define LIMIT_LOG_LEN (4 << 20)
#define LIMIT_AUDIT_LEN (16 << 20)

/* parameters that state no length of their own */
#define LIMIT_STRING_LEN 4096
/* Linux takes 128 KiB in one argument of exec (MAX_ARG_STRLEN); all of them
 * must fit one frame beside the rest of the call */
#define LIMIT_ARG_LEN ((128 << 10) - 1)
#define LIMIT_ARGS_LEN (512 << 10)
#define LIMIT_ARGS_COUNT 4096

/* JSON that a peer sends us; deeper is never meant well */
#define LIMIT_JSON_DEPTH 32

/* RFC 1123 label */
#define LIMIT_NAME_LEN 63

/* file trees (vm_copy): a hostile guest must not exhaust us */
#define LIMIT_PATH_LEN 4095
#define LIMIT_PATH_DEPTH 64
#define LIMIT_TREE_COUNT 200000
#define LIMIT_TREE_MANIFEST_LEN (64 << 20)
#define LIMIT_TREE_FILE_LEN (1LL << 40)
/* a guest that neither takes nor gives a byte for so long has hung */
#define LIMIT_COPY_STALL_MS 300000

/* vm_run: what an agent is shown, and what is kept for vm_read */
#define LIMIT_RUN_SHOWN_LEN (16 << 10)
#define LIMIT_RUN_KEPT_LEN (64 << 20)
/* kept runs of one VM, in number and in bytes: the newest */
#define LIMIT_RUNS_COUNT 64
#define LIMIT_RUNS_LEN (256 << 20)
/* text files read or edited whole */
#define LIMIT_TEXT_LEN (8 << 20)
#define LIMIT_TEXT_PAGE_LEN (64 << 10)

/* no answer to an MCP client takes longer: their timeouts start at 60 s */
#define LIMIT_ANSWER_MS 45000
/* what a call that waited for all of it may take on top */
#define LIMIT_ANSWER_SLACK_MS 10000

/* one MCP message: vm_write's content with every byte written as \u0000 */
#define LIMIT_MCP_MESSAGE_LEN (4L * 1024 * 1024)
/* calls that run at once for one MCP client; more wait in line */
#define LIMIT_MCP_CALLS_COUNT 16

/* a name, URI, cursor or argument of a request to a library */
#define LIMIT_MCP_WORD_LEN 8192
/* resources that one subscription watches, and subscriptions of one client */
#define LIMIT_MCP_WATCHES_COUNT 64
#define LIMIT_MCP_LISTENS_COUNT 16
/* what a resource may hold: more than that is not for a model to read */
#define LIMIT_MCP_RESOURCE_LEN (512L * 1024)
/* resources/list: so many a page */
#define LIMIT_MCP_PAGE_COUNT 200
/* between two looks at what clients listen to */
#define LIMIT_MCP_LOOK_MS 2000

/* A client's answer to a question: a form has a handful of fields. */
#define LIMIT_ELICITED_LEN ((size_t)16 << 10)
/* Questions to one client at a time: more than a person looks at, and fewer
 * than would keep all of a client's calls waiting. */
#define LIMIT_ELICITS_OPEN_COUNT 4
/* What is left of a call's time when its person has not answered: for the
 * service to say that the request waits elsewhere. */
#define LIMIT_ELICIT_SLACK_MS 3000
/* MCP 2026-07-28: how often one call may be answered with a question, how long
 * the client has for each, how many may be out for one client, and how long
 * what it brings back may be: an answer for each round. */
#define LIMIT_ROUNDS_COUNT 4
#define LIMIT_ROUND_MS (10LL * 60 * 1000)
#define LIMIT_ROUNDS_OUT_COUNT 64
#define LIMIT_ROUND_STATE_LEN \
	(LIMIT_ELICITED_LEN * 2 * (LIMIT_ROUNDS_COUNT + 1))

/* tokens of boxery-mcp --http: one for each program of a person's */
#define LIMIT_MCP_TOKENS_COUNT 256
/* boxery-mcp --http. Each connection is a thread and some 40 KiB; a client
 * keeps one or two open. */
#define LIMIT_HTTP_CONNECTIONS_COUNT 1200
/* Its request line and headers; proxies send some 2 KiB. */
#define LIMIT_HTTP_HEAD_LEN ((size_t)16 << 10)
/* A body that is too long is still read up to here, so that whoever sent it
 * is told and not cut off. */
#define LIMIT_HTTP_DRAIN_LEN (16L << 20)
/* Until its head, then its body is there: a client that sends slower holds a
 * thread for nothing. */
#define LIMIT_HTTP_HEAD_MS 10000
#define LIMIT_HTTP_BODY_MS 30000
/* Between two requests on one connection. */
#define LIMIT_HTTP_IDLE_MS 120000
/* Until the next piece of an answer was taken. */
#define LIMIT_HTTP_WRITE_MS 60000
/* Between two signs of life on a stream, and the same where a client that left
 * must be noticed, because its call would be cancelled. */
#define LIMIT_HTTP_COMMENT_MS 15000
#define LIMIT_HTTP_NOTICE_MS 1000
/* Calls under way for all clients: the service takes 512 from all of its. */
#define LIMIT_HTTP_CALLS_COUNT 128
/* Sessions of clients before 2026-07-28, and how long one may say nothing. */
#define LIMIT_HTTP_SESSIONS_COUNT 1024
#define LIMIT_HTTP_SESSION_IDLE_MS (30LL * 60 * 1000)
/* What may wait for a reader of a stream: notes beyond that are dropped. */
#define LIMIT_HTTP_NOTES_COUNT 64
/* Streams of a session that have ended but may be asked for again. */
#define LIMIT_HTTP_KEPT_COUNT 4
#define LIMIT_HTTP_KEPT_LEN (1 << 20)
#define LIMIT_HTTP_KEPT_MS 60000

/* desktop: X allows 32767; more than 8K is no desktop of ours */
#define LIMIT_DESKTOP_SIDE_PX 8192
/* 8K UHD: 133 MB a frame, the most that a guest can make us hold */
#define LIMIT_DESKTOP_AREA_PX (7680 * 4320)
#define LIMIT_IMAGE_LEN (16 << 20)
/* text on a guest's clipboard: longer than a model reads, and than a message */
#define LIMIT_CLIPBOARD_LEN (256 << 10)
/* MCP clients hand an image on untouched up to some 420 KB; over that some
 * shrink it, and places in it are wrong */
#define LIMIT_SHOT_LEN 420000
/* numbers of screenshots: what JSON carries exactly */
#define LIMIT_GENERATION (1LL << 53)
#define LIMIT_TYPE_LEN (64 << 10)

/* VMs that agents own at once, unless configured */
#define LIMIT_AGENT_VMS_COUNT 4

/* a grant as text: a person has to read it whole before agreeing */
#define LIMIT_GRANT_PATH_LEN 1023
#define LIMIT_GRANT_LEN (2 * LIMIT_GRANT_PATH_LEN + 32)
#define LIMIT_GRANT_NAME_LEN 127
/* in one question: more is no question any more */
#define LIMIT_GRANTS_ASKED_COUNT 16
#define LIMIT_GRANTS_PER_VM_COUNT 64
/* --for and --until: longer is the same as without an end, and less honest */
#define LIMIT_GRANT_S (366LL * 24 * 3600)
#define LIMIT_GRANT_USES_COUNT 1000000
/* what lies in the guest's memory while granted: keys, tokens, small files */
#define LIMIT_GRANT_FILE_LEN (1 << 20)
#define LIMIT_GRANT_ENV_LEN (32 << 10)
/* an agent's words beside the question, in characters */
#define LIMIT_REASON_COUNT 300
#define LIMIT_CLIENT_INFO_COUNT 100
/* approvals that wait for a person, of one client and of all: who floods a
 * person with questions gets a yes for the wrong one */
#define LIMIT_APPROVALS_PER_CLIENT_COUNT 8
#define LIMIT_APPROVALS_COUNT 64
/* a question unanswered, and an answer not fetched, are void after this */
#define LIMIT_APPROVAL_S 900

/* an emulated guest on a busy host takes minutes to its sshd */
#define LIMIT_BOOT_MS (10LL * 60 * 1000)
#define LIMIT_SSH_CONNECT_MS 60000
/* a guest agent that runs answers at once, an emulated one within seconds … */
#define LIMIT_AGENT_MS 20000
/* … and comes up about when sshd does, which is when this starts */
#define LIMIT_AGENT_BOOT_MS 60000
/* a session that says nothing for this long is asked for a sign of life … */
#define LIMIT_GUEST_QUIET_MS 30000
/* … and given up after this: a busy host may starve an emulated guest */
#define LIMIT_GUEST_DEAD_MS 60000
/* connections of one kind to one guest; sshd allows 10 commands on each */
#define LIMIT_GUEST_SESSIONS_COUNT 4
/* one stream's bytes that wait for a slow reader: more than any guest may
 * send before we grant it more, twice */
#define LIMIT_GUEST_STAGE_LEN (32 << 20)
/* key exchange and login take some 4 KiB */
#define LIMIT_GUEST_HELLO_LEN (1 << 20)
/* bytes outside of channels: a burst, and what may go on for ever (key
 * exchanges, window updates) */
#define LIMIT_GUEST_JUNK_LEN (4 << 20)
#define LIMIT_GUEST_JUNK_PER_MS_LEN 256LL

#endif
