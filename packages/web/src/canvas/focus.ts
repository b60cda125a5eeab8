/** Where the tiles are on the page, and how the keyboard gets to them. */

/** A dialog that closes returns the focus first. */
const DELAY_MS = 50;
const MAX_FRAMES = 120;

/** Only the newest wish counts. */
let wish = 0;

function focusNow(selector: string, own: number, frames: number): void {
  if (own !== wish || frames === 0) return;
  const element = document.querySelector<HTMLElement>(selector);
  // An open dialog keeps the focus; a tile is hidden until it is measured.
  if (!document.querySelector("[role=dialog]")) element?.focus();
  if (!element || document.activeElement !== element)
    requestAnimationFrame(() => focusNow(selector, own, frames - 1));
}

function focusSoon(selector: string): void {
  wish += 1;
  const own = wish;
  setTimeout(() => focusNow(selector, own, MAX_FRAMES), DELAY_MS);
}

/** Keys that follow are no longer typed into the field, even before the focus has moved. */
export const leaveField = () => {
  if (document.activeElement instanceof HTMLElement) document.activeElement.blur();
};

export const focusPanel = () => focusSoon("#main aside input");
const selectorOf = (id: string) => `.react-flow__node[data-id="${CSS.escape(id)}"]`;
export const focusTile = (id: string) => focusSoon(selectorOf(id));

const MARGIN_PX = 24;

/** How much of a tile the panel covers, at the right edge of the desk. 0 while it is dragged. */
export function hiddenWidth(id: string): number {
  const desk = document.querySelector(".desk")?.getBoundingClientRect();
  const tile = document.querySelector(selectorOf(id));
  if (!desk || !tile || tile.classList.contains("dragging")) return 0;
  return tile.getBoundingClientRect().right + MARGIN_PX - desk.right;
}

/** In the panel or in the run below, a key means what has the focus there. */
export const isOnCanvas = (target: EventTarget | null): boolean =>
  target === document.body || (target instanceof Element && target.closest(".desk") !== null);

export const tileOf = (target: Element): string | undefined =>
  target.closest<HTMLElement>(".react-flow__node")?.dataset.id;
