/** Edits the description of the flow, which the list of flows shows. */
import { useState } from "react";
import { Button } from "../ui/button.tsx";
import { Dialog } from "../ui/dialog.tsx";
import { Field, TextArea } from "../ui/field.tsx";

export function DescriptionDialog({
  description,
  onChange,
  onClose,
}: {
  description: string;
  onChange: (description: string) => void;
  onClose: () => void;
}) {
  const [text, setText] = useState(description);
  return (
    <Dialog
      open
      onClose={onClose}
      title="Description of the flow"
      actions={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button
            look="primary"
            onClick={() => {
              onChange(text.trim());
              onClose();
            }}
          >
            Apply
          </Button>
        </>
      }
    >
      <Field label="Description" hint="Shown in the list of flows. Agents see the tools instead.">
        {(control) => (
          <TextArea
            {...control}
            autoFocus
            value={text}
            maxLength={4000}
            onChange={({ target }) => setText(target.value)}
          />
        )}
      </Field>
    </Dialog>
  );
}
