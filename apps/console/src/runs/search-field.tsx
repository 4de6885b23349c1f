import { useEffect, useRef, useState, type ReactNode } from 'react';
import { searchIn } from './search-text.ts';

/** So long nothing is typed before it is looked for. */
const WAIT_MS = 300;

interface SearchFieldProps {
  /** What is looked for now; empty for nothing. */
  readonly search: string;
  readonly onSearch: (search: string) => void;
}

/** Looks for what is typed. The key / leads to it. */
export const SearchField = ({ search, onSearch }: SearchFieldProps): ReactNode => {
  const field = useRef<HTMLInputElement>(null);
  const [text, setText] = useState(search);
  const sent = useRef(search);
  useEffect(() => {
    // The address has another one: a link, or the button that shows all runs.
    if (search === sent.current) return;
    sent.current = search;
    setText(search);
  }, [search]);
  useEffect(() => {
    const next = searchIn(text) ?? '';
    if (next === sent.current) return undefined;
    const timer = setTimeout(() => {
      sent.current = next;
      onSearch(next);
    }, WAIT_MS);
    return () => clearTimeout(timer);
  }, [text, onSearch]);
  useEffect(() => onSlash(() => field.current?.focus()), []);
  return (
    <input
      ref={field}
      type="search"
      className="runs-search"
      aria-label="Search by id, input, tag, error or deployment"
      aria-keyshortcuts="/"
      placeholder="Search id, input, error …  ( / )"
      title="The beginning of an id (8 characters), or a text of an input, a tag, an error or the name of a deployment"
      maxLength={200}
      value={text}
      onChange={({ target }) => setText(target.value)}
    />
  );
};

/** Calls when the key / is pressed where nobody types. Returns what ends it. */
const onSlash = (focus: () => void): (() => void) => {
  const listener = (event: KeyboardEvent): void => {
    if (event.key !== '/' || event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
    event.preventDefault();
    focus();
  };
  document.addEventListener('keydown', listener);
  return () => document.removeEventListener('keydown', listener);
};

const isTyping = (target: EventTarget | null): boolean =>
  target instanceof Element &&
  target.closest('input, textarea, select, [contenteditable], [role="dialog"]') !== null;
