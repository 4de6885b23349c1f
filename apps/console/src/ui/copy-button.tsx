import { useEffect, useState, type ReactNode } from 'react';

const SHOWN_MS = 2_000;

/** Copies a text, and says so. */
export const CopyButton = ({
  text,
  label = 'Copy',
}: {
  readonly text: string;
  readonly label?: string;
}): ReactNode => {
  const [outcome, setOutcome] = useState<string>();
  useEffect(() => {
    if (outcome === undefined) return undefined;
    const timer = setTimeout(() => setOutcome(undefined), SHOWN_MS);
    return () => clearTimeout(timer);
  }, [outcome]);
  const copy = async (): Promise<void> => {
    // Browsers offer it to pages with https, and of the same machine.
    try {
      await navigator.clipboard.writeText(text);
      setOutcome('Copied');
    } catch {
      setOutcome('The browser does not permit it: select and copy the text');
    }
  };
  return (
    <button type="button" onClick={() => void copy()} aria-live="polite">
      {outcome ?? label}
    </button>
  );
};
