// The TypeScript SDK, version 2, in both eras.
// usage: sdk_v2.mjs BOXERY_MCP HOME
import assert from "node:assert/strict";
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { library } from "./library.mjs";

const [command, home] = process.argv.slice(2);

async function converse(mode, era) {
	const transport = new StdioClientTransport({
		command, args: ["--home", home, "--client", "sdk-v2"],
	});
	const client = new Client({ name: "sdk-v2", version: "1" },
		{ versionNegotiation: { mode } });
	client.onerror = (e) => { throw e; };
	await client.connect(transport);
	assert.equal(client.getProtocolEra(), era);
	assert.match(client.getInstructions(), /vm_screenshot/);

	const { tools } = await client.listTools();
	assert.ok(tools.find((t) => t.name === "vm_screenshot"));

	await library(client, era === "modern");
	const call = (name, args, options) =>
		client.callTool({ name, arguments: args }, options);
	let r = await call("vm_wait", { seconds: 0.2 });
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
	console.log(`sdk v2, ${JSON.stringify(mode)}: ok`);
}

await converse("legacy", "legacy");
await converse("auto", "modern");
await converse({ pin: "2026-07-28" }, "modern");
