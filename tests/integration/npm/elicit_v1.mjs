// The TypeScript SDK, version 1, asked for a person's yes over stdio and HTTP.
// usage: elicit_v1.mjs BOXERY_MCP URL TOKEN_FILE
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from
	"@modelcontextprotocol/sdk/client/streamableHttp.js";
import { CallToolResultSchema, ElicitRequestSchema } from
	"@modelcontextprotocol/sdk/types.js";
import { answers } from "./elicit_answers.mjs";

const [command, url, file] = process.argv.slice(2);
const transports = {
	stdio: () => new StdioClientTransport({
		command, args: ["--client", "sdk-v1", "--no-start"],
		env: { ...process.env },
	}),
	http: () => new StreamableHTTPClientTransport(new URL(url), {
		requestInit: { headers: {
			Authorization: `Bearer ${readFileSync(file, "utf8")}` } },
	}),
};

for (const [name, transport] of Object.entries(transports)) {
	const client = new Client({ name: "sdk-v1", version: "1" },
		{ capabilities: { elicitation: {} } });
	let answer, asked = 0;
	client.setRequestHandler(ElicitRequestSchema, async ({ params }) => {
		assert.match(params.message, /^May the VM demo use this/);
		asked++;
		return answer;
	});
	await client.connect(transport());
	for (const row of answers(`V1_${name}`)) {
		answer = row.answer;
		row.check(await client.callTool({ name: "vm_grant",
			arguments: row.arguments }, CallToolResultSchema));
	}
	assert.equal(asked, answers(name).length);
	await client.close();
	console.log(`      sdk v1, ${name}: ok`);
}
