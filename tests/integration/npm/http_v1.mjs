// The TypeScript SDK, version 1, over HTTP.
// usage: http_v1.mjs URL TOKEN_FILE
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from
	"@modelcontextprotocol/sdk/client/streamableHttp.js";
import { CallToolResultSchema } from "@modelcontextprotocol/sdk/types.js";
import { library } from "./library.mjs";

const [url, file] = process.argv.slice(2);
const token = readFileSync(file, "utf8");

async function connect(bearer) {
	const transport = new StreamableHTTPClientTransport(new URL(url), {
		requestInit: { headers: { Authorization: `Bearer ${bearer}` } },
	});
	const client = new Client({ name: "http-v1", version: "1" });
	await client.connect(transport);
	return { client, transport };
}

await assert.rejects(connect("wrong"));
const { client, transport } = await connect(token);
assert.equal(client.getServerVersion().name, "boxery");
assert.ok(transport.sessionId);
const { tools } = await client.listTools();
assert.ok(tools.find((t) => t.name === "vm_click"));

await library(client, false);
const call = (name, args, options) =>
	client.callTool({ name, arguments: args }, CallToolResultSchema, options);
let r = await call("vm_wait", { seconds: 0.2 });
assert.ok(!r.isError);
r = await call("vm_wait", { seconds: 0.2 }, { onprogress() {} });
assert.ok(!r.isError);
r = await call("vm_click", { vm: "a", x: -1, y: 0 });
assert.ok(r.isError);
await assert.rejects(call("nothing", {}), /unknown tool/);

const abort = new AbortController();
const cancelled = call("vm_wait", { seconds: 40 }, { signal: abort.signal });
const many = Promise.all([1, 2, 3].map(() =>
	call("vm_wait", { seconds: 0.5 }, { onprogress() {} })));
await client.ping();
abort.abort("enough");
await assert.rejects(cancelled);
assert.equal((await many).length, 3);
await assert.rejects(call("vm_wait", { seconds: 40 }, { timeout: 300 }));
await client.ping();
await transport.terminateSession();
await client.close();
console.log("http, sdk v1: ok");
