import { useEffect, useState, type ReactNode } from 'react';
import { ago, seconds } from './words.ts';

const listeners = new Set<() => void>();
let ticking: ReturnType<typeof setInterval> | undefined;

/** The time now, to the second. All that show it share one timer, which rests while the page is hidden. */
const useNow = (): number => {
  const [now, setNow] = useState(() => Date.now());
  useEffect(() => {
    const listener = (): void => setNow(Date.now());
    listeners.add(listener);
    ticking ??= setInterval(() => {
      if (!document.hidden) for (const each of listeners) each();
    }, 1_000);
    return () => {
      listeners.delete(listener);
      if (listeners.size > 0) return;
      clearInterval(ticking);
      ticking = undefined;
    };
  }, []);
  return now;
};

const exact = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'medium' });

/** How long ago a time was, with the time itself in its title. Nothing for null. */
export const Ago = ({ time }: { readonly time: string | null | undefined }): ReactNode => {
  const now = useNow();
  if (time === null || time === undefined) return null;
  return (
    <time dateTime={time} title={exact.format(new Date(time))}>
      {ago(Date.parse(time), now)}
    </time>
  );
};

/** A time of the day with its date, in the zone of the reader. */
export const At = ({ time }: { readonly time: string }): ReactNode => (
  <time dateTime={time}>{exact.format(new Date(time))}</time>
);

/** Seconds from one time to another, or until now. */
export const Lasted = ({ from, to }: { readonly from: string; readonly to: string | null }): ReactNode => {
  const now = useNow();
  return <>{seconds(((to === null ? now : Date.parse(to)) - Date.parse(from)) / 1_000)}</>;
};
