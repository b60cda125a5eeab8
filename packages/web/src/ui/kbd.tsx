/** Shows a key, such as `K` or `mod+K`. `mod` is ⌘ on Apple's keyboards and Ctrl on others. */
const isApple = (): boolean => /Mac|iPhone|iPad/.test(navigator.platform);

export function Kbd({ children }: { children: string }) {
  const isMac = isApple();
  return (
    <kbd>
      {children.replace("mod+", isMac ? "⌘" : "Ctrl ").replace("shift+", isMac ? "⇧" : "Shift ")}
    </kbd>
  );
}
