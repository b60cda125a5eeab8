/**
 * The text of a field whose value is parsed and serialized on every change. Until the field loses the
 * focus, it shows the text as typed: `1.0` does not become `1`.
 */
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
