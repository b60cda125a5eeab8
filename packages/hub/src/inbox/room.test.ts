import { expect, it, vi } from "vitest";
import { createRoom } from "./room.ts";

const answer = () => Promise.withResolvers<void>();
const soon = () => new Promise((resolve) => setImmediate(resolve));

function ask(room: ReturnType<typeof createRoom>, token: string, bytes: number) {
  const left = answer();
  const entered = vi.fn();
  const refused = vi.fn();
  void room(token, bytes, left.promise).then(entered, refused);
  return { leave: left.resolve, entered, refused };
}

it("lets in what fits, and the next when one has left; other tokens do not wait", async () => {
  const room = createRoom({ bytes: 100, waitMs: 60_000 });
  const [first, second, third] = [60, 60, 60].map((bytes) => ask(room, "a", bytes));
  const other = ask(room, "b", 60);
  await soon();
  expect(first?.entered).toHaveBeenCalled();
  expect(other.entered).toHaveBeenCalled();
  expect(second?.entered).not.toHaveBeenCalled();
  first?.leave();
  await soon();
  expect(second?.entered).toHaveBeenCalled();
  expect(third?.entered).not.toHaveBeenCalled();
  second?.leave();
  await soon();
  expect(third?.entered).toHaveBeenCalled();
});

it("lets in one that is larger than all the room, alone", async () => {
  const room = createRoom({ bytes: 100, waitMs: 60_000 });
  const large = ask(room, "a", 1_000);
  const small = ask(room, "a", 1);
  await soon();
  expect(large.entered).toHaveBeenCalled();
  expect(small.entered).not.toHaveBeenCalled();
});

it("refuses who waited too long, or went away, and holds nothing for them", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  try {
    const room = createRoom({ bytes: 100, waitMs: 5_000 });
    const first = ask(room, "a", 100);
    const gone = ask(room, "a", 100);
    const late = ask(room, "a", 100);
    gone.leave();
    await soon();
    expect(gone.refused).toHaveBeenCalledWith(expect.objectContaining({ code: "busy" }));
    expect(late.refused).not.toHaveBeenCalled();
    vi.advanceTimersByTime(5_000);
    await soon();
    expect(late.refused).toHaveBeenCalledWith(expect.objectContaining({ code: "busy" }));
    first.leave();
    await soon();
    const next = ask(room, "a", 100);
    await soon();
    expect(next.entered).toHaveBeenCalled();
  } finally {
    vi.useRealTimers();
  }
});
