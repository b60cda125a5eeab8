/** Tests that values above 256 KiB stay text: nodes pass them on, and jobs read them. */
import { LARGE_BYTES } from "@signalbox/rules/large-json.ts";
import { expect } from "vitest";
import { MASK } from "../../../kernel/lib/mask.ts";
import type { It } from "../contract.ts";
import { allSteps } from "../store/contract/run-sample.ts";
import { edges, gate, HOUR, node, probe, start, TENANT } from "./fixture.ts";

const text = "x".repeat(1_000);
const ITEMS = 400;
const list = Array.from({ length: ITEMS }, () => ({ id: 7, text }));
/** Outputs a list of about 400 kB. */
const large = (slug: string) => probe(slug, { value: { id: 7, text }, times: ITEMS });

export function largeValuesContract(it: It): void {
  it("reads parts of large values, and passes whole values on", async (fixture) => {
    const value = {
      id: "{{ a[399].id }}",
      text: "id {{ a[0].id }}, {{ a[400]? }}",
      none: "{{ a[400]? }}",
      item: "{{ merge.b[1] }}",
      whole: "{{ a }}",
      merged: "{{ merge.a[2].id }}",
      trigger: "{{ trigger.list[3].id }}",
    };
    const createRun = await fixture.publish(
      [
        start,
        large("a"),
        large("b"),
        gate("hold"),
        node("merge", "Merge", {}),
        node("if", "Condition", { conditions: [{ left: "{{ a }}", op: "contains", right: "x" }] }),
        node("choose", "Switch", {
          value: "{{ b }}",
          cases: [
            { name: "never", value: 1 },
            { name: "list", op: "contains", value: { id: 7, text } },
          ],
        }),
        node("end", "Return", { value }),
      ],
      edges(
        "start > a > merge",
        "start > b > merge",
        "merge > hold > if.false > choose.list > end",
      ),
    );
    const expected = {
      id: 7,
      text: "id 7, ",
      none: null,
      item: list[0],
      whole: list,
      merged: 7,
      trigger: 7,
    };
    const input = { list };

    const crashable = fixture.openCrashable();
    const crashed = await crashable.start(createRun({ input }));
    await expect.poll(() => fixture.calls.at(-1)).toBe("hold begins");
    crashable.crash();
    fixture.open("hold");
    const runner = fixture.openRunner({ now: () => Date.now() + HOUR / 2 });
    const { id, ended } = await runner.start(createRun({ input }));
    await ended;
    await expect.poll(() => fixture.status(crashed.id)).toBe("succeeded");
    for (const run of [id, crashed.id]) {
      const output = await fixture.store.readValue({ tenant: TENANT, run, field: "output" });
      expect(JSON.parse(output ?? "")).toEqual(expected);
    }
  });

  it("fails with the missing property if a template references it in a large value", async (fixture) => {
    const createRun = await fixture.publish(
      [start, large("a"), probe("b", { value: "{{ a[3].title.text }}" })],
      edges("start > a > b"),
    );
    expect((await (await fixture.openRunner().start(createRun())).ended).error).toMatchObject({
      code: "unresolved_reference",
      message: "value: {{ a[3].title.text }} has no value: there is no a[3].title.",
    });
  });

  it("passes the parsed value, up to a limit, to nodes that cannot use text", async (fixture) => {
    const createRun = await fixture.publish(
      [
        start,
        large("a"),
        node("each", "ForEach", { items: "{{ a }}", atOnce: 20 }),
        probe("id", { value: "{{ item.id }}" }),
      ],
      edges("start > a > each.item > id"),
    );
    const runner = fixture.openRunner();
    expect((await (await runner.start(createRun())).ended).output).toEqual(Array(ITEMS).fill(7));

    const other = await fixture.publish(
      [start, node("each", "ForEach", { items: "{{ trigger.many }}" }), probe("id")],
      edges("start > each.item > id"),
    );
    const input = { many: Array(LARGE_BYTES).fill(0) };
    expect((await (await runner.start(other({ input }))).ended).error).toMatchObject({
      code: "input_too_large",
      message: expect.stringContaining("8 MB of JSON or 100000 values"),
    });
  });

  it("fails before it builds an input that references a large value many times", async (fixture) => {
    const publishReturn = (value: unknown) =>
      fixture.publish(
        [start, large("a"), node("end", "Return", { value: value as never })],
        edges("start > a > end"),
      );
    const runner = fixture.openRunner();
    for (const value of [Array(120).fill("{{ a }}"), "{{ a }} ".repeat(120)]) {
      const { id, ended } = await runner.start((await publishReturn(value))());
      expect((await ended).error).toMatchObject({ code: "input_too_large", node_id: "end" });
      const steps = await allSteps(fixture.store, TENANT, id);
      expect(steps.find(({ node_id }) => node_id === "end")).toMatchObject({ input: null });
    }
  });

  it("masks secrets in large values", async (fixture) => {
    const createRun = await fixture.publish(
      [
        start,
        probe("a", { value: { a: 1, key: "{{ secrets.KEY }}" }, times: 20_000 }),
        node("end", "Return", { value: "{{ a[19999] }}" }),
      ],
      edges("start > a > end"),
    );
    const runner = fixture.openRunner({ loadSecrets: async () => ({ KEY: 's3cret"12' }) });
    const { ended } = await runner.start(createRun());
    expect((await ended).output).toEqual({ a: 1, key: MASK });
  });
}
