import pg from "pg";
import { afterEach, beforeEach, expect, inject, test } from "vitest";
import { createMigratedDatabase } from "../../../../../test/support/postgres.ts";
import { createPipeline } from "./postgres-pipeline.ts";

let client: pg.Client;

beforeEach(async () => {
  const connectionString = await createMigratedDatabase(inject("postgresUrl"));
  client = new pg.Client({ connectionString, pipeline: true });
  await client.connect();
  await client.query("CREATE TABLE numbers (n int NOT NULL)");
});

afterEach(() => client.end());

const insert = (n: unknown) => ({
  text: "INSERT INTO numbers VALUES ($1)",
  values: [n] as number[],
});

async function commit(...values: unknown[]): Promise<unknown> {
  const pipeline = createPipeline(client);
  pipeline.send("BEGIN");
  for (const value of values) pipeline.send(insert(value));
  return pipeline.query("COMMIT").catch((error: unknown) => error);
}

const readNumbers = async () => {
  await client.query("ROLLBACK");
  return (await client.query("SELECT n FROM numbers ORDER BY n")).rows.map(({ n }) => n);
};

test("commits all statements", async () => {
  expect(await commit(1, 2)).toEqual([]);
  expect(await readNumbers()).toEqual([1, 2]);
});

test("commits nothing if the server rejects a statement, and throws its error", async () => {
  expect(await commit(1, null, 2)).toMatchObject({ code: "23502" });
  expect(await readNumbers()).toEqual([]);
});

test("commits nothing if the driver cannot send a statement", async () => {
  const unserializable = {
    toPostgres() {
      throw new RangeError("too long");
    },
  };
  expect(await commit(1, unserializable, 2)).toEqual(new RangeError("too long"));
  expect(await readNumbers()).toEqual([]);
});
