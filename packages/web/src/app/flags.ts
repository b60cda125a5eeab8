/** Small facts that this browser keeps: what was seen or hidden. */
const keyOf = (name: string) => `signalbox.${name}`;

export function readFlag(name: string): boolean {
  try {
    return localStorage.getItem(keyOf(name)) !== null;
  } catch {
    return false;
  }
}

export function setFlag(name: string): void {
  try {
    localStorage.setItem(keyOf(name), "1");
  } catch {
    // Without storage the fact is forgotten with the page.
  }
}
