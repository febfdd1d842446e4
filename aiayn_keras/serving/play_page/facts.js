/** Facts about the page's model, see `PageFacts` in `page_files.py`. */

export const facts = JSON.parse(document.getElementById("facts").textContent);
