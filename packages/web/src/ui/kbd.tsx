/** The name of a key. `mod` is ⌘ on Apple's keyboards, Ctrl elsewhere. */
const isApple = (): boolean => /Mac|iPhone|iPad/.test(navigator.platform);

export function Kbd({ children }: { children: string }) {
  const isMac = isApple();
  return (
    <kbd>
      {children.replace("mod+", isMac ? "⌘" : "Ctrl ").replace("shift+", isMac ? "⇧" : "Shift ")}
    </kbd>
  );
}
