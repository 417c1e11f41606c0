/* SPDX-License-Identifier: Apache-2.0 */
"use strict";
/* The page is whole without this: it sorts and filters tables, shows values at once, unfolds. */
const make = (tag, more) => Object.assign(document.createElement(tag), more);

/* A number as the page writes it, by which its column is sorted: "1.23 ms (1.2 to 1.3)". */
const powers = { n: -9, "µ": -6, m: -3, k: 3, M: 6, G: 9, T: 12, K: 3 };
function number(text) {
	const of = /^([-+]?\d+\.?\d*(?:e-?\d+)?)\s*([nµmkMGTK]?)(?=i?[A-Za-z]|$)/.exec(text);
	return of ? of[1] * 10 ** (powers[of[2]] ?? 0) : parseFloat(text);
}
function before(one, other, numbers) {
	if (!numbers)
		return one.localeCompare(other, "en", { numeric: true });
	[one, other] = [number(one), number(other)];
	return isNaN(one) || isNaN(other) ? isNaN(one) - isNaN(other) : one - other;
}
function sort(table, head) {
	const down = head.ariaSort === "ascending", column = head.cellIndex;
	const text = row => row.cells[column].innerText.trim();
	const rows = [...table.tBodies[0].rows].map(row => [text(row), row]);
	rows.sort((a, b) => before(a[0], b[0], head.classList.contains("number")));
	if (down)
		rows.reverse();
	for (const other of head.parentElement.cells)
		other.ariaSort = null;
	head.ariaSort = down ? "descending" : "ascending";
	table.tBodies[0].append(...rows.map(pair => pair[1]));
}
function filter(table, words, count) {
	const rows = [...table.tBodies[0].rows];
	for (const row of rows)
		row.hidden = !row.textContent.toLowerCase().includes(words.toLowerCase());
	count.value = words && `${rows.filter(row => !row.hidden).length} of ${rows.length}`;
}
for (const table of document.querySelectorAll("table")) {
	const rows = table.tBodies[0].rows.length;
	if (table.tHead?.rows.length === 1 && rows > 2 && !table.querySelector("[colspan]"))
		for (const head of table.tHead.rows[0].cells) {
			const button = make("button", { type: "button" });
			button.onclick = () => sort(table, head);
			button.append(...head.childNodes);
			head.append(button);
		}
	if (table.tHead && rows > 8) {
		const count = make("output"), label = make("label", { className: "screen" });
		const field = make("input", { type: "search" });
		field.oninput = () => filter(table, field.value, count);
		label.append("Filter: ", field, " ", count);
		table.parentElement.before(label);
	}
}

/* Of a picture with so many cells that it is an image. */
function cell(image, event) {
	const of = image.cells ??= JSON.parse(image.dataset.cells);
	const box = image.getBoundingClientRect();
	const unit = image.width.baseVal.value / box.width;
	const at = (far, begin) => Math.floor((far * unit - begin) / of.size);
	const [x, y] = [at(event.clientX - box.left, of.x), at(event.clientY - box.top, of.y)];
	const [less, more] = [Math.min(x, y), Math.max(x, y)];
	if (less < 0 || less === more || more >= of.names.length)
		return "";
	const value = of.values[more * (more - 1) / 2 + less];
	return `CPU: ${of.names[x]}\nand CPU: ${of.names[y]}\nmedian: ${value ?? "–"} ns`;
}
/* Values on hover; without scripts, browsers show the titles that these are. */
const tip = document.body.appendChild(make("div", { className: "tip", hidden: true }));
function point(event) {
	const mark = event.target.closest?.(".picture svg *");
	const title = mark?.querySelector(":scope > title");
	if (title) {
		mark.dataset.said = title.textContent;
		title.remove();
	}
	if (mark?.dataset.cells)
		mark.dataset.said = cell(mark, event);
	tip.hidden = !mark?.dataset.said;
	tip.textContent = mark?.dataset.said ?? "";
	const left = Math.min(event.clientX + 14, innerWidth - tip.offsetWidth - 8);
	tip.style.left = `${Math.max(0, left)}px`;
	const below = event.clientY + 14, fits = below + tip.offsetHeight < innerHeight;
	tip.style.top = `${fits ? below : event.clientY - 14 - tip.offsetHeight}px`;
}
addEventListener("pointerover", point);
addEventListener("pointermove", event => event.target.dataset?.cells && point(event));

/* Each picture as a file: as SVG, with its text on hover, and its values as CSV. */
function save(name, type, text) {
	const href = URL.createObjectURL(new Blob([text], { type }));
	make("a", { href, download: name }).click();
	setTimeout(() => URL.revokeObjectURL(href), 1e4);
}
function drawn(figure) {
	const svg = figure.querySelector("svg").cloneNode(true);
	svg.removeAttribute("aria-hidden");
	for (const mark of svg.querySelectorAll("[data-said]")) {
		const title = document.createElementNS(svg.namespaceURI, "title");
		title.textContent = mark.dataset.said;
		mark.prepend(title);
		mark.removeAttribute("data-said");
	}
	return new XMLSerializer().serializeToString(svg);
}
for (const figure of document.querySelectorAll("figure[id]")) {
	const offer = (kind, type, text) => {
		const button = make("button", { type: "button", textContent: kind.toUpperCase() });
		button.ariaLabel = `Save ${figure.id} as ${kind.toUpperCase()}`;
		button.onclick = () => save(`${figure.id}.${kind}`, type, text());
		figure.querySelector("figcaption").append(button);
	};
	const csv = figure.querySelector("template.csv");
	offer("svg", "image/svg+xml", () => drawn(figure));
	if (csv)
		offer("csv", "text/csv", () => csv.content.textContent);
}

/* Text is wider here than where it was drawn, if this machine lacks the font: room for it. */
function fit(part) {
	for (const svg of part.querySelectorAll(".picture svg")) {
		if (!svg.getClientRects().length)
			continue;
		const { x, width } = svg.getBBox(), view = svg.viewBox.baseVal;
		if (x + width <= view.width)
			continue;
		view.width = x + width + 4;
		svg.setAttribute("width", view.width);
	}
}
fit(document);
addEventListener("toggle", event => fit(event.target), true);

/* A link unfolds what it leads to. */
const folds = document.querySelectorAll("details"), unfold = document.getElementById("unfold");
function reveal() {
	const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
	for (let at = target?.closest("details"); at; at = at.parentElement.closest("details"))
		at.open = true;
	target?.scrollIntoView();
}
unfold.hidden = false;
unfold.onclick = () => {
	const open = unfold.textContent === "Unfold all";
	for (const fold of folds)
		fold.open = open;
	unfold.textContent = open ? "Fold all" : "Unfold all";
};
addEventListener("hashchange", reveal);
if (location.hash)
	reveal();
