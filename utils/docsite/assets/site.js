// The menu of small screens, and the search: all words of a query must begin words of a heading, its
// page or its text; headings count most.
(() => {
  const root = document.body.dataset.root;
  const menu = document.getElementById("menu"), pages = document.getElementById("pages");
  menu.addEventListener("click", () => {
    menu.setAttribute("aria-expanded", pages.classList.toggle("open"));
  });

  const field = document.getElementById("search"), list = document.getElementById("found");
  const entries = (typeof SEARCH_INDEX === "undefined" ? [] : SEARCH_INDEX).map(
    ([address, page, heading, text]) => ({
      address, page, heading, text,
      words: [heading, page, text].map((part) => part.toLowerCase().split(/[^\p{L}\p{N}_]+/u)),
    }));
  const score = (entry, query) => {
    let total = 0;
    for (const word of query) {
      const place = entry.words.findIndex((words) => words.some((one) => one.startsWith(word)));
      if (place < 0) return 0;
      total += [10, 4, 1][place] + (entry.words[0].includes(word) ? 8 : 0);
    }
    return total - entry.heading.length / 100;
  };
  const search = () => {
    const query = field.value.toLowerCase().split(/\s+/).filter(Boolean);
    const best = query.length === 0 ? [] : entries
      .map((entry) => [score(entry, query), entry])
      .filter(([points]) => points > 0)
      .sort((a, b) => b[0] - a[0]).slice(0, 12);
    list.replaceChildren(...best.map(([, entry]) => {
      const item = document.createElement("li"), link = document.createElement("a");
      const small = document.createElement("small");
      link.href = `${root}/${entry.address}`;
      link.textContent = entry.heading;
      small.textContent = entry.heading === entry.page ? entry.text : `${entry.page} · ${entry.text}`;
      link.append(small);
      item.append(link);
      return item;
    }));
    list.firstChild?.firstChild.classList.add("chosen");
    list.hidden = best.length === 0;
  };
  field.addEventListener("input", search);
  field.addEventListener("keydown", (event) => {
    const links = [...list.querySelectorAll("a")];
    const at = links.findIndex((link) => link.classList.contains("chosen"));
    if (event.key === "Enter" && at >= 0) links[at].click();
    if (event.key === "Escape") { list.hidden = true; field.blur(); }
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step && links.length) {
      event.preventDefault();
      links[at]?.classList.remove("chosen");
      const next = links[(at + step + links.length) % links.length];
      next.classList.add("chosen");
      next.scrollIntoView({ block: "nearest" });
    }
  });
  document.addEventListener("click", (event) => {
    if (!event.target.closest(".search")) list.hidden = true;
  });
  document.addEventListener("keydown", (event) => {
    if (event.key === "/" && document.activeElement !== field) { event.preventDefault(); field.focus(); }
  });
})();
