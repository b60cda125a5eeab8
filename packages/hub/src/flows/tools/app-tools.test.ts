import { expect, it } from "vitest";
import type { Notice } from "../../kernel/store/sql.ts";
import type { StoredApp, StoredTrigger } from "../model.ts";
import { createAppTools } from "./app-tools.ts";

const app = (slug: string, tenant = "acme"): StoredApp => ({
  tenant,
  slug,
  name: slug,
  description: "",
  created_at: 0,
  updated_at: 0,
});

function setup(limits: { pageSize?: number; maxPages?: number } = {}, description = "") {
  const toolNames = new Map<string, string[]>();
  const reads: string[] = [];
  let notify = (_: Notice) => {};
  let gate: Promise<void> = Promise.resolve();
  const tools = createAppTools({
    store: {
      subscribe(listener) {
        notify = listener;
        return () => {};
      },
      async listTools(tenant, slug, after, limit) {
        const key = `${tenant}/${slug}`;
        reads.push(`${key} ${after}`);
        const names = (toolNames.get(key) ?? []).filter((name) => name > after).slice(0, limit);
        await gate;
        return names.map((name) => ({
          tool_name: name,
          config: { title: name, description, inputSchema: { type: "object" } },
        })) as unknown as StoredTrigger[];
      },
    },
    ...limits,
  });
  return {
    tools,
    toolNames,
    reads,
    notify: (notice: Notice) => notify(notice),
    holdReads(until: Promise<void>) {
      gate = until;
    },
    names: async (listedApp: StoredApp, after = "") =>
      (await tools.list(listedApp, after)).tools.map(({ name }) => name),
  };
}

it("caches the tools of each app and tenant until they change", async () => {
  const { toolNames, reads, notify, names } = setup();
  toolNames.set("acme/a", ["one"]);
  toolNames.set("acme/b", ["two"]);
  toolNames.set("umbrella/a", ["three"]);
  const all = async () => [
    await names(app("a")),
    await names(app("b")),
    await names(app("a", "umbrella")),
  ];
  await all();
  expect(await all()).toEqual([["one"], ["two"], ["three"]]);
  expect(reads).toHaveLength(3);
  toolNames.set("acme/a", ["one", "more"]);
  notify({ topic: "tools", tenant: "acme", app: "a" });
  expect(await all()).toEqual([["one", "more"], ["two"], ["three"]]);
  expect(reads.slice(3)).toEqual(["acme/a "]);
  notify({ topic: "gap" });
  await all();
  expect(reads).toHaveLength(7);
});

it("reads the tools again if they changed during the read", async () => {
  const { toolNames, notify, names, holdReads } = setup();
  const read = Promise.withResolvers<void>();
  holdReads(read.promise);
  toolNames.set("acme/a", ["old"]);
  const first = names(app("a"));
  toolNames.set("acme/a", ["new"]);
  notify({ topic: "tools", tenant: "acme", app: "a" });
  read.resolve();
  await first;
  expect(await names(app("a"))).toEqual(["new"]);
});

it("returns consecutive pages, and caches a limited number of pages", async () => {
  const { tools, toolNames, reads } = setup({ pageSize: 2, maxPages: 2 });
  toolNames.set("acme/a", ["a", "b", "c", "d"]);
  const first = await tools.list(app("a"), "");
  expect(first.nextCursor).toBe("b");
  const second = await tools.list(app("a"), "b");
  expect(second.tools.map(({ name }) => name)).toEqual(["c", "d"]);
  expect(second.nextCursor).toBeUndefined();
  await tools.list(app("b"), "");
  await tools.list(app("a"), "b");
  expect(reads).toEqual(["acme/a ", "acme/a b", "acme/b "]);
  await tools.list(app("a"), "");
  expect(reads).toHaveLength(4);
});

it("does not cache a failed read", async () => {
  const { toolNames, names, holdReads } = setup();
  toolNames.set("acme/a", ["one"]);
  const broken = Promise.reject(new Error("no disk"));
  broken.catch(() => {});
  holdReads(broken);
  await expect(names(app("a"))).rejects.toThrow("no disk");
  holdReads(Promise.resolve());
  expect(await names(app("a"))).toEqual(["one"]);
});

it("ends a page early if its tools are large", async () => {
  const { tools, toolNames } = setup({}, "x".repeat(100_000));
  const all = Array.from({ length: 60 }, (_, at) => `tool_${String(at).padStart(2, "0")}`);
  toolNames.set("acme/desk", all);
  const listed: string[] = [];
  let after: string | undefined = "";
  while (after !== undefined) {
    const page = await tools.list(app("desk"), after);
    expect(page.tools.length).toBeLessThanOrEqual(10);
    listed.push(...page.tools.map(({ name }) => name));
    after = page.nextCursor;
  }
  expect(listed).toEqual(all);
});

it("fills a page with several reads of the store", async () => {
  const { toolNames, names } = setup();
  const all = Array.from({ length: 260 }, (_, at) => `tool_${String(at).padStart(3, "0")}`);
  toolNames.set("acme/desk", all);
  expect(await names(app("desk"))).toEqual(all.slice(0, 250));
  expect(await names(app("desk"), "tool_249")).toEqual(all.slice(250));
});
