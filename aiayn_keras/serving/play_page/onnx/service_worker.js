/** Keeps the page's files, so that it works without a network once it has loaded them. */

const CACHE = "play-$version";
const NEWEST = { cache: "no-cache" }; // from the browser's own cache only what the server still has: files of one version

addEventListener("install", () => skipWaiting());

addEventListener("activate", (event) => {
  const drop = async () => {
    const names = await caches.keys();
    await Promise.all(names.filter((name) => name.startsWith("play-") && name !== CACHE).map((name) => caches.delete(name)));
    await clients.claim();
    await keep($files);
  };
  event.waitUntil(drop());
});

/** The page says which weights it uses, since it may have read their files before this program was there, and asks it to replace an older one. */
addEventListener("message", (event) => {
  if (event.data.replaces) event.waitUntil(skipWaiting());
  const files = $chosen[event.data.uses];
  if (files) event.waitUntil(keep(files));
});

/** Keeps files that are not yet kept, each by itself: one that fails costs no other. */
async function keep(files) {
  const cache = await caches.open(CACHE);
  const pauses = [500, 1000, 2000]; // ms; for all files together, since the page waits
  for (const file of files) {
    let isKept = Boolean(await cache.match(file));
    while (!isKept) {
      try {
        await cache.add(new Request(file, NEWEST));
        isKept = true;
      } catch (error) {
        if (error.name === "QuotaExceededError" || !pauses.length) break;
        await new Promise((resolve) => setTimeout(resolve, pauses.shift())); // the server may be busy
      }
    }
  }
}

addEventListener("fetch", (event) => {
  const { request } = event;
  const isOurs = request.method === "GET" && request.url.startsWith(registration.scope);
  if (isOurs) event.respondWith(fromCache(request));
});

async function fromCache(request) {
  const cache = await caches.open(CACHE);
  const isHome = request.url.split(/[?#]/)[0] === registration.scope;
  const kept = await cache.match(isHome ? "index.html" : request, { ignoreSearch: true });
  if (kept) return kept;
  const response = await fetch(request, NEWEST);
  if (response.ok) await cache.put(request, response.clone()).catch(() => {}); // no room: the page works without
  return response;
}
