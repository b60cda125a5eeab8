import { once } from "node:events";
import { connect } from "node:net";
import { text } from "node:stream/consumers";
import { expect, it, onTestFinished } from "vitest";
import { listenForRedirect } from "./redirect-listener.ts";

async function listen() {
  const stop = new AbortController();
  const listener = await listenForRedirect({ state: "right", signal: stop.signal });
  const redirected = listener.waitForRedirect("https://hub.example/page", async ({ code }) => code);
  redirected.catch(() => {});
  onTestFinished(() => stop.abort());
  return { listener, redirected };
}

/** Sends the request target as it is: `fetch` would normalize it. */
async function get(url: string, target: string): Promise<string> {
  const { hostname, port, host } = new URL(url);
  const socket = connect(Number(port), hostname);
  await once(socket, "connect");
  socket.write(`GET ${target} HTTP/1.1\r\nHost: ${host}\r\n\r\n`);
  return (await text(socket)).split("\r\n")[0] ?? "";
}

it("answers a malformed URL with 400, and still accepts the redirect", async () => {
  const { listener, redirected } = await listen();
  for (const target of ["//", "http://[", "/\\"])
    expect(await get(listener.url, target), target).toBe("HTTP/1.1 400 Bad Request");
  expect((await fetch(`${listener.redirectUrl}?state=wrong&code=a`)).status).toBe(400);
  expect((await fetch(`${listener.redirectUrl}?state=right&code=b`)).status).toBe(200);
  expect(await redirected).toBe("b");
});

it("leads to the page, and serves nothing else", async () => {
  const { listener } = await listen();
  const page = await fetch(listener.url, { redirect: "manual" });
  expect([page.status, page.headers.get("location")]).toEqual([302, "https://hub.example/page"]);
  expect((await fetch(`${listener.url}other`)).status).toBe(404);
  expect((await fetch(listener.url, { method: "POST" })).status).toBe(405);
});
