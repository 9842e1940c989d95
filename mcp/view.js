// The page of vm_view, in an MCP host's sandbox: it asks the host to call the
// tool again and again, and draws what has changed. All that comes is data:
// text goes to textContent, pictures to data URLs.
"use strict";
(() => {
	const PROTOCOL = "2026-01-26", EVERY_MS = 700, SLOW_MS = 5000;
	const HIDDEN_MS = 2000, ASK_MS = 60000;
	const screen = document.getElementById("screen");
	const status = document.getElementById("status");
	const waiting = new Map();
	let lastId = 0, vm = null, number = 0, stopped = false, polling = false;

	const say = text => { status.textContent = text; };
	const post = message =>
		window.parent.postMessage({jsonrpc: "2.0", ...message}, "*");
	const notify = (method, params) => post({method, params});

	function ask(method, params) {
		const id = ++lastId;

		post({id, method, params});
		return new Promise((resolve, reject) => {
			const timer = setTimeout(() => {
				waiting.delete(id);
				reject(new Error("the host does not answer"));
			}, ASK_MS);

			waiting.set(id, {resolve, reject, timer});
		});
	}

	function picture(block) {
		const type = block.mimeType;

		if (block.type !== "image" ||
		    (type !== "image/png" && type !== "image/jpeg") ||
		    !/^[A-Za-z0-9+/]+={0,2}$/.test(block.data))
			return null;
		return new Promise((resolve, reject) => {
			const image = new Image();

			image.onload = () => resolve(image);
			image.onerror = () => reject(new Error("no picture"));
			image.src = `data:${type};base64,${block.data}`;
		});
	}

	async function draw(result) {
		const shot = result._meta && result._meta["boxery/shot"];
		const blocks = (result.content || []).map(picture);
		const images = await Promise.all(blocks.filter(b => b));

		if (result.isError)
			throw new Error(result.content[0].text);
		if (!shot)
			return;
		if (!shot.images && images.length === 1) {
			if (screen.width !== shot.width ||
			    screen.height !== shot.height) {
				screen.width = shot.width;
				screen.height = shot.height;
				notify("ui/notifications/size-changed",
				       {width: shot.width, height: shot.height + 24});
			}
			screen.getContext("2d").drawImage(images[0], 0, 0);
		}
		(shot.images || []).forEach((part, i) => {
			const [x, y, width, height] = part.box;

			screen.getContext("2d").drawImage(images[i], x, y, width,
							  height);
		});
		number = shot.number;
		say(`${vm}: live`);
	}

	async function poll() {
		let pause = EVERY_MS;

		if (stopped)
			return;
		if (document.hidden) {
			setTimeout(poll, HIDDEN_MS);
			return;
		}
		try {
			const args = number > 0 ? {vm, since: number} : {vm};

			await draw(await ask("tools/call",
					     {name: "vm_view", arguments: args}));
		} catch (error) {
			number = 0;
			pause = SLOW_MS;
			say(`${vm}: ${error.message}`);
		}
		setTimeout(poll, pause);
	}

	function begin(name) {
		if (typeof name !== "string" || vm === name)
			return;
		vm = name;
		number = 0;
		say(`${vm}: …`);
		if (!polling) {
			polling = true;
			poll();
		}
	}

	function onRequest(message) {
		if (message.method === "ui/resource-teardown")
			stopped = true;
		else if (message.method !== "ping") {
			post({id: message.id,
			      error: {code: -32601, message: "not here"}});
			return;
		}
		post({id: message.id, result: {}});
	}

	function onNotification(message) {
		const params = message.params || {};

		if (message.method === "ui/notifications/tool-input")
			begin(params.arguments && params.arguments.vm);
		else if (message.method === "ui/notifications/tool-cancelled")
			stopped = true;
	}

	function onAnswer(message) {
		const w = waiting.get(message.id);

		if (!w)
			return;
		waiting.delete(message.id);
		clearTimeout(w.timer);
		if (message.error)
			w.reject(new Error(String(message.error.message)));
		else
			w.resolve(message.result);
	}

	window.addEventListener("message", event => {
		const message = event.data;

		if (event.source !== window.parent || !message ||
		    message.jsonrpc !== "2.0")
			return;
		if (message.method && message.id !== undefined)
			onRequest(message);
		else if (message.method)
			onNotification(message);
		else
			onAnswer(message);
	});

	ask("ui/initialize", {
		appInfo: {name: "boxery-view", version: "1"},
		appCapabilities: {},
		protocolVersion: PROTOCOL,
	}).then(() => notify("ui/notifications/initialized", {}),
		error => say(error.message));
})();
