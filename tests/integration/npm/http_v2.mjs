// The TypeScript SDK, version 2, over HTTP in both eras.
// usage: http_v2.mjs URL TOKEN_FILE
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { Client, StreamableHTTPClientTransport } from
	"@modelcontextprotocol/client";
import { library } from "./library.mjs";

const [url, file] = process.argv.slice(2);
const token = readFileSync(file, "utf8");

async function converse(mode, era) {
	const transport = new StreamableHTTPClientTransport(new URL(url), {
		requestInit: { headers: { Authorization: `Bearer ${token}` } },
	});
	const client = new Client({ name: "http-v2", version: "1" },
		{ versionNegotiation: { mode } });
	await client.connect(transport);
	assert.equal(client.getProtocolEra(), era);
	const { tools } = await client.listTools();
	assert.ok(tools.find((t) => t.name === "vm_screenshot"));

	await library(client, era === "modern");
	const call = (name, args, options) =>
		client.callTool({ name, arguments: args }, options);
	let r = await call("vm_wait", { seconds: 0.2 });
	assert.ok(!r.isError);
	r = await call("vm_wait", { seconds: 0.2 }, { onprogress() {} });
	assert.ok(!r.isError);
	r = await call("vm_new", { vm: "No Name" });
	assert.ok(r.isError);
	await assert.rejects(call("nothing", {}), /unknown tool/);

	const abort = new AbortController();
	const cancelled = call("vm_wait", { seconds: 40 },
		{ signal: abort.signal });
	const many = Promise.all([1, 2, 3].map(() =>
		call("vm_wait", { seconds: 0.3 })));
	setTimeout(() => abort.abort("enough"), 100);
	await assert.rejects(cancelled);
	assert.equal((await many).length, 3);
	await client.close();
	console.log(`http, sdk v2, ${JSON.stringify(mode)}: ok`);
}

await converse("legacy", "legacy");
await converse("auto", "modern");
await converse({ pin: "2026-07-28" }, "modern");
