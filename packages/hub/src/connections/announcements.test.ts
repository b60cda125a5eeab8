import { expect, test } from "vitest";
import { createAnnouncements } from "./announcements.ts";

const SECOND = 1_000;
const MINUTE = 60 * SECOND;

function open() {
  const clock = { now: 0 };
  const touched: { id: string; at: number }[] = [];
  const announce = createAnnouncements({
    now: () => clock.now,
    touch: ({ id }, at) => touched.push({ id, at }),
  });
  return { clock, touched, announce: (id = "a") => announce({ tenant: "acme", id }) };
}

test("the first announcement makes a connection due immediately", () => {
  const { touched, announce } = open();
  announce("a");
  announce("b");
  expect(touched).toEqual([
    { id: "a", at: 0 },
    { id: "b", at: 0 },
  ]);
});

test("many announcements make the connection due once more, after a pause", () => {
  const { clock, touched, announce } = open();
  for (; clock.now < SECOND; clock.now += 1) announce();
  expect(touched.map(({ at }) => at)).toEqual([0, 5 * SECOND]);
});

test("the pause between checks doubles, up to five minutes, if a server announces at every check", () => {
  const { clock, touched, announce } = open();
  announce();
  while (clock.now < 60 * MINUTE) {
    announce(); // during the check
    clock.now = touched.at(-1)?.at ?? 0;
  }
  const gaps = touched.slice(1).map(({ at }, index) => at - (touched[index]?.at ?? 0));
  expect(gaps.slice(0, 4).map((ms) => ms / SECOND)).toEqual([5, 10, 20, 40]);
  expect(gaps.at(-1)).toBe(5 * MINUTE);
});

test("after a time without announcements, the next one makes the connection due immediately", () => {
  const { clock, touched, announce } = open();
  announce();
  announce();
  clock.now = 5 * SECOND;
  announce();
  clock.now = 10 * MINUTE;
  announce();
  expect(touched.at(-1)?.at).toBe(10 * MINUTE);
});
