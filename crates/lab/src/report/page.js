// Convenience only: the page is complete without it.
"use strict";
for (const table of document.querySelectorAll("table.sortable")) {
  const body = table.tBodies[0];
  const value = (row, column) => {
    const cell = row.cells[column];
    const text = cell.dataset.value ?? cell.textContent;
    const number = Number.parseFloat(text);
    return Number.isNaN(number) ? text : number;
  };
  const before = (a, b, up) => {
    // Empty cells last, whichever way.
    if (typeof a !== typeof b) return typeof a === "number" ? -1 : 1;
    const order = typeof a === "number" ? a - b : a.localeCompare(b);
    return up ? order : -order;
  };
  [...table.tHead.rows[0].cells].forEach((head, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = head.textContent;
    head.replaceChildren(button);
    button.addEventListener("click", () => {
      const up = head.getAttribute("aria-sort") !== "ascending";
      for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", up ? "ascending" : "descending");
      const rows = [...body.rows];
      rows.sort((a, b) => before(value(a, column), value(b, column), up));
      body.append(...rows);
    });
  });
  const filter = document.createElement("input");
  filter.type = "search";
  filter.className = "filter";
  filter.placeholder = "Filter rows, for example: THRIFT no-rate";
  filter.setAttribute("aria-label", "Filter rows");
  filter.addEventListener("input", () => {
    const words = filter.value.toLowerCase().split(/\s+/);
    for (const row of body.rows) {
      const text = row.textContent.toLowerCase();
      row.hidden = !words.every((word) => text.includes(word));
    }
  });
  table.parentElement.before(filter);
}
