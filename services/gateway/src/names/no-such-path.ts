import { Refused } from '../http/refusal.ts';

const MAX_SHOWN = 120;

/** The refusal of a path that the service does not have. `next` says where to look. */
export const noSuchPath = (
  { method, url }: { readonly method: string; readonly url: string },
  next?: string,
): Refused =>
  new Refused({
    code: 'path_unknown',
    why: `There is no ${method} ${shown(url)}.${next === undefined ? '' : ` ${next}`}`,
  });

/** Without the query, which may hold a secret. */
const shown = (url: string): string => {
  const path = url.replace(/[?#].*$/s, '');
  return path.length <= MAX_SHOWN ? path : `${path.slice(0, MAX_SHOWN).toWellFormed()}…`;
};
