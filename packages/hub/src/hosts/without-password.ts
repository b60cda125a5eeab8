/** Masks the password in a database URL. An invalid URL may contain it anywhere, so all of it is masked. */
export function withoutPassword(url: string): string {
  if (url.startsWith("sqlite:")) return url;
  if (!URL.canParse(url)) return "postgres://…";
  const parsed = new URL(url);
  if (parsed.password) parsed.password = "***";
  for (const name of [...parsed.searchParams.keys()])
    if (/password/i.test(name)) parsed.searchParams.set(name, "***");
  return parsed.href;
}
