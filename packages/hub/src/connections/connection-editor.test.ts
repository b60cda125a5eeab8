import type { ChangedConnectionFields } from "@signalbox/contract/connection-fields.ts";
import { expect, onTestFinished, test } from "vitest";
import { START } from "../events/store/contract/sample.ts";
import { openSqlite } from "../kernel/backends/sqlite.ts";
import type { Store } from "../store.ts";
import { storeDefinition } from "../store.ts";
import { createConnectionEditor } from "./connection-editor.ts";

const bearer = (token: string) => ({ auth: { type: "bearer" as const, token } });

/** Creates a connection to old.example with a header. `change` applies `race` before its first write. */
async function open() {
  const store = openSqlite(storeDefinition, ":memory:");
  onTestFinished(() => store.close());
  const editorOf = (editorStore: Store) =>
    createConnectionEditor({
      store: editorStore,
      seal: { seal: async (text) => text, unseal: async (text) => text },
      timers: { now: () => START, after: () => () => {} },
      commandRefusal: undefined,
      waitMs: 0,
    });
  const editor = editorOf(store);
  const { id } = await editor.add("acme", {
    name: "Weather",
    url: "https://old.example/mcp",
    headers: { "x-key": "old" },
  });
  const change = async (fields: ChangedConnectionFields, race: ChangedConnectionFields) => {
    let isFirst = true;
    const racing: Store = {
      ...store,
      async updateConnection(...args) {
        if (isFirst) {
          isFirst = false;
          await editor.change("acme", id, race);
        }
        return store.updateConnection(...args);
      },
    };
    await editorOf(racing).change("acme", id, fields);
  };
  const readConnection = async () => {
    const connection = await store.getConnection("acme", id);
    return { ...connection, sealed: JSON.parse(connection?.sealed ?? "{}") };
  };
  return { store, editor, id, change, readConnection };
}

test("a rename does not undo a concurrent change of the URL", async () => {
  const { change, readConnection } = await open();
  const url = "https://new.example/mcp";
  await change({ name: "Wind" }, { url, headers: null, ...bearer("new") });
  expect(await readConnection()).toMatchObject({
    name: "Wind",
    target: { url },
    sealed: bearer("new"),
    revision: 2,
  });
});

test("concurrent changes of different credentials are merged", async () => {
  const { change, readConnection } = await open();
  await change({ headers: { "x-key": "new" } }, bearer("new"));
  expect((await readConnection()).sealed).toEqual({
    headers: { "x-key": "new" },
    ...bearer("new"),
  });
});

test("a change of the URL is rejected if a concurrent change has set other credentials", async () => {
  const { change, readConnection } = await open();
  await expect(
    change({ url: "https://new.example/mcp", headers: null }, bearer("of the old origin")),
  ).rejects.toMatchObject({ errors: [{ path: "auth" }] });
  expect(await readConnection()).toMatchObject({ target: { url: "https://old.example/mcp" } });
});

test("new credentials are rejected if a concurrent change has set another URL", async () => {
  const { change, readConnection } = await open();
  const url = "https://new.example/mcp";
  await expect(change(bearer("of the old origin"), { url, headers: null })).rejects.toMatchObject({
    code: "changed",
    field: "url",
  });
  expect(await readConnection()).toMatchObject({ target: { url }, sealed: {} });
});

test("a change of the OAuth settings deletes the tokens that a person has granted", async () => {
  const { store, editor, id } = await open();
  const oauth = (scope: string) => ({ auth: { type: "oauth" as const, scope } });
  await editor.change("acme", id, oauth("read"));
  const change = async (fields: ChangedConnectionFields) => {
    await store.saveGrant("acme", id, { sealed: "tokens", error: null }, START);
    await editor.change("acme", id, fields);
    return (await store.getGrant("acme", id))?.sealed;
  };
  expect(await change({ headers: { "x-key": "new" }, ...oauth("read") })).toBe("tokens");
  expect(await change(oauth("read write"))).toBeNull();
  expect(await change({ auth: null })).toBeNull();
});
