import fc from "fast-check";
import { expect } from "vitest";
import { createIds } from "../../../kernel/lib/ids.ts";
import type { It, Subject } from "../../../kernel/store/contract/subject.ts";
import type { Store } from "../../../store.ts";
import type { EventRow } from "../../model.ts";
import type { Retention } from "../../retention/model.ts";
import { LogModel } from "./model.ts";
import { allEvents, START, sampleEvent } from "./sample.ts";

const tenant = fc.constantFrom("acme", "umbrella");
const agent = fc.constantFrom("ada", "bob");
const type = fc.constantFrom("push", "issues", "star");
const picks = fc.array(fc.nat({ max: 200 }), { minLength: 1, maxLength: 6 });
const small = fc.nat({ max: 6 });

const event = fc.record({
  type,
  external_id: fc.option(fc.constantFrom("1", "2", "3", "4", "5", "6"), { freq: 3 }),
  source_id: fc.constantFrom("github", "stripe"),
  size: fc.nat({ max: 40 }),
});
const request = fc.record({
  tenant,
  events: fc.array(event, { maxLength: 4 }),
  skipQuota: fc.boolean(),
});

const command = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      operation: fc.constant("append" as const),
      batch: fc.array(request, { minLength: 1, maxLength: 4 }),
      quota: fc.option(fc.integer({ min: 0, max: 12 })),
    }),
  },
  { weight: 3, arbitrary: fc.record({ operation: fc.constant("mark" as const), tenant, picks }) },
  { weight: 2, arbitrary: fc.record({ operation: fc.constant("reopen" as const), tenant, picks }) },
  {
    weight: 3,
    arbitrary: fc.record({
      operation: fc.constant("claim" as const),
      tenant,
      by: agent,
      limit: small,
      lease: small,
      type: fc.option(type, { nil: undefined }),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      operation: fc.constant("release" as const),
      tenant,
      by: agent,
      picks,
      delay: fc.option(small, { nil: undefined }),
      uncounted: fc.boolean(),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      operation: fc.constantFrom("claimOne" as const, "markClaimedProcessed" as const),
      tenant,
      by: agent,
      picks: fc.array(fc.nat({ max: 200 }), { minLength: 1, maxLength: 1 }),
      lease: small,
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      operation: fc.constant("sweep" as const),
      processedFor: small,
      pendingFor: fc.nat({ max: 30 }),
      maxBytes: fc.nat({ max: 5_000 }),
      limit: small,
    }),
  },
);
type Command = typeof command extends fc.Arbitrary<infer Value> ? Value : never;

/** Executes each command on the store and on a model of it, and compares the results. */
class StoreAndModel {
  readonly model = new LogModel();
  readonly #store: Store;
  readonly #sql: Subject["sql"];
  readonly #tenantName: (tenant: string) => string;
  readonly #knownIds: string[] = ["unknown"];
  readonly #ids = createIds({ now: () => this.#now });
  #now = START;

  constructor(
    { store, sql }: Pick<Subject, "store" | "sql">,
    tenantName: (tenant: string) => string,
  ) {
    this.#store = store;
    this.#sql = sql;
    this.#tenantName = tenantName;
  }

