/** Copies and reads text. Browsers offer `navigator.clipboard` only on HTTPS and on localhost. */

/** Call it in the handler of a key press or a click: otherwise the browser may not allow it. */
export async function copyText(text: string): Promise<void> {
  if (navigator.clipboard) return navigator.clipboard.writeText(text);
  // The command copies the selection, and the handler replaces that by the text.
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
      "The browser did not allow this page to copy. Select the text, and copy it with the keyboard.",
    );
}

export async function readClipboard(): Promise<string> {
  if (!navigator.clipboard)
    throw new Error("A page without HTTPS cannot read the clipboard. Paste with the keyboard.");
  return navigator.clipboard.readText();
}
