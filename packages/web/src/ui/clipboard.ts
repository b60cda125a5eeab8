/** The clipboard. A page of plain HTTP, except of this machine, lacks its API. */

/** Needs a key or click of the user. */
export async function copyText(text: string): Promise<void> {
  if (navigator.clipboard) return navigator.clipboard.writeText(text);
  const onCopy = (event: ClipboardEvent) => {
    event.clipboardData?.setData("text/plain", text);
    event.preventDefault();
    event.stopImmediatePropagation();
  };
  document.addEventListener("copy", onCopy, { capture: true });
  const isCopied = document.execCommand("copy");
  document.removeEventListener("copy", onCopy, { capture: true });
  if (!isCopied)
    throw new Error(
      "The browser did not allow it. Select the text, and copy it with the keyboard.",
    );
}

export async function readClipboard(): Promise<string> {
  if (!navigator.clipboard)
    throw new Error("A page of plain HTTP cannot read the clipboard. Paste with the keyboard.");
  return navigator.clipboard.readText();
}
