import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { createIds, idFloor, isId } from "./ids.ts";

const NOW = Date.UTC(2026, 0, 1);
/** A UUIDv7 has 48 bits for the time. */
const MAX_MS = 2 ** 48 - 5_000;
const anyTime = fc.integer({ min: 1, max: MAX_MS });
const timeOf = (id: string) => Number.parseInt(id.replaceAll("-", "").slice(0, 12), 16);
const counterOf = (id: string) => Number.parseInt(id.slice(15, 18), 16);

describe("an id", () => {
  test("is a UUIDv7 with the time of its creation", () => {
    fc.assert(
      fc.property(anyTime, (ms) => {
        const id = createIds({ now: () => ms })();
        expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
        expect(timeOf(id)).toBe(ms);
        expect(isId(id)).toBe(true);
      }),
    );
  });

  test("has the right version and variant for any random bytes", () => {
    for (const byte of [0x00, 0xff]) {
      const id = createIds({ now: () => NOW, random: (bytes) => bytes.fill(byte) })();
      expect(id[14]).toBe("7");
      expect("89ab").toContain(id[19]);
    }
  });

  test("uses the injected random bytes", () => {
    const createFromCountingBytes = () => {
      let next = 0;
      return createIds({
        now: () => NOW,
        random: (bytes) => bytes.map((_, at, all) => (all[at] = next++ & 0xff)),
      });
    };
    const [first, second] = [createFromCountingBytes(), createFromCountingBytes()];
    const make600 = (newId: () => string) => Array.from({ length: 600 }, newId);
    expect(make600(first)).toEqual(make600(second));
    // The last 62 bits are random in every id, even after the pool of random bytes was refilled.
    expect(new Set(make600(createIds({ now: () => NOW })).map((id) => id.slice(19))).size).toBe(
      600,
    );
  });

  test("uses the system clock and random bytes by default", () => {
    const before = Date.now();
    const id = createIds()();
    expect(timeOf(id)).toBeGreaterThanOrEqual(before);
    expect(timeOf(id)).toBeLessThanOrEqual(Date.now());
    expect(createIds()()).not.toBe(id);
  });
});

describe("ids of one process", () => {
  test("increase, even if the clock jumps", () => {
    const closeTimes = fc.double({ min: NOW, max: NOW + 5, noNaN: true });
    const distantTimes = fc.integer({ min: NOW - 1e6, max: NOW + 1e6 });
    const times = fc.array(fc.oneof(closeTimes, distantTimes), { minLength: 2, maxLength: 300 });
    fc.assert(
      fc.property(times, (clock) => {
        let at = 0;
        const make = createIds({ now: () => clock[at++] as number });
        const created = clock.map(() => make());
        expect(created).toEqual(created.toSorted());
        expect(new Set(created).size).toBe(created.length);
      }),
    );
  });

  test("keep the latest time while the clock is behind it", () => {
    let now = NOW;
    const make = createIds({ now: () => now });
    make();
    now = NOW - 60_000;
    expect(timeOf(make())).toBe(NOW);
    now = NOW + 1;
    expect(timeOf(make())).toBe(NOW + 1);
  });

  test("have a counter within a millisecond, and the next millisecond when it overflows", () => {
    const make = createIds({ now: () => NOW });
    const created = Array.from({ length: 10_000 }, make);
    expect(created).toEqual(created.toSorted());
    expect(new Set(created).size).toBe(10_000);
    const idsOfFirstMs = created.filter((id) => timeOf(id) === NOW);
    expect(idsOfFirstMs.length).toBeGreaterThan(3_900);
    expect(counterOf(idsOfFirstMs.at(-1) as string)).toBe(0xfff);
    expect(new Set(created.map(timeOf))).toEqual(new Set([NOW, NOW + 1, NOW + 2]));
  });

  test("start every millisecond with a random counter", () => {
    let now = NOW;
    const make = createIds({ now: () => now++ });
    const counters = new Set(Array.from({ length: 500 }, () => counterOf(make())));
    expect(counters.size).toBeGreaterThan(50);
  });
});

describe("idFloor", () => {
  test("sorts after earlier ids and before later ones", () => {
    fc.assert(
      fc.property(anyTime, anyTime, (floor, ms) => {
        const id = createIds({ now: () => ms })();
        expect(id < idFloor(floor)).toBe(ms < floor);
      }),
    );
    fc.assert(
      fc.property(anyTime, fc.constantFrom(-1, 0, 1), (floor, offset) => {
        for (const byte of [0x00, 0xff]) {
          const id = createIds({
            now: () => floor + offset,
            random: (bytes) => bytes.fill(byte),
          })();
          expect(id < idFloor(floor)).toBe(offset < 0);
        }
      }),
    );
  });

  test("is a valid id, rounds down, and treats times before 1970 as 1970", () => {
    expect(isId(idFloor(NOW))).toBe(true);
    expect(idFloor(-5)).toBe(idFloor(0));
    expect(idFloor(NOW + 0.9)).toBe(idFloor(NOW));
  });
});

test("isId rejects texts that are not ids", () => {
  for (const text of [
    "",
    "x",
    "019b76da-a800-7027-8d17-54099b044c4",
    "019b76da-a800-7027-8d17-54099b044c44 ",
    "019B76DA-A800-7027-8D17-54099B044C44",
    "019b76daa80070278d1754099b044c44",
  ])
    expect(isId(text), text).toBe(false);
});
