/** Files of a folder that was dropped on the page. */

export const MAX_FILES = 200;

/** Pairs of a path and a `File` for all files of what was dropped; if they are too many, for one more than `MAX_FILES`. */
export async function readFolder(items) {
  const found = [];
  const entries = [...items].map((item) => item.webkitGetAsEntry?.()).filter(Boolean);
  const visit = async (entry, path) => {
    if (found.length > MAX_FILES) return;
    if (entry.isFile) {
      found.push([`${path}${entry.name}`, await new Promise((resolve, reject) => { entry.file(resolve, reject); })]);
      return;
    }
    const reader = entry.createReader();
    for (;;) {
      const batch = await new Promise((resolve, reject) => { reader.readEntries(resolve, reject); });
      if (!batch.length) return;
      for (const child of batch) await visit(child, `${path}${entry.name}/`);
    }
  };
  for (const entry of entries) await visit(entry, "");
  return found;
}
