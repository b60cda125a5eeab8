/** The picture of a person, or the first letter of the login. */
import { useState } from "react";

export function Avatar({ login, url }: { login: string; url: string | null }) {
  const [hasFailed, setFailed] = useState(false);
  if (url === null || hasFailed)
    return (
      <span
        aria-hidden
        className="grid size-5 flex-none place-items-center rounded-full border border-line bg-plate font-semibold text-[11px]/none text-ink-2 uppercase"
      >
        {login.slice(0, 1)}
      </span>
    );
  return (
    <img
      src={url}
      alt=""
      className="size-5 flex-none rounded-full"
      referrerPolicy="no-referrer"
      onError={() => setFailed(true)}
    />
  );
}
