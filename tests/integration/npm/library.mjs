// What a server has beside tools, through a client of either TypeScript SDK.
import assert from "node:assert/strict";

async function listens(client) {
	const told = client.listen({ resourcesListChanged: true,
		resourceSubscriptions: ["boxery://vm/demo/console"] });
	const subscription = await told;

	assert.deepEqual(subscription.honoredFilter, {
		resourcesListChanged: true,
		resourceSubscriptions: ["boxery://vm/demo/console"] });
	await subscription.close();
	assert.equal(await subscription.closed, "local");
}

// modern: does this connection speak 2026-07-28?
export async function library(client, modern) {
	const { resources } = await client.listResources();
	const { resourceTemplates } = await client.listResourceTemplates();
	const { prompts } = await client.listPrompts();
	const [page] = resources.filter((r) => r.uri === "ui://boxery/view");

	assert.ok(resourceTemplates.find((t) =>
		t.uriTemplate === "boxery://vm/{vm}/screenshot"));
	const { contents } = await client.readResource({ uri: page.uri });
	assert.equal(contents[0].mimeType, "text/html;profile=mcp-app");
	assert.match(contents[0].text, /default-src 'none'/);
	await assert.rejects(
		client.readResource({ uri: "boxery://vm/nobody/console" }),
		// the second SDK maps what the older revisions say
		(e) => [-32602, -32002].includes(e.code) &&
			e.data.uri === "boxery://vm/nobody/console");

	assert.ok(prompts.length >= 3);
	const { messages } = await client.getPrompt({ name: "look-into",
		arguments: { vm: "demo" } });
	assert.match(messages[0].content.text, /"demo"/);
	const { completion } = await client.complete({
		ref: { type: "ref/prompt", name: "look-into" },
		argument: { name: "vm", value: "" } });
	assert.deepEqual(completion.values, []);

	if (modern) {
		await listens(client);
		return;
	}
	await client.setLoggingLevel("warning");
	const uri = "boxery://vm/demo/console";
	await client.subscribeResource({ uri });
	await client.unsubscribeResource({ uri });
}
