import { CommandError, plain } from './command-error.ts';
import { pages } from '../api/api-call.ts';
import type { Screen } from './screen.ts';

const PAGE = 100;
const MAX_LISTED = 10_000;
export const DEFAULT_LIMIT = '50';

export interface Page<Item> {
  readonly items: readonly Item[];
  readonly next_cursor: string | null;
}

/** At most `limit` items, starting at `cursor`. */
interface Span {
  readonly limit: number;
  readonly cursor: string | undefined;
}

export interface List<Item> {
  readonly readPage: (span: Span) => Promise<Page<Item>>;
  /** Printed above the first line. */
  readonly head: string;
  readonly line: (item: Item) => string;
  /** Printed if the list is empty. */
  readonly none: string;
  /** How to see more than the longest list shows. */
  readonly further?: string;
}

export interface ListOptions {
  readonly limit: string;
}

/** Prints page after page up to the limit. */
export const listPages = async <Item>(
  screen: Screen,
  { limit: wanted }: ListOptions,
  { readPage, head, line, none, further }: List<Item>,
): Promise<void> => {
  const limit = readLimit(wanted, further);
  const json = screen.isJson();
  let listed = 0;
  const readNext = (cursor: string | undefined) =>
    readPage({ limit: Math.min(PAGE, limit - listed), cursor });
  for await (const { items, next_cursor } of pages(readNext)) {
    if (listed === 0 && items.length > 0 && !json) screen.print(head);
    for (const item of items)
      if (json) screen.printJson(item);
      else screen.print(line(item));
    listed += items.length;
    if (listed >= limit) {
      if (next_cursor !== null && !json)
        screen.hint(`There are more than ${listed}. Use a higher --limit to see them.`);
      break;
    }
  }
  if (listed === 0 && !json) screen.hint(none);
};

const readLimit = (text: string, further: string | undefined): number => {
  const limit = /^\d{1,6}$/.test(text) ? Number(text) : 0;
  if (limit >= 1 && limit <= MAX_LISTED) return limit;
  const how = further === undefined ? '' : ` ${further}`;
  throw new CommandError(`--limit ${plain(text)} must be a number from 1 to ${MAX_LISTED}.${how}`);
};
