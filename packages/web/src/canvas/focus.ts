/** Finds the elements of the editor, and moves the keyboard focus to them. */

/** A dialog that is being closed returns the focus to its opener first. */
const DELAY_MS = 50;
/** About two seconds. */
const MAX_FRAMES = 120;

/** The number of the newest request. Older requests are dropped. */
let newestRequest = 0;

/** Tries to focus the element in every frame, until it has the focus. */
function tryFocus(selector: string, request: number, frames: number): void {
  if (request !== newestRequest || frames === 0) return;
  const element = document.querySelector<HTMLElement>(selector);
  // An open dialog must keep the focus. A new tile cannot be focused until xyflow has measured it.
  if (!document.querySelector("[role=dialog]")) element?.focus();
  if (!element || document.activeElement !== element)
    requestAnimationFrame(() => tryFocus(selector, request, frames - 1));
}

function scheduleFocus(selector: string): void {
  newestRequest += 1;
  const request = newestRequest;
  setTimeout(() => tryFocus(selector, request, MAX_FRAMES), DELAY_MS);
}

/** Removes the focus from a field immediately, so that the next keys are not typed into it. */
export const leaveField = () => {
  if (document.activeElement instanceof HTMLElement) document.activeElement.blur();
};

export const focusPanel = () => scheduleFocus("#main aside input");
const selectorOf = (id: string) => `.react-flow__node[data-id="${CSS.escape(id)}"]`;
export const focusTile = (id: string) => scheduleFocus(selectorOf(id));

const MARGIN_PX = 24;

/**
 * Returns how far a tile extends beyond the right edge of the canvas, where the panel begins. The
 * result is 0 or negative if the whole tile is visible, and 0 while the tile is dragged.
 */
export function hiddenWidth(id: string): number {
  const canvas = document.querySelector(".desk")?.getBoundingClientRect();
  const tile = document.querySelector(selectorOf(id));
  if (!canvas || !tile || tile.classList.contains("dragging")) return 0;
  return tile.getBoundingClientRect().right + MARGIN_PX - canvas.right;
}

/** Whether a key event belongs to the canvas, not to the panel or the run below it. */
export const isOnCanvas = (target: EventTarget | null): boolean =>
  target === document.body || (target instanceof Element && target.closest(".desk") !== null);

/** Returns the id of the node whose tile contains the element. */
export const nodeIdAt = (target: Element): string | undefined =>
  target.closest<HTMLElement>(".react-flow__node")?.dataset.id;