  async execute(command: Command): Promise<void> {
    this.#now += 1;
    const now = this.#now;
    const tenant = "tenant" in command ? this.#tenantName(command.tenant) : "";
    const ids =
      "picks" in command
        ? command.picks.map((pick) => this.#knownIds[pick % this.#knownIds.length] as string)
        : [];
    switch (command.operation) {
      case "append": {
        const batch = command.batch.map(({ tenant, skipQuota, events }) => ({
          tenant: this.#tenantName(tenant),
          skipQuota,
          events: events.map(({ size, ...overrides }) =>
            sampleEvent({
              ...overrides,
              id: this.#ids(),
              received_at: now,
              body: new Uint8Array(size),
            }),
          ),
        }));
        this.#knownIds.push(...batch.flatMap(({ events }) => events.map(({ id }) => id)));
        const results = await this.#store.appendEvents(batch, command.quota);
        expect(results).toEqual(this.model.append(batch, command.quota));
        for (const { id, stored } of await this.#sql("SELECT id, stored FROM events"))
          this.model.stored.set(String(id), Number(stored));
        break;
      }
      case "mark": {
        const note = `at ${now}`;
        const marked = await this.#store.markProcessed(tenant, ids, now, note);
        expect(marked).toEqual(this.model.mark(tenant, ids, now, note));
        break;
      }
      case "reopen":
        expect(await this.#store.reopenEvents(tenant, ids)).toEqual(this.model.reopen(tenant, ids));
        break;
      case "claim": {
        const { by, limit, lease, type } = command;
        const claim = { tenant, by, limit, now, until: now + lease, type };
        expect(await this.#store.claimEvents(claim)).toEqual(this.model.claim(claim));
        break;
      }
      case "release": {
        const { by, delay, uncounted } = command;
        const options = { notBefore: delay === undefined ? undefined : now + delay, uncounted };
        expect(await this.#store.releaseEvents(tenant, ids, by, options)).toEqual(
          this.model.release(tenant, ids, by, options),
        );
        break;
      }
      case "claimOne": {
        const { by, lease } = command;
        const claim = { tenant, id: ids[0] as string, by, now, until: now + lease };
        expect(await this.#store.claimEvent(claim)).toEqual(this.model.claimOne(claim));
        break;
      }
      case "markClaimedProcessed": {
        const args = [tenant, ids[0] as string, command.by, now, `at ${now}`] as const;
        expect(await this.#store.markClaimedProcessed(...args)).toEqual(
          this.model.markClaimedProcessed(...args),
        );
        break;
      }
      case "sweep":
        await this.#sweep({ ...command, now });
    }
    await this.#compareCounters();
  }

  async #sweep(retention: Retention): Promise<void> {
    const { processed, expired } = this.model.due(retention);
    const swept = await this.#store.sweep(retention);
    const remainingIds = new Set((await this.#rows()).map(({ id }) => id));
    const removed = this.model.rows.filter(({ id }) => !remainingIds.has(id));
    expect(swept).toMatchObject({
      processed: processed.length,
      expired: expired.length,
      hasMore: removed.length > 0,
    });
    if (processed.length + expired.length > 0) {
      expect(removed).toHaveLength(processed.length + expired.length);
      // Events with the same `processed_at` can be removed in any order.
      const key = (row: EventRow) => (row.processed ? row.processed_at : row.id);
      expect(new Set(removed.map(key))).toEqual(new Set([...processed, ...expired].map(key)));
    } else if (removed.length > 0) {
      // If several tenants are the largest, the store can choose any of them.
      const owner = removed[0]?.tenant as string;
      const sizes = ["acme", "umbrella"].map((tenant) =>
        this.model.bytes(this.#tenantName(tenant)),
      );
      expect(this.model.bytes(owner)).toBe(Math.max(...sizes));
      expect(new Set(removed)).toEqual(new Set(this.model.overflow(owner, retention)));
      expect(swept.overflow).toBe(removed.length);
    } else {
      const sizes = ["acme", "umbrella"].map((tenant) =>
        this.model.bytes(this.#tenantName(tenant)),
      );
      expect(retention.limit === 0 || Math.max(...sizes) <= retention.maxBytes).toBe(true);
    }
    this.model.remove(removed);
  }

  async #rows(): Promise<EventRow[]> {
    return [
      ...(await allEvents(this.#store, this.#tenantName("acme"))),
      ...(await allEvents(this.#store, this.#tenantName("umbrella"))),
    ];
  }

  async #compareCounters(): Promise<void> {
    for (const tenant of ["acme", "umbrella"].map(this.#tenantName)) {
      expect(await this.#store.pendingStatus(tenant)).toEqual(this.model.status(tenant));
      const stored = await this.#store.getTenant(tenant);
      if (stored) expect(stored).toMatchObject(this.model.tenant(tenant));
      else expect(this.model.rowsOf(tenant)).toEqual([]);
    }
  }

  async compareRows(): Promise<void> {
    const order = (a: EventRow, b: EventRow) => (a.id < b.id ? -1 : 1);
    expect((await this.#rows()).sort(order)).toEqual(this.model.rows.toSorted(order));
  }
}

export function countersContract(it: It): void {
  it("equal a new count of the rows after any sequence of operations", async ({ store, sql }) => {
    let run = 0;
    const sequence = fc.array(command, { minLength: 1, maxLength: 30 });
    const property = fc.asyncProperty(sequence, async (commands) => {
      run += 1;
      const storeAndModel = new StoreAndModel({ store, sql }, (tenant) => `${tenant} ${run}`);
      for (const command of commands) await storeAndModel.execute(command);
      await storeAndModel.compareRows();
    });
    // All sequences share the store, and a sweep affects all tenants. So each starts without events.
    const everything = {
      now: START * 2,
      processedFor: 0,
      pendingFor: 0,
      maxBytes: 0,
      limit: 1_000,
    };
    property.beforeEach(async () => {
      while ((await store.sweep(everything)).hasMore);
    });
    await fc.assert(property, { numRuns: 25 });
  });
}
