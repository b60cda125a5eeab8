/** Text that becomes a value: while it is typed it stays as typed, `1.0` does not turn into `1`. */
import { useState } from "react";

export function useTypedText(text: string, onText: (text: string) => void) {
  const [typed, setTyped] = useState<string>();
  const change = (next: string) => {
    setTyped(next);
    onText(next);
  };
  return {
    shown: typed ?? text,
    change,
    props: {
      value: typed ?? text,
      onChange: ({ target }: { target: { value: string } }) => change(target.value),
      onBlur: () => setTyped(undefined),
    },
  };
}
