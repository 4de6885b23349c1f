import type { ReactNode } from 'react';
import { Problem } from './problem.tsx';
import { submitted } from './submitted.ts';

interface FormProps {
  /** What its button says. */
  readonly button: string;
  /** What the form sends, such as a mutation. */
  readonly sending: { readonly error: Error | null; readonly isPending: boolean };
  /** False while it must not be sent. */
  readonly isComplete?: boolean;
  /** Gets the texts of the fields by their names. */
  readonly onSubmit: (text: (name: string) => string) => void;
  readonly children: ReactNode;
}

/** Fields, the button that sends them, and what the service says against it. */
export const Form = ({ button, sending, isComplete = true, onSubmit, children }: FormProps): ReactNode => (
  <form className="stack" onSubmit={(event) => onSubmit(submitted(event))}>
    {children}
    {sending.error && <Problem error={sending.error} />}
    <button type="submit" className="primary" disabled={!isComplete || sending.isPending}>
      {button}
    </button>
  </form>
);

/** The field `name` of a record. */
export const NameField = ({ label = 'Name' }: { readonly label?: string }): ReactNode => (
  <label className="field">
    {label}
    <input name="name" required maxLength={128} autoComplete="off" />
  </label>
);
