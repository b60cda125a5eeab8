import { Hono } from "hono";
import { expect, it, vi } from "vitest";
import { limitConcurrency } from "./concurrency-limit.ts";

const nextTick = () => new Promise<void>((resolve) => setImmediate(resolve));

/** `finish` ends a request by its index, in the order in which the requests started. */
function setup(options: Partial<Parameters<typeof limitConcurrency>[0]> = {}) {
  const running: { finish(response?: Response): void; path: string }[] = [];
  const yieldToEventLoop = vi.fn(nextTick);
  const app = new Hono();
  app.use(
    limitConcurrency({ yieldToEventLoop, perToken: 2, maxQueued: 2, slotMs: 60_000, ...options }),
  );
  app.get("*", (c) => {
    const { promise, resolve, reject } = Promise.withResolvers<Response>();
    const finish = (response = c.text("done")) => resolve(response);
    running.push({ finish, path: c.req.path });
    if (c.req.path === "/broken") reject(new Error("broken"));
    return promise;
  });
  app.onError(() => new Response(null, { status: 500 }));
  const request = (path: string, token: string | undefined = "ada", env?: object) =>
    Promise.resolve(
      app.request(path, token === "" ? {} : { headers: { authorization: token } }, env),
    );
  const started = () => running.map(({ path }) => path);
  const finish = async (index: number, response?: Response) => {
    running[index]?.finish(response);
    for (let ticks = 0; ticks < 5; ticks += 1) await nextTick();
  };
  return { request, started, finish, yieldToEventLoop };
}

it("limits the requests of a session like those of a token", async () => {
  const app = new Hono();
  const { promise, resolve } = Promise.withResolvers<Response>();
  const limit = { perToken: 1, maxQueued: 0, slotMs: 60_000, yieldToEventLoop: nextTick };
  app.use(limitConcurrency(limit));
  app.get("*", () => promise);
  const get = (session: string) =>
    Promise.resolve(app.request("/", { headers: { cookie: `signalbox_session=${session}` } }));
  const first = get("ada");
  expect((await get("ada")).status).toBe(429);
  const other = get("bob");
  resolve(new Response("done"));
  expect([(await first).status, (await other).status]).toEqual([200, 200]);
});

it("runs requests of a token up to `perToken`, queues up to `maxQueued`, and returns 429 for further ones", async () => {
  const { request, started, finish, yieldToEventLoop } = setup();
  const responses = ["/1", "/2", "/3", "/4"].map((path) => request(path));
  const fifth = await request("/5");
  expect([fifth.status, fifth.headers.get("retry-after")]).toEqual([429, "1"]);
  expect(await fifth.json()).toMatchObject({ code: "busy" });
  expect(started()).toEqual(["/1", "/2"]);
  expect(yieldToEventLoop).not.toHaveBeenCalled();
  await finish(0);
  expect(started()).toEqual(["/1", "/2", "/3"]);
  expect(yieldToEventLoop).toHaveBeenCalledTimes(1);
  await finish(1);
  await finish(2);
  await finish(3);
  for (const response of responses) expect((await response).status).toBe(200);
  void request("/6");
  expect(started()).toContain("/6");
});

it("counts every token separately, and does not limit requests without a token", async () => {
  const { request, started } = setup();
  void request("/1", "Bearer ada");
  void request("/2", "bearer  ada");
  void request("/3", "BEARER   ada");
  void request("/other", "Bearer bob");
  for (const path of ["/a", "/b", "/c"]) void request(path, "");
  await nextTick();
  expect(started()).toEqual(["/1", "/2", "/other", "/a", "/b", "/c"]);
});

it("skips queued requests of clients that have disconnected", async () => {
  const { request, started, finish } = setup();
  const socket = { destroyed: false };
  void request("/1");
  void request("/2");
  const disconnected = request("/gone", "ada", { incoming: { socket } });
  void request("/3");
  socket.destroyed = true;
  await finish(0);
  expect((await disconnected).status).toBe(499);
  expect(started()).toEqual(["/1", "/2", "/3"]);
});

it("releases the slot of a request that failed", async () => {
  const { request, started } = setup({ perToken: 1 });
  const [broken, next] = [request("/broken"), request("/next")];
  expect((await broken).status).toBe(500);
  await expect.poll(started).toEqual(["/broken", "/next"]);
  void next;
});

it("releases the slot of a request after slotMs", async () => {
  const { request, started } = setup({ perToken: 1, slotMs: 1 });
  void request("/long");
  void request("/next");
  await expect.poll(started).toEqual(["/long", "/next"]);
});

it("holds the slot of a stream until the stream has ended", async () => {
  const { request, started, finish } = setup({ perToken: 1 });
  let close = () => {};
  const outgoing = { once: (_: string, on: () => void) => (close = on) };
  void request("/stream", "ada", { outgoing });
  void request("/next");
  const headers = { "content-type": "text/event-stream" };
  await finish(0, new Response("data: 1\n\n", { headers }));
  expect(started()).toEqual(["/stream"]);
  close();
  await expect.poll(started).toEqual(["/stream", "/next"]);
});
