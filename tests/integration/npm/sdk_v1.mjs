// The TypeScript SDK, version 1: what most clients are built on.
// usage: sdk_v1.mjs BOXERY_MCP HOME
import assert from "node:assert/strict";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { CallToolResultSchema } from "@modelcontextprotocol/sdk/types.js";
import { library } from "./library.mjs";

const [command, home] = process.argv.slice(2);
const transport = new StdioClientTransport({
	command, args: ["--home", home, "--client", "sdk-v1"],
});
const client = new Client({ name: "sdk-v1", version: "1" });
client.onerror = (e) => { throw e; };
await client.connect(transport);

assert.equal(client.getServerVersion().name, "boxery");
assert.match(client.getInstructions(), /vm_screenshot/);
const { tools } = await client.listTools();
assert.ok(tools.find((t) => t.name === "vm_click"));

const call = (name, args, options) =>
	client.callTool({ name, arguments: args }, CallToolResultSchema, options);

// a good call, a bad one, a tool that is not there
let r = await call("vm_wait", { seconds: 0.2 });
assert.ok(!r.isError);
r = await call("vm_click", { vm: "a", x: -1, y: 0 });
assert.ok(r.isError);
assert.match(r.content[0].text, /x: must be at least 0/);
await assert.rejects(call("nothing", {}), /unknown tool/);

await library(client, false);
// parallel calls, a ping beside them, and one that is cancelled
const abort = new AbortController();
const cancelled = call("vm_wait", { seconds: 40 }, { signal: abort.signal });
const many = Promise.all([1, 2, 3].map(() => call("vm_wait", { seconds: 0.5 })));
await client.ping();
abort.abort("enough");
await assert.rejects(cancelled);
assert.equal((await many).length, 3);
await client.ping();

// the client's own timeout sends a cancellation too
await assert.rejects(call("vm_wait", { seconds: 40 }, { timeout: 300 }));
await client.ping();
await client.close();
console.log("sdk v1: ok");
