// What a person's client answers, and what must come of it.
import assert from "node:assert/strict";

function refused(words) {
	return (result) => {
		assert.ok(result.isError, JSON.stringify(result));
		assert.match(result.content[0].text, words);
	};
}

function granted(result) {
	assert.ok(!result.isError, JSON.stringify(result));
	assert.equal(result.structuredContent.state, "granted");
}

// Each row asks for something of its own: a no is remembered for a while.
export function answers(prefix) {
	const accept = (content) => ({ action: "accept", content });

	return [
		[{ action: "decline" }, refused(/said no/)],
		[{ action: "cancel" }, refused(/without an answer/)],
		[accept({ approve: false }), refused(/said no/)],
		[accept({ approve: true, more: "please" }),
			refused(/no answer that a person/)],
		[accept({ approve: true }), granted],
	].map(([answer, check], i) => ({ answer, check, arguments: {
		vm: "demo", grants: [`env:${prefix.toUpperCase()}_${i}`] } }));
}
