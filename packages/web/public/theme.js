// Runs before the first paint, so that a dark page never flashes white. The CSP allows no inline script.
{
  let choice = null;
  try {
    choice = localStorage.getItem("signalbox.theme");
  } catch {
    // Storage can be blocked; the theme of the system applies.
  }
  const isDark =
    choice === "dark" || (choice !== "light" && matchMedia("(prefers-color-scheme: dark)").matches);
  document.documentElement.dataset.theme = isDark ? "dark" : "light";
}
