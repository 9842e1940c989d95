// The TypeScript SDK, version 2, asked for a person's yes in both eras, over
// stdio and HTTP.
// usage: elicit_v2.mjs BOXERY_MCP URL TOKEN_FILE
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { Client, StreamableHTTPClientTransport } from
	"@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { answers } from "./elicit_answers.mjs";

const [command, url, file] = process.argv.slice(2);
const transports = {
	stdio: () => new StdioClientTransport({
		command, args: ["--client", "sdk-v2", "--no-start"],
		env: { ...process.env },
	}),
	http: () => new StreamableHTTPClientTransport(new URL(url), {
		requestInit: { headers: {
			Authorization: `Bearer ${readFileSync(file, "utf8")}` } },
	}),
};

for (const mode of ["legacy", "auto"]) {
	for (const [name, transport] of Object.entries(transports)) {
		const client = new Client({ name: "sdk-v2", version: "1" },
			{ capabilities: { elicitation: { form: {} } },
				versionNegotiation: { mode } });
		let answer, asked = 0;
		client.setRequestHandler("elicitation/create",
			async ({ params }) => {
				assert.match(params.message,
					/^May the VM demo use this/);
				asked++;
				return answer;
			});
		await client.connect(transport());
		assert.equal(client.getProtocolEra(),
			mode === "legacy" ? "legacy" : "modern");
		for (const row of answers(`V2_${mode}_${name}`)) {
			answer = row.answer;
			row.check(await client.callTool({ name: "vm_grant",
				arguments: row.arguments }));
		}
		assert.equal(asked, answers(name).length);
		await client.close();
		console.log(`      sdk v2, ${mode}, ${name}: ok`);
	}
}
