import { Hono } from "hono";
import { expect, it, vi } from "vitest";
import { limitAtOnce } from "./at-once.ts";

const soon = () => new Promise<void>((resolve) => setImmediate(resolve));

function setup(options: Partial<Parameters<typeof limitAtOnce>[0]> = {}) {
  const working: { finish(response?: Response): void; path: string }[] = [];
  const turn = vi.fn(soon);
  const app = new Hono();
  app.use(limitAtOnce({ turn, most: 2, mostWaiting: 2, countsMs: 60_000, ...options }));
  app.get("*", (c) => {
    const { promise, resolve, reject } = Promise.withResolvers<Response>();
    const finish = (response = c.text("done")) => resolve(response);
    working.push({ finish, path: c.req.path });
    if (c.req.path === "/broken") reject(new Error("broken"));
    return promise;
  });
  app.onError(() => new Response(null, { status: 500 }));
  const ask = (path: string, token: string | undefined = "ada", env?: object) =>
    Promise.resolve(
      app.request(path, token === "" ? {} : { headers: { authorization: token } }, env),
    );
  const paths = () => working.map(({ path }) => path);
  const finish = async (at: number, response?: Response) => {
    working[at]?.finish(response);
    for (let turns = 0; turns < 5; turns += 1) await soon();
  };
  return { ask, working, paths, finish, turn };
}

it("works on so many of a token, lets some more wait, and refuses the rest", async () => {
  const { ask, paths, finish, turn } = setup();
  const answers = ["/1", "/2", "/3", "/4"].map((path) => ask(path));
  const fifth = await ask("/5");
  expect([fifth.status, fifth.headers.get("retry-after")]).toEqual([429, "1"]);
  expect(await fifth.json()).toMatchObject({ code: "busy" });
  expect(paths()).toEqual(["/1", "/2"]);
  expect(turn).not.toHaveBeenCalled();
  await finish(0);
  expect(paths()).toEqual(["/1", "/2", "/3"]);
  expect(turn).toHaveBeenCalledTimes(1);
  await finish(1);
  await finish(2);
  await finish(3);
  for (const answer of answers) expect((await answer).status).toBe(200);
  void ask("/6");
  expect(paths()).toContain("/6");
});

it("counts each token for itself, and nobody who has none", async () => {
  const { ask, paths } = setup();
  void ask("/1", "Bearer ada");
  void ask("/2", "bearer  ada");
  void ask("/3", "BEARER   ada");
  void ask("/other", "Bearer bob");
  for (const path of ["/a", "/b", "/c"]) void ask(path, "");
  await soon();
  expect(paths()).toEqual(["/1", "/2", "/other", "/a", "/b", "/c"]);
});

it("does not work for whoever has gone meanwhile", async () => {
  const { ask, paths, finish } = setup();
  const socket = { destroyed: false };
  void ask("/1");
  void ask("/2");
  const gone = ask("/gone", "ada", { incoming: { socket } });
  void ask("/3");
  socket.destroyed = true;
  await finish(0);
  expect((await gone).status).toBe(499);
  expect(paths()).toEqual(["/1", "/2", "/3"]);
});

it("goes on after a request that failed", async () => {
  const { ask, paths } = setup({ most: 1 });
  const [broken, next] = [ask("/broken"), ask("/next")];
  expect((await broken).status).toBe(500);
  await expect.poll(paths).toEqual(["/broken", "/next"]);
  void next;
});

it("stops counting what takes long", async () => {
  const { ask, paths } = setup({ most: 1, countsMs: 1 });
  void ask("/long");
  void ask("/next");
  await expect.poll(paths).toEqual(["/long", "/next"]);
});

it("counts a stream until it has ended", async () => {
  const { ask, paths, finish } = setup({ most: 1 });
  let close = () => {};
  const outgoing = { once: (_: string, on: () => void) => (close = on) };
  void ask("/stream", "ada", { outgoing });
  void ask("/next");
  const headers = { "content-type": "text/event-stream" };
  await finish(0, new Response("data: 1\n\n", { headers }));
  expect(paths()).toEqual(["/stream"]);
  close();
  await expect.poll(paths).toEqual(["/stream", "/next"]);
});
