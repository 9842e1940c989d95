// The page of vm_view in the host side of the MCP Apps SDK: its script runs in
// a context that has no more than what a page needs, and draws a real desktop.
// usage: view.mjs BOXERY_MCP DRAW...     DRAW changes the desktop
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { setTimeout as sleep } from "node:timers/promises";
import vm from "node:vm";
import { AppBridge } from "@modelcontextprotocol/ext-apps/app-bridge";
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";

const [command, ...draw] = process.argv.slice(2);
const client = new Client({ name: "view", version: "1" },
	{ versionNegotiation: { mode: "auto" } });
await client.connect(new StdioClientTransport({ command, env: process.env }));

const { tools } = await client.listTools();
const uri = tools.find((t) => t.name === "vm_view")._meta.ui.resourceUri;
const { contents } = await client.readResource({ uri });
const script = contents[0].text.match(/<script>([^]*)<\/script>/)[1];

// what is seen of the page
const drawn = [], said = [];
let listener;

class Image {
	set src(url) {
		const [, type, data] = url.match(/^data:(image\/\w+);base64,(.*)$/);

		this.type = type;
		this.bytes = Buffer.from(data, "base64");
		queueMicrotask(() => this.onload());
	}
}

const elements = {
	screen: { getContext: () => ({ drawImage: (...d) => drawn.push(d) }) },
	status: { set textContent(text) { said.push(text); } },
};
const parent = {
	postMessage: (m) => transport.onmessage(structuredClone(m), {}),
};
const window = { parent, addEventListener: (_, f) => { listener = f; } };
const transport = {
	async start() {},
	async close() {},
	async send(m) {
		listener({ source: parent, data: structuredClone(m) });
	},
};

const bridge = new AppBridge(client, { name: "host", version: "1" },
	{ serverTools: {} });
const ready = new Promise((resolve) => { bridge.oninitialized = resolve; });
const sizes = [];
bridge.onsizechange = (size) => sizes.push(size);
const running = bridge.connect(transport);
vm.runInNewContext(script, { window, Image, setTimeout, clearTimeout,
	document: { getElementById: (id) => elements[id], hidden: false } });
await running;
await ready;

async function until(what, test) {
	for (let i = 0; i < 100; i++) {
		if (test())
			return;
		await sleep(100);
	}
	assert.fail(`${what}: ${JSON.stringify({ drawn, said })}`);
}

// what is no message of the host's is not listened to
listener({ source: {}, data: { jsonrpc: "2.0",
	method: "ui/notifications/tool-input",
	params: { arguments: { vm: "other" } } } });
await bridge.sendToolInput({ arguments: { vm: "demo" } });
await until("a picture", () => drawn.length > 0);
const [whole, x, y] = drawn[0];
assert.equal(whole.type, "image/png");
assert.equal(whole.bytes.readUInt32BE(16), elements.screen.width);
assert.equal(whole.bytes.readUInt32BE(20), elements.screen.height);
assert.deepEqual([x, y], [0, 0]);
assert.equal(sizes.length, 1);
assert.equal(said.at(-1), "demo: live");

// nothing is drawn while nothing changes, and then only that
await sleep(2000);
assert.equal(drawn.length, 1);
execFileSync(draw[0], draw.slice(1));
await until("a change", () => drawn.length > 1);
const [part, , , width, height] = drawn[1];
assert.ok(width < 200 && height < 200, `${width}x${height}`);
assert.ok(part.bytes.length < whole.bytes.length);

// what goes wrong is said
await bridge.sendToolInput({ arguments: { vm: "nobody" } }).catch(() => {});
listener({ source: parent, data: { jsonrpc: "2.0",
	method: "ui/notifications/tool-input",
	params: { arguments: { vm: "nobody" } } } });
await until("a failure", () => /^nobody: .*no VM/.test(said.at(-1)));

// it stops when it is told
await bridge.teardownResource({});
const count = said.length;
await sleep(6000);
assert.equal(said.length, count);
await client.close();
console.log("view: ok");
process.exit(0);
